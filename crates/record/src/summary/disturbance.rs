//! What disturbed a load: stalls, level shifts, a period, stale reads.
//!
//! Boundary: crate `stats` finds them.

use crate::text::number::{grouped, rate};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Consecutive seconds with a throughput of zero, or below half of the running median and out of their usual scatter; in an open
/// loop also a second whose median response is a large part of a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// The first second of the stall, counted from the start of the trial.
    pub start_s: u32,
    pub seconds: u32,
    /// Fewer operations than usual by this number; 0 where all were done in the same second, but late.
    pub operations_lost: f64,
    /// The median response time (ms) in that second, if response times alone show the stall.
    #[serde(default)]
    pub late_ms: Option<f64>,
    /// Series that rose during the stall, the largest rise first.
    pub moved: Vec<Moved>,
}

impl Stall {
    /// Its seconds of the trial.
    pub fn range(&self) -> Range<usize> {
        let from = self.start_s as usize;
        from..from + self.seconds as usize
    }
}

/// A series of the record during a stall.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    pub name: String,
    /// The median of the seconds without a stall.
    pub usual: f64,
    /// The largest value during the stall.
    pub during: f64,
}

/// All stalls of a measured part in one sentence; none without stalls.
pub(super) fn sentence(stalls: &[Stall], seconds: u32) -> Option<String> {
    let longest = stalls.iter().map(|stall| stall.seconds).max()?;
    let lost: f64 = stalls.iter().map(|stall| stall.operations_lost).sum();
    let count = match stalls.len() {
        1 => "one stall".to_string(),
        count => format!("{count} stalls"),
    };
    let per_hour = stalls.len() as f64 * 3600.0 / f64::from(seconds.max(1));
    let late_ms = stalls
        .iter()
        .filter_map(|stall| stall.late_ms)
        .reduce(f64::max);
    let fewer = (lost > 0.0).then(|| {
        format!(
            "{} fewer operations than usual",
            grouped(lost.round() as u64)
        )
    });
    let late = late_ms.map(|ms| format!("operations late by a median of up to {ms:.0} ms"));
    let effects: Vec<String> = fewer.into_iter().chain(late).collect();
    Some(format!(
        "{count} ({per_hour:.1} per hour), the longest {longest} s; {}",
        effects.join(", ")
    ))
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelShift {
    /// Second of the trial.
    pub at_s: u32,
    /// Throughput (operations/s) before and after.
    pub from: f64,
    pub to: f64,
}

impl LevelShift {
    /// `the throughput falls from 380 to 300 ops/s at 4000 s (-21 %)`; without a percentage if it was 0.
    pub fn sentence(&self) -> String {
        let verb = if self.to < self.from {
            "falls"
        } else {
            "rises"
        };
        let (from, to) = (rate(self.from, 0), rate(self.to, 0));
        let moved = format!(
            "the throughput {verb} from {from} to {to} ops/s at {} s",
            self.at_s
        );
        if self.from > 0.0 {
            format!("{moved} ({:+.0} %)", (self.to / self.from - 1.0) * 100.0)
        } else {
            moved
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Period {
    pub every_s: f64,
    /// Median and minimum throughput (ops/s) along the period.
    pub usual: f64,
    pub least: f64,
}

impl Period {
    /// `every 20 s the throughput drops from 148 to 87 ops/s`
    pub fn sentence(&self) -> String {
        format!(
            "every {:.0} s the throughput drops from {} to {} ops/s",
            self.every_s,
            rate(self.usual, 0),
            rate(self.least, 0)
        )
    }
}

/// Reads on all nodes in the measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StaleReads {
    /// Seconds in which the age of reads on a node is known, each node for itself.
    pub read_s: u64,
    /// Seconds of `read_s` with a stale read.
    pub stale_s: u64,
    /// The mean over `read_s` of the largest age in each second.
    pub age_ms_mean: f64,
    pub age_ms_max: f64,
    /// Reads that returned less than an earlier one on any node.
    pub back: u64,
    /// The first node that was hardly read: `reads on node 3 have a known age in 4 of 60 seconds`. Without a stale read, the trial does not tell then.
    #[serde(default = "unknown")]
    pub hardly_read: Option<String>,
}

/// Slim records of older rules keep their summaries.
fn unknown() -> Option<String> {
    Some("the record does not say how often each node was read".to_string())
}

impl StaleReads {
    pub fn sentence(&self) -> String {
        if self.stale_s + self.back == 0 {
            let but = self.hardly_read.as_ref();
            let but = but.map_or(String::new(), |why| format!(", but {why}"));
            return format!("no read on a further node was stale{but}");
        }
        format!(
            "reads on further nodes were stale in {} of {} seconds, by {:.1} ms at most; {} went back in time",
            self.stale_s, self.read_s, self.age_ms_max, self.back
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_described_in_a_sentence() {
        let stall = |start_s, seconds, operations_lost| Stall {
            start_s,
            seconds,
            operations_lost,
            late_ms: None,
            moved: vec![],
        };
        let late = Stall {
            late_ms: Some(412.3),
            ..stall(9, 1, 0.0)
        };
        let two = [stall(5, 1, 900.0), stall(60, 4, 4000.0)];
        assert_eq!(
            sentence(&two, 600).unwrap(),
            "2 stalls (12.0 per hour), the longest 4 s; 4,900 fewer operations than usual"
        );
        assert_eq!(
            sentence(&[late], 600).unwrap(),
            "one stall (6.0 per hour), the longest 1 s; operations late by a median of up to 412 ms"
        );
        assert_eq!(sentence(&[], 600), None);
    }

    #[test]
    fn throughputs_have_commas_between_thousands() {
        let shift = LevelShift {
            at_s: 30,
            from: 62_788.4,
            to: 41_000.0,
        };
        assert_eq!(
            shift.sentence(),
            "the throughput falls from 62,788 to 41,000 ops/s at 30 s (-35 %)"
        );
    }

    #[test]
    fn a_summary_of_older_rules_does_not_say_that_each_node_was_read() {
        let older =
            r#"{"read_s": 60, "stale_s": 0, "age_ms_mean": 0.0, "age_ms_max": 0.0, "back": 0}"#;
        let older: StaleReads = serde_json::from_str(older).unwrap();
        assert_eq!(older.hardly_read, unknown());
        let text = serde_json::to_string(&StaleReads::default()).unwrap();
        let now: StaleReads = serde_json::from_str(&text).unwrap();
        assert_eq!(now.hardly_read, None);
    }
}
