//! The user's queries for rounds: every statement of a .sql text, named by its heading or numbered.
//!
//! Purpose: a text that the server's own client runs becomes the queries of a round, each with its line. USE is passed over, and the
//! SETs above a query run before it, untimed. Boundaries: only the server knows whether the SQL is valid.

use super::dump::{Cause, Cut, Piece, Statement, Statements, mapped};
use crate::sql_text::lexer::{
    Assignment, Lexer, Quoting, Scope, Token, assignments, is_for_a_statement, reading, tokens_of,
    user_variables,
};
use crate::sql_text::{is_name, name_and_weight};
use std::borrow::Cow;

/// A statement of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The heading's; with several statements under it `by_region.2`; without any heading `Q2`.
    pub name: String,
    /// Without the comments before it and the semicolon after it.
    pub sql: String,
    /// The line of its first word, from 1.
    pub line: usize,
    /// The SETs above it, in order.
    pub before: Vec<String>,
    /// How its text is quoted under these.
    quoting: Quoting,
}

/// A text of queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Queries {
    pub queries: Vec<Query>,
    /// The schemas that USE names, each with its line.
    pub used: Vec<(String, usize)>,
}

/// Why a text is not a list of queries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{says}")]
pub struct QueryMistake {
    /// From 1; None: it concerns the whole text.
    pub line: Option<usize>,
    says: String,
}

const BEFORE: &str = "a statement before the first heading has no name; write a line like -- name: by_region above it";
const CHANGES: &str = "this statement does not only read, so the next round would measure something else; rounds run SELECT, WITH, TABLE, VALUES, SHOW and EXPLAIN; drive other statements in a timed load (operations)";
const OF_ONE_STATEMENT: &str = "SET STATEMENT ... FOR is known to MariaDB alone, and the query in it would have no plan; write SET SESSION with the same variables above the query, and the query without it";

fn mistake(line: usize, says: impl Into<String>) -> QueryMistake {
    QueryMistake {
        line: Some(line),
        says: says.into(),
    }
}

impl From<Cut> for QueryMistake {
    fn from(cut: Cut) -> QueryMistake {
        match cut.cause {
            Cause::WithinStatement {
                opened_by: Some((opened_by, line)),
                ..
            } => mistake(line as usize, format!("{opened_by} is not closed")),
            cause => mistake(cut.line as usize, cause.to_string()),
        }
    }
}

/// A heading and the statements below it. The first group of a text has no heading.
#[derive(Default)]
struct Group {
    heading: Option<(String, usize)>,
    statements: Vec<Query>,
}

/// The SETs so far, and the variables that they set: those of the session before the first query, and those of the user.
#[derive(Default)]
struct Sets {
    statements: Vec<String>,
    /// The only variable of the last one, if its value is one word.
    last: Option<(Scope, String)>,
    first: Vec<String>,
    of_user: Vec<String>,
    has_query: bool,
}

/// Reads the queries of a text, in order.
///
/// # Errors
/// The first mistake.
pub(super) fn queries(text: &str) -> Result<Queries, QueryMistake> {
    let (groups, used) = groups(text)?;
    let has_headings = groups.len() > 1;
    let mut found: Vec<Query> = Vec::new();
    for group in groups {
        for query in named(group, has_headings)? {
            if found.iter().any(|known| known.name == query.name) {
                let Query { name, line, .. } = query;
                return Err(mistake(
                    line,
                    format!("a second query is named {name}; give each query a name of its own"),
                ));
            }
            found.push(query);
        }
    }
    if found.is_empty() {
        Err(QueryMistake {
            line: None,
            says: "there is no statement".into(),
        })
    } else {
        Ok(Queries {
            queries: found,
            used,
        })
    }
}

fn named(group: Group, has_headings: bool) -> Result<Vec<Query>, QueryMistake> {
    let several = group.statements.len() > 1;
    let heading = match (group.heading, group.statements.first()) {
        (None, Some(Query { line, .. })) if has_headings => {
            return Err(mistake(*line, BEFORE));
        }
        (Some((name, line)), None) => {
            let says = format!("no statement follows the heading {name}");
            return Err(mistake(line, says));
        }
        (heading, _) => heading.map(|(name, _)| name),
    };
    let statements = group.statements.into_iter().zip(1..);
    let query = |(query, n): (Query, usize)| Query {
        name: match &heading {
            None => format!("Q{n}"),
            Some(name) if several => format!("{name}.{n}"),
            Some(name) => name.clone(),
        },
        ..query
    };
    Ok(statements.map(query).collect())
}

/// A name and the line that has it.
type Numbered = (String, usize);

/// The groups, and the schemas that USE names.
fn groups(text: &str) -> Result<(Vec<Group>, Vec<Numbered>), QueryMistake> {
    let mut statements = Statements::new("queries", text.as_bytes()).with_headings();
    let mut groups = vec![Group::default()];
    let mut used: Vec<(String, usize)> = Vec::new();
    let mut sets = Sets::default();
    while let Some(piece) = statements.piece()? {
        let statement = match piece {
            Piece::Statement(statement) => statement,
            Piece::Heading { line, text } => {
                let line = line as usize;
                let heading = Some((name_of(&text, line)?.to_string(), line));
                groups.push(Group {
                    heading,
                    ..Group::default()
                });
                continue;
            }
        };
        let line = statement.line as usize;
        let tokens: Vec<Token> = Lexer::new(&statement.sql, statement.quoting).collect();
        match tokens.first() {
            Some(first) if first.is("USE") => {
                let name = tokens.get(1).map(Token::content);
                used.extend(name.map(|name| (name, line)));
            }
            _ if is_for_a_statement(&tokens) => return Err(mistake(line, OF_ONE_STATEMENT)),
            Some(first) if first.is("SET") => sets.add(&statement, &tokens)?,
            _ if reading::writes_file(&tokens) => return Err(mistake(line, reading::WRITES_FILE)),
            _ if !reading::reads(&tokens) => return Err(mistake(line, CHANGES)),
            _ => {
                sets.check(line, &tokens)?;
                sets.has_query = true;
                let query = Query {
                    name: String::new(),
                    sql: text_of(&statement),
                    line,
                    before: sets.statements.clone(),
                    quoting: statement.quoting,
                };
                if let Some(group) = groups.last_mut() {
                    group.statements.push(query);
                }
            }
        }
    }
    Ok((groups, used))
}

fn text_of(statement: &Statement) -> String {
    String::from_utf8_lossy(&statement.sql).into_owned()
}

impl Sets {
    /// # Errors
    /// The SET changes more than the session, or would change what the next round measures.
    fn add(&mut self, statement: &Statement, tokens: &[Token]) -> Result<(), QueryMistake> {
        let line = statement.line as usize;
        let all = assignments(tokens);
        // A slow log sets the time above each query, and the last one counts.
        let only = match &all[..] {
            [one] if one.value.len() == 1 => Some((one.scope, one.name.clone())),
            _ => None,
        };
        if only.is_some() && only == self.last {
            self.statements.pop();
        }
        self.last = only;
        for one in all {
            let is_of_session = one.scope == Scope::Session && !one.is_of_accounts();
            let Assignment { scope, name, .. } = one;
            match scope {
                Scope::User => {}
                _ if !is_of_session => {
                    return Err(mistake(
                        line,
                        format!(
                            "this SET changes more than the session ({name}), and a round only reads; write it as a setting of the server, [settings] or --set"
                        ),
                    ));
                }
                _ if !self.has_query => self.first.push(name),
                _ if !self.first.contains(&name) => {
                    return Err(mistake(
                        line,
                        format!(
                            "this SET would hold for the queries above it in the next round; write a SET of {name} above the first query too"
                        ),
                    ));
                }
                _ => {}
            }
        }
        self.statements.push(text_of(statement));
        self.of_user.extend(set_by(tokens));
        Ok(())
    }

    /// An earlier query does not count: it may be left out, or run later or on another connection.
    ///
    /// # Errors
    /// The query reads a user variable that neither a SET nor itself sets, so it is NULL.
    fn check(&self, line: usize, tokens: &[Token]) -> Result<(), QueryMistake> {
        let set = self.of_user.iter().cloned();
        let set: Vec<String> = set.chain(set_by(tokens)).collect();
        let mut used = user_variables(tokens).into_iter();
        match used.find(|(name, _)| !set.contains(name)) {
            None => Ok(()),
            Some((name, _)) => Err(mistake(
                line,
                format!(
                    "the query reads @{name}, which no SET above it and nothing in the query sets; write SET @{name} = (select ...) above it"
                ),
            )),
        }
    }
}

/// The user variables that a statement sets.
fn set_by(tokens: &[Token]) -> impl Iterator<Item = String> {
    let found = user_variables(tokens).into_iter();
    found.filter_map(|(name, is_set)| is_set.then_some(name))
}

/// Variables that would end the protection of a user's own schema.
const OF_PROTECTION: [&str; 3] = ["transaction", "transaction_read_only", "tx_read_only"];

impl Queries {
    /// The queries for tables that prony creates: the schema that USE names is prony's.
    ///
    /// # Errors
    /// USE names two schemas.
    pub(super) fn on_pronys_schema(mut self) -> Result<Vec<Query>, QueryMistake> {
        let Some((first, _)) = self.used.first().cloned() else {
            return Ok(self.queries);
        };
        if let Some((other, line)) = self.used.iter().find(|(name, _)| *name != first) {
            let says = format!(
                "USE names {other} after {first}, and the tables are in one schema; split the file"
            );
            return Err(mistake(*line, says));
        }
        for query in &mut self.queries {
            let sql = Cow::Borrowed(query.sql.as_bytes());
            let mapped = mapped(sql, query.quoting, &first);
            query.sql = String::from_utf8_lossy(&mapped).into_owned();
        }
        Ok(self.queries)
    }

    /// The queries for a schema of the user's, which stays as it is.
    ///
    /// # Errors
    /// USE names another schema, a query locks rows or advances a sequence, or a SET allows to write.
    pub(super) fn on_their_schema(self, schema: &str) -> Result<Vec<Query>, QueryMistake> {
        if let Some((other, line)) = self.used.iter().find(|(name, _)| name != schema) {
            let says = format!(
                "USE names {other}, and the schema that is measured is {schema}; remove this line, or measure that schema"
            );
            return Err(mistake(*line, says));
        }
        for query in &self.queries {
            let tokens: Vec<Token> = Lexer::new(query.sql.as_bytes(), query.quoting).collect();
            let touches = reading::touches(&tokens).map(|touches| {
                format!("the query {touches}, and a schema of yours is only read; dump it, and measure the dump")
            });
            let says = touches.or_else(|| unprotected(&query.before));
            if let Some(says) = says {
                return Err(mistake(query.line, says));
            }
        }
        Ok(self.queries)
    }
}

fn unprotected(before: &[String]) -> Option<String> {
    before.iter().find_map(|set| {
        let tokens = tokens_of(set);
        let found = assignments(&tokens).into_iter();
        let mut names = found.filter(|one| one.scope == Scope::Session);
        let one = names.find(|one| OF_PROTECTION.contains(&one.name.as_str()))?;
        Some(format!(
            "a SET above this query changes {}, and a schema of yours is only read (SET SESSION TRANSACTION READ ONLY)",
            one.name
        ))
    })
}

/// `by_region`. A weight, which a timed load of the same file reads, means nothing in a round.
fn name_of(heading: &str, line: usize) -> Result<&str, QueryMistake> {
    match name_and_weight(heading) {
        Some((name, _)) if is_name(name) => Ok(name),
        _ => Err(mistake(
            line,
            format!("{heading:?} is not the name of a query; write letters, digits, - and _"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<(String, String, usize)> {
        let queries = queries(text).unwrap().queries.into_iter();
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
    fn a_heading_in_another_spelling_names_its_statement_too() {
        let text = "-- Name: Top customers\n-- Name: a\nselect 1;\n --name: b\nselect 2;\n# operation : c\nselect 3;\n--x: d";
        assert_eq!(
            seen(text),
            [
                one("a", "select 1", 3),
                one("b", "select 2", 5),
                one("c", "select 3", 7)
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
            (
                "select 1;\nset @@global.a = 1",
                Some(2),
                "more than the session (a)",
            ),
            (
                "select 1;\nset b = 1",
                Some(2),
                "a SET of b above the first query",
            ),
            (
                "select 1\ninto outfile '/tmp/x'",
                Some(1),
                "writes a file on the server",
            ),
            (
                "with a as (select 1) delete from t",
                Some(1),
                "does not only read",
            ),
            (
                "set statement max_statement_time = 1 for select a, b from t;\nselect 1",
                Some(1),
                "write SET SESSION",
            ),
            (
                "-- name: m\nselect max(id) from t into @m;\n-- name: q\nselect * from t where id = @M",
                Some(4),
                "reads @m, which no SET above it and nothing in the query sets",
            ),
            (
                "select * from t where d > @cut;\nset @cut = 1",
                Some(1),
                "write SET @cut = (select ...) above it",
            ),
            ("-- nothing\n", None, "there is no statement"),
        ] {
            let mistake = queries(text).unwrap_err();
            assert_eq!(mistake.line, line, "{text}");
            assert!(mistake.to_string().contains(says), "{mistake}");
        }
    }

    #[test]
    fn a_file_means_what_the_client_makes_of_it() {
        let text = "USE shop;\nselect 1\\G\nselect 2;;\ndelimiter //\nselect ';'//\n--x\nselect 4";
        assert_eq!(
            seen(text),
            [
                one("Q1", "select 1", 2),
                one("Q2", "select 2", 3),
                one("Q3", "select ';'", 5),
                one("Q4", "select 4", 7)
            ]
        );
        assert_eq!(queries(text).unwrap().used, [("shop".to_string(), 1)]);
    }

    #[test]
    fn the_sets_above_a_query_run_before_it() {
        let before = |text: &str| -> Vec<usize> {
            let found = queries(text).unwrap().queries.into_iter();
            found.map(|query| query.before.len()).collect()
        };
        let text =
            "set @a = 1, sql_mode = '';\nselect @a;\nset sql_mode = 'ANSI', @b = 2;\nselect @b";
        assert_eq!(before(text), [1, 2]);
        let log = "set a = 1; set timestamp = 1; select 1; set timestamp = 2; select 2";
        assert_eq!(before(log), [2, 2]);
        assert_eq!(before("set @a = 1; set @a = @a + 1; select @a"), [2]);
    }

    #[test]
    fn a_query_may_read_what_it_or_a_set_above_it_sets() {
        for text in [
            "set @m = (select max(id) from t);\nselect * from t where id = @m",
            "select @n := @n + 1 from t, (select @n := 0) i",
            "show grants for root@localhost",
            "select @@version",
        ] {
            assert!(queries(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn names_of_the_schema_in_use_are_names_of_pronys() {
        let read = |text: &str| queries(text).unwrap();
        let mapped = read("use shop; select * from shop.c where a = 'shop.c'").on_pronys_schema();
        assert_eq!(
            mapped.unwrap()[0].sql,
            "select * from prony_sql.c where a = 'shop.c'"
        );
        // The first text ends at its backslash.
        let text = "use shop; set sql_mode = 'NO_BACKSLASH_ESCAPES'; select 'C:\\', ', shop.c' from shop.c";
        assert_eq!(
            read(text).on_pronys_schema().unwrap()[0].sql,
            "select 'C:\\', ', shop.c' from prony_sql.c"
        );
        let two = read("use shop; select 1; use stock; select 2").on_pronys_schema();
        assert!(
            two.unwrap_err()
                .to_string()
                .contains("names stock after shop")
        );
    }

    #[test]
    fn a_schema_of_the_users_is_only_read() {
        let on = |text: &str| {
            let queries = queries(text).unwrap().on_their_schema("shop");
            queries.map_err(|mistake| mistake.to_string())
        };
        assert!(on("use shop; select * from t").is_ok());
        for (text, says) in [
            ("use stock; select 1", "USE names stock"),
            ("select * from t for update", "locks the rows"),
            ("select nextval(s)", "advances a sequence"),
            (
                "set session transaction read write; select 1",
                "changes transaction",
            ),
            ("set tx_read_only = 0; select 1", "changes tx_read_only"),
        ] {
            let refused = on(text).unwrap_err();
            assert!(refused.contains(says), "{text}: {refused}");
        }
    }
}
