//! The lines of a file around a mistake, as an error shows them.
//!
//! Purpose: an error is short and safe for a terminal whatever the file contains: a few lines, 200 characters of each, control
//! characters as escapes. Boundaries: `mistake` has the message; miette draws.

use super::mistake::Span;
use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use record::visible::push_visible;

/// Characters of a line that are shown.
const LINE_CHARS_MAX: usize = 200;
/// Characters before the underlined part, where a line is too long to be shown whole.
const CHARS_BEFORE: usize = 60;
/// Lines that may be underlined; of a longer part only the first is.
const LINES_MAX: usize = 10;
/// Stands for what is left out of a line.
const LEFT_OUT: char = '…';

/// A file's text with the places of its lines.
pub(crate) struct Lines<'s> {
    source: &'s str,
    starts: Vec<usize>,
}

/// Some consecutive lines of a file and the underlined part in them.
#[derive(Clone, Debug)]
pub(crate) struct Excerpt {
    path_shown: String,
    text: String,
    /// The number of the first line, from 0.
    first_line: usize,
    /// The underlined part of `text`.
    pub at: Span,
    /// Bytes of the underlined line that are left out before the excerpt.
    left_out: usize,
}

impl<'s> Lines<'s> {
    pub(crate) fn of(source: &'s str) -> Lines<'s> {
        let after_newline = source.match_indices('\n').map(|(at, _)| at + 1);
        Lines {
            source,
            starts: [0].into_iter().chain(after_newline).collect(),
        }
    }

    /// The lines of a span, and one before and after them.
    pub(crate) fn around(&self, at: &Span, path_shown: &str) -> Excerpt {
        let end = at.end.min(self.source.len());
        let start = at.start.min(end);
        let (first, mut last) = (
            self.line_of(start),
            self.line_of(end.saturating_sub(1).max(start)),
        );
        if last - first >= LINES_MAX {
            last = first;
        }
        let shown = first.saturating_sub(1)..(last + 2).min(self.starts.len());
        let mut excerpt = Excerpt {
            path_shown: path_shown.to_string(),
            text: String::new(),
            first_line: shown.start,
            at: 0..0,
            left_out: 0,
        };
        let mut underlined: Option<Span> = None;
        for line in shown {
            let begins = self.starts[line];
            let text = self.text_of(line);
            let within = |place: usize| floor(text, place.saturating_sub(begins));
            let own = (first..=last).contains(&line);
            let placed = excerpt.push(text, own.then(|| within(start)..within(end)));
            if let Some((placed, left_out)) = placed {
                match &mut underlined {
                    Some(span) => span.end = placed.end,
                    None => {
                        excerpt.left_out = left_out;
                        underlined = Some(placed);
                    }
                }
            }
            if line + 1 < self.starts.len() {
                excerpt.text.push('\n');
            }
        }
        excerpt.at = underlined.unwrap_or(0..0);
        excerpt
    }

    /// The line that holds a place.
    fn line_of(&self, place: usize) -> usize {
        self.starts.partition_point(|start| *start <= place) - 1
    }

    /// A line without its end.
    fn text_of(&self, line: usize) -> &'s str {
        let end = self
            .starts
            .get(line + 1)
            .map_or(self.source.len(), |next| next - 1);
        let text = &self.source[self.starts[line]..end];
        text.strip_suffix('\r').unwrap_or(text)
    }
}

impl Excerpt {
    /// Appends a line. `own` is the underlined part of it; returned are its place in the text and how many bytes before it are left
    /// out.
    fn push(&mut self, line: &str, own: Option<Span>) -> Option<(Span, usize)> {
        let focus = own.as_ref().map_or(0, |own| own.start);
        let window = window(line, focus);
        let mut placed = own.as_ref().map(|_| Span::default());
        if window.start > 0 {
            self.text.push(LEFT_OUT);
        }
        let mut place = |text: &String, here: usize| {
            if let (Some(own), Some(placed)) = (&own, &mut placed) {
                if here <= own.start.max(window.start) {
                    placed.start = text.len();
                }
                if here <= own.end {
                    placed.end = text.len();
                }
            }
        };
        for (at, c) in line[window.clone()].char_indices() {
            place(&self.text, window.start + at);
            match c {
                '\t' => self.text.push(c),
                c => push_visible(&mut self.text, c),
            }
        }
        place(&self.text, window.end);
        if window.end < line.len() {
            self.text.push(LEFT_OUT);
        }
        placed.map(|placed| (placed, window.start))
    }
}

/// The start of the character at this place, at most the end of the text.
fn floor(text: &str, place: usize) -> usize {
    let mut places = (0..=place.min(text.len())).rev();
    places
        .find(|place| text.is_char_boundary(*place))
        .unwrap_or(0)
}

/// The part of a line that is shown; `focus` is in it.
fn window(line: &str, focus: usize) -> Span {
    let ends = |from: usize| {
        let mut after = line[from..].char_indices().skip(LINE_CHARS_MAX);
        after.next().map_or(line.len(), |(at, _)| from + at)
    };
    if ends(0) == line.len() {
        return 0..line.len();
    }
    let mut before = line[..focus].char_indices().rev();
    let start = before.nth(CHARS_BEFORE - 1).map_or(0, |(at, _)| at);
    start..ends(start)
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        context_lines_before: usize,
        context_lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let text = self.text.as_bytes();
        let found = text.read_span(span, context_lines_before, context_lines_after)?;
        let moved = MietteSpanContents::new_named(
            self.path_shown.clone(),
            found.data(),
            *found.span(),
            self.first_line + found.line(),
            self.left_out + found.column(),
            found.line_count(),
        );
        Ok(Box::new(moved.with_language("TOML")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn excerpt(source: &str, at: Span) -> Excerpt {
        Lines::of(source).around(&at, "x.toml")
    }

    fn underlined(excerpt: &Excerpt) -> &str {
        &excerpt.text[excerpt.at.clone()]
    }

    #[test]
    fn the_line_and_its_neighbours_are_shown() {
        let source = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n";
        let excerpt = excerpt(source, 12..17);
        assert_eq!(excerpt.text, "b = 2\nc = 3\nd = 4\n");
        assert_eq!((underlined(&excerpt), excerpt.first_line), ("c = 3", 1));
    }

    #[test]
    fn of_a_long_line_two_hundred_characters_around_the_mistake_are_shown() {
        let source = format!("{} wrong = 1 {}\n", "ä".repeat(5_000), "b".repeat(5_000));
        let at = source.find("wrong").unwrap();
        let excerpt = excerpt(&source, at..at + 9);
        assert_eq!(underlined(&excerpt), "wrong = 1");
        assert_eq!(excerpt.text.trim_end().chars().count(), 202);
    }

    #[test]
    fn a_part_longer_than_a_line_may_be_is_underlined_as_far_as_it_is_shown() {
        let source = format!("{} = 1", "k".repeat(1_000));
        let excerpt = excerpt(&source, 0..1_004);
        assert_eq!(underlined(&excerpt), "k".repeat(200));
    }

    #[test]
    fn control_characters_are_escapes_and_the_underline_moves_with_them() {
        let source = "\"\x1b[31m\" = 1 # \u{202e}\r\n";
        let excerpt = excerpt(source, 0..11);
        assert_eq!(underlined(&excerpt), "\"\\x1b[31m\" = 1");
        assert!(excerpt.text.ends_with("# \\u{202e}\n"));
    }

    #[test]
    fn only_the_first_line_of_a_long_text_is_underlined() {
        let source = format!("a = '''\n{}'''\n", "line\n".repeat(100));
        let excerpt = excerpt(&source, 0..source.len());
        assert_eq!(underlined(&excerpt), "a = '''");
    }

    proptest! {
        #[test]
        fn any_span_of_any_text_has_an_excerpt(text in "(?s).{0,400}", from: usize, to: usize) {
            let boundary = |place: usize| {
                let place = place % (text.len() + 1);
                (0..=place).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
            };
            let (from, to) = (boundary(from), boundary(to));
            let excerpt = excerpt(&text, from.min(to)..from.max(to));
            prop_assert!(excerpt.text.get(excerpt.at.clone()).is_some());
            prop_assert!(!excerpt.text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        }
    }
}
