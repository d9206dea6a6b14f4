//! The lines of a file around a mistake, as an error shows them.
//!
//! Purpose: an error is short and safe for a terminal whatever the file contains: a few lines that fit the screen, control characters
//! as escapes. Boundaries: `mistake` has the message.

use record::visible::push_visible;
use std::fmt::{Display, Formatter, Result};
use std::ops::Range;
use unicode_width::UnicodeWidthChar;

/// Columns where the screen's width is not known: a file or a pipe.
const COLUMNS: usize = 200;
/// Fewer columns show too little of a line.
const COLUMNS_MIN: usize = 20;
/// Lines that may be underlined; of a longer part only the first is.
const LINES_MAX: usize = 10;
/// Stands for what is left out of a line.
const LEFT_OUT: &str = "…";

/// A file's text with the places of its lines.
pub(crate) struct Lines<'s> {
    source: &'s str,
    starts: Vec<usize>,
}

/// Some consecutive lines of a file, of which some are underlined.
pub(crate) struct Excerpt<'l> {
    path_shown: &'l str,
    /// Shown at the end of the underline.
    label: &'l str,
    /// Where the underlined part begins, from 1; a column is a character.
    place: (usize, usize),
    /// The number of the first line, from 1.
    first: usize,
    lines: Vec<Line>,
}

/// A line as a terminal shows it.
struct Line {
    text: String,
    /// Columns of the underlined part.
    underlined: Option<Range<usize>>,
}

impl<'s> Lines<'s> {
    pub(crate) fn of(source: &'s str) -> Lines<'s> {
        let after_newline = source.match_indices('\n').map(|(at, _)| at + 1);
        let starts = after_newline.filter(|start| *start < source.len());
        Lines {
            source,
            starts: [0].into_iter().chain(starts).collect(),
        }
    }

    /// The lines of a span, and one before and after them, for a screen of so many columns.
    pub(crate) fn around<'l>(
        &self,
        at: &Range<usize>,
        columns: Option<usize>,
        (path_shown, label): (&'l str, &'l str),
    ) -> Excerpt<'l> {
        let end = self.source.floor_char_boundary(at.end);
        let start = self.source.floor_char_boundary(at.start.min(end));
        let first = self.line_of(start);
        let last = self.line_of(end.saturating_sub(1).max(start));
        let last = if last - first < LINES_MAX {
            last
        } else {
            first
        };
        let shown = first.saturating_sub(1)..(last + 2).min(self.starts.len());
        let gutter = shown.end.to_string().len() + " | ".len();
        let columns = columns.unwrap_or(COLUMNS).max(COLUMNS_MIN) - gutter;
        let line = |line: usize| {
            let (text, begins) = (self.text_of(line), self.starts[line]);
            let within = |place: usize| place.saturating_sub(begins).min(text.len());
            let own = (first..=last).contains(&line);
            Line::cut(text, own.then(|| within(start)..within(end)), columns)
        };
        let before = &self.source[self.starts[first]..start];
        Excerpt {
            path_shown,
            label,
            place: (first + 1, before.chars().count() + 1),
            first: shown.start + 1,
            lines: shown.map(line).collect(),
        }
    }

    /// The line that holds a place.
    fn line_of(&self, place: usize) -> usize {
        self.starts.partition_point(|start| *start <= place) - 1
    }

    /// A line without its end.
    fn text_of(&self, line: usize) -> &'s str {
        let end = self.starts.get(line + 1).copied();
        let text = &self.source[self.starts[line]..end.unwrap_or(self.source.len())];
        text.trim_end_matches(['\r', '\n'])
    }
}

impl Line {
    /// What fits of a line; `own` is the underlined part of it.
    fn cut(line: &str, own: Option<Range<usize>>, columns: usize) -> Line {
        let window = window(line, own.as_ref().map_or(0, |own| own.start), columns);
        let left_out = |is: bool| if is { LEFT_OUT } else { "" };
        let before = left_out(window.start > 0);
        let column = |place: usize| {
            let part = window.start..place.clamp(window.start, window.end);
            before.chars().count() + line[part].chars().map(width).sum::<usize>()
        };
        let underlined = own.map(|own| column(own.start)..column(own.end));
        let shown: String = line[window.clone()].chars().map(shown).collect();
        Line {
            text: format!("{before}{shown}{}", left_out(window.end < line.len())),
            underlined,
        }
    }
}

/// A character as a terminal shows it.
fn shown(c: char) -> String {
    let mut text = String::new();
    match c {
        '\t' => text.push_str("    "),
        c => push_visible(&mut text, c),
    }
    text
}

/// The columns of a character.
fn width(c: char) -> usize {
    shown(c).chars().filter_map(UnicodeWidthChar::width).sum()
}

/// The part of a line that fits; `focus` is in it, with a third of the columns before it.
fn window(line: &str, focus: usize, columns: usize) -> Range<usize> {
    let fits = |columns: usize| {
        let mut used = 0;
        move |(_, c): &(usize, char)| {
            used += width(*c);
            used <= columns
        }
    };
    let end_of = |from: usize, columns: usize| {
        let mut fits = fits(columns);
        let over = line[from..].char_indices().find(|next| !fits(next));
        over.map_or(line.len(), |(at, _)| from + at)
    };
    if end_of(0, columns) == line.len() {
        return 0..line.len();
    }
    let before = line[..focus].char_indices().rev();
    let start = before.take_while(fits(columns / 3)).last();
    let start = start.map_or(focus, |(at, _)| at);
    start..end_of(start, columns - 2)
}

impl Display for Excerpt<'_> {
    /// The file, the line and the column, then the lines.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let digits = (self.first + self.lines.len() - 1).to_string().len();
        let (line, column) = self.place;
        write!(f, "{:digits$}--> {}:{line}:{column}", "", self.path_shown)?;
        write!(f, "\n{:digits$} |", "")?;
        let last = self
            .lines
            .iter()
            .rposition(|line| line.underlined.is_some());
        for (n, line) in self.lines.iter().enumerate() {
            let text = format!("{:digits$} | {}", self.first + n, line.text);
            write!(f, "\n{}", text.trim_end())?;
            let Some(Range { start, end }) = &line.underlined else {
                continue;
            };
            let signs = "^".repeat((end - start).max(1));
            write!(f, "\n{:digits$} | {:start$}{signs}", "", "")?;
            if Some(n) == last {
                write!(f, " {}", self.label)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The excerpt on a screen of 80 columns.
    fn excerpt(source: &str, at: Range<usize>) -> String {
        shown_in(source, at, Some(80))
    }

    fn shown_in(source: &str, at: Range<usize>, columns: Option<usize>) -> String {
        let lines = Lines::of(source);
        lines.around(&at, columns, ("x.toml", "wrong")).to_string()
    }

    #[test]
    fn the_line_and_its_neighbours_are_shown() {
        let source = "a = 1\nb = 2\n\tc = 3\nd = 4\ne = 5\n";
        assert_eq!(
            excerpt(source, 13..18),
            " --> x.toml:3:2\n  |\n2 | b = 2\n3 |     c = 3\n  |     ^^^^^ wrong\n4 | d = 4"
        );
    }

    #[test]
    fn of_a_long_line_what_fits_around_the_mistake_is_shown() {
        let source = format!("{} wrong = 1 {}\n", "ä".repeat(5_000), "b".repeat(5_000));
        let at = source.find("wrong").unwrap();
        let (before, after) = ("ä".repeat(24), "b".repeat(39));
        assert_eq!(
            excerpt(&source, at..at + 9),
            format!(
                " --> x.toml:1:5002\n  |\n1 | …{before} wrong = 1 {after}…\n  | {}^^^^^^^^^ wrong",
                " ".repeat(26)
            )
        );
    }

    #[test]
    fn a_part_longer_than_a_line_may_be_is_underlined_as_far_as_it_is_shown() {
        let source = format!("{} = 1", "k".repeat(1_000));
        let shown = shown_in(&source, 0..1_004, None);
        assert_eq!(shown.matches('k').count(), 194);
        assert_eq!(shown.matches('^').count(), 194);
    }

    #[test]
    fn control_characters_are_escapes_and_the_underline_moves_with_them() {
        let source = "\"\x1b[31m\" = 1 # \u{202e}\r\n";
        assert_eq!(
            excerpt(source, 0..11),
            " --> x.toml:1:1\n  |\n1 | \"\\x1b[31m\" = 1 # \\u{202e}\n  | ^^^^^^^^^^^^^^ wrong"
        );
    }

    #[test]
    fn wide_letters_are_underlined_whole() {
        let shown = excerpt("數據 = 1\n", 0..6);
        assert!(shown.ends_with("1 | 數據 = 1\n  | ^^^^ wrong"), "{shown}");
    }

    #[test]
    fn the_end_of_a_line_and_of_an_empty_file_are_pointed_at() {
        assert!(excerpt("a = \nb = 1\n", 4..4).contains("1 | a =\n  |     ^ wrong\n2 | b = 1"));
        assert_eq!(excerpt("", 0..0), " --> x.toml:1:1\n  |\n1 |\n  | ^ wrong");
    }

    #[test]
    fn only_the_first_line_of_a_long_text_is_underlined() {
        let source = format!("a = '''\n{}'''\n", "line\n".repeat(100));
        let shown = excerpt(&source, 0..source.len());
        assert!(
            shown.ends_with("1 | a = '''\n  | ^^^^^^^ wrong\n2 | line"),
            "{shown}"
        );
    }

    proptest! {
        #[test]
        fn the_excerpt_of_any_span_of_any_text_is_visible_and_fits(
            text in "(?s).{0,400}", from: usize, to: usize, columns in 0..120usize
        ) {
            let (from, to) = (from % (text.len() + 1), to % (text.len() + 1));
            let shown = shown_in(&text, from.min(to)..from.max(to), Some(columns));
            prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n'));
            let widest = shown.lines().skip(1).map(|line| line.chars().map(width).sum::<usize>());
            let label = " wrong".len() + 1;
            prop_assert!(widest.max().unwrap() <= columns.max(COLUMNS_MIN) + label);
        }
    }
}
