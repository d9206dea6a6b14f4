//! Compiles texts and generators to a script.
//!
//! Purpose: find mistakes in statements before any server is contacted. Boundaries: only the server can validate the SQL.

use super::effects::Purpose;
use super::generator::{Generator, Parameter};
use super::locks::Locks;
use super::mix::Mix;
use super::{Operation, Policy, Script, Statement, Step};
use crate::sql_text::lexer::{reading, tokens_of};
use crate::sql_text::{PieceKind, lex};
use crate::sql_text::{SqlMistake, named, statements};

/// The placeholder for the number of a table in a statement.
pub(super) const TABLE: &str = "{n}";

/// Builds a script, operation by operation.
#[derive(Default)]
pub struct Builder {
    tables: Option<u32>,
    parameters: Vec<Parameter>,
    used: Vec<bool>,
    text_bytes: usize,
    statements: Vec<Statement>,
    places: u32,
    operations: Vec<Operation>,
    weights: Vec<u32>,
}

/// A group of an operation's statements that share their values.
#[derive(Clone, Copy, Debug)]
pub struct StatementGroup<'s> {
    pub times: u16,
    /// Separated by semicolons.
    pub sql: &'s str,
}

impl Builder {
    /// `tables`: the number of tables for `{n}`; None if `{n}` has no special meaning.
    pub fn new(tables: Option<u32>) -> Builder {
        Builder {
            tables: tables.map(|tables| tables.max(1)),
            ..Builder::default()
        }
    }

    /// Defines the parameter `:name`; returns its number, for [`Generator::Plus`].
    pub fn parameter(&mut self, name: &str, generator: Generator) -> u16 {
        let bytes = generator.text_bytes_max();
        self.parameters.push(Parameter {
            name: name.into(),
            generator,
            text_from: self.text_bytes,
        });
        self.text_bytes += bytes;
        self.used.push(false);
        (self.parameters.len() - 1) as u16
    }

    /// Adds an operation.
    ///
    /// # Errors
    /// Returns the mistake in its statements.
    pub fn operation(
        &mut self,
        name: &str,
        weight: u32,
        parts: &[StatementGroup],
    ) -> Result<(), SqlMistake> {
        let mut steps = Vec::new();
        let mut depth = Transactions::default();
        let mut reads_only = true;
        for part in parts {
            let mut step = Step {
                times: part.times,
                draws: Vec::new(),
                statements: Vec::new(),
                commits: Vec::new(),
            };
            for sql in statements(part.sql)? {
                reads_only &= Control::from_sql(sql).is_some() || only_reads(sql);
                step.commits.push(depth.follow(sql));
                let statement = self.statement(sql)?;
                for &parameter in &self.statements[usize::from(statement)].parameters {
                    draw(&mut step.draws, &self.parameters, parameter);
                }
                step.statements.push(statement);
            }
            if step.times > 0 && !step.statements.is_empty() {
                steps.push(step);
            }
        }
        if depth.is_off {
            return Err(SqlMistake::NoAutocommit);
        }
        if depth.open {
            return Err(SqlMistake::Open);
        }
        if let Some(missing) = depth.locks.missing() {
            return Err(SqlMistake::Locked { missing });
        }
        self.operations.push(Operation {
            name: name.into(),
            steps,
            transaction: depth.any,
            turns_autocommit_off: depth.was_off,
            reads_only,
        });
        self.weights.push(weight);
        Ok(())
    }

    /// The number of the statement; equal statements share a number.
    fn statement(&mut self, text: &str) -> Result<u16, SqlMistake> {
        let (sql, names) = named(text)?;
        let parameters = names
            .into_iter()
            .map(|name| self.find(name))
            .collect::<Result<Vec<u16>, _>>()?;
        let same = |known: &Statement| known.sql == sql && known.parameters == parameters;
        if let Some(known) = self.statements.iter().position(same) {
            return Ok(known as u16);
        }
        let tables = self.tables.filter(|_| sql.contains(TABLE));
        self.statements.push(Statement {
            control: Control::from_sql(&sql).is_some(),
            purpose: purpose(&sql),
            parameters,
            per_table: tables.is_some(),
            place: self.places,
            sql,
        });
        self.places += tables.unwrap_or(1);
        Ok((self.statements.len() - 1) as u16)
    }

    fn find(&mut self, name: &str) -> Result<u16, SqlMistake> {
        let found = self.parameters.iter().position(|known| known.name == name);
        let place = found.ok_or_else(|| SqlMistake::Undefined { name: name.into() })?;
        self.used[place] = true;
        Ok(place as u16)
    }

    /// Parameters that no statement uses.
    pub fn unused(&self) -> impl Iterator<Item = &str> {
        let unused = self
            .parameters
            .iter()
            .zip(&self.used)
            .filter(|(_, used)| !**used);
        unused.map(|(parameter, _)| parameter.name.as_str())
    }

    /// # Panics
    /// If no operation has a weight.
    pub fn finish(self, policy: Policy) -> Script {
        Script {
            mix: Mix::new(self.weights),
            operations: self.operations,
            statements: self.statements,
            parameters: self.parameters,
            tables: self.tables.unwrap_or(1),
            policy,
        }
    }
}

/// Adds a parameter to the list, after the one that it depends on.
fn draw(draws: &mut Vec<u16>, parameters: &[Parameter], parameter: u16) {
    if draws.contains(&parameter) {
        return;
    }
    if let Generator::Plus {
        parameter: base, ..
    } = parameters[usize::from(parameter)].generator
    {
        draw(draws, parameters, base);
    }
    draws.push(parameter);
}

/// A statement that starts or ends a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    Begin,
    Commit,
    Rollback,
}

impl Control {
    fn from_sql(sql: &str) -> Option<Control> {
        let words: Vec<String> = words(sql).take(4).map(str::to_ascii_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["begin", ..] | ["start", "transaction", ..] => Some(Control::Begin),
            // ROLLBACK TO SAVEPOINT ends nothing.
            ["rollback", "to", ..] | ["rollback", "work", "to", ..] => None,
            // The next transaction begins at once.
            ["commit", "and", "chain", ..] | ["commit", "work", "and", "chain"] => {
                Some(Control::Begin)
            }
            ["commit", ..] => Some(Control::Commit),
            ["rollback", ..] => Some(Control::Rollback),
            _ => None,
        }
    }
}

/// The effect of a statement other than a [`Control`] on the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Nothing,
    /// It may change rows.
    Change,
    /// It changes a definition, which implicitly commits.
    Define,
}

impl Effect {
    fn from_sql(sql: &str) -> Effect {
        match verbs(sql).next().as_deref() {
            Some(
                "select" | "show" | "explain" | "describe" | "desc" | "set" | "use" | "values"
                | "table" | "do" | "help" | "savepoint" | "release" | "rollback",
            ) => Effect::Nothing,
            Some("with") if reading::reads(&tokens_of(sql)) => Effect::Nothing,
            Some("create" | "alter" | "drop" | "truncate" | "rename") => Effect::Define,
            _ => Effect::Change,
        }
    }
}

/// The effect of a statement that its reply shows.
pub(super) fn purpose(sql: &str) -> Purpose {
    let tokens = tokens_of(sql);
    let has_into = || tokens.iter().any(|token| token.is("INTO"));
    match tokens.iter().find(|token| !token.is_sign(b'(')) {
        Some(first) if first.is_one_of(&["INSERT", "UPDATE", "DELETE", "REPLACE"]) => {
            Purpose::Change
        }
        Some(first) if first.is("WITH") && !reading::reads(&tokens) => Purpose::Change,
        // With INTO the rows go elsewhere.
        Some(first) if first.is_one_of(&["SELECT", "WITH", "TABLE", "VALUES"]) && !has_into() => {
            Purpose::Find
        }
        _ => Purpose::Other,
    }
}

/// What a statement sets autocommit to, for the statements after it.
fn autocommit(sql: &str) -> Option<bool> {
    let mut verbs = verbs(sql);
    if verbs.next()? != "set" {
        return None;
    }
    let code = words(sql).collect::<String>().to_ascii_lowercase();
    let (_, after) = code.split_once("autocommit")?;
    let value = after.trim_start_matches(['`', ':', '=']);
    let is_off = ["0", "off", "false", "'off'", "\"off\""]
        .iter()
        .any(|off| value.starts_with(off));
    Some(!is_off)
}

/// Whether a statement changes nothing and locks nothing.
fn only_reads(sql: &str) -> bool {
    let tokens = tokens_of(sql);
    reading::reads(&tokens) && reading::touches(&tokens).is_none()
}

/// The words of a statement in lower case, without signs.
fn verbs(sql: &str) -> impl Iterator<Item = String> {
    let verb = |word: &str| -> String {
        let word = word.trim_start_matches('(').chars();
        word.take_while(char::is_ascii_alphabetic)
            .map(|letter| letter.to_ascii_lowercase())
            .collect()
    };
    words(sql).map(verb).filter(|verb| !verb.is_empty())
}

/// The words of a statement without its comments. One that is not lexed has none; [`statements`] has refused it.
fn words(sql: &str) -> impl Iterator<Item = &str> {
    let pieces = lex(sql).unwrap_or_default().into_iter();
    let code = pieces.filter(|(kind, _)| *kind != PieceKind::Comment);
    code.flat_map(move |(_, range)| sql[range].split_whitespace())
}

/// Tracks whether a transaction is open.
#[derive(Default)]
struct Transactions {
    any: bool,
    open: bool,
    /// Whether autocommit is off, so that a change opens a transaction.
    is_off: bool,
    was_off: bool,
    locks: Locks,
}

impl Transactions {
    /// Processes the next statement. Returns whether it commits changes: its own in autocommit, or those of the
    /// transaction that it ends.
    fn follow(&mut self, sql: &str) -> bool {
        if let Some(is_on) = autocommit(sql) {
            return self.turn_autocommit(is_on);
        }
        self.locks.follow(&tokens_of(sql));
        match (Control::from_sql(sql), Effect::from_sql(sql)) {
            (Some(Control::Begin), _) => {
                self.any = true;
                // An open transaction is committed.
                std::mem::replace(&mut self.open, true)
            }
            (Some(Control::Commit), _) => {
                self.open = false;
                true
            }
            (Some(Control::Rollback), _) => {
                self.open = false;
                false
            }
            (None, Effect::Nothing) => false,
            (None, Effect::Change) => {
                self.open |= self.is_off;
                !self.open
            }
            (None, Effect::Define) => true,
        }
    }

    /// Returns whether it commits: turning autocommit on again does.
    fn turn_autocommit(&mut self, is_on: bool) -> bool {
        if is_on {
            return std::mem::take(&mut self.is_off) && std::mem::take(&mut self.open);
        }
        (self.any, self.is_off, self.was_off) = (true, true, true);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datagen::oltp::{Distribution, Keys};

    fn builder() -> Builder {
        let mut builder = Builder::new(Some(3));
        let keys = Keys::new(Distribution::Uniform, 1, 9);
        let id = builder.parameter("id", Generator::Keys(keys));
        builder.parameter(
            "last",
            Generator::Plus {
                parameter: id,
                add: 4,
            },
        );
        builder.parameter("text", Generator::Groups { bytes: 7 });
        builder
    }

    fn part(sql: &str) -> StatementGroup<'_> {
        StatementGroup { times: 1, sql }
    }

    fn finish(builder: Builder) -> Script {
        builder.finish(Policy {
            retries_max: 0,
            also: Vec::new(),
        })
    }

    #[test]
    fn a_parameter_is_drawn_once_for_a_part_and_after_the_one_it_rests_on() {
        let mut builder = builder();
        let sql = "select a from t{n} where b between :last and :id; select :id";
        builder.operation("o", 1, &[part(sql)]).unwrap();
        let script = finish(builder);
        assert_eq!(script.operations[0].steps[0].draws, [0, 1]);
        assert_eq!(script.statements[0].parameters, [1, 0]);
    }

    #[test]
    fn statements_that_several_operations_share_are_kept_once() {
        let mut builder = builder();
        let point = part("select c from t{n} where id = :id");
        builder.operation("a", 1, &[point]).unwrap();
        builder
            .operation("b", 1, &[part("begin"), point, part("commit")])
            .unwrap();
        let script = finish(builder);
        assert_eq!(script.statements.len(), 3);
        assert_eq!((script.prepared_per_session(), script.places()), (3, 5));
    }

    #[test]
    fn each_table_has_a_statement_of_its_own() {
        let mut builder = builder();
        let sql = "select a from t{n} where b regexp 'x'; select 1";
        builder.operation("a", 1, &[part(sql)]).unwrap();
        let script = finish(builder);
        assert_eq!(
            script.statements[0].texts(script.tables),
            [1, 2, 3].map(|n| format!("select a from t{n} where b regexp 'x'"))
        );
        assert_eq!(script.statements[1].texts(script.tables), ["select 1"]);
    }

    #[test]
    fn without_numbered_tables_the_place_of_a_number_is_text() {
        let mut builder = Builder::new(None);
        let sql = "select a regexp 'a{n}'";
        builder.operation("a", 1, &[part(sql)]).unwrap();
        let script = finish(builder);
        assert_eq!(script.statements[0].texts(script.tables), [sql]);
        assert_eq!((script.prepared_per_session(), script.places()), (1, 1));
    }

    #[test]
    fn a_transaction_is_recognised_and_has_to_end() {
        let mut builder = builder();
        builder.operation("a", 1, &[part("select 1")]).unwrap();
        let sql = "START  transaction; rollback to savepoint s; COMMIT";
        builder.operation("b", 1, &[part(sql)]).unwrap();
        for open in [
            "begin; select 1",
            "begin; rollback to s",
            "begin; select 1; commit work and chain",
        ] {
            let mistake = builder.operation("c", 1, &[part(open)]);
            assert_eq!(mistake, Err(SqlMistake::Open));
        }
        let script = finish(builder);
        let transactions: Vec<bool> = script.operations.iter().map(|o| o.transaction).collect();
        assert_eq!(transactions, [false, true]);
    }

    #[test]
    fn an_operation_that_leaves_autocommit_off_is_refused() {
        for off in [
            "set autocommit = 0; insert into t values (1)",
            "SET @@session.autocommit:=OFF; select 1",
            "set /* all */ sql_mode = '', autocommit=false",
            "set `autocommit` = 'off'",
        ] {
            let mistake = builder().operation("off", 1, &[part(off)]);
            assert_eq!(mistake, Err(SqlMistake::NoAutocommit), "{off}");
        }
        for on in [
            "set autocommit = 0; insert into t values (1); commit; set autocommit = 1",
            "set autocommit = 1",
            "select 'set autocommit = 0'",
            "set @a = 0",
        ] {
            builder().operation("on", 1, &[part(on)]).unwrap();
        }
    }

    #[test]
    fn an_operation_that_leaves_something_locked_is_refused() {
        let sql = "lock tables t write; update t set a = 1";
        let missing = "UNLOCK TABLES";
        let mistake = builder().operation("locked", 1, &[part(sql)]);
        assert_eq!(mistake, Err(SqlMistake::Locked { missing }));
        let sql = format!("{sql}; unlock tables");
        builder().operation("unlocked", 1, &[part(&sql)]).unwrap();
    }

    #[test]
    fn the_purpose_of_a_statement_is_what_its_reply_can_show() {
        for (sql, expected) in [
            ("update t set a = 1", Purpose::Change),
            ("insert ignore into t select * from u", Purpose::Change),
            ("with x as (select 1) delete from t", Purpose::Change),
            ("/* all */ select a from t", Purpose::Find),
            ("(select 1) union (select 2)", Purpose::Find),
            ("with x as (select 1) select * from x", Purpose::Find),
            ("select a from t into @a", Purpose::Other),
            ("select a from t where b = 'put into it'", Purpose::Find),
            (
                "with x as (select 'an update') select * from x",
                Purpose::Find,
            ),
            (
                "with x as (select 1) select * from x, t for update",
                Purpose::Find,
            ),
            (
                "with x as (select a from t) select a from x into @a",
                Purpose::Other,
            ),
            ("set @a = 1", Purpose::Other),
            ("call p()", Purpose::Other),
            ("commit", Purpose::Other),
        ] {
            assert_eq!(purpose(sql), expected, "{sql}");
        }
    }

    #[test]
    fn commits_are_found_inside_and_outside_of_transactions() {
        let commits = |sql: &str| {
            let mut builder = builder();
            builder.operation("o", 1, &[part(sql)]).unwrap();
            finish(builder).operations[0].steps[0].commits.clone()
        };
        let transaction = "begin; insert into t values (1); select 1; commit; delete from t";
        assert_eq!(commits(transaction), [false, false, false, true, true]);
        let rolled_back = "start transaction; update t set a = 1; rollback; call p()";
        assert_eq!(commits(rolled_back), [false, false, false, true]);
        let reads = "select*from t; (select 1); /* all */ SHOW TABLES; set @a = 1";
        assert_eq!(commits(reads), [false; 4]);
        let common = "with x as (select 1) select * from x; with x as (select 1) delete from t";
        assert_eq!(commits(common), [false, true]);
        let implied = "begin; create table u (a int); begin; truncate u; commit";
        assert_eq!(commits(implied), [false, true, true, true, true]);
        let off = "set autocommit = 0; call p(); delete from t; commit; set autocommit = 1";
        assert_eq!(commits(off), [false, false, false, true, false]);
        let by_turning_on = "set autocommit = 0; delete from t; set autocommit = 1; delete from t";
        assert_eq!(commits(by_turning_on), [false, false, true, true]);
    }

    #[test]
    fn a_comment_does_not_hide_where_a_transaction_begins_and_ends() {
        for (begin, end) in [
            ("-- moves money\nbegin", "commit"),
            ("# moves money\nbegin", "rollback work"),
            (
                "/* moves money */ start/**/transaction",
                "/* all of it */commit",
            ),
        ] {
            for open in [
                format!("{begin}; select 1"),
                format!("{begin}; rollback work to s"),
                format!("{begin}; rollback /* not all */ to savepoint s"),
            ] {
                let mistake = builder().operation("open", 1, &[part(&open)]);
                assert_eq!(mistake, Err(SqlMistake::Open), "{open}");
            }
            let mut builder = builder();
            let whole = format!("{begin}; select 1; {end}");
            builder.operation("whole", 1, &[part(&whole)]).unwrap();
            let script = finish(builder);
            assert!(script.operations[0].transaction, "{whole}");
            assert_eq!(script.prepared_per_session(), 1, "{whole}");
        }
    }

    #[test]
    fn undefined_and_unused_parameters_are_named() {
        let mut builder = builder();
        let mistake = builder.operation("a", 1, &[part("select :amount")]);
        assert_eq!(
            mistake,
            Err(SqlMistake::Undefined {
                name: "amount".into()
            })
        );
        builder.operation("a", 1, &[part("select :id")]).unwrap();
        assert_eq!(builder.unused().collect::<Vec<_>>(), ["last", "text"]);
    }
}
