//! Checks that the statements of a setup or a dump stay within prony's schema, for a server that others use too.
//!
//! Purpose: an experiment of somebody else changes no schema, account or setting of the server unless its user allows it. Refused are
//! names that another schema qualifies, and kinds of statements that do not act within one schema. Boundaries: no grammar, so it
//! refuses some harmless statements; and no protection from SQL that hides what it does: for that an account needs privileges on
//! prony's schema alone.

use super::dump::{self, Action, Filter, Statements};
use super::tables::{Creation, SCHEMA, Sources, cut_off, file_name, not_opened};
use crate::script::{Kind, lex};
use crate::{LoadError, marker};
use server::Session;
use std::io::BufRead;
use std::sync::Arc;

/// Statements that change no more than the tables they name.
const PLAIN: [&str; 21] = [
    "INSERT", "REPLACE", "UPDATE", "DELETE", "TRUNCATE", "SELECT", "WITH", "VALUES", "TABLE", "DO",
    "CALL", "COMMIT", "ROLLBACK", "ANALYZE", "OPTIMIZE", "CHECK", "REPAIR", "SHOW", "DESCRIBE",
    "DESC", "EXPLAIN",
];
/// What CREATE, ALTER and DROP may be about.
const OBJECTS: [&str; 8] = [
    "TABLE",
    "TABLES",
    "VIEW",
    "INDEX",
    "TRIGGER",
    "PROCEDURE",
    "FUNCTION",
    "SEQUENCE",
];
/// Those that hold statements.
const PROGRAMS: [&str; 3] = ["TRIGGER", "PROCEDURE", "FUNCTION"];
/// What they may not be about.
const OTHER_OBJECTS: [&str; 11] = [
    "DATABASE",
    "SCHEMA",
    "USER",
    "ROLE",
    "EVENT",
    "SERVER",
    "TABLESPACE",
    "LOGFILE",
    "INSTANCE",
    "RESOURCE",
    "UNDO",
];
/// Words of a SET that changes more than the session.
const NOT_OF_SESSION: [&str; 7] = [
    "GLOBAL",
    "PERSIST",
    "PERSIST_ONLY",
    "PASSWORD",
    "ROLE",
    "RESOURCE",
    "STATEMENT",
];
/// A mode that changes where strings end, and with that what is read here.
const OTHER_STRINGS: &str = "NO_BACKSLASH_ESCAPES";
/// Words that a stored program does not need within one schema.
const NOT_IN_PROGRAMS: [&str; 14] = [
    "GLOBAL",
    "PERSIST",
    "PERSIST_ONLY",
    "PREPARE",
    "EXECUTE",
    "GRANT",
    "REVOKE",
    "KILL",
    "FLUSH",
    "RESET",
    "DATABASE",
    "SCHEMA",
    "USER",
    "SONAME",
];
/// Storage engines whose tables lie on other servers or in files anywhere.
const ENGINES_ELSEWHERE: [&str; 4] = ["FEDERATED", "FEDERATEDX", "CONNECT", "SPIDER"];
/// Words that write files of the server.
const FILES: [&str; 2] = ["OUTFILE", "DUMPFILE"];

/// # Errors
/// [`LoadError::Unconfined`] names the first statement that may change something outside prony's schema on this server.
pub(super) fn on(session: &mut Session, sources: &Sources) -> Result<(), LoadError> {
    // SQLite is refused when the tables are created.
    if !session.is_mysql() {
        return Ok(());
    }
    let failed = LoadError::during("The schemas of the server cannot be listed");
    let sql = "SELECT schema_name FROM information_schema.schemata";
    let schemas = marker::names(&session.query(sql).map_err(failed)?);
    check(sources, &schemas)
}

fn check(sources: &Sources, schemas: &[String]) -> Result<(), LoadError> {
    match &sources.creation {
        Creation::Setup { sql, file } => {
            let name = file.as_deref().unwrap_or("setup");
            let run = |sql: &[u8]| Ok(Some(String::from_utf8_lossy(sql).into_owned()));
            scan(name, sql.as_bytes(), schemas, run)
        }
        Creation::Dump(path) => {
            let dump = dump::open(path, Arc::default());
            let dump = dump.map_err(|cause| not_opened(path, &cause))?;
            let mut filter = Filter::new(&sources.replace);
            scan(&file_name(path), dump, schemas, |sql| {
                match filter.action(sql) {
                    Ok(Action::Run(sql)) => Ok(Some(sql.into_owned())),
                    Ok(Action::Skip) => Ok(None),
                    Err(refused) => Err(refused.to_string()),
                }
            })
        }
    }
}

/// `run` returns what is sent of a statement.
fn scan<R: BufRead>(
    name: &str,
    from: R,
    schemas: &[String],
    mut run: impl FnMut(&[u8]) -> Result<Option<String>, String>,
) -> Result<(), LoadError> {
    let mut statements = Statements::new(from);
    while let Some(statement) = statements.next().map_err(|cut| cut_off(name, &cut))? {
        let place = format!("{name}:{}", statement.line);
        let sent = match run(&statement.sql) {
            Ok(sent) => sent,
            Err(says) => return Err(LoadError::Written { place, says }),
        };
        if let Some(says) = sent.and_then(|sql| beyond(&sql, schemas)) {
            return Err(LoadError::Unconfined { place, says });
        }
    }
    Ok(())
}

/// What the statement may change outside prony's schema, as a sentence; None: nothing.
fn beyond(sql: &str, schemas: &[String]) -> Option<String> {
    let Some(tokens) = tokens(sql) else {
        return Some("a quote or comment of the statement is not closed".into());
    };
    if let Some(schema) = qualifier(&tokens, schemas) {
        return Some(format!("the statement names the schema {schema}"));
    }
    let words: Vec<&str> = tokens.iter().filter_map(Token::word).collect();
    let is_set = words.first().is_some_and(|word| is_one_of(word, &["SET"]));
    if is_set && sql.to_ascii_uppercase().contains(OTHER_STRINGS) {
        return Some(format!("the statement has {OTHER_STRINGS}"));
    }
    beyond_schema(&words).map(|word| format!("the statement has {word}"))
}

/// The schema of the server, other than prony's, that qualifies a name.
fn qualifier<'s>(tokens: &[Token], schemas: &'s [String]) -> Option<&'s str> {
    const HARMLESS: [&str; 2] = [SCHEMA, "information_schema"];
    let mut qualifiers = tokens.windows(2).filter_map(|pair| match pair {
        [Token::Word(name) | Token::Name(name), Token::Sign('.')] => Some(*name),
        _ => None,
    });
    qualifiers.find_map(|name| {
        let mut others = schemas
            .iter()
            .filter(|schema| !is_one_of(schema, &HARMLESS));
        let same = others.find(|schema| schema.eq_ignore_ascii_case(name))?;
        Some(same.as_str())
    })
}

/// The words because of which the statement does not stay within a schema.
fn beyond_schema(words: &[&str]) -> Option<String> {
    if let Some(word) = first_of(words, &FILES) {
        return Some(word);
    }
    let head = words.first()?.to_ascii_uppercase();
    let second = words.get(1).copied().unwrap_or_default();
    let with = |allowed: &[&str]| match is_one_of(second, allowed) {
        true => None,
        false => Some(format!("{head} {second}").trim_end().to_string()),
    };
    match head.as_str() {
        "CREATE" | "ALTER" | "DROP" => beyond_object(&head, words),
        "SET" => first_of(words, &NOT_OF_SESSION).map(|word| format!("SET with {word}")),
        "START" => with(&["TRANSACTION"]),
        "LOCK" | "UNLOCK" => with(&["TABLE", "TABLES"]),
        "RENAME" => with(&["TABLE", "TABLES"]),
        // MariaDB runs whole blocks.
        "BEGIN" => with(&["", "WORK"]),
        other if is_one_of(other, &PLAIN) => None,
        other => Some(other.to_string()),
    }
}

/// The same for CREATE, ALTER and DROP.
fn beyond_object(head: &str, words: &[&str]) -> Option<String> {
    let is_object = |word: &&&str| is_one_of(word, &OBJECTS) || is_one_of(word, &OTHER_OBJECTS);
    let object = words.iter().find(is_object).copied().unwrap_or_default();
    let object = &object.to_ascii_uppercase();
    if !is_one_of(object, &OBJECTS) {
        return Some(format!("{head} {object}").trim_end().to_string());
    }
    if is_one_of(object, &PROGRAMS) {
        return first_of(words, &NOT_IN_PROGRAMS).map(|word| format!("a {object} with {word}"));
    }
    let is_elsewhere = |pair: &&[&str]| match pair {
        [engine, name] if is_one_of(engine, &["ENGINE"]) => is_one_of(name, &ENGINES_ELSEWHERE),
        [data, folder] if is_one_of(folder, &["DIRECTORY"]) => is_one_of(data, &["DATA", "INDEX"]),
        _ => false,
    };
    let elsewhere = words.windows(2).find(is_elsewhere)?;
    Some(elsewhere.join(" ").to_ascii_uppercase())
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|one| one.eq_ignore_ascii_case(word))
}

fn first_of(words: &[&str], of: &[&str]) -> Option<String> {
    let found = words.iter().find(|word| is_one_of(word, of));
    found.map(|word| word.to_ascii_uppercase())
}

/// A part of a statement.
#[derive(Debug, PartialEq, Eq)]
enum Token<'s> {
    Word(&'s str),
    /// In backticks, or in double quotes, which hold a name or a text.
    Name(&'s str),
    Text,
    Sign(char),
}

impl<'s> Token<'s> {
    fn word(&self) -> Option<&'s str> {
        match self {
            Token::Word(word) => Some(*word),
            _ => None,
        }
    }
}

/// None if a quote or comment is not closed. What the server executes of a comment, `/*!50003 ... */`, counts as code.
fn tokens(sql: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    for (kind, range) in lex(sql).ok()? {
        let text = &sql[range];
        match kind {
            Kind::Comment => {}
            Kind::Quoted if text.starts_with('\'') => tokens.push(Token::Text),
            Kind::Quoted => tokens.push(Token::Name(&text[1..text.len() - 1])),
            Kind::Code => push_code(text, &mut tokens),
        }
    }
    Some(tokens)
}

fn push_code<'s>(mut rest: &'s str, tokens: &mut Vec<Token<'s>>) {
    let is_of_word = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '$';
    while let Some(sign) = rest.chars().next() {
        let executed = rest.strip_prefix("/*!").or(rest.strip_prefix("/*M!"));
        if let Some(after) = executed {
            rest = after.trim_start_matches(|sign: char| sign.is_ascii_digit());
        } else if let Some(after) = rest.strip_prefix("*/") {
            rest = after;
        } else if is_of_word(sign) {
            let end = rest
                .find(|sign: char| !is_of_word(sign))
                .unwrap_or(rest.len());
            tokens.push(Token::Word(&rest[..end]));
            rest = &rest[end..];
        } else {
            if !sign.is_whitespace() {
                tokens.push(Token::Sign(sign));
            }
            rest = &rest[sign.len_utf8()..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beyond_of(sql: &str) -> Option<String> {
        let schemas = ["prony_sql", "information_schema", "mysql", "shop"];
        beyond(sql, &schemas.map(String::from))
    }

    #[test]
    fn statements_within_pronys_schema_are_accepted() {
        for sql in [
            "create table orders (id int primary key, global int, data varchar(9))",
            "CREATE TABLE prony_sql.t (a int) COMMENT 'of shop.orders'",
            "create temporary table t select * from information_schema.tables",
            "/*!50003 CREATE*/ /*!50003 TRIGGER t BEFORE INSERT ON `orders` FOR EACH ROW SET NEW.a = 1 */",
            "/*!50001 CREATE ALGORITHM=UNDEFINED */ /*!50001 VIEW `sales` AS select `o`.`id` AS `id` from `orders` `o` */",
            "/*!40000 ALTER TABLE `orders` DISABLE KEYS */",
            "insert into orders values (1, 'shop.x', \"GRANT\"), (2, 'into outfile', '')",
            "update orders o join customers c on c.id = o.customer set o.a = 1",
            "drop table if exists orders",
            "lock tables orders write",
            "set names utf8mb4",
            "SET @@SESSION.SQL_LOG_BIN= 0, sql_mode='NO_AUTO_VALUE_ON_ZERO'",
            "start transaction",
            "BEGIN",
            "analyze table orders",
        ] {
            assert_eq!(beyond_of(sql), None, "{sql}");
        }
    }

    #[test]
    fn statements_beyond_pronys_schema_are_refused_with_the_reason() {
        for (sql, says) in [
            ("drop table shop.orders", "names the schema shop"),
            ("DROP TABLE `Shop` . `orders`", "names the schema shop"),
            ("select * from t, \"shop\".orders", "names the schema shop"),
            (
                "/*!50003 drop table shop./**/orders */",
                "names the schema shop",
            ),
            (
                "insert into t select user from mysql.user",
                "names the schema mysql",
            ),
            ("set global max_connections = 1", "has SET with GLOBAL"),
            ("SET @a = 1, @@GLOBAL.read_only = 1", "has SET with GLOBAL"),
            ("set persist max_connections = 1", "has SET with PERSIST"),
            ("set password = 'x'", "has SET with PASSWORD"),
            (
                "set sql_mode = 'no_backslash_escapes'",
                "has NO_BACKSLASH_ESCAPES",
            ),
            ("grant all on *.* to me", "has GRANT"),
            ("create user me", "has CREATE USER"),
            ("drop database shop", "has DROP DATABASE"),
            (
                "create definer = root@localhost event e on schedule every 1 day do select 1",
                "has CREATE EVENT",
            ),
            ("use shop", "has USE"),
            ("flush tables", "has FLUSH"),
            ("load data infile '/etc/passwd' into table t", "has LOAD"),
            ("select * from t into outfile '/tmp/x'", "has OUTFILE"),
            (
                "create table t (a int) data directory = '/tmp'",
                "has DATA DIRECTORY",
            ),
            (
                "create table t (a int) engine = Connect",
                "has ENGINE CONNECT",
            ),
            (
                "create procedure p() begin set global read_only = 1; end",
                "has a PROCEDURE with GLOBAL",
            ),
            (
                "create function f returns string soname 'x.so'",
                "has a FUNCTION with SONAME",
            ),
            ("begin not atomic kill 1; end", "has BEGIN not"),
            ("lock instance for backup", "has LOCK instance"),
            ("prepare p from 'drop database shop'", "has PREPARE"),
        ] {
            let beyond = beyond_of(sql).unwrap_or_default();
            assert!(beyond.contains(says), "{sql}: {beyond}");
        }
    }

    #[test]
    fn the_first_refused_statement_is_named_with_its_place() {
        let sources = Sources {
            creation: Creation::Setup {
                sql: "create table t (a int);\n\nset global read_only = 1;\n".into(),
                file: Some("tables.sql".into()),
            },
            files: Vec::new(),
            replace: Vec::new(),
            accept_warnings: false,
            reload: false,
        };
        let refused = check(&sources, &["shop".into()]).unwrap_err().to_string();
        assert!(
            refused.starts_with("tables.sql:3: the statement has SET with GLOBAL")
                && refused.contains("--allow-setup"),
            "{refused}"
        );
    }
}
