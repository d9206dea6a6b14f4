//! Checks that the statements of a workload stay within prony's schema, for a server that others use too.
//!
//! Purpose: an experiment of somebody else changes no schema, account or setting of the server unless its user allows it. Refused are
//! names that another schema qualifies, and kinds of statements that do not act within one schema. Operations and queries may read what
//! the server says of itself. Boundaries: no grammar, so it
//! refuses some harmless statements; and no protection from SQL that hides what it does: for that an account needs privileges on
//! prony's schema alone.

use super::dump::{Action, Filter, Statement, mapped};
use super::own_schema::SCHEMA;
use super::sources::Sources;
use crate::schema::marker;
use crate::sql_text::lexer::{
    Assignment, Lexer, Modes, OF_SERVER, Quoting, Scope, Token, TokenKind, assignments,
    is_for_a_statement, reading,
};
use crate::{LoadError, Operation};
use server::Session;
use std::borrow::Cow;
use std::sync::Arc;

/// Schemas in which a server describes itself.
const OF_SERVER_ITSELF: [&str; 3] = ["mysql", "performance_schema", "sys"];
/// Statements that change no more than the tables they name.
const PLAIN: [&str; 26] = [
    "INSERT",
    "REPLACE",
    "UPDATE",
    "DELETE",
    "TRUNCATE",
    "SELECT",
    "WITH",
    "VALUES",
    "TABLE",
    "DO",
    "CALL",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "HANDLER",
    "ANALYZE",
    "OPTIMIZE",
    "CHECK",
    "CHECKSUM",
    "REPAIR",
    "SHOW",
    "DESCRIBE",
    "DESC",
    "EXPLAIN",
    "HELP",
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
/// Statements that a stored program does not need within one schema.
const NOT_IN_PROGRAMS: [&str; 8] = [
    "PREPARE", "EXECUTE", "GRANT", "REVOKE", "KILL", "FLUSH", "RESET", "SONAME",
];
/// What it does not create, change or drop.
const NOT_MADE_BY_PROGRAMS: [&str; 4] = ["DATABASE", "SCHEMA", "USER", "ROLE"];
const MAKES: [&str; 4] = ["CREATE", "ALTER", "DROP", "RENAME"];
/// Storage engines whose tables lie on other servers or in files anywhere.
const ENGINES_ELSEWHERE: [&str; 4] = ["FEDERATED", "FEDERATEDX", "CONNECT", "SPIDER"];
/// # Errors
/// [`LoadError::Unconfined`] names the first statement that may change something outside prony's schema on this server.
pub(super) fn on(session: &mut Session, sources: &Sources) -> Result<(), LoadError> {
    // SQLite is refused when the tables are created.
    if !session.is_mysql() {
        return Ok(());
    }
    check(sources, &schemas(session)?)
}

/// Checks the statements of rounds and loads, each with what its session executes first.
///
/// # Errors
/// [`LoadError::Unconfined`] names the first statement that names another schema of this server than `own`, or may change something
/// outside it.
pub fn confined_statements<'s>(
    session: &mut Session,
    own: &str,
    statements: impl Iterator<Item = (&'s [String], &'s Operation)>,
) -> Result<(), LoadError> {
    if !session.is_mysql() {
        return Ok(());
    }
    let mut others = schemas(session)?;
    others.retain(|schema| !is_one_of(schema, &[own, "information_schema"]));
    for (first, statement) in statements {
        if let Some(says) = strays(first, statement, &others) {
            let place = statement.place.as_ref().unwrap_or(&statement.name).clone();
            return Err(LoadError::Unconfined { place, says });
        }
    }
    Ok(())
}

fn schemas(session: &mut Session) -> Result<Vec<String>, LoadError> {
    let failed = LoadError::during("The schemas of the server cannot be listed");
    let sql = "SELECT schema_name FROM information_schema.schemata";
    Ok(marker::names(&session.query(sql).map_err(failed)?))
}

/// Why a statement of a round or a load does not stay within its schema, as a sentence; None: it does, as far as its text says.
fn strays(first: &[String], statement: &Operation, others: &[String]) -> Option<String> {
    let mut modes = Modes::default();
    let sets = first.iter().chain(&statement.before);
    sets.for_each(|set| modes.follow(set.as_bytes()));
    let (sql, quoting) = (statement.mysql.as_bytes(), modes.quoting());
    let tokens: Vec<Token> = Lexer::new(sql, quoting).collect();
    let reads = reading::reads(&tokens);
    let is_named = |schema: &&String| {
        let may_be_read = reads && is_one_of(schema, &OF_SERVER_ITSELF);
        !may_be_read && matches!(mapped(Cow::Borrowed(sql), quoting, schema), Cow::Owned(_))
    };
    match others.iter().find(is_named) {
        Some(schema) => Some(names_schema(schema)),
        None => beyond_schema(&tokens),
    }
}

fn names_schema(schema: &str) -> String {
    format!("the statement names the schema {schema}")
}

fn check(sources: &Sources, schemas: &[String]) -> Result<(), LoadError> {
    let mut filter = sources.filter();
    let mut statements = sources.creation.statements(&Arc::default())?;
    while let Some(statement) = statements.next()? {
        filter.of_head(statements.database());
        may_be_sent(&mut filter, &statement, schemas)?;
    }
    Ok(())
}

/// # Errors
/// The statement is run on no server, or not on one that others use, as far as its text says.
fn may_be_sent(
    filter: &mut Filter,
    statement: &Statement,
    schemas: &[String],
) -> Result<(), LoadError> {
    let place = statement.place();
    let beyond = match filter.action(statement) {
        Err(refused) => {
            let says = refused.to_string();
            return Err(LoadError::Written { place, says });
        }
        // A file beside the statements goes into a table of the schema, or of another one that the statement names.
        Ok(Action::Infile { sql, .. }) => {
            let tokens: Vec<Token> = Lexer::new(&sql, statement.quoting).collect();
            qualifier(&tokens, schemas).map(names_schema)
        }
        Ok(Action::Run { sql, .. }) => beyond(&sql, statement.quoting, schemas),
        Ok(Action::Skip) => None,
    };
    match beyond {
        Some(says) => Err(LoadError::Unconfined { place, says }),
        None => Ok(()),
    }
}

/// What the statement may change outside prony's schema, as a sentence; None: nothing.
fn beyond(sql: &[u8], quoting: Quoting, schemas: &[String]) -> Option<String> {
    let tokens: Vec<Token> = Lexer::new(sql, quoting).collect();
    match qualifier(&tokens, schemas) {
        Some(schema) => Some(names_schema(schema)),
        None => beyond_schema(&tokens),
    }
}

/// The schema of the server, other than prony's, that qualifies a name.
fn qualifier<'s>(tokens: &[Token], schemas: &'s [String]) -> Option<&'s str> {
    const HARMLESS: [&str; 2] = [SCHEMA, "information_schema"];
    let mut qualifiers = tokens.windows(2).filter_map(|pair| {
        // A text in double quotes is a name in some modes.
        let is_name = pair[0].kind != TokenKind::Sign && pair[0].text.first() != Some(&b'\'');
        (is_name && pair[1].is_sign(b'.')).then(|| pair[0].content())
    });
    qualifiers.find_map(|name| {
        let mut others = schemas
            .iter()
            .filter(|schema| !is_one_of(schema, &HARMLESS));
        let same = others.find(|schema| schema.eq_ignore_ascii_case(&name))?;
        Some(same.as_str())
    })
}

/// Why the statement does not stay within a schema, as a sentence.
fn beyond_schema(tokens: &[Token]) -> Option<String> {
    let words = tokens.iter().filter(|token| token.kind == TokenKind::Word);
    let words: Vec<&Token> = words.collect();
    let head = words.first()?.upper();
    let second = words.get(1).map(|word| word.content()).unwrap_or_default();
    let with = |allowed: &[&str]| {
        let is_beyond = !is_one_of(&second, allowed);
        is_beyond.then(|| format!("{head} {second}").trim_end().to_string())
    };
    let beyond = match head.as_str() {
        "CREATE" | "ALTER" if is_of_pronys_schema(tokens) => None,
        "CREATE" | "ALTER" | "DROP" => beyond_object(&head, &words, tokens),
        "SET" => beyond_session(tokens).map(|word| format!("SET with {word}")),
        "START" => with(&["TRANSACTION"]),
        "LOCK" | "UNLOCK" | "RENAME" => with(&["TABLE", "TABLES"]),
        // MariaDB runs whole blocks.
        "BEGIN" => with(&["", "WORK"]),
        other if is_one_of(other, &PLAIN) => None,
        other => Some(other.to_string()),
    };
    beyond.map(|word| format!("the statement has {word}"))
}

/// The word of a SET that changes more than the session. Variables of the user and columns may have the same names.
fn beyond_session(tokens: &[Token]) -> Option<String> {
    let is_beyond = |one: &Assignment| one.scope == Scope::Server || one.is_of_accounts();
    let words = match assignments(tokens).into_iter().find(is_beyond) {
        _ if is_for_a_statement(tokens) => tokens,
        one => one?.tokens,
    };
    let word = words.iter().find(|word| word.is_one_of(&NOT_OF_SESSION));
    Some(word.map_or("GLOBAL".into(), Token::upper))
}

/// ALTER DATABASE of prony's own schema.
fn is_of_pronys_schema(tokens: &[Token]) -> bool {
    matches!(tokens, [alter, database, name, ..]
        if alter.is("ALTER") && database.is("DATABASE") && name.is(SCHEMA))
}

/// The same for CREATE, ALTER and DROP.
fn beyond_object(head: &str, words: &[&Token], tokens: &[Token]) -> Option<String> {
    let is_object = |word: &&&Token| word.is_one_of(&OBJECTS) || word.is_one_of(&OTHER_OBJECTS);
    let object = words.iter().find(is_object).map(|word| word.upper());
    let object = object.unwrap_or_default();
    if !is_one_of(&object, &OBJECTS) {
        return Some(format!("{head} {object}").trim_end().to_string());
    }
    if is_one_of(&object, &PROGRAMS) {
        return in_program(tokens).map(|word| format!("a {object} with {word}"));
    }
    let is_elsewhere =
        |pair: &&[&Token]| pair[0].is("ENGINE") && pair[1].is_one_of(&ENGINES_ELSEWHERE);
    let elsewhere = words.windows(2).find(is_elsewhere)?;
    let elsewhere: Vec<String> = elsewhere.iter().map(|word| word.upper()).collect();
    Some(elsewhere.join(" "))
}

/// A word of a stored program that is a statement beyond the schema. Columns may have the same names.
fn in_program(tokens: &[Token]) -> Option<String> {
    let is_sign = |at: Option<usize>, signs: &[u8]| {
        let token = at.and_then(|at| tokens.get(at));
        token.is_some_and(|token| signs.iter().any(|sign| token.is_sign(*sign)))
    };
    let is_word = |token: &Token| token.kind != TokenKind::Sign;
    let found = tokens.iter().enumerate().find(|(at, token)| {
        let before = at.checked_sub(1);
        let is_after = |words: &[&str]| before.is_some_and(|at| tokens[at].is_one_of(words));
        match token {
            // `NEW.kill`, `(execute, b)`, `reset = 1`
            _ if token.is_one_of(&NOT_IN_PROGRAMS) => {
                !is_sign(before, b".") && !is_sign(Some(at + 1), b"=,).<>+-*/|")
            }
            _ if token.is_one_of(&NOT_MADE_BY_PROGRAMS) => {
                is_after(&MAKES) || is_after(&["OR", "EXISTS"])
            }
            _ if token.is_one_of(&OF_SERVER) => {
                is_sign(before, b"@")
                    || ((is_after(&["SET"]) || is_sign(before, b","))
                        && tokens.get(at + 1).is_some_and(is_word))
            }
            _ => false,
        }
    });
    found.map(|(_, token)| token.upper())
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|one| one.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::sources::tests::of_setup;

    fn beyond_of(sql: &str) -> Option<String> {
        let schemas = ["prony_sql", "information_schema", "mysql", "shop"];
        beyond(
            sql.as_bytes(),
            Quoting::default(),
            &schemas.map(String::from),
        )
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
            "set @password = 'x', @role = (select role from users limit 1), @global = 1",
            "SET @@SESSION.SQL_LOG_BIN= 0, sql_mode='NO_AUTO_VALUE_ON_ZERO'",
            "start transaction",
            "BEGIN",
            "analyze table orders",
            "create trigger t before insert on a for each row begin set new.user = user(), new.reset = 1; insert into log (user, kill, global) values (new.user, 1, 2); end",
            "create function f() returns int return (select max(`schema`) from t)",
            "ALTER DATABASE prony_sql CHARACTER SET latin1",
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
            ("set @a = 1, global b = 2", "has SET with GLOBAL"),
            (
                "set statement a = 1 for delete from t",
                "has SET with STATEMENT",
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
            (
                "create table t (a int) engine = Connect",
                "has ENGINE CONNECT",
            ),
            (
                "create procedure p() begin set global read_only = 1; end",
                "has a PROCEDURE with GLOBAL",
            ),
            (
                "create trigger t before insert on a for each row begin drop user me; end",
                "has a TRIGGER with USER",
            ),
            (
                "create procedure p() begin set @a = 1, @@global.read_only = 1; end",
                "has a PROCEDURE with GLOBAL",
            ),
            (
                "create procedure p() begin kill 5; end",
                "has a PROCEDURE with KILL",
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

    fn strays_of(set: &str, sql: &str) -> String {
        let others = ["mysql", "shop"].map(String::from);
        let strays = strays(&[set.into()], &Operation::new("o", sql), &others);
        strays.unwrap_or_default()
    }

    #[test]
    fn operations_and_queries_that_leave_the_schema_are_refused() {
        for (sql, says) in [
            ("update shop.orders set n = n + ?", "names the schema shop"),
            ("select 1 from `Shop`.orders", "names the schema shop"),
            ("call shop.p()", "names the schema shop"),
            ("delete from mysql.user", "names the schema mysql"),
            ("drop database shop", "has DROP DATABASE"),
            ("set global max_connections = 1", "has SET with GLOBAL"),
        ] {
            let strays = strays_of("", sql);
            assert!(strays.contains(says), "{sql}: {strays}");
        }
        let quoted = "select * from \"shop\".orders";
        let strays = strays_of("SET SESSION sql_mode = 'ANSI'", quoted);
        assert!(strays.contains("names the schema shop"), "{strays}");
    }

    #[test]
    fn operations_and_queries_within_the_schema_are_accepted() {
        for sql in [
            "select shop.id from orders shop where shop.id = ?",
            "update prony_sql.orders set name = 'shop.orders'",
            "select user from mysql.user",
            "set autocommit = 0",
            "savepoint a",
            "call p()",
        ] {
            assert_eq!(strays_of("", sql), "", "{sql}");
        }
    }

    #[test]
    fn the_first_refused_statement_is_named_with_its_place() {
        let sql = "create table t (a int);\n\nset global read_only = 1;\n";
        let sources = of_setup(sql, Some("tables.sql"));
        let refused = check(&sources, &["shop".into()]).unwrap_err().to_string();
        assert!(
            refused.starts_with("tables.sql:3: the statement has SET with GLOBAL")
                && refused.contains("--allow-setup"),
            "{refused}"
        );
    }
}
