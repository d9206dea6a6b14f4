//! Query plans: EXPLAIN in the formats that a server supports, and a hash that stays the same as long as the plan does.
//!
//! The hash detects that a plan changed, on one server or between servers. Comparing plans is the task of `explain::plan`;
//! `prony::run` decides when to explain.

mod json;
mod statements;

use server::{Reply, ServerError, Session, Sha256};
use statements::Statements;

/// A query plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Hash of what the server does, without estimates: 16 hexadecimal digits.
    pub hash: String,
    /// A header line and one line per step: the server's columns, separated by tabs.
    pub text: String,
}

/// Columns left out of the hash: estimates, which change with the sampled statistics while the plan stays the same.
const ESTIMATES: [&str; 4] = ["rows", "filtered", "possible_keys", "partitions"];

/// Explains statements on one server.
pub struct Explainer {
    statements: Statements,
    version: String,
}

impl Explainer {
    /// Chooses the EXPLAIN statements by the server's version.
    ///
    /// # Errors
    /// The connection was lost.
    pub fn of(session: &mut Session) -> Result<Explainer, ServerError> {
        if !session.is_mysql() {
            return Ok(Explainer {
                statements: Statements::SQLITE,
                version: "SQLite".to_string(),
            });
        }
        let version = match session.control(|session| session.query("SELECT VERSION()")) {
            Ok(reply) => reply.first_text().unwrap_or_default(),
            Err(ServerError::Refused { .. }) => String::new(),
            Err(lost) => return Err(lost),
        };
        Ok(Explainer {
            statements: Statements::from_version(&version),
            version,
        })
    }

    /// Explains a statement without executing it. This reads index pages, so it must not precede the query in a cold round.
    pub fn plan(&self, session: &mut Session, sql: &str) -> Result<Plan, ServerError> {
        let statement = format!("{} {sql}", self.statements.table);
        Ok(plan(&session.query(&statement)?))
    }

    /// The plan as JSON, without estimates, unused alternatives and false members; None if the server has no JSON format.
    pub fn json(&self, session: &mut Session, sql: &str) -> Result<Option<String>, ServerError> {
        let Some(statement) = self.statements.json else {
            return Ok(None);
        };
        let reply = session.query(&format!("{statement} {sql}"))?;
        Ok(reply.first_text().map(|text| json::decisive(&text)))
    }

    /// Executes the statement and returns its plan with actual row counts and times, as the server formats it.
    ///
    /// # Errors
    /// [`ServerError::Unusable`] with the version if the server does not support it.
    pub fn analysis(&self, session: &mut Session, sql: &str) -> Result<String, ServerError> {
        let Some(statement) = self.statements.analysis else {
            return Err(ServerError::Unusable(format!(
                "{} has neither EXPLAIN ANALYZE nor ANALYZE FORMAT=JSON",
                self.version
            )));
        };
        let reply = session.query(&format!("{statement} {sql}"))?;
        Ok(reply.first_text().unwrap_or_default())
    }
}

fn plan(reply: &Reply) -> Plan {
    let decisive = (0..reply.columns.len())
        .filter(|&column| !ESTIMATES.contains(&reply.columns[column].to_lowercase().as_str()));
    let decisive = lines(reply, &decisive.collect::<Vec<_>>(), decisive_cell);
    let all: Vec<usize> = (0..reply.columns.len()).collect();
    Plan {
        hash: Sha256::of(decisive).hex_of_first(8),
        text: lines(reply, &all, cell),
    }
}

fn lines(
    reply: &Reply,
    columns: &[usize],
    cell: fn(&[Option<Vec<u8>>], usize) -> String,
) -> String {
    let header: Vec<String> = columns
        .iter()
        .map(|&column| reply.columns[column].clone())
        .collect();
    let rows = reply.rows.iter().map(|row| {
        columns
            .iter()
            .map(|&column| cell(row, column))
            .collect::<Vec<_>>()
    });
    std::iter::once(header)
        .chain(rows)
        .map(|cells| cells.join("\t"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn cell(row: &[Option<Vec<u8>>], column: usize) -> String {
    match row.get(column).and_then(Option::as_ref) {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => "NULL".into(),
    }
}

/// Treats empty cells as NULL: some servers leave Extra empty where others return NULL.
fn decisive_cell(row: &[Option<Vec<u8>>], column: usize) -> String {
    match cell(row, column) {
        empty if empty.is_empty() => "NULL".into(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(table: &str, key: &str, rows: &str, extra: Option<&str>) -> Reply {
        let value = |text: &str| Some(text.as_bytes().to_vec());
        Reply {
            columns: ["id", "table", "key", "rows", "Extra"]
                .map(String::from)
                .to_vec(),
            rows: vec![vec![
                value("1"),
                value(table),
                value(key),
                value(rows),
                extra.and_then(value),
            ]],
            ..Reply::default()
        }
    }

    fn hash(table: &str, key: &str, rows: &str, extra: Option<&str>) -> String {
        plan(&step(table, key, rows, extra)).hash
    }

    #[test]
    fn row_estimates_do_not_change_the_hash() {
        assert_eq!(
            hash("lineorder", "lo_orderdate", "2500", None),
            hash("lineorder", "lo_orderdate", "2514", None)
        );
    }

    #[test]
    fn another_index_changes_the_hash() {
        assert_ne!(
            hash("lineorder", "lo_orderdate", "2500", None),
            hash("lineorder", "lo_partkey", "2500", None)
        );
    }

    #[test]
    fn an_empty_cell_and_null_have_the_same_hash() {
        assert_eq!(
            hash("part", "PRIMARY", "1", Some("")),
            hash("part", "PRIMARY", "1", None)
        );
        assert_ne!(
            hash("part", "PRIMARY", "1", Some("Using where")),
            hash("part", "PRIMARY", "1", None)
        );
    }

    #[test]
    fn the_text_contains_estimates_and_null() {
        assert_eq!(
            plan(&step("part", "PRIMARY", "1", None)).text,
            "id\ttable\tkey\trows\tExtra\n1\tpart\tPRIMARY\t1\tNULL"
        );
    }

    #[test]
    fn the_error_for_a_server_without_explain_analyze_names_it() {
        let mut session = Session::Sqlite(rusqlite::Connection::open_in_memory().unwrap());
        let explainer = Explainer::of(&mut session).unwrap();
        let error = explainer.analysis(&mut session, "select 1").unwrap_err();
        assert_eq!(
            error.to_string(),
            "SQLite has neither EXPLAIN ANALYZE nor ANALYZE FORMAT=JSON"
        );
        assert_eq!(explainer.json(&mut session, "select 1").unwrap(), None);
    }
}
