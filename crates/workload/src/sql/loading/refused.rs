//! What a load says of a statement that the server refuses.
//!
//! Purpose: the server's own words, the beginning of the statement, and the way out where one is known. Boundaries: the caller names the file
//! and the line.

use crate::sql_text::lexer::{Lexer, Quoting};
use server::ServerError;

/// Maximum length of a statement in a message, since those of a dump may have megabytes.
const SHOWN_CHARS: usize = 200;

/// What the server says of a statement, and the fix where one is known.
pub(super) fn refused(sql: &[u8], cause: &ServerError) -> String {
    let way = match cause {
        ServerError::Refused { code, message } => way(sql, *code, message),
        _ => None,
    };
    let way = way.unwrap_or_default();
    format!("the server says {cause}, to: {}{way}", beginning(sql))
}

fn way(sql: &[u8], code: u16, message: &str) -> Option<String> {
    // What the server does not know: a schema, a character set, or a collation.
    let unknown = message.split('\'').nth(1);
    match code {
        1049 => unknown.map(|name| format!(
            "; if {name} is the schema of these tables, write USE {name}; above: prony loads them into its own"
        )),
        1115 | 1273 => unknown.map(|name| format!(
            "; the dump comes from a server that knows {name}: replace it for all servers (--replace {name}={EVERYWHERE}, or replace = {{ {name} = \"{EVERYWHERE}\" }}), or leave this server out"
        )),
        1064 if is_cut_body(sql) => Some(
            "; the statement ends at a semicolon of its body: write DELIMITER // above it, // behind its END, and DELIMITER ; below".into(),
        ),
        _ => None,
    }
}

/// Whether it is the beginning of a trigger or a routine, whose body goes on behind the semicolon.
fn is_cut_body(sql: &[u8]) -> bool {
    const PROGRAMS: [&str; 4] = ["TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"];
    let mut tokens = Lexer::new(sql, Quoting::default());
    tokens.next().is_some_and(|first| first.is("CREATE"))
        && tokens.any(|token| token.is_one_of(&PROGRAMS))
        && tokens.any(|token| token.is("BEGIN"))
        && !tokens.last().is_some_and(|last| last.is("END"))
}

/// A collation that all servers from 5.5 on know.
const EVERYWHERE: &str = "utf8mb4_general_ci";

fn beginning(statement: &[u8]) -> String {
    let shown = &statement[..statement.len().min(4 * SHOWN_CHARS)];
    let text = String::from_utf8_lossy(shown);
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(statement: &str) -> String {
        let cause = ServerError::Refused {
            code: 1064,
            message: "no".into(),
        };
        refused(statement.as_bytes(), &cause)
    }

    #[test]
    fn an_error_shows_at_most_the_start_of_a_long_statement() {
        assert_eq!(says("selec 1"), "the server says 1064 no, to: selec 1");
        let (whole, longer) = ("ä".repeat(SHOWN_CHARS), "ä".repeat(1 << 20));
        assert!(says(&whole).ends_with(&whole));
        assert!(says(&longer).ends_with(&format!("{whole} ...")));
    }

    #[test]
    fn a_body_that_was_cut_at_its_first_semicolon_has_a_hint() {
        let body = "create trigger t before insert on a for each row begin set new.b = 1";
        assert!(says(body).contains("write DELIMITER //"), "{}", says(body));
        for sql in [
            "create trigger t before insert on a for each row begin end",
            "create table `begin` (a int",
            "insert into trigger_log values ('begin')",
        ] {
            assert!(!says(sql).contains("DELIMITER"), "{sql}");
        }
    }
}
