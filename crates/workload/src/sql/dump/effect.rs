//! What a statement does to the number of rows, as far as its first words tell.

use crate::sql::own_schema::SCHEMA;
use crate::sql_text::lexer::{Lexer, Quoting, Token};

/// The tables have plain names of prony's schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The server counts rows that are added to this table.
    Inserts(String),
    /// A table is made, with the rows that the server counts. `anew`: in place of one of the name.
    Creates {
        table: String,
        anew: bool,
    },
    /// Not there in another session.
    CreatesTemporary(String),
    Drops(Vec<String>),
    /// From here on, statements that change this table's rows may do anything.
    CreatesTrigger(String),
    /// Rows stay as many, unless a trigger or a function does more.
    Changes,
    /// Any table may have any number of rows afterwards.
    Unknown,
    Nothing,
}

/// Words after which nothing about rows is known.
const UNKNOWN: [&str; 12] = [
    "REPLACE", "DELETE", "TRUNCATE", "LOAD", "CALL", "EXECUTE", "ROLLBACK", "XA", "RENAME", "DO",
    "HANDLER", "IMPORT",
];
/// Words of an INSERT before its table.
const BEFORE_TABLE: [&str; 4] = ["LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "INTO"];
/// What an ALTER TABLE with one of these does to rows depends on the rest.
const ALTERS_ROWS: [&str; 4] = ["RENAME", "PARTITION", "IGNORE", "TABLESPACE"];

/// `sql` is what is sent.
pub(super) fn effect(sql: &[u8], quoting: Quoting) -> Effect {
    let mut lexer = Lexer::new(sql, quoting);
    let Some(first) = lexer.next() else {
        return Effect::Nothing;
    };
    let next = lexer.clone().next();
    let is_next = |word: &str| next.is_some_and(|next| next.is(word));
    match first {
        _ if first.is("INSERT") => insert(sql, lexer),
        _ if first.is_one_of(&UNKNOWN) => Effect::Unknown,
        _ if first.is("WITH") && lexer.clone().any(|token| token.is("DELETE")) => Effect::Unknown,
        _ if first.is_one_of(&["UPDATE", "SELECT", "WITH"]) => Effect::Changes,
        _ if first.is("CREATE") => create(lexer),
        _ if first.is("DROP") => drop(lexer),
        _ if first.is("ALTER") && lexer.any(|token| token.is_one_of(&ALTERS_ROWS)) => {
            Effect::Unknown
        }
        _ if first.is("BEGIN") && is_next("NOT") => Effect::Unknown,
        // SET STATEMENT a = 1 FOR INSERT ..., of MariaDB.
        _ if first.is("SET") && is_next("STATEMENT") => Effect::Unknown,
        _ => Effect::Nothing,
    }
}

/// Of a LOAD DATA: rows are added to the table behind INTO TABLE, unless it replaces or skips some.
pub(super) fn of_infile(sql: &[u8], quoting: Quoting) -> Effect {
    let mut lexer = Lexer::new(sql, quoting);
    let ends = |token: &Token| token.is_one_of(&["TABLE", "REPLACE", "IGNORE"]);
    let into = lexer.find(ends).filter(|token| token.is("TABLE"));
    let first = into.and(lexer.next());
    on_table(first, &mut lexer, Effect::Inserts)
}

fn insert(sql: &[u8], mut lexer: Lexer) -> Effect {
    // Looked for in all of the text first, since a statement may have megabytes.
    let has = |word: &str| {
        let is_word = |part: &[u8]| part.eq_ignore_ascii_case(word.as_bytes());
        sql.windows(word.len()).any(is_word) && lexer.clone().any(|token| token.is(word))
    };
    // With RETURNING the server counts no rows.
    if has("DUPLICATE") || has("RETURNING") {
        return Effect::Unknown;
    }
    match lexer.find(|token| !token.is_one_of(&BEFORE_TABLE)) {
        Some(token) if token.is("IGNORE") => Effect::Unknown,
        first => on_table(first, &mut lexer, Effect::Inserts),
    }
}

/// An effect on the table whose name begins with this token; unknown without one, or in another schema.
fn on_table(first: Option<Token>, rest: &mut Lexer, effect: fn(String) -> Effect) -> Effect {
    let table = first.and_then(|first| table(first, rest));
    table.map_or(Effect::Unknown, effect)
}

/// The name that begins with this token; None if it is in another schema.
fn table(first: Token, rest: &mut Lexer) -> Option<String> {
    let name = first.name()?;
    let mut ahead = rest.clone();
    if !ahead.next().is_some_and(|dot| dot.is_sign(b'.')) {
        return Some(name);
    }
    let inner = ahead.next()?.name()?;
    *rest = ahead;
    name.eq_ignore_ascii_case(SCHEMA).then_some(inner)
}

/// The name that follows `TABLE`, `DATABASE` or `EVENT` in a CREATE, without its schema.
pub(super) fn name_of_made<'s>(names: impl Iterator<Item = Token<'s>>) -> Option<String> {
    let mut names = names.skip_while(|token| token.is_one_of(&["IF", "NOT", "EXISTS"]));
    let (first, dot) = (names.next(), names.next());
    let is_qualified = dot.is_some_and(|dot| dot.is_sign(b'.'));
    let name = if is_qualified { names.next() } else { first };
    name?.name()
}

fn create(mut lexer: Lexer) -> Effect {
    let (mut anew, mut temporary) = (false, false);
    while let Some(token) = lexer.next() {
        if token.is("TABLE") {
            return match name_of_made(lexer) {
                Some(table) if temporary => Effect::CreatesTemporary(table),
                Some(table) => Effect::Creates { table, anew },
                None => Effect::Unknown,
            };
        }
        if token.is("TRIGGER") {
            let first = lexer.find(|token| token.is("ON")).and(lexer.next());
            return on_table(first, &mut lexer, Effect::CreatesTrigger);
        }
        // A statement that calls it may do what a statement with a trigger may.
        if token.is("FUNCTION") {
            return Effect::CreatesTrigger(String::new());
        }
        if token.is_one_of(&["VIEW", "PROCEDURE", "EVENT", "INDEX", "SEQUENCE"]) {
            return Effect::Nothing;
        }
        anew |= token.is("REPLACE");
        temporary |= token.is("TEMPORARY");
    }
    Effect::Nothing
}

fn drop(mut lexer: Lexer) -> Effect {
    let object = lexer.find(|token| !token.is("TEMPORARY"));
    if !object.is_some_and(|object| object.is_one_of(&["TABLE", "TABLES"])) {
        return Effect::Nothing;
    }
    let mut names = Vec::new();
    while let Some(token) = lexer.find(|token| !token.is_one_of(&["IF", "EXISTS"])) {
        names.extend(table(token, &mut lexer));
        let comma = lexer.next();
        if !comma.is_some_and(|comma| comma.is_sign(b',')) {
            break;
        }
    }
    Effect::Drops(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(sql: &str) -> Effect {
        super::effect(sql.as_bytes(), Quoting::default())
    }

    fn inserts(table: &str) -> Effect {
        Effect::Inserts(table.into())
    }

    fn creates(table: &str, anew: bool) -> Effect {
        let table = table.into();
        Effect::Creates { table, anew }
    }

    #[test]
    fn plain_inserts_name_their_table() {
        for sql in [
            "INSERT INTO `a` VALUES (1,'on duplicate key')",
            "insert a (b) select 1",
            "INSERT DELAYED INTO a SET b = 1",
            "/*!50003 insert*/ into prony_sql.a values (1)",
        ] {
            assert_eq!(effect(sql), inserts("a"), "{sql}");
        }
        for sql in [
            "with b as (select 1) delete from a",
            "INSERT IGNORE INTO a VALUES (1)",
            "INSERT INTO a VALUES (1) ON DUPLICATE KEY UPDATE b = 1",
            "INSERT INTO a VALUES (1) RETURNING b",
            "INSERT INTO other.a VALUES (1)",
            "REPLACE INTO a VALUES (1)",
            "delete from a",
            "alter table a rename to b",
            "begin not atomic delete from a; end",
            "set statement foreign_key_checks = 0 for insert into a values (1)",
        ] {
            assert_eq!(effect(sql), Effect::Unknown, "{sql}");
        }
    }

    #[test]
    fn a_file_adds_rows_unless_it_replaces_some() {
        let of = |sql: &str| of_infile(sql.as_bytes(), Quoting::default());
        assert_eq!(
            of("LOAD DATA LOCAL INFILE 'x' INTO TABLE `a` IGNORE 1 LINES"),
            inserts("a")
        );
        assert_eq!(
            of("LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE a"),
            Effect::Unknown
        );
    }

    #[test]
    fn tables_that_come_and_go_are_named() {
        assert_eq!(
            effect("CREATE TABLE IF NOT EXISTS `a` (b int)"),
            creates("a", false)
        );
        assert_eq!(
            effect("create or replace table prony_sql.a as select 1"),
            creates("a", true)
        );
        let temporary = Effect::CreatesTemporary("a".into());
        assert_eq!(effect("create temporary table a (b int)"), temporary);
        let dropped =
            |names: &[&str]| Effect::Drops(names.iter().map(|name| name.to_string()).collect());
        assert_eq!(
            effect("DROP TABLE IF EXISTS `a`, prony_sql.b, c"),
            dropped(&["a", "b", "c"])
        );
        assert_eq!(
            effect("/*!50001 DROP VIEW IF EXISTS `a`*/"),
            Effect::Nothing
        );
        let trigger = "/*!50003 CREATE*/ /*!50017 */ /*!50003 TRIGGER t AFTER INSERT ON `a` FOR EACH ROW insert into b values (1) */";
        assert_eq!(effect(trigger), Effect::CreatesTrigger("a".into()));
        let function =
            "create function f() returns int begin insert into a values (1); return 1; end";
        assert_eq!(effect(function), Effect::CreatesTrigger(String::new()));
        for sql in [
            "SET @a = 1",
            "create view v as select 1",
            "lock tables a write",
            "BEGIN",
        ] {
            assert_eq!(effect(sql), Effect::Nothing, "{sql}");
        }
    }
}
