//! Splits SQL text into statements and finds their parameters.

use super::pieces::{PieceKind, Unclosed, lex};

/// Why a text is not a list of statements.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqlMistake {
    #[error("there is no statement")]
    Nothing,
    #[error("statement {n} is empty")]
    Empty { n: usize },
    #[error("{opened_by} in line {line} is not closed")]
    Unclosed {
        opened_by: &'static str,
        line: usize,
    },
    #[error("a ? has no name: write parameters as :name")]
    Unnamed,
    #[error("the parameter :{name} is not defined")]
    Undefined { name: String },
    #[error("the transaction is not ended: COMMIT or ROLLBACK is missing")]
    Open,
    #[error("what it locks stays locked: {missing} is missing")]
    Locked { missing: &'static str },
    #[error("it leaves autocommit off, so that nothing after it is committed")]
    NoAutocommit,
}

impl From<Unclosed> for SqlMistake {
    fn from(unclosed: Unclosed) -> SqlMistake {
        SqlMistake::Unclosed {
            opened_by: unclosed.opened_by,
            line: unclosed.line,
        }
    }
}

/// Splits a text at semicolons; the last statement may omit its semicolon.
///
/// # Errors
/// Fails for a text without statements, an empty statement between two others, or an unclosed quote or comment.
pub fn statements(sql: &str) -> Result<Vec<&str>, SqlMistake> {
    let mut parts = parts(sql)?;
    let (last, is_code) = parts.pop().unwrap_or(("", false));
    if is_code {
        parts.push((last, true));
    }
    if parts.is_empty() {
        return Err(SqlMistake::Nothing);
    }
    if let Some(n) = parts.iter().position(|(_, is_code)| !is_code) {
        return Err(SqlMistake::Empty { n: n + 1 });
    }
    Ok(parts.into_iter().map(|(part, _)| part.trim()).collect())
}

/// The text between semicolons, and whether it has more than spaces and comments.
fn parts(sql: &str) -> Result<Vec<(&str, bool)>, SqlMistake> {
    let mut parts = Vec::new();
    let (mut from, mut is_code) = (0, false);
    for (kind, range) in lex(sql)? {
        if kind == PieceKind::Quoted {
            is_code = true;
        }
        if kind != PieceKind::Code {
            continue;
        }
        for (at, character) in sql[range.clone()].char_indices() {
            if character == ';' {
                parts.push((&sql[from..range.start + at], is_code));
                (from, is_code) = (range.start + at + 1, false);
            } else if !character.is_whitespace() {
                is_code = true;
            }
        }
    }
    parts.push((&sql[from..], is_code));
    Ok(parts)
}

/// Replaces every `:name` in a statement by `?` and returns the names in order.
///
/// # Errors
/// Fails for a `?`, which has no name, or an unclosed quote or comment.
pub(crate) fn named(statement: &str) -> Result<(String, Vec<&str>), SqlMistake> {
    let (mut sql, mut names) = (String::with_capacity(statement.len()), Vec::new());
    for (kind, range) in lex(statement)? {
        let mut rest = &statement[range];
        if kind != PieceKind::Code {
            sql.push_str(rest);
            continue;
        }
        if rest.contains('?') {
            return Err(SqlMistake::Unnamed);
        }
        while let Some((before, name, after)) = next_name(rest) {
            sql.push_str(before);
            sql.push('?');
            names.push(name);
            rest = after;
        }
        sql.push_str(rest);
    }
    Ok((sql, names))
}

/// Splits at the first colon that a name follows.
fn next_name(code: &str) -> Option<(&str, &str, &str)> {
    code.match_indices(':').find_map(|(colon, _)| {
        let after = &code[colon + 1..];
        let length = name_length(after);
        (length > 0).then(|| (&code[..colon], &after[..length], &after[length..]))
    })
}

/// The length of the parameter name at the start, in bytes: a letter or `_`, then digits too.
pub(crate) fn name_length(text: &str) -> usize {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if text
        .bytes()
        .next()
        .is_none_or(|first| first.is_ascii_digit())
    {
        return 0;
    }
    text.bytes().take_while(|&byte| is_part(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn semicolons_separate_but_not_in_quotes_and_comments() {
        assert_eq!(
            statements("begin; update t set a = ';' -- b; c\nwhere d = 1 ;\ncommit").unwrap(),
            [
                "begin",
                "update t set a = ';' -- b; c\nwhere d = 1",
                "commit"
            ]
        );
    }

    #[test]
    fn spaces_and_comments_after_the_last_semicolon_are_not_a_statement() {
        assert_eq!(
            statements("select 1; -- that is all\n").unwrap(),
            ["select 1"]
        );
    }

    #[test]
    fn a_dump_begins_with_statements_in_comments_that_the_server_runs() {
        let dump = "-- Dump\n\n/*!40101 SET NAMES utf8 */;\n/*M! SET a = 1 */;\nselect 1;\n";
        assert_eq!(
            statements(dump).unwrap(),
            [
                "-- Dump\n\n/*!40101 SET NAMES utf8 */",
                "/*M! SET a = 1 */",
                "select 1"
            ]
        );
        let (sql, names) = named("select /*!50000 :id */, /* :no */ 1").unwrap();
        assert_eq!(sql, "select /*!50000 ? */, /* :no */ 1");
        assert_eq!(names, ["id"]);
    }

    #[test]
    fn an_empty_statement_is_reported_with_its_number() {
        assert_eq!(statements("a;; b"), Err(SqlMistake::Empty { n: 2 }));
        assert_eq!(statements("a; /* b */; c"), Err(SqlMistake::Empty { n: 2 }));
        for nothing in ["", "  \n", "-- a\n", "/* */"] {
            assert_eq!(statements(nothing), Err(SqlMistake::Nothing), "{nothing:?}");
        }
    }

    #[test]
    fn names_become_placeholders_in_their_order() {
        let (sql, names) =
            named("update t set a = a - :amount, b = ':no' where c in (:from,:to, :from)").unwrap();
        assert_eq!(sql, "update t set a = a - ?, b = ':no' where c in (?,?, ?)");
        assert_eq!(names, ["amount", "from", "to", "from"]);
    }

    #[test]
    fn an_assignment_is_not_a_parameter() {
        let (sql, names) = named("select @a := 1, @b:=:b, c::1").unwrap();
        assert_eq!(sql, "select @a := 1, @b:=?, c::1");
        assert_eq!(names, ["b"]);
    }

    #[test]
    fn a_question_mark_is_refused_but_not_in_quotes() {
        assert_eq!(named("select ?"), Err(SqlMistake::Unnamed));
        assert!(named("select '?'").is_ok());
    }

    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "a",
            " ",
            "b = 1",
            "';'",
            "'it''s'",
            "\"\\\";\"",
            "`x;y`",
            "/* ; */",
            "-- ;\n",
            "# ; '\n",
            ":p",
        ])
    }

    proptest! {
        #[test]
        fn statements_joined_by_semicolons_are_found_again(
            parts in prop::collection::vec(prop::collection::vec(piece(), 0..6), 1..5)
        ) {
            let parts: Vec<String> = parts.iter().map(|pieces| format!("x {}", pieces.join(" "))).collect();
            let trimmed: Vec<&str> = parts.iter().map(|part| part.trim()).collect();
            let text = parts.join("\n;");
            prop_assert_eq!(statements(&text).unwrap(), trimmed);
        }

        #[test]
        fn any_text_is_split_or_refused(sql in "[a;'\"`\\\\\\-#/*!M\n ä:?]{0,40}") {
            if let Ok(statements) = statements(&sql) {
                for statement in statements {
                    let _ = named(statement);
                }
            }
        }
    }
}
