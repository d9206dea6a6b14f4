//! Resource limits that differ between two sides, and the time that they cost.
//!
//! Purpose: a limit that is the experiment's own difference is named as the cause, if what the server used of the resource takes
//! long enough at that rate. Boundary: what a limit means for the counters of the server (an LRU scan, a longer queue) is a
//! consequence, so counters are not searched.

use crate::counters::cost::{Event, SHARE_MIN, own_share};
use crate::side::times::{Gap, TimesVerdict};
use crate::side::{Side, SideName};
use record::names;

/// A limit that explains a difference of times.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitReason {
    /// The name in the experiment file: `read_iops`.
    pub name: String,
    /// The side with the limit, or the tighter one; the slower side.
    pub with: SideName,
    /// The limit as measured: per second, cores, or bytes of memory.
    pub limit: f64,
    /// The other side's; None without one.
    pub other: Option<f64>,
    /// What it limits: `disk reads`.
    pub noun: &'static str,
    /// Used per operation on the limited side, in the unit of the limit.
    pub used: f64,
    /// The time that this takes at the limit, over the difference of the times.
    pub share: f64,
    pub times: TimesVerdict,
}

/// A limit, what it counts, and the counters that do (any of them), with the factor to the limit's unit.
type Limited = (&'static str, &'static str, &'static [(&'static str, f64)]);

#[rustfmt::skip]
const LIMITED: [Limited; 6] = [
    ("read_iops", "disk reads", &[(names::DEVICE_READS, 1.0), ("Innodb_data_reads", 1.0)]),
    ("write_iops", "writes", &[("Innodb_data_writes", 1.0)]),
    ("read_bandwidth", "bytes read from disk", &[(names::SERVER_READ, 1.0), ("Innodb_data_read", 1.0)]),
    ("write_bandwidth", "bytes written", &[("Innodb_data_written", 1.0)]),
    ("cpus", "s of CPU time", &[(names::SERVER_CPU, 1e-6)]),
    ("memory", "disk reads", &[(names::DEVICE_READS, 1.0)]),
];

/// The limit of the slower side that costs most; None if none costs a tenth of the difference.
pub(crate) fn reason(of: &Side, to: &Side, gap: &Gap) -> Option<LimitReason> {
    let (faster, slower) = gap.faster.own_and_other(of, to);
    let (_, with) = gap.faster.own_and_other(SideName::Of, SideName::To);
    let reasons = LIMITED.iter().filter_map(|(name, noun, counters)| {
        let limit = slower.limit(name).filter(|limit| *limit > 0.0)?;
        let other = faster.limit(name);
        other.is_none_or(|other| other > limit).then_some(())?;
        let used = used(slower, counters)?;
        Some(LimitReason {
            name: name.to_string(),
            with,
            limit,
            other,
            noun,
            used,
            share: time_s(name, slower, faster, (used, limit), gap) / gap.waited_s,
            times: gap.verdict,
        })
    });
    reasons
        .filter(|reason| reason.share >= SHARE_MIN)
        .max_by(|a, b| a.share.total_cmp(&b.share))
}

fn used(side: &Side, counters: &[(&'static str, f64)]) -> Option<f64> {
    counters.iter().find_map(|(name, factor)| {
        let (_, values) = side.counter(&[name])?;
        Some(stats::mean(&values)? * own_share(name, side) * factor)
    })
}

/// What one operation waits at the limit (s). All clients share it. Memory costs the disk reads that it adds.
fn time_s(name: &str, slower: &Side, faster: &Side, (used, limit): (f64, f64), gap: &Gap) -> f64 {
    match name {
        "memory" => {
            let elsewhere = self::used(faster, &[(names::DEVICE_READS, 1.0)]).unwrap_or(0.0);
            (used - elsewhere) * Event::DiskRead.cost(slower).typical_s
        }
        _ => used / limit * gap.clients,
    }
}
