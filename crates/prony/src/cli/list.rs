//! `prony list`

use super::embedded::EXPERIMENTS;
use super::failure::{Failure, Status, print};

pub(super) fn run() -> Result<Status, Failure> {
    let lines: Vec<String> = EXPERIMENTS
        .iter()
        .map(|(name, text)| format!("{name:32} {}", title(text)))
        .collect();
    print(&lines.join("\n"));
    Ok(Status::Done)
}

fn title(text: &str) -> String {
    let title = text
        .parse::<toml::Table>()
        .ok()
        .and_then(|table| Some(table.get("title")?.as_str()?.to_string()));
    title.unwrap_or_default()
}
