//! A .sql file of several operations, each under a heading in a comment: `-- operation: transfer weight 3`.
//!
//! Goal: the file stays one that the server's own client takes. Non-goal: any other directive.

use super::lex::{Kind, lex};
use super::split::SqlMistake;

const MARK: &str = "operation:";

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
    #[error("line {line}: {heading:?} is no heading")]
    Form { line: usize, heading: String },
    #[error("no statement stands under a heading")]
    None,
}

/// The operations of a file. What stands above the first heading may only be comments.
///
/// # Errors
/// A heading in another form, no heading, a quote that is not closed.
pub fn headed(text: &str) -> Result<Vec<Headed<'_>>, HeadingMistake> {
    let mut found: Vec<(Headed<'_>, usize)> = Vec::new();
    for (kind, range) in lex(text).map_err(SqlMistake::from)? {
        let Some(heading) = heading_of(kind, &text[range.clone()]) else {
            continue;
        };
        let (name, weight) = name_and_weight(heading).ok_or_else(|| HeadingMistake::Form {
            line: 1 + text[..range.start].matches('\n').count(),
            heading: heading.into(),
        })?;
        if let Some((last, from)) = found.last_mut() {
            last.sql = &text[*from..range.start];
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

fn heading_of(kind: Kind, comment: &str) -> Option<&str> {
    let text = (kind == Kind::Comment).then(|| comment.strip_prefix("--"))??;
    Some(text.trim().strip_prefix(MARK)?.trim())
}

/// `transfer`, `transfer weight 3`
fn name_and_weight(heading: &str) -> Option<(&str, u32)> {
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
        let text = "-- what this is for\n-- operation: a weight 3\nselect 1; -- one\n\n--  operation: b\nselect '-- operation: c';\n";
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
    }

    #[test]
    fn a_heading_in_another_form_is_told_with_its_line() {
        for heading in ["", "a b", "a weight x", "a weight 1 2"] {
            let text = format!("\n-- operation: {heading}\nselect 1");
            let mistake = headed(&text).unwrap_err();
            let heading = heading.to_string();
            assert_eq!(mistake, HeadingMistake::Form { line: 2, heading });
        }
    }

    #[test]
    fn a_file_without_headings_is_refused() {
        assert_eq!(headed("select 1"), Err(HeadingMistake::None));
    }
}
