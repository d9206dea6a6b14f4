//! Tables on a screen: whole if they fit, else with narrower columns, in parts, or row by row.
//!
//! Purpose: no line is wider than the screen and nothing is cut off. Boundary: which rows and columns exist is decided in `build`.

use super::Screen;
use super::text::{self, width};
use crate::document::{Badge, Cell, Column, ColumnContent, Table};

/// Spaces before a line, and between two columns.
const INDENT: usize = 1;
const GAP: usize = 2;
/// A label is not broken into less, and words not into less than twice as much.
const LABEL_MIN: usize = 12;
/// Longer words may be split before figures are.
const WORD_MAX: usize = 24;
/// A longer text is broken at its spaces.
const HELD_MAX: usize = 32;
/// Cells of more lines are easier to read row by row.
const LINES_MAX: usize = 5;

/// How a table may be written.
#[derive(Clone, Copy)]
struct Form {
    /// Figures with their spread on a separate line.
    on_two_lines: bool,
    /// Heads of figures on several lines.
    splits_heads: bool,
    /// A longer word in a label may be split.
    word_max: usize,
}

/// From the widest to the narrowest.
#[rustfmt::skip]
const FORMS: [Form; 5] = [
    Form { on_two_lines: false, splits_heads: false, word_max: WORD_MAX },
    Form { on_two_lines: false, splits_heads: true, word_max: WORD_MAX },
    Form { on_two_lines: false, splits_heads: true, word_max: LABEL_MIN },
    Form { on_two_lines: true, splits_heads: true, word_max: WORD_MAX },
    Form { on_two_lines: true, splits_heads: true, word_max: LABEL_MIN },
];

/// Tables with the same rows, in the widest form in which all of them fit.
pub(super) fn tables(screen: &Screen, tables: &[Table]) -> String {
    let fitting = FORMS.iter().find_map(|form| {
        let sheets = tables
            .iter()
            .map(|table| Sheet::laid_out(screen, table, *form));
        let sheets = sheets.map(|sheet| {
            let widths = sheet.widths(screen.width, *form)?;
            (!sheet.is_tall(&widths)).then_some((sheet, widths))
        });
        sheets.collect::<Option<Vec<_>>>()
    });
    match fitting {
        Some(sheets) => {
            let drawn = tables.iter().zip(sheets).map(|(table, (sheet, widths))| {
                caption(screen, table) + &sheet.drawn(screen, &widths) + &more(table)
            });
            drawn.collect()
        }
        None => narrow(screen, tables),
    }
}

/// Splits the tables side by side or row by row, whichever takes fewer lines.
fn narrow(screen: &Screen, tables: &[Table]) -> String {
    if tables.iter().any(|table| table.across.is_none()) {
        let drawn = tables.iter().map(|table| {
            let rows = stacked(screen, table);
            caption(screen, table) + &rows + &more(table)
        });
        return drawn.collect();
    }
    let by_rows = row_by_row(screen, tables);
    let in_parts = tables.iter().map(|table| {
        let parts = in_parts(screen, table)?;
        Some(caption(screen, table) + &parts + &more(table))
    });
    match in_parts.collect::<Option<String>>() {
        Some(parts) if parts.lines().count() <= by_rows.lines().count() => parts,
        _ => by_rows,
    }
}

fn caption(screen: &Screen, table: &Table) -> String {
    if table.caption.is_empty() {
        String::new()
    } else {
        format!("\n{}", screen.wrapped("", &table.caption))
    }
}

fn more(table: &Table) -> String {
    super::more(table.rows.len(), table.most)
}

/// The columns of figures in groups, each with the columns that name the rows. None if not even one figure fits next to them.
fn in_parts(screen: &Screen, table: &Table) -> Option<String> {
    let form = FORMS[FORMS.len() - 1];
    let sheet = Sheet::laid_out(screen, table, form);
    let is_figure = |column: &Strip| column.kind == ColumnContent::Figure;
    let labels = sheet.columns.iter().take_while(|column| !is_figure(column));
    let labels = labels.count();
    let figures = sheet.columns.len() - labels;
    (1..=figures).find_map(|groups| {
        let each = figures.div_ceil(groups);
        let starts = (labels..sheet.columns.len()).step_by(each);
        let parts = starts.map(|start| {
            let end = (start + each).min(sheet.columns.len());
            let part = sheet.part(labels, start..end);
            let widths = part.widths(screen.width, form)?;
            Some(part.drawn(screen, &widths))
        });
        let parts: Option<Vec<String>> = parts.collect();
        parts.map(|parts| parts.join("\n"))
    })
}

/// A small table for each row: the levels down, one column for each table.
fn row_by_row(screen: &Screen, tables: &[Table]) -> String {
    let captions = tables.iter().map(|table| caption(screen, table));
    let mut out: String = captions.collect();
    let Some(first) = tables.first() else {
        return out;
    };
    let figures: Vec<usize> = (0..first.columns.len())
        .filter(|place| first.columns[*place].kind == ColumnContent::Figure)
        .collect();
    for (place, row) in first.rows.iter().enumerate().take(first.most.terminal) {
        let labels = row.cells.iter().zip(&first.columns);
        let labels = labels.filter(|(_, column)| column.kind != ColumnContent::Figure);
        let labels: Vec<String> = labels.map(|(cell, _)| cell.in_words()).collect();
        out.push_str(&format!("\n{}", screen.wrapped(" ", &labels.join(" · "))));
        let levels = figures.iter().map(|column| &first.columns[*column].head);
        let strip = |head: &str, cells: Vec<String>| Strip::plain(screen, head, cells);
        let across = first.across.as_ref();
        let factor = across.map_or("", |across| across.factor.as_str());
        let mut columns = vec![strip(factor, levels.cloned().collect())];
        for table in tables {
            let own = &table.rows[place].cells;
            let cells = figures.iter().map(|column| own[*column].on_a_line());
            let figure = table
                .across
                .as_ref()
                .map_or("", |across| across.figure.as_str());
            columns.push(strip(figure, cells.collect()));
        }
        let sheet = Sheet { columns };
        match sheet.widths(screen.width, FORMS[FORMS.len() - 1]) {
            Some(widths) => out.push_str(&sheet.drawn(screen, &widths)),
            None => out.push_str(&sheet.listed(screen)),
        }
    }
    out + &more(first)
}

/// For each row its name, and below it the other columns in a sentence: `measured: 2.02; 95 % CI: 1.88 to 2.18`.
fn stacked(screen: &Screen, table: &Table) -> String {
    let rows = || table.rows.iter().take(table.most.terminal);
    let badges = || rows().filter_map(|row| row.cells.first());
    let has_badges = badges().any(|cell| cell.badge.is_some());
    let is_label = |column: &&Column| column.kind == ColumnContent::Label;
    let named = if has_badges {
        2
    } else {
        table.columns.iter().take_while(is_label).count().max(1)
    };
    let texts = |cells: &[Cell]| -> Vec<String> {
        let cells = cells.iter().zip(&table.columns);
        cells
            .map(|(cell, column)| one_line(cell, column.kind))
            .collect()
    };
    let widest = badges()
        .map(|cell| width(&screen.clean(&cell.in_words())))
        .max();
    let beside = INDENT + widest.unwrap_or(0) + GAP;
    let is_beside = has_badges && beside <= screen.width / 3;
    let indent = if is_beside { beside } else { INDENT };
    let mut out = String::new();
    for row in rows() {
        let cells = texts(&row.cells);
        let name = if has_badges {
            cells.get(1).cloned().unwrap_or_default()
        } else {
            name(&cells[..named.min(cells.len())], &table.columns)
        };
        let lines = screen.wrapped(&" ".repeat(indent), &name);
        if has_badges {
            let badge = screen.clean(&cells[0]);
            let painted = row.cells[0].badge.map(|kind| screen.badge(kind, &badge));
            out.push_str(&format!(" {}", painted.as_ref().unwrap_or(&badge)));
            if is_beside {
                out.push_str(lines.get(INDENT + width(&badge)..).unwrap_or("\n"))
            } else {
                out.push_str(&format!("\n{lines}"))
            }
        } else {
            out.push_str(&lines);
        }
        let details = cells.iter().zip(&table.columns).skip(named);
        let details = details.filter(|(text, _)| !text.is_empty() && *text != "-");
        let details = details.map(|(text, column)| held(&format!("{}: {text}", column.head)));
        let details: Vec<String> = details.collect();
        if !details.is_empty() {
            let start = " ".repeat(if is_beside { indent } else { indent + GAP });
            out.push_str(&screen.wrapped(&start, &details.join("; ")));
        }
    }
    out
}

/// `5.6; clients: 8`: the first label speaks for itself.
fn name(labels: &[String], columns: &[Column]) -> String {
    let labels = labels.iter().zip(columns).enumerate();
    let parts = labels.map(|(place, (text, column))| match place {
        0 => text.clone(),
        _ => held(&format!("{}: {text}", column.head)),
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// `95 % CI` stays in one piece.
fn head_of(text: &str) -> String {
    if width(text) <= LABEL_MIN - GAP && text.contains('%') {
        text.replace(' ', "\u{a0}")
    } else {
        text.to_string()
    }
}

/// Keeps a short text in one piece.
fn held(text: &str) -> String {
    if width(text) <= HELD_MAX {
        text.replace(' ', "\u{a0}")
    } else {
        text.to_string()
    }
}

/// Labels and words with their remarks, figures with their spread.
fn one_line(cell: &Cell, kind: ColumnContent) -> String {
    match kind {
        ColumnContent::Figure => cell.on_a_line(),
        _ => cell.in_words(),
    }
}

/// A table whose texts are ready to be drawn.
struct Sheet {
    columns: Vec<Strip>,
}

/// A column from top to bottom.
#[derive(Clone)]
struct Strip {
    head: String,
    kind: ColumnContent,
    cells: Vec<String>,
    /// Empty in a column without badges.
    badges: Vec<Option<Badge>>,
}

impl Strip {
    /// A column of figures.
    fn plain(screen: &Screen, head: &str, cells: Vec<String>) -> Strip {
        Strip {
            head: screen.clean(head),
            kind: ColumnContent::Figure,
            cells: cells.iter().map(|cell| screen.clean(cell)).collect(),
            badges: Vec::new(),
        }
    }

    /// The width if nothing is broken.
    fn natural(&self) -> usize {
        let cells = self.cells.iter().map(|cell| width(cell));
        cells.max().unwrap_or(0).max(width(&self.head))
    }

    fn min(&self, form: Form) -> usize {
        let words = |text: &String| text.split_ascii_whitespace().map(width).max().unwrap_or(0);
        let cells = || self.cells.iter();
        if self.kind == ColumnContent::Figure || !self.badges.is_empty() {
            let head = if form.splits_heads {
                words(&self.head)
            } else {
                width(&self.head)
            };
            return cells().map(|cell| width(cell)).max().unwrap_or(0).max(head);
        }
        let word = cells().map(words).max().unwrap_or(0).max(words(&self.head));
        let least = match self.kind {
            ColumnContent::Words => 2 * LABEL_MIN,
            _ => LABEL_MIN,
        };
        word.min(form.word_max.max(least))
            .max(self.natural().min(least))
    }
}

impl Sheet {
    fn laid_out(screen: &Screen, table: &Table, form: Form) -> Sheet {
        let rows = || table.rows.iter().take(table.most.terminal);
        let column = |place: usize| {
            let (head, kind) = (&table.columns[place].head, table.columns[place].kind);
            let cells = rows().map(|row| {
                let cell = &row.cells[place];
                screen.clean(&match form.on_two_lines && kind == ColumnContent::Figure {
                    true => cell.on_two_lines(),
                    false => one_line(cell, kind),
                })
            });
            let badges: Vec<Option<Badge>> = rows().map(|row| row.cells[place].badge).collect();
            let has_badges = badges.iter().any(Option::is_some);
            Strip {
                head: head_of(&screen.clean(head)),
                kind,
                cells: cells.collect(),
                badges: if has_badges { badges } else { Vec::new() },
            }
        };
        Sheet {
            columns: (0..table.columns.len()).map(column).collect(),
        }
    }

    /// The first columns, and some of the others.
    fn part(&self, labels: usize, others: std::ops::Range<usize>) -> Sheet {
        let labels = self.columns[..labels].iter();
        Sheet {
            columns: labels.chain(&self.columns[others]).cloned().collect(),
        }
    }

    /// The width of each column; none if they do not fit.
    fn widths(&self, screen: usize, form: Form) -> Option<Vec<usize>> {
        let between = GAP * self.columns.len().saturating_sub(1);
        let available = screen.checked_sub(INDENT + between)?;
        let natural: Vec<usize> = self.columns.iter().map(Strip::natural).collect();
        if natural.iter().sum::<usize>() <= available {
            return Some(natural);
        }
        let columns = self.columns.iter();
        let mut widths: Vec<usize> = columns.map(|column| column.min(form)).collect();
        let spare = available.checked_sub(widths.iter().sum())?;
        for _ in 0..spare {
            let narrowed = (0..widths.len()).filter(|place| widths[*place] < natural[*place]);
            // The one that is broken into the most lines.
            let most = narrowed.max_by_key(|place| natural[*place] * 100 / widths[*place].max(1));
            match most {
                Some(place) => widths[place] += 1,
                None => break,
            }
        }
        Some(widths)
    }

    fn is_tall(&self, widths: &[usize]) -> bool {
        let columns = self.columns.iter().zip(widths);
        let mut cells = columns.flat_map(|(column, width)| {
            let cells = column.cells.iter();
            cells.map(move |cell| text::wrapped(cell, *width).len())
        });
        cells.any(|lines| lines > LINES_MAX)
    }

    fn drawn(&self, screen: &Screen, widths: &[usize]) -> String {
        let heads = self
            .columns
            .iter()
            .map(|column| (column.head.as_str(), None));
        let mut out = self.row(screen, widths, heads);
        let between = GAP * widths.len().saturating_sub(1);
        let rule = widths.iter().sum::<usize>() + between + INDENT;
        out.push_str(&screen.clean(&"─".repeat(rule)));
        out.push('\n');
        let rows = self.columns.first().map_or(0, |column| column.cells.len());
        for row in 0..rows {
            let cells = self.columns.iter().map(|column| {
                let badge = column.badges.get(row).copied().flatten();
                (column.cells[row].as_str(), badge)
            });
            out.push_str(&self.row(screen, widths, cells));
        }
        out
    }

    fn row<'t>(
        &self,
        screen: &Screen,
        widths: &[usize],
        cells: impl Iterator<Item = (&'t str, Option<Badge>)>,
    ) -> String {
        let cells = cells.zip(widths);
        let cells: Vec<(Vec<String>, Option<Badge>)> = cells
            .map(|((cell, badge), width)| (text::wrapped(cell, *width), badge))
            .collect();
        let height = cells.iter().map(|(lines, _)| lines.len()).max();
        let mut out = String::new();
        for line in 0..height.unwrap_or(0) {
            let mut written = " ".repeat(INDENT);
            for (place, (lines, badge)) in cells.iter().enumerate() {
                let part = lines.get(line).map_or("", String::as_str);
                let free = " ".repeat(widths[place].saturating_sub(width(part)));
                let part = match badge {
                    Some(badge) if !part.is_empty() => screen.badge(*badge, part),
                    _ => part.to_string(),
                };
                match self.columns[place].kind {
                    ColumnContent::Figure => written.push_str(&(free + &part)),
                    _ => written.push_str(&(part + &free)),
                }
                written.push_str(&" ".repeat(GAP));
            }
            out.push_str(written.trim_end());
            out.push('\n');
        }
        out
    }

    /// Each line of a table of figures as a sentence.
    fn listed(&self, screen: &Screen) -> String {
        let rows = self.columns.first().map_or(0, |column| column.cells.len());
        let line = |row: usize| {
            let parts = self.columns.iter();
            let parts: Vec<String> = parts
                .map(|column| format!("{}: {}", column.head, column.cells[row]))
                .collect();
            screen.wrapped("   ", &parts.join("; "))
        };
        (0..rows).map(line).collect()
    }
}
