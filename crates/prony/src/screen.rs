//! The width of the screen, and text that fits it.
//!
//! Purpose: messages break between words, on a terminal of any width and in a log with COLUMNS, and show control characters as
//! escapes. Boundaries: tables are rendered by
//! `report`, help by clap, lines of a file with a mistake by `spec`.

use record::visible::visible;
use report::width;
use std::os::fd::AsFd;

/// The columns of a stream: the environment's COLUMNS, else those of the terminal. None: a file or a pipe, whose lines stay whole.
pub(crate) fn columns(stream: impl AsFd) -> Option<usize> {
    from_environment(std::env::var("COLUMNS").ok()).or_else(|| {
        let size = rustix::termios::tcgetwinsize(stream).ok()?;
        (size.ws_col > 0).then_some(usize::from(size.ws_col))
    })
}

fn from_environment(columns: Option<String>) -> Option<usize> {
    columns?.parse().ok().filter(|columns| *columns > 0)
}

/// Prints a text on stdout. A closed pipe is no error.
pub(crate) fn show(text: &str) {
    use std::io::Write;
    let text = wrap(&visible(text), columns(std::io::stdout()));
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints a message on stderr. A closed pipe is no error.
pub(crate) fn say(text: &str) {
    use std::io::Write;
    let text = wrap(&visible(text), columns(std::io::stderr()));
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Breaks lines longer than `columns` between words, and indents what follows by two more columns than the line. A word that
/// does not fit, such as a path, stays whole.
pub(crate) fn wrap(text: &str, columns: Option<usize>) -> String {
    wrap_below(text, columns, 2)
}

/// The same with another number of columns, such as those of a list's first column.
pub(crate) fn wrap_below(text: &str, columns: Option<usize>, below: usize) -> String {
    let Some(columns) = columns else {
        return text.to_string();
    };
    let lines = text.lines().map(|line| wrap_line(line, columns, below));
    lines.collect::<Vec<_>>().join("\n")
}

fn wrap_line(line: &str, columns: usize, below: usize) -> String {
    if width(line) <= columns {
        return line.to_string();
    }
    let indent = line.len() - line.trim_start().len();
    let mut wrapped = " ".repeat(indent);
    let mut used = indent;
    for (number, word) in line[indent..].split(' ').enumerate() {
        if number > 0 && used + 1 + width(word) > columns {
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(indent + below));
            used = indent + below;
        } else if number > 0 {
            wrapped.push(' ');
            used += 1;
        }
        wrapped.push_str(word);
        used += width(word);
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_breaks_between_words_and_its_rest_is_indented() {
        let text = "error: one two three\nfits\n  indented words break too";
        assert_eq!(
            wrap(text, Some(14)),
            "error: one two\n  three\nfits\n  indented\n    words\n    break too"
        );
        assert_eq!(wrap(text, None), text);
        assert_eq!(wrap_below("a    one two", Some(9), 5), "a    one\n     two");
    }

    #[test]
    fn a_word_longer_than_the_screen_stays_whole() {
        assert_eq!(
            wrap("cannot read /a/long/path: no", Some(10)),
            "cannot\n  read\n  /a/long/path:\n  no"
        );
    }

    #[test]
    fn columns_count_and_not_bytes() {
        assert_eq!(wrap("2.0× ·", Some(6)), "2.0× ·");
        assert_eq!(wrap("數據 庫", Some(6)), "數據\n  庫");
    }

    #[test]
    fn columns_that_are_no_number_are_ignored() {
        let of = |text: &str| from_environment(Some(text.to_string()));
        assert_eq!((of("80"), of("0"), of("wide")), (Some(80), None, None));
    }
}
