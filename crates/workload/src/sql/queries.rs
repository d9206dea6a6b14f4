//! The user's queries for rounds: every statement of a .sql text, named by its heading or numbered.
//!
//! Purpose: a text that the server's own client runs becomes the queries of a round, each with its line. Boundaries: only the
//! server knows whether the SQL is valid.

use crate::script::{Kind, SqlMistake};
use crate::script::{heading_of, lex, line, name_and_weight, reads};

/// A statement of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The heading's; with several statements under it `by_region.2`; without any heading `Q2`.
    pub name: String,
    /// Without the comments before it and the semicolon after it.
    pub sql: String,
    /// The line of its first word, from 1.
    pub line: usize,
}

/// Why a text is not a list of queries. `line` counts from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryMistake {
    #[error("{opened_by} is not closed")]
    Unclosed {
        line: usize,
        opened_by: &'static str,
    },
    #[error("{heading:?} is not the name of a query; write letters, digits, - and _")]
    Name { line: usize, heading: String },
    #[error("a second query is named {name}; give each query a name of its own")]
    Twice { line: usize, name: String },
    #[error("no statement follows the heading {name}")]
    Empty { line: usize, name: String },
    #[error(
        "a statement before the first heading has no name; write a line like -- name: by_region above it"
    )]
    Before { line: usize },
    #[error(
        "this statement does not only read, so the next round would measure something else; rounds run SELECT, WITH, TABLE, VALUES and SHOW; drive other statements in a timed load (operations)"
    )]
    Changes { line: usize },
    #[error("there is no statement")]
    Nothing,
}

impl QueryMistake {
    /// The line of the mistake; None: it concerns the whole text.
    pub fn line(&self) -> Option<usize> {
        match self {
            QueryMistake::Unclosed { line, .. }
            | QueryMistake::Name { line, .. }
            | QueryMistake::Twice { line, .. }
            | QueryMistake::Empty { line, .. }
            | QueryMistake::Before { line }
            | QueryMistake::Changes { line } => Some(*line),
            QueryMistake::Nothing => None,
        }
    }
}

/// A heading and the statements below it. The first group of a text has no heading.
#[derive(Default)]
struct Group<'t> {
    heading: Option<(&'t str, usize)>,
    /// Each with its line.
    statements: Vec<(&'t str, usize)>,
}

/// Reads the queries of a text, in order.
///
/// # Errors
/// The first mistake.
pub(super) fn queries(text: &str) -> Result<Vec<Query>, QueryMistake> {
    let groups = groups(text)?;
    let has_headings = groups.len() > 1;
    let mut found: Vec<Query> = Vec::new();
    for group in &groups {
        for query in named(group, has_headings)? {
            let line = query.line;
            if found.iter().any(|known| known.name == query.name) {
                let name = query.name;
                return Err(QueryMistake::Twice { line, name });
            }
            if !reads(&query.sql) {
                return Err(QueryMistake::Changes { line });
            }
            found.push(query);
        }
    }
    match found.is_empty() {
        true => Err(QueryMistake::Nothing),
        false => Ok(found),
    }
}

fn named(group: &Group<'_>, has_headings: bool) -> Result<Vec<Query>, QueryMistake> {
    let several = group.statements.len() > 1;
    let name = match (group.heading, group.statements.first()) {
        (None, Some(&(_, line))) if has_headings => return Err(QueryMistake::Before { line }),
        (None, _) => None,
        (Some((name, line)), None) => {
            let name = name.to_string();
            return Err(QueryMistake::Empty { line, name });
        }
        (Some((name, _)), Some(_)) => Some(name),
    };
    let statements = group.statements.iter().zip(1..);
    let query = |(&(sql, line), n): (&(&str, usize), usize)| Query {
        name: match name {
            None => format!("Q{n}"),
            Some(name) if several => format!("{name}.{n}"),
            Some(name) => name.to_string(),
        },
        sql: sql.to_string(),
        line,
    };
    Ok(statements.map(query).collect())
}

fn groups(text: &str) -> Result<Vec<Group<'_>>, QueryMistake> {
    let pieces = lex(text).map_err(|unclosed| QueryMistake::Unclosed {
        line: unclosed.line,
        opened_by: unclosed.opened_by,
    })?;
    let mut groups = vec![Group::default()];
    // Where the statement began that is not ended yet.
    let mut begun: Option<usize> = None;
    for (kind, range) in pieces {
        if let Some(heading) = heading_of(kind, &text[range.clone()]) {
            end(text, &mut begun, range.start, &mut groups);
            let line = line(text, range.start);
            groups.push(Group {
                heading: Some((name_of(heading, line)?, line)),
                statements: Vec::new(),
            });
            continue;
        }
        match kind {
            Kind::Comment => {}
            Kind::Quoted => {
                begun.get_or_insert(range.start);
            }
            Kind::Code => {
                for (at, character) in text[range.clone()].char_indices() {
                    if character == ';' {
                        end(text, &mut begun, range.start + at, &mut groups);
                    } else if !character.is_whitespace() {
                        begun.get_or_insert(range.start + at);
                    }
                }
            }
        }
    }
    end(text, &mut begun, text.len(), &mut groups);
    Ok(groups)
}

/// Adds the statement that ends here to the last group, if one has begun.
fn end<'t>(text: &'t str, begun: &mut Option<usize>, end: usize, groups: &mut [Group<'t>]) {
    if let (Some(from), Some(group)) = (begun.take(), groups.last_mut()) {
        let sql = text[from..end].trim_end();
        group.statements.push((sql, line(text, from)));
    }
}

/// `by_region`. A weight, which a timed load of the same file reads, means nothing in a round.
fn name_of(heading: &str, line: usize) -> Result<&str, QueryMistake> {
    match name_and_weight(heading) {
        Some((name, _)) if is_name(name) => Ok(name),
        _ => Err(QueryMistake::Name {
            line,
            heading: heading.to_string(),
        }),
    }
}

/// Whether this can name an operation or a query, which appears in tables, claims and headings.
pub(super) fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// A mistake in SQL text that is not split into queries, after the name of its file.
pub(super) fn in_file(file: Option<&str>, mistake: &SqlMistake) -> String {
    match (file, mistake) {
        (Some(file), SqlMistake::Unclosed { opened_by, line }) => {
            format!("{file}:{line}: {opened_by} is not closed")
        }
        (Some(file), other) => format!("{file}: {other}"),
        (None, other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<(String, String, usize)> {
        let queries = queries(text).unwrap().into_iter();
        queries
            .map(|query| (query.name, query.sql, query.line))
            .collect()
    }

    fn one(name: &str, sql: &str, line: usize) -> (String, String, usize) {
        (name.into(), sql.into(), line)
    }

    #[test]
    fn statements_without_headings_are_numbered() {
        assert_eq!(
            seen("-- all orders\nselect 1;\n\n;;\nselect\n ';';  -- two\n"),
            [one("Q1", "select 1", 2), one("Q2", "select\n ';'", 5)]
        );
    }

    #[test]
    fn a_heading_names_the_statement_below_it() {
        let text = "-- name: by_region\n\n/* a */ select 1;\n# x\n-- operation: b weight 3\nwith a as (select 2) select * from a\n-- name: c\n(select 3)";
        assert_eq!(
            seen(text),
            [
                one("by_region", "select 1", 3),
                one("b", "with a as (select 2) select * from a", 6),
                one("c", "(select 3)", 8)
            ]
        );
    }

    #[test]
    fn several_statements_below_a_heading_are_numbered() {
        let names: Vec<_> = seen("-- name: a\nselect 1; select 2;\n-- name: b\nselect 3")
            .into_iter()
            .map(|(name, ..)| name)
            .collect();
        assert_eq!(names, ["a.1", "a.2", "b"]);
    }

    #[test]
    fn a_mistake_has_its_line() {
        for (text, line, says) in [
            ("select 1;\nselect 'x", Some(2), "' is not closed"),
            (
                "select 1;\n-- name: a\nselect 2",
                Some(1),
                "before the first heading",
            ),
            ("-- name: a b\nselect 2", Some(1), "\"a b\" is not the name"),
            (
                "-- name: a\nselect 1;\n-- name: a\nselect 2",
                Some(4),
                "a second query is named a",
            ),
            (
                "-- name: a\n-- name: b\nselect 2",
                Some(1),
                "no statement follows the heading a",
            ),
            (
                "select 1;\n\nupdate t set a = 1",
                Some(3),
                "does not only read",
            ),
            ("select 1;\nset @a = 1", Some(2), "does not only read"),
            (
                "with a as (select 1) delete from t",
                Some(1),
                "does not only read",
            ),
            ("-- nothing\n", None, "there is no statement"),
        ] {
            let mistake = queries(text).unwrap_err();
            assert_eq!(mistake.line(), line, "{text}");
            assert!(mistake.to_string().contains(says), "{mistake}");
        }
    }
}
