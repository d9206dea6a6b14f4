//! A run in the terminal.
//!
//! Purpose: the answer on the first screen of 100 columns, with ANSI colours where wanted. Boundaries: the evidence is in the
//! page.

use crate::document::{
    Badge, Block, Cell, Comparison, Document, Head, Kind, List, Most, Node, Section, Table,
};
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table as Drawn, TableStyle,
};

/// Narrower terminals get lines of this width.
const WIDTH_MIN: usize = 40;
/// The space between two columns.
const BETWEEN: usize = 3;
/// A label is not broken into less, and words not into less than twice as much.
const LABEL_MIN: usize = 12;

/// The document for a terminal of `width` columns.
pub fn terminal(document: &Document, colour: bool, width: usize) -> String {
    written(&document.head(), &document.sections, colour, width)
}

/// The same of a comparison of runs.
pub fn comparison_terminal(comparison: &Comparison, colour: bool, width: usize) -> String {
    written(&comparison.head(), &comparison.sections, colour, width)
}

fn written(head: &Head, sections: &[Section], colour: bool, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let screen = Screen { colour, width };
    let mut text = screen.heading(head.title);
    for about in [head.question, head.subtitle] {
        if !about.is_empty() {
            text.push_str(&screen.wrapped("", about));
        }
    }
    text.push_str(&format!("\n{}", screen.heading(head.headline)));
    for section in sections {
        let body = screen.nodes(&section.nodes);
        if !body.is_empty() {
            text.push_str(&format!("\n{}{body}", screen.heading(&section.title)));
        }
    }
    text
}

struct Screen {
    colour: bool,
    width: usize,
}

/// How a figure is written: on one line or on two.
type Written = fn(&Cell) -> String;

impl Screen {
    fn nodes(&self, nodes: &[Node]) -> String {
        let mut text = String::new();
        for node in nodes.iter().filter(|node| node.forms.terminal) {
            let block = self.block(&node.block);
            // A section begins with its table's caption, without a blank line.
            let block = match text.is_empty() {
                true => block.trim_start_matches('\n'),
                false => &block,
            };
            text.push_str(block);
        }
        text
    }

    fn block(&self, block: &Block) -> String {
        match block {
            Block::Heading(text) => format!("\n{}", self.wrapped("", text)),
            Block::Text(text) | Block::Remark(text) => self.wrapped(" ", text),
            Block::List(list) => self.list(list),
            Block::Notes(notes) => {
                let numbered = notes.iter().enumerate();
                let note = |(place, note): (usize, &String)| {
                    self.wrapped(&format!(" [{}] ", place + 1), note)
                };
                numbered.map(note).collect()
            }
            Block::Facts(facts) => facts
                .iter()
                .map(|(name, value)| self.wrapped(&format!(" {name} = "), value))
                .collect(),
            Block::Tables(tables) => self.tables(tables),
            Block::Verbatim(text) => {
                let lines = text.lines().map(|line| format!(" {}\n", clean(line)));
                lines.collect()
            }
            Block::Fold { summary, nodes, .. } => {
                format!("\n{}{}", self.wrapped("", summary), self.nodes(nodes))
            }
            Block::Charts(_) | Block::Compare(_) => String::new(),
        }
    }

    fn list(&self, list: &List) -> String {
        let shown = list.items.iter().take(list.most.terminal);
        let text: String = shown.map(|item| self.wrapped(" - ", item)).collect();
        text + &more(list.items.len(), list.most)
    }

    /// In the widest form in which all of them fit.
    fn tables(&self, tables: &[Table]) -> String {
        let forms: [Written; 2] = [Cell::on_a_line, Cell::on_two_lines];
        let fitting = forms
            .into_iter()
            .find(|written| tables.iter().all(|table| self.fits(table, *written)));
        match fitting {
            Some(written) => {
                let tables = tables.iter().map(|table| self.table(table, written));
                tables.collect()
            }
            None => self.row_by_row(tables),
        }
    }

    fn fits(&self, table: &Table, written: Written) -> bool {
        let needed = table.columns.iter().enumerate().map(|(place, column)| {
            let texts = table
                .rows
                .iter()
                .map(|row| text(&row.cells[place], column.kind, written));
            let texts: Vec<String> = texts.chain([column.head.clone()]).collect();
            if column.kind == Kind::Figure || is_badge(table, place) {
                return texts.iter().map(|text| width(text)).max().unwrap_or(0);
            }
            let words = texts.iter().flat_map(|text| text.split_whitespace());
            let word = words.map(|word| word.chars().count()).max().unwrap_or(0);
            let whole = texts.iter().map(|text| width(text)).max().unwrap_or(0);
            let min = match column.kind {
                Kind::Words => 2 * LABEL_MIN,
                _ => LABEL_MIN,
            };
            word.max(whole.min(min))
        });
        needed.map(|column| column + BETWEEN).sum::<usize>() <= self.width
    }

    fn table(&self, table: &Table, written: Written) -> String {
        let mut drawn = self.empty_table();
        let kinds: Vec<Kind> = table.columns.iter().map(|column| column.kind).collect();
        let aligned = |text: String, kind: Kind| match kind {
            Kind::Figure => right(&text),
            _ => left(&text),
        };
        let heads = table.columns.iter();
        drawn.set_header(
            heads
                .map(|column| aligned(column.head.clone(), column.kind))
                .collect::<Vec<_>>(),
        );
        for row in table.rows.iter().take(table.most.terminal) {
            let cells = row.cells.iter().zip(&kinds);
            let cells = cells.map(|(cell, kind)| aligned(text(cell, *kind, written), *kind));
            drawn.add_row(cells.collect::<Vec<_>>());
        }
        for (place, kind) in kinds.iter().enumerate() {
            let is_whole = *kind == Kind::Figure || is_badge(table, place);
            if let Some(column) = drawn.column_mut(place).filter(|_| is_whole) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let mut text = match table.caption.is_empty() {
            true => String::new(),
            false => format!("\n{}", self.wrapped("", &table.caption)),
        };
        let badges = table.rows.iter().filter_map(|row| row.cells.first());
        let badges: Vec<(&str, Badge)> = badges
            .filter_map(|cell| Some((cell.text.as_str(), cell.badge?)))
            .collect();
        text.extend(lines(&drawn).map(|line| self.coloured(line, &badges) + "\n"));
        text + &more(table.rows.len(), table.most)
    }

    /// For a narrow terminal, a small table for each row: the levels down, one column for each table.
    fn row_by_row(&self, tables: &[Table]) -> String {
        let captions = tables.iter().filter(|table| !table.caption.is_empty());
        let captions = captions.map(|table| format!("\n{}", self.wrapped("", &table.caption)));
        let mut out: String = captions.collect();
        let Some(first) = tables.first() else {
            return out;
        };
        let figures: Vec<usize> = (0..first.columns.len())
            .filter(|place| first.columns[*place].kind == Kind::Figure)
            .collect();
        for (place, row) in first.rows.iter().enumerate().take(first.most.terminal) {
            let labels = row.cells.iter().zip(&first.columns);
            let labels = labels.filter(|(_, column)| column.kind != Kind::Figure);
            let labels: Vec<String> = labels
                .map(|(cell, column)| text(cell, column.kind, Cell::on_a_line))
                .collect();
            out.push_str(&format!("\n{}", self.wrapped(" ", &labels.join(" · "))));
            let mut drawn = self.empty_table();
            if let Some(across) = &first.across {
                let heads = tables.iter().filter_map(|table| table.across.as_ref());
                let heads = heads.map(|across| right(&across.figure));
                drawn.set_header(
                    std::iter::once(right(&across.factor))
                        .chain(heads)
                        .collect::<Vec<_>>(),
                );
            }
            for column in &figures {
                let head = &first.columns[*column].head;
                let head = match first.across {
                    Some(_) => right(head),
                    None => left(head),
                };
                let cells = tables
                    .iter()
                    .map(|table| right(&table.rows[place].cells[*column].on_a_line()));
                drawn.add_row(std::iter::once(head).chain(cells).collect::<Vec<_>>());
            }
            out.extend(lines(&drawn).map(|line| line + "\n"));
        }
        out + &more(first.rows.len(), first.most)
    }

    fn empty_table(&self) -> Drawn {
        let mut table = Drawn::new();
        table.load_style(
            TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')),
        );
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(self.width).unwrap_or(u16::MAX));
        table
    }

    /// Words on lines of the screen's width; lines after the first stand under the first word.
    fn wrapped(&self, start: &str, words: &str) -> String {
        let indent = start.chars().count();
        let mut text = start.to_string();
        let mut column = indent;
        for word in clean(words).split_ascii_whitespace() {
            let length = word.chars().count();
            if column > indent && column + 1 + length > self.width {
                text.push('\n');
                text.push_str(&" ".repeat(indent));
                column = indent;
            } else if column > indent {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += length;
        }
        text.push('\n');
        text
    }

    fn heading(&self, text: &str) -> String {
        self.painted("1", self.wrapped("", text).trim_end()) + "\n"
    }

    fn painted(&self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }

    /// A line that begins with a badge gets its colour; nothing else in it is coloured, whatever it says.
    fn coloured(&self, line: String, badges: &[(&str, Badge)]) -> String {
        let inner = line.strip_prefix(' ').unwrap_or_default();
        let begins = |(text, _): &&(&str, Badge)| inner.starts_with(text);
        match badges.iter().find(begins) {
            Some((text, badge)) => {
                let rest = &inner[text.len()..];
                format!(" {}{rest}", self.painted(code(*badge), text))
            }
            None => line,
        }
    }
}

fn code(badge: Badge) -> &'static str {
    match badge {
        Badge::Yes => "32",
        Badge::No => "31",
        Badge::Open => "33",
        Badge::None => "2",
    }
}

/// Labels and words with their remarks, figures as they are written.
fn text(cell: &Cell, kind: Kind, written: Written) -> String {
    match kind {
        Kind::Figure => written(cell),
        _ => cell.in_words(),
    }
}

fn is_badge(table: &Table, place: usize) -> bool {
    let mut rows = table.rows.iter();
    rows.any(|row| row.cells[place].badge.is_some())
}

fn left(text: &str) -> comfy_table::Cell {
    comfy_table::Cell::new(clean(text))
}

fn right(text: &str) -> comfy_table::Cell {
    left(text).set_alignment(CellAlignment::Right)
}

/// Text from a server goes to the terminal without its control characters.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\n' { ' ' } else { c })
        .collect()
}

fn lines(table: &Drawn) -> impl Iterator<Item = String> {
    table.lines().map(|line| line.trim_end().to_string())
}

/// Of the widest line.
fn width(text: &str) -> usize {
    let lines = text.lines().map(|line| line.chars().count());
    lines.max().unwrap_or(0)
}

fn more(all: usize, most: Most) -> String {
    match all > most.terminal {
        true => format!(" ... {} more in the page\n", all - most.terminal),
        false => String::new(),
    }
}
