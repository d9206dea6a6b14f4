//! What changes the speed of the machine while it measures: the hypervisor, the frequency governor, its limit, heat, the niceness.
//!
//! Purpose: compare the beginning of a trial with its end. Boundaries: the machine's description is `machine`; what a flag does to a
//! trial is decided by the protocol.

use crate::Processors;
use record::{Flag, FlagKind};
use std::fs;

/// A larger share of stolen CPU time is flagged.
const STOLEN_MAX: f64 = 0.01;

/// The machine's pace at one moment. What the kernel does not show is None.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pace {
    processors: Option<Processors>,
    governor: Option<String>,
    frequency_limit_khz: Option<String>,
    /// Times that a CPU was slowed down because it was hot, since boot.
    throttled: Option<u64>,
    nice: i32,
}

impl Pace {
    pub fn now() -> Pace {
        Pace {
            processors: Processors::read(),
            governor: governor(),
            frequency_limit_khz: of_cpus("cpufreq/scaling_max_freq"),
            throttled: throttled(),
            nice: nice(),
        }
    }

    /// What changed since an earlier moment, as flags.
    pub fn changes_since(&self, earlier: &Pace) -> Vec<Flag> {
        let flags = [
            self.stolen_since(earlier),
            changed("the frequency governor", &earlier.governor, &self.governor),
            changed(
                "the frequency limit (kHz)",
                &earlier.frequency_limit_khz,
                &self.frequency_limit_khz,
            ),
            self.throttled_since(earlier),
        ];
        flags.into_iter().flatten().collect()
    }

    /// The flag of a trial that did not run at the niceness of its run.
    pub fn another_nice(&self, expected: i32) -> Option<Flag> {
        (self.nice != expected).then(|| Flag {
            kind: FlagKind::NiceChanged,
            text: format!(
                "the trial ran at niceness {}, the run began at {expected}: it had another share of the CPUs",
                self.nice
            ),
        })
    }

    fn stolen_since(&self, earlier: &Pace) -> Option<Flag> {
        let (now, then) = (self.processors?, earlier.processors?);
        let share = now.stolen_share_since(&then);
        (share > STOLEN_MAX).then(|| Flag {
            kind: FlagKind::CpuSteal,
            text: format!(
                "the hypervisor took {:.1} % of the CPU time (steal) during this trial",
                share * 100.0
            ),
        })
    }

    fn throttled_since(&self, earlier: &Pace) -> Option<Flag> {
        let times = self.throttled?.checked_sub(earlier.throttled?)?;
        (times > 0).then(|| Flag {
            kind: FlagKind::FrequencyChanged,
            text: format!("heat slowed the CPUs down {times} times during this trial"),
        })
    }
}

fn changed(what: &str, earlier: &Option<String>, now: &Option<String>) -> Option<Flag> {
    let (earlier, now) = (earlier.as_ref()?, now.as_ref()?);
    (earlier != now).then(|| Flag {
        kind: FlagKind::FrequencyChanged,
        text: format!("{what} changed from {earlier} to {now} during this trial"),
    })
}

/// The niceness of this process, which its servers inherit.
pub fn nice() -> i32 {
    rustix::process::getpriority_process(None).unwrap_or(0)
}

/// The governors of all CPUs: `performance`.
pub(crate) fn governor() -> Option<String> {
    of_cpus("cpufreq/scaling_governor")
}

/// The distinct values of a file of each CPU, separated by commas; None if no CPU has it (in most virtual machines).
fn of_cpus(file: &str) -> Option<String> {
    let mut values: Vec<String> = each_cpu(file).collect();
    values.sort();
    values.dedup();
    (!values.is_empty()).then(|| values.join(","))
}

fn throttled() -> Option<u64> {
    let counts = each_cpu("thermal_throttle/core_throttle_count");
    counts
        .filter_map(|count| count.parse::<u64>().ok())
        .reduce(|sum, count| sum + count)
}

fn each_cpu(file: &str) -> impl Iterator<Item = String> {
    let cpus = fs::read_dir("/sys/devices/system/cpu")
        .into_iter()
        .flatten()
        .flatten();
    let read = move |cpu: fs::DirEntry| fs::read_to_string(cpu.path().join(file)).ok();
    cpus.filter_map(read).map(|text| text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(stolen_s: f64, governor: &str, throttled: u64) -> Pace {
        Pace {
            processors: Some(Processors {
                busy_s: 50.0,
                waiting_s: 0.0,
                stolen_s,
                idle_s: 50.0,
            }),
            governor: Some(governor.into()),
            frequency_limit_khz: None,
            throttled: Some(throttled),
            nice: 0,
        }
    }

    fn kinds(before: Pace, after: Pace) -> Vec<FlagKind> {
        let flags = after.changes_since(&before).into_iter();
        flags.map(|flag| flag.kind).collect()
    }

    #[test]
    fn a_steady_machine_has_no_flags() {
        let steady = pace(0.0, "performance", 7);
        assert_eq!(kinds(steady.clone(), steady), []);
    }

    #[test]
    fn stolen_time_over_1_percent_is_flagged() {
        let before = || pace(0.0, "performance", 0);
        let after = |stolen_s: f64, idle_s: f64| Pace {
            processors: Some(Processors {
                busy_s: 100.0,
                waiting_s: 0.0,
                stolen_s,
                idle_s,
            }),
            ..before()
        };
        assert_eq!(kinds(before(), after(2.0, 98.0)), [FlagKind::CpuSteal]);
        assert_eq!(kinds(before(), after(0.9, 99.1)), []);
    }

    #[test]
    fn another_governor_and_heat_are_flagged() {
        let before = pace(0.0, "performance", 7);
        let powersave = pace(0.0, "powersave", 7);
        assert_eq!(
            kinds(before.clone(), powersave),
            [FlagKind::FrequencyChanged]
        );
        let hot = pace(0.0, "performance", 9);
        assert_eq!(kinds(before, hot), [FlagKind::FrequencyChanged]);
    }

    #[test]
    fn another_niceness_than_the_runs_is_flagged() {
        let pace = pace(0.0, "performance", 0);
        assert_eq!(pace.another_nice(0), None);
        let flag = pace.another_nice(5).unwrap();
        assert_eq!(flag.kind, FlagKind::NiceChanged);
        assert!(flag.text.contains("niceness 0"), "{}", flag.text);
    }

    #[test]
    fn the_pace_of_this_machine_can_be_read() {
        assert!(Pace::now().processors.is_some());
    }
}
