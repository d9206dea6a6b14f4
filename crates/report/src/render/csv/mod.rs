//! A run as CSV: one row per query of every round of every trial, or one per trial of a timed load.
//!
//! Purpose: tidy data for a data frame, by RFC 4180 (CRLF, quotes doubled). Boundaries: no aggregates.

mod load;

pub use load::samples;

use crate::build::timed;
use crate::document::Document;
use record::{Answer, Query, Round, Run, Trial, TrialState};

/// The columns after `server` and the factors.
const OF_A_QUERY: [&str; 11] = [
    "block",
    "state",
    "round",
    "index",
    "query",
    "client",
    "elapsed_s",
    "rows",
    "answer",
    "plan_hash",
    "error",
];

/// The last column: the build of prony that recorded the run.
const PRONY: &str = "prony";

/// Columns: `server`, one per factor, then those of `OF_A_QUERY`, then `PRONY`: `block` from 0, `client` from 1. A failed query has no time. A
/// trial without rounds has one row, with the reason as its error. For timed loads see docs/JSON.md.
pub fn csv(document: &Document) -> String {
    let run = document.run;
    if timed(run) {
        return load::trials(document);
    }
    let mut text = String::new();
    record(&mut text, key_heads(run).chain(OF_A_QUERY).chain([PRONY]));
    for trial in document.trials.iter().map(|recorded| recorded.trial) {
        let mut line = |own: &[String; 11]| {
            let own = own.iter().map(String::as_str);
            let fields = key(run, trial).chain(own).chain([prony(run)]);
            record(&mut text, fields);
        };
        for round in &trial.rounds {
            let queries = round.queries.iter();
            queries.for_each(|query| line(&own_fields(trial, round, query)));
        }
        if trial.rounds.is_empty() {
            line(&without_rounds(trial));
        }
    }
    text
}

/// The heads of the columns that say which trial it is.
fn key_heads(run: &Run) -> impl Iterator<Item = &str> {
    let factors = run.question.factors.iter();
    std::iter::once("server").chain(factors.map(|factor| factor.name.as_str()))
}

fn key<'a>(run: &'a Run, trial: &'a Trial) -> impl Iterator<Item = &'a str> {
    let factors = run.question.factors.iter();
    let levels = factors.map(|factor| trial.key.level(&factor.name).unwrap_or_default());
    std::iter::once(trial.key.server_name()).chain(levels)
}

fn prony(run: &Run) -> &str {
    &run.environment.prony_version
}

/// The reason is in the column of a query's error.
fn without_rounds(trial: &Trial) -> [String; 11] {
    let mut fields: [String; 11] = Default::default();
    fields[0] = trial.key.block.to_string();
    fields[1] = if trial.is_not_available() {
        "not_available".to_string()
    } else {
        state(trial.state).to_string()
    };
    fields[10] = trial
        .flags
        .first()
        .map_or(String::new(), |flag| flag.text.clone());
    fields
}

fn own_fields(trial: &Trial, round: &Round, query: &Query) -> [String; 11] {
    let elapsed_s = match query.error {
        None => format!("{:.9}", query.elapsed_ns as f64 / 1e9),
        Some(_) => String::new(),
    };
    [
        trial.key.block.to_string(),
        state(trial.state).to_string(),
        round.name.clone(),
        round.index.to_string(),
        query.name.clone(),
        query.client.to_string(),
        elapsed_s,
        query.rows.to_string(),
        answer(query.answer).to_string(),
        query.plan_hash.clone().unwrap_or_default(),
        query
            .error
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
    ]
}

pub(super) fn state(state: TrialState) -> &'static str {
    match state {
        TrialState::Done => "done",
        TrialState::Invalid => "invalid",
        TrialState::Failed => "failed",
    }
}

pub(super) fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::Ok => "ok",
        Answer::Wrong => "wrong",
        Answer::Unchecked => "unchecked",
    }
}

fn record<'a>(text: &mut String, fields: impl Iterator<Item = &'a str>) {
    for (place, field) in fields.enumerate() {
        if place > 0 {
            text.push(',');
        }
        text.push_str(&quoted(field));
    }
    text.push_str("\r\n");
}

/// A field that a spreadsheet would execute begins with an apostrophe, which tells it that the field is text.
fn quoted(field: &str) -> String {
    if is_formula(field) {
        format!("\"'{}\"", field.replace('"', "\"\""))
    } else if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_string()
    }
}

/// Whether a spreadsheet takes it for a formula: it begins like one and is not a number.
fn is_formula(field: &str) -> bool {
    field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_a_spreadsheet_would_execute_is_text() {
        for (field, written) in [
            ("=1+1", "\"'=1+1\""),
            ("@SUM(\"a\")", "\"'@SUM(\"\"a\"\")\""),
            ("-1+cmd|' /C calc'!A0", "\"'-1+cmd|' /C calc'!A0\""),
            ("\t=1", "\"'\t=1\""),
            ("-1.5", "-1.5"),
            ("+2e3", "+2e3"),
            ("5.6=a", "5.6=a"),
        ] {
            assert_eq!(quoted(field), written);
        }
    }

    #[test]
    fn fields_with_commas_quotes_or_line_ends_are_quoted() {
        let mut text = String::new();
        record(
            &mut text,
            ["plain", "a,b", "say \"x\"", "two\nlines"].into_iter(),
        );
        assert_eq!(text, "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\"\r\n");
    }
}
