//! A recorded trace of arrivals: seconds, one per line in a file next to the experiment file, or as a list in it.
//!
//! Purpose: check the trace when the file is read, and report the line of each mistake. Boundaries: no other formats.

use super::super::input;
use super::super::read::Node;
use std::path::Path;
use std::sync::Arc;

/// The maximum length. The record stores the trace, so that a run can be resumed and repeated from the record alone.
const ARRIVALS_MAX: usize = 1_000_000;
const EXAMPLE: &str = "trace = \"arrivals.txt\" (seconds since the start, one per line, ascending)";

/// Reads a trace: nanoseconds, ascending.
pub(super) fn trace(node: &Node, folder: &Path) -> Option<Arc<[u64]>> {
    match node.value {
        toml::de::DeValue::Array(_) => from_list(node),
        _ => from_file(node, folder),
    }
}

fn from_file(node: &Node, folder: &Path) -> Option<Arc<[u64]>> {
    let path = folder.join(node.text(EXAMPLE)?);
    let text = match input::read_text(&path) {
        Ok(text) => text,
        Err(error) => {
            node.note(
                format!("cannot read the trace {}: {error}", path.display()),
                "not read",
                "give the path of a text file, relative to the experiment's folder",
            );
            return None;
        }
    };
    parsed(&text)
        .map_err(|wrong| {
            node.note(
                format!("{}, {wrong}", path.display()),
                "a mistake in this file",
                EXAMPLE,
            )
        })
        .ok()
}

/// Parses a trace file. Blank lines and lines that start with # are ignored.
fn parsed(text: &str) -> Result<Arc<[u64]>, String> {
    let mut times = Times::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            let seconds = line
                .parse()
                .map_err(|_| format!("line {}: \"{line}\" is not a number", index + 1))?;
            times
                .push(seconds)
                .map_err(|wrong| format!("line {}: {wrong}", index + 1))?;
        }
    }
    times.all().map_err(|wrong| format!("line 1: {wrong}"))
}

fn from_list(node: &Node) -> Option<Arc<[u64]>> {
    let mut times = Times::default();
    for element in node.list("trace = [0.5, 0.75]")? {
        // Unlike other numbers, a time in a trace may be 0.
        let seconds = match element.value {
            toml::de::DeValue::Integer(number) if number.as_str() == "0" => Some(0.0),
            toml::de::DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
            _ => element.positive("trace = [0.5, 0.75]"),
        };
        if let Err(wrong) = times.push(seconds?) {
            element.note(wrong, "not here", EXAMPLE);
            return None;
        }
    }
    times.all().ok()
}

#[derive(Default)]
struct Times(Vec<u64>);

impl Times {
    fn push(&mut self, seconds: f64) -> Result<(), String> {
        if !(seconds.is_finite() && (0.0..=1e9).contains(&seconds)) {
            return Err(format!("{seconds} is not a time in seconds"));
        }
        let at_ns = (seconds * 1e9).round() as u64;
        if self.0.last().is_some_and(|last| *last > at_ns) {
            return Err(format!("{seconds} is earlier than the time before it"));
        }
        if self.0.len() == ARRIVALS_MAX {
            return Err(format!(
                "more than {ARRIVALS_MAX} arrivals, the maximum that a record stores"
            ));
        }
        self.0.push(at_ns);
        Ok(())
    }

    fn all(self) -> Result<Arc<[u64]>, String> {
        if self.0.is_empty() {
            Err("the trace is empty".to_string())
        } else {
            Ok(self.0.into())
        }
    }
}

/// The trace as a list of the file format, on one line.
pub(super) fn as_list(at_ns: &[u64]) -> String {
    let seconds: Vec<String> = at_ns
        .iter()
        .map(|at_ns| format!("{}.{:09}", at_ns / 1_000_000_000, at_ns % 1_000_000_000))
        .collect();
    format!("[{}]", seconds.join(", "))
}

/// The mean rate (ops/s) from the start to the last arrival.
pub(super) fn mean_rate(at_ns: &[u64]) -> f64 {
    let last_s = at_ns.last().map_or(0.0, |last| *last as f64 / 1e9);
    at_ns.len() as f64 / last_s.max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_one_time_in_seconds_per_line() {
        assert_eq!(
            *parsed("# recorded\n0\n0.5\n\n0.5\n2\n").unwrap(),
            [0, 500_000_000, 500_000_000, 2_000_000_000]
        );
    }

    #[test]
    fn a_mistake_in_a_trace_names_its_line() {
        assert_eq!(
            parsed("0.5\nx\n").unwrap_err(),
            "line 2: \"x\" is not a number"
        );
        assert_eq!(
            parsed("0.5\n0.25\n").unwrap_err(),
            "line 2: 0.25 is earlier than the time before it"
        );
        assert_eq!(
            parsed("-1\n").unwrap_err(),
            "line 1: -1 is not a time in seconds"
        );
        assert_eq!(
            parsed("nan\n").unwrap_err(),
            "line 1: NaN is not a time in seconds"
        );
        assert_eq!(parsed("\n").unwrap_err(), "line 1: the trace is empty");
    }

    #[test]
    fn the_rate_of_a_trace_is_its_mean() {
        assert_eq!(mean_rate(&[0, 500_000_000, 2_000_000_000]), 1.5);
    }
}
