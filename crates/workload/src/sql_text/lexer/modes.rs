//! Follows the SETs of a stream of statements, as far as they change where a text ends.

use super::set::single;
use super::{Assignment, Lexer, Quoting, Scope, Token, Wide, assignments, is_for_a_statement};
use std::collections::HashMap;

/// Modes that include ANSI_QUOTES. Source: "Combination SQL Modes" in the MySQL manual, "SQL_MODE" in MariaDB's.
const ANSI: [&str; 7] = [
    "ANSI_QUOTES",
    "ANSI",
    "DB2",
    "MAXDB",
    "MSSQL",
    "ORACLE",
    "POSTGRESQL",
];
const NO_BACKSLASH: &str = "NO_BACKSLASH_ESCAPES";

/// The state of a session, as its statements have set it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Modes {
    quoting: Quoting,
    /// User variables that hold a character set or a mode, to be set again later.
    saved: HashMap<String, Quoting>,
}

impl Modes {
    pub(crate) fn quoting(&self) -> Quoting {
        self.quoting
    }

    /// Takes note of a statement that the session runs.
    pub(crate) fn follow(&mut self, sql: &[u8]) {
        let mut lexer = Lexer::new(sql, self.quoting);
        let Some(first) = lexer.next().filter(|token| token.is("SET")) else {
            return;
        };
        let tokens: Vec<Token> = std::iter::once(first).chain(lexer).collect();
        if is_for_a_statement(&tokens) {
            return;
        }
        for assignment in assignments(&tokens) {
            self.assign(&assignment);
        }
    }

    fn assign(&mut self, assignment: &Assignment) {
        let value = assignment.value;
        let before = match value {
            [at, name, ..] if at.is_sign(b'@') && name.kind != super::TokenKind::Sign => {
                let name = name.content().to_ascii_lowercase();
                self.saved.get(&name).copied()
            }
            _ => None,
        };
        match (assignment.scope, assignment.name.as_str()) {
            (Scope::User, name) => {
                // Whatever it is set to: nothing else than the two is ever set from it.
                self.saved.insert(name.to_string(), self.quoting);
            }
            (Scope::Session, "names" | "charset" | "character_set_client") => {
                self.quoting.wide = match before {
                    Some(before) => before.wide,
                    None => Wide::from_charset(&single(value).unwrap_or_default()),
                };
            }
            (Scope::Session, "sql_mode") => {
                let (backslash, ansi) = match before {
                    Some(before) => (before.backslash, before.ansi),
                    None => self.of_mode(value),
                };
                self.quoting = Quoting {
                    backslash,
                    ansi,
                    ..self.quoting
                };
            }
            _ => {}
        }
    }

    /// Whether a backslash escapes, and whether double quotes hold a name, in a mode that is a text or an expression.
    fn of_mode(&self, value: &[Token]) -> (bool, bool) {
        let modes: String = value.iter().map(|token| token.content() + ",").collect();
        let modes = modes.to_ascii_uppercase();
        let has = |wanted: &[&str]| modes.split(',').any(|mode| wanted.contains(&mode.trim()));
        let extends = value.len() > 1 && modes.contains("SQL_MODE");
        let (no_backslash, ansi) = (has(&[NO_BACKSLASH]), has(&ANSI));
        match extends {
            // REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''): it is removed.
            true if value[0].is("REPLACE") => (
                self.quoting.backslash || no_backslash,
                self.quoting.ansi && !ansi,
            ),
            true => (
                self.quoting.backslash && !no_backslash,
                self.quoting.ansi || ansi,
            ),
            false => (!no_backslash, ansi),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(statements: &[&str]) -> Quoting {
        let mut modes = Modes::default();
        for sql in statements {
            modes.follow(sql.as_bytes());
        }
        modes.quoting()
    }

    #[test]
    fn the_character_set_of_the_client_is_followed() {
        for sql in [
            "SET NAMES gbk",
            "/*!40101 SET NAMES gbk */",
            "set character set 'gbk'",
            "SET character_set_client = gbk",
            "SET @a = 1, @@session.character_set_client = 'gbk'",
        ] {
            assert_eq!(after(&[sql]).wide, Wide::Gbk, "{sql}");
        }
        assert_eq!(after(&["SET NAMES gbk", "SET NAMES utf8"]).wide, Wide::No);
        assert_eq!(after(&["SELECT 'SET NAMES gbk'"]).wide, Wide::No);
    }

    #[test]
    fn what_a_dump_saves_around_a_table_is_restored() {
        let dump = [
            "SET NAMES sjis",
            "/*!40101 SET @saved_cs_client     = @@character_set_client */",
            "/*!50503 SET character_set_client = utf8mb4 */",
        ];
        assert_eq!(after(&dump).wide, Wide::No);
        let restored = [
            &dump[..],
            &["/*!40101 SET character_set_client = @saved_cs_client */"],
        ];
        assert_eq!(after(&restored.concat()).wide, Wide::Sjis);
    }

    #[test]
    fn modes_that_change_quotes_are_followed() {
        let modes = |sql: &str| {
            let quoting = after(&[sql]);
            (quoting.backslash, quoting.ansi)
        };
        assert_eq!(
            modes("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'"),
            (true, false)
        );
        assert_eq!(
            modes("SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'"),
            (false, true)
        );
        let added = "SET @@sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')";
        assert_eq!(modes(added), (false, false));
        let saved = [
            "SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_BACKSLASH_ESCAPES'",
            "SET SQL_MODE=@OLD_SQL_MODE",
        ];
        let of_one = "SET STATEMENT sql_mode = 'NO_BACKSLASH_ESCAPES' FOR SELECT 1";
        assert_eq!(modes(of_one), (true, false));
        assert!(!after(&saved[..1]).backslash);
        assert!(after(&saved).backslash);
    }
}
