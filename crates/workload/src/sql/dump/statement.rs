//! What a statement of a dump or a setup becomes on a server where prony loads it into its own schema.
//!
//! Purpose: nothing outside prony's schema is touched, no user or server setting is needed, and the rest runs as written, byte by
//! byte. Boundaries: `split` finds the statements, only the server knows whether it accepts them.

use super::effect::{self, Effect};
use super::origin::Origin;
use super::split::Statement;
use super::{definer, names, settings};
use crate::schema::marker;
use crate::sql::own_schema::SCHEMA;
use crate::sql_text::lexer::{Lexer, Token, TokenKind, reading};
use std::borrow::Cow;
use std::ops::Range;

/// What to do with a statement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action<'s> {
    /// Sends the statement.
    Run { sql: Cow<'s, [u8]>, effect: Effect },
    /// Sends a file to the server.
    Infile {
        sql: Vec<u8>,
        file: String,
        effect: Effect,
    },
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
    #[error("{}", reading::WRITES_FILE)]
    WritesFile,
    #[error(
        "the server would read {0:?} from its own disk; write LOAD DATA LOCAL INFILE, with the file beside this one, or --load TABLE=FILE"
    )]
    NotLocal(String),
    #[error(
        "the table would lie outside of the server's data folder, which prony copies for each trial; remove DATA DIRECTORY, INDEX DIRECTORY and the folder of ADD DATAFILE; to measure another disk, write [host] with a volume"
    )]
    Elsewhere,
    #[error(
        "the redo log would stay off in each trial, whose data folder is a copy, and the record would not say so; remove ALTER INSTANCE DISABLE INNODB REDO_LOG, and what enables it again"
    )]
    RedoLogOff,
}

/// Reads the statements of one text in order.
#[derive(Default)]
pub(crate) struct Filter {
    origin: Origin,
    /// The dump's own schema is that of the first USE, else of the first CREATE DATABASE, else of its head.
    used: Option<String>,
    created: Option<String>,
    head: Option<String>,
    /// Texts that are replaced in every statement but those that insert rows.
    replace: Vec<(String, String)>,
    /// Whether the character set of prony's schema is given, so that the dump's is not taken.
    keeps_charset: bool,
    /// Events that were made.
    events: Vec<String>,
}

/// What a statement with rows begins with.
const ROWS: [&str; 2] = ["INSERT", "REPLACE"];
/// The first words of statements of a dump that concern the server it comes from, or its accounts. FLUSH changes no data.
const OF_ANOTHER_SERVER: [(&str, &str); 20] = [
    ("GRANT", ""),
    ("REVOKE", ""),
    ("CREATE", "USER"),
    ("CREATE", "ROLE"),
    ("ALTER", "USER"),
    ("ALTER", "INSTANCE"),
    ("DROP", "USER"),
    ("DROP", "ROLE"),
    ("RENAME", "USER"),
    ("FLUSH", ""),
    ("CHANGE", "MASTER"),
    ("CHANGE", "REPLICATION"),
    ("START", "SLAVE"),
    ("START", "REPLICA"),
    ("START", "ALL"),
    ("STOP", "SLAVE"),
    ("STOP", "REPLICA"),
    ("STOP", "ALL"),
    ("RESET", ""),
    ("PURGE", ""),
];
/// What CREATE makes; the first of these words in the statement counts.
const OBJECTS: [&str; 7] = [
    "TABLE",
    "VIEW",
    "TRIGGER",
    "PROCEDURE",
    "FUNCTION",
    "EVENT",
    "PACKAGE",
];
/// The name by which the server requests a file.
const INFILE: &[u8] = b"'rows'";

impl Filter {
    pub(crate) fn new(origin: Origin, replace: &[(String, String)], keeps_charset: bool) -> Filter {
        Filter {
            origin,
            replace: replace.to_vec(),
            keeps_charset,
            ..Filter::default()
        }
    }

    /// The events that the statements have made.
    pub(crate) fn into_events(self) -> Vec<String> {
        self.events
    }

    /// Takes note of the schema that the head of the dump names.
    pub(crate) fn of_head(&mut self, schema: Option<&str>) {
        if let Some(schema) = schema {
            self.head = Some(schema.to_string());
        }
    }

    /// # Errors
    /// The statement cannot be loaded into one schema, or acts on files of the server.
    pub(crate) fn action<'s>(&mut self, statement: &'s Statement) -> Result<Action<'s>, Refused> {
        let sql = statement.sql.as_slice();
        let mut lexer = Lexer::new(sql, statement.quoting);
        let Some(first) = lexer.next() else {
            return Ok(Action::Skip);
        };
        let second = lexer.next();
        if is_of_marker(Lexer::new(sql, statement.quoting)) {
            return Ok(Action::Skip);
        }
        if first.is_one_of(&ROWS) {
            return Ok(self.ready(Cow::Borrowed(sql), statement));
        }
        let tokens: Vec<Token> = Lexer::new(sql, statement.quoting).collect();
        if reading::writes_file(&tokens) {
            return Err(Refused::WritesFile);
        }
        let is_database = second.is_some_and(|word| word.is_one_of(&["DATABASE", "SCHEMA"]));
        match first {
            _ if first.is("USE") => return self.enter(tokens.get(1)).map(|()| Action::Skip),
            _ if first.is_one_of(&["CREATE", "ALTER", "DROP"]) && is_database => {
                return Ok(self.of_database(&tokens));
            }
            _ if first.is("LOAD") => return self.infile(statement, &tokens),
            _ if self.is_of_another_server(first, second) => return Ok(Action::Skip),
            _ if turns_redo_log_off(&tokens) => return Err(Refused::RedoLogOff),
            _ => {}
        }
        let changed = if first.is("SET") {
            match settings::kept(sql, &tokens, self.origin) {
                Some(kept) => kept,
                None => return Ok(Action::Skip),
            }
        } else {
            let folders = definer::folders(&tokens);
            let is_left = self.origin == Origin::Setup && !folders.is_empty();
            if is_left || definer::is_file_elsewhere(&tokens) {
                return Err(Refused::Elsewhere);
            }
            without(sql, definer::place(&tokens).into_iter().chain(folders))
        };
        self.note_event(&tokens);
        let changed = self.replaced(changed);
        Ok(self.ready(changed, statement))
    }

    fn ready<'s>(&self, sql: Cow<'s, [u8]>, statement: &Statement) -> Action<'s> {
        let sql = self.mapped(sql, statement);
        let effect = effect::effect(&sql, statement.quoting);
        Action::Run { sql, effect }
    }

    /// With names of the dump's own schema as names of prony's.
    fn mapped<'s>(&self, sql: Cow<'s, [u8]>, statement: &Statement) -> Cow<'s, [u8]> {
        let own = self.used.as_deref().or(self.created.as_deref());
        match own.or(self.head.as_deref()) {
            Some(own) => names::mapped(sql, statement.quoting, own),
            None => sql,
        }
    }

    /// LOAD DATA LOCAL INFILE and LOAD XML LOCAL INFILE, with the name of the file as it is sent.
    fn infile<'s>(
        &self,
        statement: &'s Statement,
        tokens: &[Token],
    ) -> Result<Action<'s>, Refused> {
        let at = tokens.iter().position(|token| token.is("INFILE"));
        let file = at.and_then(|at| tokens.get(at + 1));
        let Some((at, file)) = at.zip(file.filter(|file| file.kind == TokenKind::Text)) else {
            return Ok(match tokens.get(1) {
                // INTO CACHE: it changes no row.
                Some(second) if second.is("INDEX") => Action::Skip,
                // FROM S3, FROM URL: only some servers know it, and the others say so.
                _ => self.ready(Cow::Borrowed(statement.sql.as_slice()), statement),
            });
        };
        let name = file.content();
        if !tokens[..at].iter().any(|token| token.is("LOCAL")) {
            return Err(Refused::NotLocal(name));
        }
        let sql = &statement.sql;
        let sent = [&sql[..file.at], INFILE, &sql[file.end()..]].concat();
        let sql = self.mapped(Cow::Owned(sent), statement).into_owned();
        Ok(Action::Infile {
            effect: effect::of_infile(&sql, statement.quoting),
            file: name,
            sql,
        })
    }

    fn is_of_another_server(&self, first: Token, second: Option<Token>) -> bool {
        let is_one = |(a, b): &(&str, &str)| {
            first.is(a) && (b.is_empty() || second.is_some_and(|second| second.is(b)))
        };
        self.origin == Origin::Dump && OF_ANOTHER_SERVER.iter().any(is_one)
    }

    /// A USE of the first schema is skipped: everything goes to prony's own.
    fn enter(&mut self, name: Option<&Token>) -> Result<(), Refused> {
        let Some(name) = name.map(Token::content) else {
            return Ok(());
        };
        match &self.used {
            Some(first) if *first != name => Err(Refused::SecondSchema {
                first: first.clone(),
                second: name,
            }),
            _ => {
                self.used = Some(name);
                Ok(())
            }
        }
    }

    /// CREATE and ALTER DATABASE give prony's schema the character set of the dump's.
    fn of_database(&mut self, tokens: &[Token]) -> Action<'static> {
        if tokens[0].is("CREATE") && self.created.is_none() {
            self.created = effect::name_of_made(tokens[2..].iter().copied());
        }
        let options = settings::of_schema(tokens);
        if self.keeps_charset || tokens[0].is("DROP") || options.is_empty() {
            return Action::Skip;
        }
        let sql = format!("ALTER DATABASE {SCHEMA}{options}").into_bytes();
        Action::Run {
            sql: self.replaced(Cow::Owned(sql)),
            effect: Effect::Nothing,
        }
    }

    fn replaced<'s>(&self, mut sql: Cow<'s, [u8]>) -> Cow<'s, [u8]> {
        for (from, to) in &self.replace {
            if let Some(changed) = replaced(&sql, from.as_bytes(), to.as_bytes()) {
                sql = Cow::Owned(changed);
            }
        }
        sql
    }

    fn note_event(&mut self, tokens: &[Token]) {
        let object = tokens.iter().position(|token| token.is_one_of(&OBJECTS));
        let is_event = |at: &usize| tokens[0].is("CREATE") && tokens[*at].is("EVENT");
        if let Some(at) = object.filter(is_event) {
            let names = tokens[at + 1..].iter().copied();
            self.events.extend(effect::name_of_made(names));
        }
    }
}

/// Whether it is `ALTER INSTANCE DISABLE INNODB REDO_LOG`, which holds over restarts.
fn turns_redo_log_off(tokens: &[Token]) -> bool {
    matches!(tokens, [alter, instance, disable, ..]
        if alter.is("ALTER") && instance.is("INSTANCE") && disable.is("DISABLE"))
}

/// Whether the statement is about prony's own table, as in a dump of its schema. The name is among the first words.
fn is_of_marker(tokens: Lexer) -> bool {
    let mut names = tokens.take(8).filter_map(|token| token.name());
    names.any(|name| name == marker::TABLE)
}

/// The statement without these bytes. The places are in order.
fn without(sql: &[u8], places: impl Iterator<Item = Range<usize>>) -> Cow<'_, [u8]> {
    let (mut kept, mut from) = (Vec::new(), 0);
    for place in places {
        kept.extend_from_slice(&sql[from..place.start]);
        from = place.end;
    }
    match from {
        0 => Cow::Borrowed(sql),
        _ => {
            kept.extend_from_slice(&sql[from..]);
            Cow::Owned(kept)
        }
    }
}

/// None if the text is not there.
fn replaced(sql: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    if from.is_empty() {
        return None;
    }
    let (mut result, mut rest) = (Vec::new(), sql);
    while let Some(at) = rest.windows(from.len()).position(|part| part == from) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    if rest.len() == sql.len() {
        return None;
    }
    result.extend_from_slice(rest);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dump::Statements;

    fn filter(origin: Origin) -> Filter {
        Filter::new(origin, &[], false)
    }

    fn act(filter: &mut Filter, sql: &str) -> Result<Option<String>, Refused> {
        let mut statements = Statements::new("a.sql", sql.as_bytes());
        let statement = statements.next().unwrap().unwrap();
        match filter.action(&statement)? {
            Action::Run { sql, .. } => Ok(Some(String::from_utf8_lossy(&sql).into_owned())),
            Action::Infile { sql, file, .. } => {
                Ok(Some(format!("{file}: {}", String::from_utf8_lossy(&sql))))
            }
            Action::Skip => Ok(None),
        }
    }

    fn action(sql: &str) -> Option<String> {
        act(&mut filter(Origin::Dump), sql).unwrap()
    }

    #[test]
    fn statements_about_schemas_and_the_server_are_skipped() {
        for sql in [
            "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop`",
            "/*!40000 DROP DATABASE IF EXISTS `shop`*/",
            "USE `shop`",
            "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1-5'",
            "/*!50606 SET GLOBAL INNODB_STATS_AUTO_RECALC=OFF */",
            "CHANGE MASTER TO MASTER_LOG_FILE='a'",
            "START ALL SLAVES",
            "SET @@SESSION.SQL_LOG_BIN= 0",
            "flush /*!50503 binary */ logs",
            "GRANT ALL ON shop.* TO 'app'@'%' IDENTIFIED BY 'x'",
            "CREATE USER IF NOT EXISTS app",
            "SET PASSWORD FOR `app`@`%` = 'x'",
            "SET DEFAULT ROLE ALL TO app",
            "ALTER INSTANCE DISABLE INNODB REDO_LOG",
            "DROP TABLE IF EXISTS `prony_dataset`",
            "INSERT INTO `prony_dataset` VALUES ('sql-1', 7)",
        ] {
            assert_eq!(action(sql), None, "{sql}");
        }
        let setup = |sql: &str| act(&mut filter(Origin::Setup), sql).unwrap();
        let global = "SET GLOBAL max_connections = 5";
        assert_eq!(setup(global).as_deref(), Some(global));
        assert_eq!(setup("SET SQL_LOG_BIN = 0"), None);
        let off = "ALTER INSTANCE DISABLE INNODB REDO_LOG";
        let refused = act(&mut filter(Origin::Setup), off);
        assert_eq!(refused, Err(Refused::RedoLogOff));
    }

    #[test]
    fn other_statements_run_as_written() {
        for sql in [
            "DROP TABLE IF EXISTS `orders`",
            "/*!40101 SET NAMES utf8mb4 */",
            "/*M!100616 SET NOTE_VERBOSITY=@OLD_NOTE_VERBOSITY */",
            "SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN",
            "LOCK TABLES `orders` WRITE",
            "INSERT INTO `orders` VALUES (1,'SET GLOBAL a=1','DEFINER=`a`@`b`')",
            "CREATE TABLE `database` (a int)",
            "/*!40000 ALTER TABLE `orders` DISABLE KEYS */",
        ] {
            assert_eq!(action(sql).as_deref(), Some(sql));
        }
    }

    #[test]
    fn bytes_stay_as_they_are() {
        let sql = b"INSERT INTO t VALUES ('\xe9',_binary '\xff\\0\\'z',\"c\")";
        let mut statements = Statements::new("a.sql", &sql[..]);
        let statement = statements.next().unwrap().unwrap();
        match filter(Origin::Dump).action(&statement).unwrap() {
            Action::Run { sql: ready, .. } => assert_eq!(&ready[..], sql),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_schema_takes_the_character_set_of_the_dumps() {
        let create = "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */ /*!80016 DEFAULT ENCRYPTION='N' */";
        let expected = "ALTER DATABASE prony_sql CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";
        assert_eq!(action(create).as_deref(), Some(expected));
        let alter = "ALTER DATABASE `shop` CHARSET = latin1";
        let expected = "ALTER DATABASE prony_sql CHARACTER SET latin1";
        assert_eq!(action(alter).as_deref(), Some(expected));
        let mut given = Filter::new(Origin::Dump, &[], true);
        assert_eq!(act(&mut given, create), Ok(None));
    }

    #[test]
    fn a_second_schema_is_refused_and_the_first_may_come_again() {
        let mut filter = filter(Origin::Dump);
        assert_eq!(act(&mut filter, "USE `shop`"), Ok(None));
        assert_eq!(act(&mut filter, "USE `shop`"), Ok(None));
        let refused = act(&mut filter, "use stock").unwrap_err().to_string();
        assert!(
            refused.contains("from the schema shop to stock"),
            "{refused}"
        );
    }

    #[test]
    fn the_name_of_the_schema_comes_from_its_creation_or_the_head() {
        let insert = "INSERT INTO shop.t VALUES ('shop.t')";
        let expected = Some("INSERT INTO prony_sql.t VALUES ('shop.t')".to_string());
        let mut of_head = filter(Origin::Dump);
        of_head.of_head(Some("shop"));
        assert_eq!(act(&mut of_head, insert).unwrap(), expected);
        let mut created = filter(Origin::Dump);
        act(&mut created, "CREATE SCHEMA IF NOT EXISTS shop").unwrap();
        assert_eq!(act(&mut created, insert).unwrap(), expected);
    }

    #[test]
    fn a_definition_loses_its_definer() {
        let sql = "CREATE ALGORITHM = UNDEFINED DEFINER = `app`@`%` SQL SECURITY DEFINER VIEW v AS SELECT 1";
        let expected = "CREATE ALGORITHM = UNDEFINED  SQL SECURITY DEFINER VIEW v AS SELECT 1";
        assert_eq!(action(sql).as_deref(), Some(expected));
    }

    #[test]
    fn texts_are_replaced_in_definitions_but_not_in_rows() {
        let pair = (
            "utf8mb4_0900_ai_ci".to_string(),
            "utf8mb4_general_ci".to_string(),
        );
        let mut filter = Filter::new(Origin::Dump, &[pair], false);
        let mut run = |sql: &str| act(&mut filter, sql).unwrap().unwrap();
        assert_eq!(
            run("CREATE TABLE t (a int) COLLATE=utf8mb4_0900_ai_ci"),
            "CREATE TABLE t (a int) COLLATE=utf8mb4_general_ci"
        );
        assert_eq!(
            run("CREATE DATABASE a COLLATE utf8mb4_0900_ai_ci"),
            "ALTER DATABASE prony_sql COLLATE utf8mb4_general_ci"
        );
        let row = "INSERT INTO t VALUES ('utf8mb4_0900_ai_ci')";
        assert_eq!(run(row), row);
    }

    #[test]
    fn files_of_the_server_are_refused_and_those_beside_are_sent() {
        let refused = |sql: &str| {
            act(&mut filter(Origin::Setup), sql)
                .unwrap_err()
                .to_string()
        };
        let says = refused("select * from a /*! into */ outfile '/tmp/x'");
        assert!(says.contains("writes a file"), "{says}");
        let says = refused("LOAD DATA INFILE '/tmp/x' INTO TABLE t");
        assert!(says.contains("LOAD DATA LOCAL INFILE"), "{says}");
        assert_eq!(
            action("LOAD DATA LOCAL INFILE 'pet.txt' INTO TABLE pet").as_deref(),
            Some("pet.txt: LOAD DATA LOCAL INFILE 'rows' INTO TABLE pet")
        );
        let elsewhere = "LOAD DATA FROM S3 's3://shop/pet.txt' INTO TABLE pet";
        assert_eq!(action(elsewhere).as_deref(), Some(elsewhere));
        assert_eq!(action("LOAD INDEX INTO CACHE pet"), None);
    }

    #[test]
    fn folders_of_another_server_are_left_out_of_a_dump_and_refused_in_a_setup() {
        let sql = "CREATE TABLE t (a int) ENGINE=InnoDB DATA DIRECTORY='/disk2' COMMENT 'x'";
        let expected = "CREATE TABLE t (a int) ENGINE=InnoDB  COMMENT 'x'";
        assert_eq!(action(sql).as_deref(), Some(expected));
        let refused = act(&mut filter(Origin::Setup), sql);
        assert_eq!(refused, Err(Refused::Elsewhere));
        let space = "CREATE TABLESPACE s ADD DATAFILE '/disk2/s.ibd'";
        let refused = act(&mut filter(Origin::Dump), space);
        assert_eq!(refused, Err(Refused::Elsewhere));
    }

    #[test]
    fn the_events_of_a_dump_are_known() {
        let mut filter = filter(Origin::Dump);
        for sql in [
            "CREATE EVENT beat ON SCHEDULE EVERY 1 SECOND DO SELECT 1",
            "/*!50106 CREATE*/ /*!50117 DEFINER=`a`@`b`*/ /*!50106 EVENT `shop`.`second` ON SCHEDULE EVERY 1 DAY DO SELECT 1 */",
            "CREATE PROCEDURE p() CREATE EVENT third ON SCHEDULE EVERY 1 DAY DO SELECT 1",
        ] {
            act(&mut filter, sql).unwrap();
        }
        assert_eq!(filter.into_events(), ["beat", "second"]);
    }
}
