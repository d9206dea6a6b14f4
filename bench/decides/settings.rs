//! Slices do not change the answer: settings with a known effect, measured both ways.

use super::figures::{Known, ratio, ratio_of_ratios};
use super::load::{Load, Times};
use super::runs::{Answer, Options, valid};
use super::slices::title;
use std::process::Command;

/// Its name, the operations, and the settings of both servers, of a and of b.
type Setting = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const SMALL: &str = "innodb_buffer_pool_size = \"data / 4\"";
const LARGE: &str = "innodb_buffer_pool_size = \"data * 4\"";

/// The eight of the proof.
#[rustfmt::skip]
const SETTINGS: [Setting; 8] = [
    ("flush 2 against 1", "update-index", LARGE, "innodb_flush_log_at_trx_commit = 2", "innodb_flush_log_at_trx_commit = 1"),
    ("without doublewrite", "update-index", SMALL, "innodb_doublewrite = false", "innodb_doublewrite = true"),
    ("pool of all against an eighth", "point-select", "", "innodb_buffer_pool_size = \"data * 4\"", "innodb_buffer_pool_size = \"data / 8\""),
    ("page cache against O_DIRECT", "point-select", SMALL, "innodb_flush_method = \"fsync\"", "innodb_flush_method = \"O_DIRECT\""),
    ("adaptive hash index", "point-select", LARGE, "innodb_adaptive_hash_index = true", "innodb_adaptive_hash_index = false"),
    ("without flushed neighbors", "update-index", SMALL, "innodb_flush_neighbors = 0", "innodb_flush_neighbors = 1"),
    ("without binlog", "update-index", LARGE, "sync_binlog = 1", "log_bin = \"binlog\", sync_binlog = 1"),
    ("latin1 against utf8mb4", "read-only", LARGE, "character_set_server = \"latin1\"", "character_set_server = \"utf8mb4\""),
];

/// The interval of the ratio of ratios has to be within this share of 1.
const ALIKE: f64 = 0.05;

pub(crate) fn measure(options: &Options) {
    let times = Times::new(options, "10s", "4");
    let way = options.flag("--slices", "1s");
    let only = options.flag("--only", "");
    let is_wanted = |(name, ..): &&Setting| name.contains(only);
    let wanted = || SETTINGS.iter().filter(is_wanted);
    let (mut jobs, mut refused) = (Vec::new(), Vec::new());
    for (name, operations, both, a, b) in wanted() {
        let job = |slices: &str| {
            let load = Load {
                operations,
                ..Load::of_settings(both, a, b)
            };
            let name = format!("{name} {slices}");
            options.job(&name, &load.text(&times.keys(slices)), times.expected_s)
        };
        let in_slices = job(way);
        match refusal(&in_slices.arguments[1]) {
            Some(why) => refused.push((name, why)),
            None => jobs.extend([in_slices, job("off")]),
        }
    }
    let answers = options.answers(&jobs);
    println!(
        "| setting | load | blocks | {} | trials in turn | ratio of the two (95 % CI) | contains 1 | within ±5 % |",
        title(way)
    );
    println!("| --- | --- | ---: | --- | --- | --- | --- | --- |");
    for (name, operations, ..) in wanted() {
        let row = match refused.iter().find(|(refused, _)| *refused == name) {
            Some((_, why)) => format!("- | refused: {why} | - | - | - | -"),
            None => row(&logs(&answers, name, way), &logs(&answers, name, "off")),
        };
        println!("| {name} | {operations} | {row} |");
    }
}

/// Why prony does not measure the file; None if it does.
fn refusal(file: &str) -> Option<String> {
    let check = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["check", file])
        .output()
        .expect("prony starts");
    let stderr = String::from_utf8_lossy(&check.stderr);
    let first = stderr.lines().next().unwrap_or_default();
    (!check.status.success()).then(|| first.trim_start_matches("error: ").to_string())
}

/// Of all blocks of all runs.
fn logs(answers: &[(String, Answer)], setting: &str, way: &str) -> Vec<f64> {
    let own = valid(answers, &format!("{setting} {way}"));
    own.iter().flat_map(|answer| answer.logs.clone()).collect()
}

fn row(in_slices: &[f64], in_turn: &[f64]) -> String {
    let text = |known: Option<Known>| known.map_or("-".into(), |known| known.to_string());
    let both = ratio_of_ratios(in_slices, in_turn);
    let is = |holds: &dyn Fn(Known) -> bool| match both {
        None => "-",
        Some(both) if holds(both) => "yes",
        Some(_) => "no",
    };
    format!(
        "{} + {} | {} | {} | {} | {} | {}",
        in_slices.len(),
        in_turn.len(),
        text(ratio(in_slices)),
        text(ratio(in_turn)),
        text(both),
        is(&|both| both.holds(1.0)),
        is(&|both| both.is_within(ALIKE))
    )
}
