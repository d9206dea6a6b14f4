//! What a statement of a dump becomes on a server where prony loads it into its own schema.
//!
//! Purpose: nothing outside prony's schema is touched, no user or server setting is needed, and the rest runs as written.
//! Boundaries: `split` finds the statements, only the server knows whether it accepts them.

use crate::script::quoted;
use std::borrow::Cow;

/// What to do with a statement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action<'s> {
    Run(Cow<'s, str>),
    /// It concerns a schema, a user, the server or its replication.
    Skip,
}

/// Why a statement is not run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error(
        "the dump changes from the schema {first} to {second}, and prony loads one schema; dump only one, or measure a server that has both (schema = \"{first}\")"
    )]
    SecondSchema { first: String, second: String },
    #[error("the statement is no UTF-8 text outside of its strings")]
    NoText,
}

/// Reads the statements of one dump in order.
#[derive(Default)]
pub(crate) struct Filter {
    /// The schema of the first USE.
    schema: Option<String>,
    /// Texts that are replaced in every statement but those that insert rows.
    replace: Vec<(String, String)>,
}

impl Filter {
    pub(crate) fn new(replace: &[(String, String)]) -> Filter {
        Filter {
            schema: None,
            replace: replace.to_vec(),
        }
    }

    /// # Errors
    /// The statement cannot be loaded into one schema.
    pub(crate) fn action<'s>(&mut self, sql: &'s [u8]) -> Result<Action<'s>, Refused> {
        let words = words(sql);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["INSERT" | "REPLACE", ..] => return Ok(Action::Run(text(sql)?)),
            ["USE", ..] => return self.enter(sql),
            ["CREATE" | "DROP" | "ALTER", "DATABASE" | "SCHEMA", ..]
            | ["SET", "GLOBAL", ..]
            | ["CHANGE", "MASTER" | "REPLICATION", ..]
            | ["START" | "STOP", "SLAVE" | "REPLICA", ..] => return Ok(Action::Skip),
            ["SET", ..] if sets_global(sql) => return Ok(Action::Skip),
            _ => {}
        }
        let mut sql = match words[..] {
            ["SET", ..] => without_account_mode(text(sql)?),
            _ => without_definer(text(sql)?),
        };
        for (from, to) in &self.replace {
            if sql.contains(from.as_str()) {
                sql = Cow::Owned(sql.replace(from, to));
            }
        }
        Ok(Action::Run(sql))
    }

    /// A USE of the first schema is skipped: everything goes to prony's own.
    fn enter<'s>(&mut self, sql: &[u8]) -> Result<Action<'s>, Refused> {
        let text = String::from_utf8_lossy(sql);
        let name = text.split_whitespace().nth(1).unwrap_or_default();
        let name = name.trim_matches('`').to_string();
        match &self.schema {
            Some(first) if *first != name => Err(Refused::SecondSchema {
                first: first.clone(),
                second: name,
            }),
            _ => {
                self.schema = Some(name);
                Ok(Action::Skip)
            }
        }
    }
}

/// Bytes of a statement that decide what it is.
const START_BYTES: usize = 200;

/// The first two words in upper case, without the signs of an executable comment and its version.
fn words(sql: &[u8]) -> Vec<String> {
    let start = &sql[..sql.len().min(START_BYTES)];
    let start = String::from_utf8_lossy(start);
    let is_sign = |sign: char| !sign.is_ascii_alphanumeric() && !"_@".contains(sign);
    let is_word = |word: &&str| word.starts_with(|first: char| !first.is_ascii_digit());
    let words = start.split(is_sign).filter(|word| !word.is_empty());
    // `/*M!100616 SET`
    let words = words.filter(is_word).skip_while(|word| *word == "M");
    words.take(2).map(str::to_ascii_uppercase).collect()
}

/// Whether a SET changes a variable of the server: `SET @@GLOBAL.GTID_PURGED=...`.
fn sets_global(sql: &[u8]) -> bool {
    let start = &sql[..sql.len().min(START_BYTES)];
    let start = String::from_utf8_lossy(start).to_ascii_uppercase();
    let mut words = start.split(|sign: char| sign.is_whitespace() || sign == ',');
    words.any(|word| word == "GLOBAL" || word.starts_with("@@GLOBAL."))
}

/// Removes `DEFINER=user@host`: the user is another server's, and the definer is then prony's account.
fn without_definer(sql: Cow<'_, str>) -> Cow<'_, str> {
    const DEFINER: &str = "DEFINER=";
    let is_definition = words(sql.as_bytes())
        .first()
        .is_some_and(|word| word == "CREATE");
    let is_before_the_body = |at: &usize| is_definition && *at < START_BYTES;
    let Some(at) = sql.find(DEFINER).filter(is_before_the_body) else {
        return sql;
    };
    let account = &sql[at + DEFINER.len()..];
    let Some(user) = name_length(account) else {
        return sql;
    };
    let host = account[user..].strip_prefix('@').and_then(name_length);
    let end = at + DEFINER.len() + user + host.map_or(0, |length| 1 + length);
    Cow::Owned(format!("{}{}", &sql[..at], &sql[end..]))
}

/// Removes a mode that concerns only GRANT and that 8.0 refuses. Earlier servers write it before each trigger and routine.
fn without_account_mode(sql: Cow<'_, str>) -> Cow<'_, str> {
    const MODE: &str = "NO_AUTO_CREATE_USER";
    if !sql.contains(MODE) {
        return sql;
    }
    let after = sql.replace(&format!("{MODE},"), "");
    Cow::Owned(after.replace(&format!(",{MODE}"), "").replace(MODE, ""))
}

/// The length of a quoted or plain name at the start.
fn name_length(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    if "`'\"".contains(quote) {
        return Some(text[1..].find(quote)? + 2);
    }
    let end = text.find(|sign: char| sign.is_whitespace() || "@*".contains(sign));
    Some(end.unwrap_or(text.len()))
}

/// The statement as text. Strings that are no text become hexadecimal.
fn text(sql: &[u8]) -> Result<Cow<'_, str>, Refused> {
    match std::str::from_utf8(sql) {
        Ok(text) => Ok(Cow::Borrowed(text)),
        Err(_) => hexadecimal(sql).map(Cow::Owned),
    }
}

/// Dumps hold binary columns as strings of any bytes, `_binary '...'`, and a statement is UTF-8.
fn hexadecimal(sql: &[u8]) -> Result<String, Refused> {
    let mut result = String::with_capacity(sql.len() * 2);
    let mut rest = sql;
    while let Some(at) = rest.iter().position(|byte| b"'\"".contains(byte)) {
        result.push_str(code(&rest[..at])?);
        let length = quoted(&rest[at..]).unwrap_or(rest.len() - at);
        let literal = &rest[at..at + length];
        match std::str::from_utf8(literal) {
            Ok(text) => result.push_str(text),
            Err(_) => push_hexadecimal(&mut result, literal),
        }
        rest = &rest[at + length..];
    }
    result.push_str(code(rest)?);
    Ok(result)
}

fn code(bytes: &[u8]) -> Result<&str, Refused> {
    std::str::from_utf8(bytes).map_err(|_| Refused::NoText)
}

fn push_hexadecimal(result: &mut String, literal: &[u8]) {
    use std::fmt::Write as _;
    result.push_str("x'");
    let quote = literal[0];
    let inner = literal.get(1..literal.len().saturating_sub(1));
    let mut bytes = inner.unwrap_or_default().iter();
    while let Some(&byte) = bytes.next() {
        let value = match byte {
            b'\\' => escaped(bytes.next().copied().unwrap_or(b'\\')),
            // Doubled.
            byte if byte == quote => *bytes.next().unwrap_or(&quote),
            byte => byte,
        };
        // Writing to a string does not fail.
        let _ = write!(result, "{value:02x}");
    }
    result.push('\'');
}

/// What follows a backslash. Source: the page "String Literals" of the MySQL manual.
fn escaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(sql: &str) -> Option<String> {
        match Filter::default().action(sql.as_bytes()).unwrap() {
            Action::Run(sql) => Some(sql.into_owned()),
            Action::Skip => None,
        }
    }

    #[test]
    fn statements_about_schemas_and_the_server_are_skipped() {
        for sql in [
            "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */",
            "/*!40000 DROP DATABASE IF EXISTS `shop`*/",
            "ALTER DATABASE `shop` CHARACTER SET latin1",
            "USE `shop`",
            "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1-5'",
            "/*!50606 SET GLOBAL INNODB_STATS_AUTO_RECALC=OFF */",
            "SET @old=1, GLOBAL a=2",
            "CHANGE MASTER TO MASTER_LOG_FILE='a'",
        ] {
            assert_eq!(action(sql), None, "{sql}");
        }
    }

    #[test]
    fn other_statements_run_as_written() {
        for sql in [
            "DROP TABLE IF EXISTS `orders`",
            "/*!40101 SET NAMES utf8mb4 */",
            "/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */",
            "SET @@SESSION.SQL_LOG_BIN= 0",
            "LOCK TABLES `orders` WRITE",
            "INSERT INTO `orders` VALUES (1,'SET GLOBAL a=1','DEFINER=`a`@`b`')",
            "CREATE TABLE `database` (a int)",
            "/*!40000 ALTER TABLE `orders` DISABLE KEYS */",
        ] {
            assert_eq!(action(sql).as_deref(), Some(sql));
        }
    }

    #[test]
    fn a_second_schema_is_refused_and_the_first_may_come_again() {
        let mut filter = Filter::default();
        assert_eq!(filter.action(b"USE `shop`"), Ok(Action::Skip));
        assert_eq!(filter.action(b"USE `shop`"), Ok(Action::Skip));
        let refused = filter.action(b"use stock").unwrap_err().to_string();
        assert!(
            refused.contains("from the schema shop to stock"),
            "{refused}"
        );
    }

    #[test]
    fn a_definition_loses_its_definer() {
        for (sql, expected) in [
            (
                "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER t */",
                "/*!50003 CREATE*/ /*!50017 */ /*!50003 TRIGGER t */",
            ),
            (
                "CREATE DEFINER=`a b`@`%` PROCEDURE p() select 1",
                "CREATE  PROCEDURE p() select 1",
            ),
            (
                "CREATE DEFINER=root@localhost VIEW v AS select 1",
                "CREATE  VIEW v AS select 1",
            ),
        ] {
            assert_eq!(action(sql).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_mode_of_accounts_that_new_servers_refuse_is_left_out() {
        for (modes, left) in [
            (
                "STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER,ANSI",
                "STRICT_TRANS_TABLES,ANSI",
            ),
            ("ANSI,NO_AUTO_CREATE_USER", "ANSI"),
            ("NO_AUTO_CREATE_USER", ""),
        ] {
            let set = |modes: &str| format!("/*!50003 SET sql_mode = '{modes}' */");
            assert_eq!(action(&set(modes)), Some(set(left)));
        }
    }

    #[test]
    fn texts_are_replaced_in_definitions_but_not_in_rows() {
        let pair = (
            "utf8mb4_0900_ai_ci".to_string(),
            "utf8mb4_general_ci".to_string(),
        );
        let mut filter = Filter::new(&[pair]);
        let mut run = |sql: &'static str| match filter.action(sql.as_bytes()) {
            Ok(Action::Run(sql)) => sql.into_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            run("CREATE TABLE t (a int) COLLATE=utf8mb4_0900_ai_ci"),
            "CREATE TABLE t (a int) COLLATE=utf8mb4_general_ci"
        );
        let row = "INSERT INTO t VALUES ('utf8mb4_0900_ai_ci')";
        assert_eq!(run(row), row);
    }

    #[test]
    fn strings_that_are_no_text_become_hexadecimal() {
        let sql = b"INSERT INTO t VALUES ('a''b',_binary '\xff\\0\\'''\\n\\\\z',\"c\")";
        let Ok(Action::Run(run)) = Filter::default().action(sql) else {
            panic!("it runs");
        };
        assert_eq!(
            run,
            "INSERT INTO t VALUES ('a''b',_binary x'ff0027270a5c7a',\"c\")"
        );
        assert_eq!(
            Filter::default().action(b"select \xff"),
            Err(Refused::NoText)
        );
    }
}
