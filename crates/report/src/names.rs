//! Names of rows, trials, rounds and percentiles.
//!
//! Purpose: one spelling in every form of a report. The record counts blocks from 0, people from 1.

use record::{Percentile, Question, TrialKey};

/// A row of the matrix: `5.6 · small pool`. The separator is a dot because levels may hold commas. A factor with a single level
/// is left out.
pub(crate) fn row(
    question: &Question,
    server: Option<&str>,
    levels: &[(String, String)],
) -> String {
    let varying = levels.iter().filter(|(factor, _)| varies(question, factor));
    let levels = varying.map(|(factor, level)| self::level(factor, level));
    let words: Vec<String> = server.map(String::from).into_iter().chain(levels).collect();
    words.join(" · ")
}

/// A level. Numbers of the load get their unit: `64 clients`.
pub(crate) fn level(factor: &str, level: &str) -> String {
    match (factor, level.parse::<f64>()) {
        ("clients" | "workers", Ok(1.0)) => format!("1 {}", factor.trim_end_matches('s')),
        ("clients" | "workers", Ok(_)) => format!("{level} {factor}"),
        ("rate", Ok(_)) => format!("{level} requests/s"),
        _ => level.to_string(),
    }
}

/// Whether rows differ in this factor. A factor without levels is a rate that was searched for.
pub(crate) fn varies(question: &Question, factor: &str) -> bool {
    question
        .factors
        .iter()
        .find(|known| known.name == factor)
        .is_none_or(|known| known.levels.len() != 1)
}

pub(crate) fn trial(question: &Question, key: &TrialKey) -> String {
    format!(
        "{}, block {}",
        row(question, key.server.as_deref(), &key.levels),
        key.block + 1
    )
}

/// The first digits of a plan's hash, which are enough to distinguish plans.
pub(crate) fn plan(hash: &str) -> String {
    hash.chars().take(8).collect()
}

/// `cold`, or `hot 2` where the experiment has several rounds of the name.
pub(crate) fn round(question: &Question, name: &str, index: u32) -> String {
    let named = question.rounds.iter().filter(|known| *known == name);
    match named.count() > 1 || index > 1 {
        true => format!("{name} {index}"),
        false => name.to_string(),
    }
}

/// `p99`, `p99.9`, `max`
pub(crate) fn percentile(percentile: Percentile) -> &'static str {
    match percentile {
        Percentile::P999 => "p99.9",
        other => other.text(),
    }
}

/// The loop of a load: `open loop`.
pub(crate) fn load_loop(open: bool) -> &'static str {
    match open {
        true => "open loop",
        false => "closed loop",
    }
}
