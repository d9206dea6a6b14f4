//! A .sql file of several operations, each under a heading in a comment: `-- operation: transfer weight 3`, or `-- name:`.
//!
//! Purpose: the file stays valid for the server's own client. Boundaries: no other directives.

use super::pieces::{PieceKind, lex};
use super::statements::SqlMistake;
use std::ops::Range;

const MARKS: [&str; 2] = ["operation", "name"];

/// An operation of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headed<'s> {
    pub name: &'s str,
    pub weight: u32,
    pub sql: &'s str,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadingMistake {
    #[error(transparent)]
    Sql(#[from] SqlMistake),
    #[error("line {line}: {heading:?} is not a valid heading")]
    Form { line: usize, heading: String },
    #[error("line {line}: a statement before the first heading belongs to no operation")]
    Before { line: usize },
    #[error("no statement follows a heading")]
    None,
}

/// Reads the operations of a file. Only comments may precede the first heading.
///
/// # Errors
/// Fails for a statement before the first heading, an invalid heading, no heading, or an unclosed quote.
pub fn headed(text: &str) -> Result<Vec<Headed<'_>>, HeadingMistake> {
    let mut found: Vec<(Headed<'_>, usize)> = Vec::new();
    let pieces = lex(text).map_err(SqlMistake::from)?;
    for (n, (kind, range)) in pieces.iter().enumerate() {
        let invalid = |heading: &str| HeadingMistake::Form {
            line: line(text, range.start),
            heading: heading.into(),
        };
        let comment = &text[range.clone()];
        if *kind == PieceKind::Comment && is_block_heading(&text[..range.start], comment) {
            return Err(invalid(comment));
        }
        let Some(heading) = heading_of(*kind, comment) else {
            continue;
        };
        let (name, weight) = name_and_weight(heading).ok_or_else(|| invalid(heading))?;
        match found.last_mut() {
            Some((last, from)) => last.sql = &text[*from..range.start],
            None => nothing_runs(text, &pieces[..n])?,
        }
        let headed = Headed {
            name,
            weight,
            sql: &text[range.end..],
        };
        found.push((headed, range.end));
    }
    if found.is_empty() {
        return Err(HeadingMistake::None);
    }
    Ok(found.into_iter().map(|(headed, _)| headed).collect())
}

/// Refuses anything but blanks and comments.
fn nothing_runs(text: &str, pieces: &[(PieceKind, Range<usize>)]) -> Result<(), HeadingMistake> {
    let found = pieces.iter().find_map(|(kind, range)| match kind {
        PieceKind::Comment => None,
        PieceKind::Quoted => Some(range.start),
        PieceKind::Code => {
            let blanks = text[range.clone()].find(|sign: char| !sign.is_whitespace());
            Some(range.start + blanks?)
        }
    });
    match found {
        Some(at) => Err(HeadingMistake::Before {
            line: line(text, at),
        }),
        None => Ok(()),
    }
}

/// The line of an offset, from 1.
fn line(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

/// The text after the mark, if the piece is a heading. After a mark in another spelling than `-- name:` it must read as one:
/// `-- Name: Top customers` is the author's own comment.
pub(crate) fn heading_of(kind: PieceKind, comment: &str) -> Option<&str> {
    if kind != PieceKind::Comment {
        return None;
    }
    let dashed = comment.strip_prefix("--");
    let (mark, heading) = marked(dashed.or_else(|| comment.strip_prefix('#'))?)?;
    let is_usual = dashed.is_some() && MARKS.contains(&mark);
    (is_usual || reads_as_heading(heading)).then_some(heading)
}

/// Whether a comment is a heading in the form `/* operation: transfer */`, at the start of a line.
fn is_block_heading(above: &str, comment: &str) -> bool {
    let above = above.trim_end_matches([' ', '\t']);
    let inner = comment.strip_prefix("/*");
    let inner = inner.and_then(|inner| inner.strip_suffix("*/"));
    let heading = inner.and_then(marked);
    (above.is_empty() || above.ends_with('\n'))
        && heading.is_some_and(|(_, heading)| reads_as_heading(heading))
}

/// The mark, in any case, and the text after its colon.
fn marked(text: &str) -> Option<(&str, &str)> {
    let (mark, heading) = text.split_once(':')?;
    let is_mark = MARKS
        .iter()
        .any(|known| mark.trim().eq_ignore_ascii_case(known));
    is_mark.then(|| (mark.trim_start(), heading.trim()))
}

/// Whether a text is a name, alone or with a weight, which may be invalid.
fn reads_as_heading(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next().is_some_and(is_name)
        && words
            .next()
            .is_none_or(|word| word.eq_ignore_ascii_case("weight"))
}

/// Whether this can name an operation or a query, which appears in tables, claims and headings.
pub(crate) fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// `transfer`, `transfer weight 3`
pub(crate) fn name_and_weight(heading: &str) -> Option<(&str, u32)> {
    let mut words = heading.split_whitespace();
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(name), None, ..) => Some((name, 1)),
        (Some(name), Some("weight"), Some(weight), None) => Some((name, weight.parse().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_heading_begins_an_operation() {
        let text = "-- what this is for\n-- operation: a weight 3\nselect 1; -- one\n\n--  name: b\nselect '-- operation: c';\n";
        let found = headed(text).unwrap();
        let seen: Vec<_> = found
            .iter()
            .map(|o| (o.name, o.weight, o.sql.trim()))
            .collect();
        assert_eq!(
            seen,
            [
                ("a", 3, "select 1; -- one"),
                ("b", 1, "select '-- operation: c';")
            ]
        );
        for heading in [
            "-- Operation: b",
            "# operation: b",
            "-- operation : b",
            "--\tNAME: b",
        ] {
            let text = format!("-- operation: a\nselect 1;\n{heading}\nselect 2;\n");
            let names: Vec<_> = headed(&text).unwrap().iter().map(|o| o.name).collect();
            assert_eq!(names, ["a", "b"], "{heading}");
        }
    }

    #[test]
    fn a_comment_that_reads_otherwise_is_no_heading() {
        for comment in [
            "-- Name: Top customers",
            "# operation: moves money",
            "-- Name: shop.sql",
            "-- Operation:",
            "/* Operation: moves money */",
            "select 2; /* name: b */",
        ] {
            let text = format!("-- operation: a\n{comment}\nselect 1");
            assert_eq!(headed(&text).map(|found| found.len()), Ok(1), "{comment}");
        }
    }

    #[test]
    fn an_invalid_heading_is_reported_with_its_line() {
        for heading in ["", "a b", "a weight x", "a weight 1 2"] {
            let text = format!("\n-- operation: {heading}\nselect 1");
            let mistake = headed(&text).unwrap_err();
            let heading = heading.to_string();
            assert_eq!(mistake, HeadingMistake::Form { line: 2, heading });
        }
        for (form, heading) in [
            ("  /* operation: b */", "/* operation: b */"),
            ("# Operation: b weight x", "b weight x"),
        ] {
            let text = format!("-- operation: a\nselect 1;\n{form}\nselect 2");
            let heading = heading.to_string();
            let expected = Err(HeadingMistake::Form { line: 3, heading });
            assert_eq!(headed(&text), expected);
        }
    }

    #[test]
    fn a_statement_above_the_first_heading_is_refused_with_its_line() {
        for (above, line) in [
            ("set @a = 1;\n", 1),
            ("-- b\n\n  select 1;\n", 3),
            ("/* c\n */ 'd'\n", 2),
            ("/*!40101 SET NAMES utf8 */;\n", 1),
        ] {
            let text = format!("{above}-- operation: a\nselect 2;\n-- operation: b\nselect 3");
            assert_eq!(
                headed(&text),
                Err(HeadingMistake::Before { line }),
                "{above}"
            );
        }
        assert!(headed("-- b\n/* c */\n# d\n-- operation: a\nselect 2").is_ok());
    }

    #[test]
    fn a_file_without_headings_is_refused() {
        assert_eq!(headed("select 1"), Err(HeadingMistake::None));
    }
}
