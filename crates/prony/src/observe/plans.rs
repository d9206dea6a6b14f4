//! Plans: EXPLAIN as text, and a hash that is the same when the server does the same.
//!
//! Goal: notice that a plan changed. Non-goal: richer forms (JSON, ANALYZE).

use crate::server::{Reply, ServerError, Session};
use sha2::{Digest, Sha256};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// 16 hexadecimal digits.
    pub hash: String,
    /// A line a step, the columns that the server gives, tab-separated, with a header.
    pub text: String,
}

/// Estimates: they move with the sampled statistics from one start to the next while the server does the same.
const ESTIMATES: [&str; 4] = ["rows", "filtered", "possible_keys", "partitions"];

/// Asks for the plan of a statement. It reads index pages, so it must not come before a cold round's query.
pub fn explain(session: &mut Session, sql: &str) -> Result<Plan, ServerError> {
    let statement = if session.is_mysql() {
        "EXPLAIN"
    } else {
        "EXPLAIN QUERY PLAN"
    };
    Ok(plan(&session.query(&format!("{statement} {sql}"))?))
}

fn plan(reply: &Reply) -> Plan {
    let decisive: Vec<usize> = (0..reply.columns.len())
        .filter(|&column| !ESTIMATES.contains(&reply.columns[column].to_lowercase().as_str()))
        .collect();
    let all: Vec<usize> = (0..reply.columns.len()).collect();
    let digest = Sha256::digest(lines(reply, &decisive));
    Plan {
        hash: digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
        text: lines(reply, &all),
    }
}

fn lines(reply: &Reply, columns: &[usize]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn step(table: &str, key: &str, rows: &str) -> Reply {
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
                None,
            ]],
            ..Reply::default()
        }
    }

    #[test]
    fn an_estimate_of_rows_does_not_make_another_plan() {
        assert_eq!(
            plan(&step("lineorder", "lo_orderdate", "2500")).hash,
            plan(&step("lineorder", "lo_orderdate", "2514")).hash
        );
    }

    #[test]
    fn another_index_makes_another_plan() {
        assert_ne!(
            plan(&step("lineorder", "lo_orderdate", "2500")).hash,
            plan(&step("lineorder", "lo_partkey", "2500")).hash
        );
    }

    #[test]
    fn the_text_keeps_the_estimates_and_shows_null() {
        assert_eq!(
            plan(&step("part", "PRIMARY", "1")).text,
            "id\ttable\tkey\trows\tExtra\n1\tpart\tPRIMARY\t1\tNULL"
        );
    }
}
