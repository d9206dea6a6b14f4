//! A recorded trace of arrivals: seconds, one per line in a file next to the experiment file, or as a list in it. Times of day are seconds
//! since 1970 and count from the first of them.
//!
//! Purpose: check the trace when the file is read, and report the line of each mistake. Boundaries: no other formats.

use crate::file::input;
use crate::file::read::Node;
use std::path::Path;
use std::sync::Arc;

const NS_PER_S: u64 = 1_000_000_000;
/// The maximum length. The record stores the trace, so that a run can be resumed and repeated from the record alone.
const ARRIVALS_MAX: usize = 1_000_000;
const EXAMPLE: &str =
    "trace = \"arrivals.txt\" (seconds since the start or since 1970, one per line, ascending)";
/// Seconds from which on a first time is a time of day: 2001. No load is as long.
const EPOCH_S: u64 = 1_000_000_000;
/// Later times are not in seconds: the year 5138.
const LATEST_S: u64 = 100 * EPOCH_S;

/// Reads a trace: nanoseconds, ascending.
pub(super) fn trace(node: &Node, folder: &Path) -> Option<Arc<[u64]>> {
    match node.value {
        toml::de::DeValue::Array(_) => from_list(node),
        _ => from_file(node, folder),
    }
}

fn from_file(node: &Node, folder: &Path) -> Option<Arc<[u64]>> {
    let path = folder.join(node.text(EXAMPLE)?);
    let shown = path.display();
    let text = input::read_text(&path);
    let text = text.map_err(|error| format!("cannot read the trace {shown}: {error}"));
    let help = "give the path of a text file, relative to the experiment's folder";
    let text = node.noted(text, "not read", help)?;
    let times = parsed(&text).map_err(|wrong| format!("{shown}, {wrong}"));
    node.noted(times, "a mistake in this file", EXAMPLE)
}

/// Parses a trace file. Blank lines and lines that start with # are ignored.
fn parsed(text: &str) -> Result<Arc<[u64]>, String> {
    let mut times = Times::default();
    let text = text.trim_start_matches('\u{feff}');
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            times
                .push(line)
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
            toml::de::DeValue::Integer(number) => number.as_str().replace('_', ""),
            toml::de::DeValue::Float(number) => number.as_str().replace('_', ""),
            _ => element.positive("trace = [0.5, 0.75]")?.to_string(),
        };
        if let Err(wrong) = times.push(&seconds) {
            element.note(wrong, "not here", EXAMPLE);
            return None;
        }
    }
    times.all().ok()
}

#[derive(Default)]
struct Times(Vec<u64>);

impl Times {
    fn push(&mut self, text: &str) -> Result<(), String> {
        let seconds: f64 = text
            .parse()
            .map_err(|_| format!("\"{text}\" is not a number"))?;
        if !(0.0..LATEST_S as f64).contains(&seconds) {
            return Err(not_seconds(seconds));
        }
        let at_ns = nanoseconds(text).unwrap_or((seconds * 1e9).round() as u64);
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
        let first_ns = *self.0.first().ok_or("the trace is empty")?;
        let zero_ns = match first_ns >= EPOCH_S * NS_PER_S {
            true => first_ns,
            false => 0,
        };
        Ok(self.0.iter().map(|at_ns| at_ns - zero_ns).collect())
    }
}

fn not_seconds(number: f64) -> String {
    let units = [
        ("milliseconds", 1e3),
        ("microseconds", 1e6),
        ("nanoseconds", 1e9),
    ];
    let of_today = (EPOCH_S as f64)..(4 * EPOCH_S) as f64;
    let unit = units
        .iter()
        .find(|(_, per_s)| of_today.contains(&(number / per_s)));
    match unit {
        Some((unit, per_s)) => format!(
            "{number} is not a time in seconds, but seems to be {unit} since 1970: divide all times by {per_s}"
        ),
        None => format!("{number} is not a time in seconds"),
    }
}

/// The nanoseconds of a plain decimal number of seconds, exactly: a time of day has more digits than a floating-point number. None if it
/// is written in another way.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_plain = part.len() <= 9 && part.bytes().all(|byte| byte.is_ascii_digit());
    let part: u64 = format!("{part:0<9}").parse().ok().filter(|_| is_plain)?;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(NS_PER_S)?
        .checked_add(part)
}

/// The trace as a list of the file format, on one line.
pub(super) fn as_list(at_ns: &[u64]) -> String {
    let seconds: Vec<String> = at_ns
        .iter()
        .map(|at_ns| format!("{}.{:09}", at_ns / 1_000_000_000, at_ns % 1_000_000_000))
        .collect();
    format!("[{}]", seconds.join(", "))
}

/// The mean rate (ops/s) from the start to the last arrival, over a second at least: a single one has no rate.
pub(super) fn mean_rate(at_ns: &[u64]) -> f64 {
    let last_s = at_ns.last().map_or(0.0, |last| *last as f64 / 1e9);
    at_ns.len() as f64 / last_s.max(1.0)
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
    fn times_of_day_count_from_the_first_to_the_nanosecond() {
        let text = "1764106205.123456789\n1764106205.623456789\n1764106207\n";
        assert_eq!(*parsed(text).unwrap(), [0, 500_000_000, 1_876_543_211]);
        let wrong = parsed("1764106205123\n").unwrap_err();
        assert_eq!(
            wrong,
            "line 1: 1764106205123 is not a time in seconds, but seems to be milliseconds since 1970: divide all times by 1000"
        );
        // Times of a load that starts late are not milliseconds.
        assert_eq!(
            *parsed("3600\n3601.5\n").unwrap(),
            [3_600_000_000_000, 3_601_500_000_000]
        );
        assert_eq!(*parsed("1e-3\n").unwrap(), [1_000_000]);
        assert_eq!(*parsed("\u{feff}0.5\r\n").unwrap(), [500_000_000]);
    }

    #[test]
    fn the_rate_of_a_trace_is_its_mean() {
        assert_eq!(mean_rate(&[0, 500_000_000, 2_000_000_000]), 1.5);
        assert_eq!(mean_rate(&[0]), 1.0);
    }
}
