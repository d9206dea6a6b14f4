//! Recovery from an outage: when the throughput is back.
//!
//! Purpose: `recovered_s` from the seconds of a timed load, by one rule for every kind of outage. Boundaries: the other numbers are
//! measured while the server restarts, and are in the event's note.

use crate::inference::estimate;
use crate::series::running::median;
use record::FlagKind;
use record::event::{OTHERS, PAUSE};
use record::load::Mode;
use record::trial::{EventNote, Trial};

/// Seconds before the outage whose median throughput is the baseline, and the fewest that make one.
const BEFORE_S: usize = 30;
const BEFORE_MIN_S: usize = 5;
/// Seconds to either side of the running median: 5 s in all.
const REACH_S: usize = 2;
/// The share of the baseline at which throughput is back.
const BACK: f64 = 0.95;
/// The moments of events are of the wall clock, and `down_s` is of a monotonic one: over minutes they differ by less.
const CLOCKS_S: f64 = 0.1;
/// The number that this module computes.
pub(crate) const RECOVERED: &str = "recovered_s";
const COMMITTED: &str = "commit_s";
/// Ends the flag of an outage without recovery.
const NOT_BACK: &str =
    "the throughput did not return to 95 % of that before the outage while it was measured";

/// An outage on the clock of the load.
struct Outage {
    /// The moment of the event that all numbers count from.
    at_s: f64,
    /// When the server went down; earlier than `at_s` where another event ended it.
    down_s: f64,
    /// Until then it leaves the seconds to an earlier outage. A node that is started was taken away by an event that has an outage of
    /// its own; a server without others has none from its `stop` to its `start`.
    begun_s: f64,
    commit_s: f64,
}

impl Outage {
    fn from_event(event: &EventNote, started_ns: i64) -> Option<Outage> {
        let at_s = (event.at_ns - started_ns) as f64 / 1e9;
        let before_s = event.numbers.get("down_s").copied().unwrap_or(0.0);
        let down_s = at_s - before_s;
        let has_others = event.numbers.contains_key(OTHERS);
        let commit_s = event.numbers.get(COMMITTED).copied();
        Some(Outage {
            at_s,
            down_s,
            begun_s: if has_others { at_s } else { down_s },
            // The others may go on at once.
            commit_s: commit_s.or(event.takes_a_node_away().then_some(0.0))?,
        })
    }
}

/// Adds `recovered_s` to each event with a `commit_s`: from the event to the first second whose throughput, and the running median of
/// 5 s around it, is at least 95 % of the median of the 30 s before the outage. `throughput` has one value per second of the load, which
/// started at `started_ns`. Returns a sentence for each outage without the number; the throughput of a schedule that changes its rate has
/// no level to return to.
pub fn add_recovered(
    events: &mut [EventNote],
    throughput: &[Option<f64>],
    started_ns: i64,
    mode: &Mode,
) -> Vec<String> {
    let seconds: Vec<f64> = throughput.iter().map(|done| done.unwrap_or(0.0)).collect();
    let outages = events
        .iter()
        .map(|event| Outage::from_event(event, started_ns));
    let outages: Vec<Option<Outage>> = outages.collect();
    let mut missing = Vec::new();
    for (n, event) in events.iter_mut().enumerate() {
        let Some(outage) = &outages[n] else { continue };
        let earlier = outages[..n].iter().flatten();
        let earlier = earlier.filter(|one| one.at_s < outage.down_s - CLOCKS_S);
        let up_from_s = earlier.fold(0.0, |up_s, one| f64::max(up_s, one.at_s + one.commit_s));
        let next_s = outages[n + 1..].iter().flatten().map(|next| next.begun_s);
        let until_s = next_s.fold(seconds.len() as f64, f64::min);
        let recovered = match mode.has_changing_rate() {
            true => Err("recovered_s needs arrivals at a rate that does not change"),
            false => recovered_s(&seconds, outage, up_from_s, until_s),
        };
        match recovered {
            Ok(recovered_s) => {
                event.numbers.insert(RECOVERED.into(), recovered_s);
            }
            Err(why) => missing.push(format!(
                "\"{}\" event at {:.1} s: {why}",
                event.kind, outage.at_s
            )),
        }
    }
    missing
}

/// `up_from_s` and `until_s` bound the time without another outage.
fn recovered_s(
    seconds: &[f64],
    outage: &Outage,
    up_from_s: f64,
    until_s: f64,
) -> Result<f64, &'static str> {
    let down = (outage.down_s.max(0.0) as usize).min(seconds.len());
    let first = down.saturating_sub(BEFORE_S).max(up_from_s.ceil() as usize);
    let before = seconds.get(first..down).unwrap_or_default();
    if before.len() < BEFORE_MIN_S {
        return Err("recovered_s needs at least 5 s without an outage before it");
    }
    let baseline = median(before);
    if baseline <= 0.0 {
        return Err("recovered_s needs a throughput above 0 before the outage");
    }
    let until = (until_s.max(0.0) as usize).min(seconds.len());
    let last = until.saturating_sub(REACH_S);
    let back = ((outage.at_s + outage.commit_s) as usize..last).find(|second| {
        let around = second.saturating_sub(REACH_S)..second + REACH_S + 1;
        // The median alone could rest on seconds before the outage.
        seconds[*second].min(median(&seconds[around])) >= BACK * baseline
    });
    let back = back.ok_or(NOT_BACK)?;
    // The second of the commit begins before it.
    Ok((back as f64 - outage.at_s).max(outage.commit_s))
}

/// Why a trial has no `recovered_s`: the throughput did not return after one of its outages. None for the other numbers.
pub(crate) fn not_back<'t>(trial: &'t Trial, number: &str) -> Option<&'t str> {
    let mut flags = trial.flags.iter().filter(|flag| {
        number == RECOVERED && flag.kind == FlagKind::NotRecovered && flag.text.ends_with(NOT_BACK)
    });
    flags.next().map(|flag| flag.text.as_str())
}

/// Why a trial has no mean of a number: the throughput did not return after one of its outages, or nothing was committed.
pub(crate) fn lacking(trial: &Trial, number: &str) -> Option<String> {
    let awaits_commit = |event: &&EventNote| event.takes_a_node_away() || event.kind == PAUSE;
    let mut awaiting = trial.events.iter().filter(awaits_commit);
    let never = awaiting.find(|event| !event.numbers.contains_key(COMMITTED));
    let says = |event: &EventNote| {
        let kind = &event.kind;
        format!("nothing was committed after a \"{kind}\" event before the load ended")
    };
    let never = never.filter(|_| number == COMMITTED).map(says);
    never.or_else(|| not_back(trial, number).map(String::from))
}

/// A number of the trial's outages, the mean of those that have it. There is no `recovered_s` if the throughput did not return after one of
/// them, and no `commit_s` if nothing was committed: the others alone would bias it.
pub(crate) fn mean(trial: &Trial, number: &str) -> Result<f64, String> {
    if let Some(why) = lacking(trial, number) {
        return Err(why);
    }
    let of_event = |event: &EventNote| event.numbers.get(number).copied();
    let found: Vec<f64> = trial.events.iter().filter_map(of_event).collect();
    estimate::mean(&found).ok_or_else(|| format!("no event of the trial has {number}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::open;
    use crate::tables::recoveries::recoveries;
    use record::load::RateRange;
    use record::trial::TrialKey;

    const STARTED_NS: i64 = 1_000_000_000_000;

    fn event(at_s: f64, numbers: &[(&str, f64)]) -> EventNote {
        EventNote {
            at_ns: STARTED_NS + (at_s * 1e9) as i64,
            ended_ns: None,
            kind: "kill".into(),
            node: Some(1),
            numbers: numbers
                .iter()
                .map(|(name, value)| (name.to_string(), *value))
                .collect(),
            text: String::new(),
        }
    }

    /// Throughput by second.
    fn seconds(parts: &[(usize, f64)]) -> Vec<Option<f64>> {
        let parts = parts.iter();
        parts
            .flat_map(|(count, done)| std::iter::repeat_n(Some(*done), *count))
            .collect()
    }

    fn recovered(
        events: &mut [EventNote],
        seconds: &[Option<f64>],
    ) -> (Vec<Option<f64>>, Vec<String>) {
        let closed = Mode::Closed {
            clients: 8,
            think_s: 0.0,
        };
        let missing = add_recovered(events, seconds, STARTED_NS, &closed);
        let numbers = events
            .iter()
            .map(|event| event.numbers.get("recovered_s").copied());
        (numbers.collect(), missing)
    }

    #[test]
    fn throughput_is_back_at_the_first_second_of_the_new_level() {
        let mut events = [event(40.25, &[("commit_s", 2.0)])];
        let series = seconds(&[(40, 100.0), (1, 25.0), (4, 0.0), (5, 60.0), (20, 96.0)]);
        let (found, missing) = recovered(&mut events, &series);
        assert_eq!((found, missing), (vec![Some(9.75)], vec![]));
    }

    /// From 40 s on a ramp offers half of what it began with.
    #[test]
    fn a_schedule_that_changes_its_rate_has_no_level_to_return_to() {
        let mut load = open(100.0, 60, |_| 0.0);
        let Mode::Open { range, .. } = &mut load.mode else {
            unreachable!()
        };
        *range = Some(RateRange {
            min: 50.0,
            max: 100.0,
        });
        let mut events = [event(40.0, &[("commit_s", 1.0)])];
        let series = seconds(&[(40, 100.0), (1, 0.0), (19, 50.0)]);
        let missing = add_recovered(&mut events, &series, STARTED_NS, &load.mode);
        assert!(
            missing[0].ends_with("a rate that does not change"),
            "{missing:?}"
        );
        assert!(!events[0].numbers.contains_key("recovered_s"));
    }

    #[test]
    fn an_outage_shorter_than_a_second_ends_with_the_second_that_it_spoils() {
        let mut events = [event(40.5, &[("commit_s", 0.25)])];
        let series = seconds(&[(40, 100.0), (1, 70.0), (20, 100.0)]);
        assert_eq!(recovered(&mut events, &series).0, [Some(0.5)]);
    }

    #[test]
    fn a_pause_is_over_for_its_clients_when_the_throughput_is_back() {
        let mut events = [EventNote {
            kind: "pause".into(),
            ..event(40.5, &[("paused_s", 3.0), ("commit_s", 3.001)])
        }];
        let series = seconds(&[(40, 100.0), (1, 50.0), (2, 0.0), (1, 60.0), (20, 100.0)]);
        assert_eq!(recovered(&mut events, &series).0, [Some(3.5)]);
    }

    #[test]
    fn one_good_second_is_no_recovery() {
        let mut events = [event(40.0, &[("commit_s", 1.0)])];
        let series = seconds(&[(40, 100.0), (3, 0.0), (1, 100.0), (10, 50.0)]);
        let (found, missing) = recovered(&mut events, &series);
        assert_eq!(found, [None]);
        assert!(missing[0].contains("did not return to 95 %"), "{missing:?}");
    }

    #[test]
    fn only_the_thirty_seconds_before_are_the_baseline() {
        let mut events = [event(60.0, &[("commit_s", 1.0)])];
        let series = seconds(&[(30, 1000.0), (30, 100.0), (2, 0.0), (10, 100.0)]);
        assert_eq!(recovered(&mut events, &series).0, [Some(2.0)]);
    }

    #[test]
    fn a_start_after_a_long_downtime_compares_with_the_time_before_it() {
        let mut events = [
            event(40.0, &[("stop_s", 1.0)]),
            event(70.0, &[("down_s", 30.0), ("commit_s", 1.0)]),
        ];
        let series = seconds(&[(40, 100.0), (31, 0.0), (10, 100.0)]);
        assert_eq!(recovered(&mut events, &series).0, [None, Some(1.0)]);
    }

    #[test]
    fn the_second_of_two_outages_neither_helps_nor_hides_the_first() {
        let kill = |at_s| event(at_s, &[("commit_s", 1.0)]);
        let mut events = [kill(20.0), kill(30.0)];
        let series = seconds(&[(20, 100.0), (2, 0.0), (8, 100.0), (3, 0.0), (20, 100.0)]);
        assert_eq!(recovered(&mut events, &series).0, [Some(2.0), Some(3.0)]);
    }

    /// As in a trial of `experiments/cluster/node-lost.toml`.
    #[test]
    fn a_node_that_is_killed_and_started_later_makes_two_recoveries() {
        let killed = event(25.25, &[("other_nodes", 2.0), ("commit_s", 6.0)]);
        let start = [
            ("other_nodes", 2.0),
            ("start_s", 0.0),
            ("down_s", 19.75),
            ("commit_s", 4.0),
        ];
        let started = EventNote {
            kind: "start".into(),
            ..event(45.0, &start)
        };
        let parts = [(25, 40.0), (6, 0.0), (14, 40.0), (6, 20.0), (20, 40.0)];
        let (found, missing) = recovered(&mut [killed, started], &seconds(&parts));
        assert_eq!((found, missing), (vec![Some(6.0), Some(6.0)], vec![]));
    }

    #[test]
    fn an_outage_at_the_start_has_no_baseline() {
        let mut events = [event(3.0, &[("commit_s", 1.0)])];
        let (found, missing) = recovered(&mut events, &seconds(&[(3, 100.0), (9, 100.0)]));
        assert_eq!(found, [None]);
        assert!(missing[0].contains("at least 5 s"), "{missing:?}");
    }

    #[test]
    fn a_trial_with_two_outages_has_their_mean() {
        let key = TrialKey {
            server: Some("a".into()),
            ..TrialKey::default()
        };
        let mut trial = Trial::unmeasured(key, STARTED_NS);
        trial.events = vec![
            event(1.0, &[("accept_s", 2.0)]),
            event(2.0, &[("accept_s", 4.0)]),
        ];
        assert_eq!(mean(&trial, "accept_s"), Ok(3.0));
        assert!(mean(&trial, "redo_s").is_err());
        let trials = [trial];
        let rows = recoveries(&trials);
        assert_eq!(rows.len(), 1);
        let numbers: Vec<&str> = rows[0].numbers.keys().copied().collect();
        assert_eq!(numbers, ["accept_s"]);
    }

    #[test]
    fn a_trial_in_which_nothing_was_committed_after_its_second_outage_has_no_mean() {
        let mut trial = Trial::unmeasured(TrialKey::default(), STARTED_NS);
        trial.events = vec![
            event(20.0, &[("other_nodes", 2.0), ("commit_s", 5.0)]),
            event(40.0, &[("other_nodes", 1.0)]),
        ];
        let why = mean(&trial, "commit_s").unwrap_err();
        let says = "nothing was committed after a \"kill\" event before the load ended";
        assert_eq!(why, says);
        assert!(recoveries(&[trial]).is_empty());
    }

    #[test]
    fn a_trial_that_does_not_recover_from_its_second_outage_has_no_mean() {
        let kill = |at_s| event(at_s, &[("commit_s", 1.0)]);
        let mut trial = Trial::unmeasured(TrialKey::default(), STARTED_NS);
        trial.events = vec![kill(20.0), kill(30.0)];
        let series = seconds(&[(20, 100.0), (2, 0.0), (8, 100.0), (3, 0.0), (20, 50.0)]);
        let (found, missing) = recovered(&mut trial.events, &series);
        assert_eq!(found, [Some(2.0), None]);
        for text in missing {
            trial.flag(FlagKind::NotRecovered, text);
        }
        assert_eq!(mean(&trial, "commit_s"), Ok(1.0));
        let why = mean(&trial, "recovered_s").unwrap_err();
        assert!(why.contains("at 30.0 s: the throughput did not"), "{why}");
        let trials = [trial];
        let rows = recoveries(&trials);
        assert_eq!((rows[0].not_back, rows[0].trials), (1, 1));
        assert!(!rows[0].numbers.contains_key("recovered_s"));
    }
}
