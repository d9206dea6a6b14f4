//! How rows, trials and rounds are called.
//!
//! Goal: one spelling in every form of a report. Blocks are counted from 0, as in the record, rounds from 1.

use record::{Question, TrialKey};

/// A row of the matrix: `5.6 · small pool`. The dot, because levels hold commas of their own. A factor that has but one level is
/// not named.
pub fn row(question: &Question, server: Option<&str>, levels: &[(String, String)]) -> String {
    let varying = levels.iter().filter(|(factor, _)| varies(question, factor));
    let levels = varying.map(|(factor, level)| self::level(factor, level));
    let server = server.map(String::from);
    let words: Vec<String> = server.into_iter().chain(levels).collect();
    words.join(" · ")
}

/// A level; numbers of the load say what they count: `64 clients`.
pub fn level(factor: &str, level: &str) -> String {
    match (factor, level.parse::<f64>()) {
        ("clients" | "workers", Ok(1.0)) => format!("1 {}", factor.trim_end_matches('s')),
        ("clients" | "workers", Ok(_)) => format!("{level} {factor}"),
        ("rate", Ok(_)) => format!("{level} a second"),
        _ => level.to_string(),
    }
}

/// Whether rows differ in this factor. One without levels is a rate that was searched for.
pub fn varies(question: &Question, factor: &str) -> bool {
    question
        .factors
        .iter()
        .find(|known| known.name == factor)
        .is_none_or(|known| known.levels.len() != 1)
}

pub fn trial(question: &Question, key: &TrialKey) -> String {
    format!(
        "{}, block {}",
        row(question, key.server.as_deref(), &key.levels),
        key.block + 1
    )
}

/// The beginning of a plan's hash, as much as tells plans apart.
pub fn plan(hash: &str) -> String {
    hash.chars().take(8).collect()
}

/// `cold`, or `hot 2` where the experiment asks for several of the name.
pub fn round(question: &Question, name: &str, index: u32) -> String {
    let asked = question
        .rounds
        .iter()
        .filter(|asked| *asked == name)
        .count();
    if asked > 1 || index > 1 {
        format!("{name} {index}")
    } else {
        name.to_string()
    }
}
