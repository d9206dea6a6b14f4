//! Rule 10 in an open loop: seconds in which the operations were late.
//!
//! A server that stops for a second within two of them still completes about what was offered in each. The response times show it: half of
//! the operations that end in the second one have waited for a large part of a second.

use crate::series::running;
use record::histogram::merged;
use record::load::{HistogramNote, LatencyKind, Loaded, Mode};
use std::collections::BTreeMap;
use std::ops::Range;

/// At low rates chance alone leaves seconds empty. Poisson arrivals miss their mean by more than four times its square root in
/// one case of 30,000.
pub(crate) const CHANCE: f64 = 4.0;
/// Normal seconds lie as far from their median, in standard deviations, as rarely.
pub(crate) const SCATTER: f64 = 4.0;
/// A large part of a second. A stop of one second that leaves half of the operations to each of two seconds makes a median of 250 ms
/// in the second one, and more where it leaves more to the first.
const LATE_MS: f64 = 200.0;

/// The seconds in which the response times jump, with their median (ms): to at least [`LATE_MS`] above the running median and out of the
/// usual scatter of their logarithms. Of consecutive ones the first alone: then the queue is served. Empty in a closed loop, whose
/// operations wait for the server before they are due.
pub(crate) fn seconds(load: &Loaded, measured: Range<usize>) -> BTreeMap<usize, f64> {
    if !matches!(load.mode, Mode::Open { .. }) {
        return BTreeMap::new();
    }
    let notes: Vec<&HistogramNote> = (load.histograms.iter())
        .filter(|note| note.operation.is_none() && note.kind == LatencyKind::Response)
        .filter(|note| note.every_s == 1 && measured.contains(&(note.start_s as usize)))
        .collect();
    let answered: Vec<Answered> = notes
        .iter()
        .filter_map(|note| Answered::from_note(note))
        .collect();
    let logs: Vec<f64> = answered.iter().map(|one| one.median_ms.ln()).collect();
    let (medians, scatters) = (running::medians(&logs), running::scatters(&logs));
    let jumps = |place: &usize| {
        let (one, usual_ms) = (&answered[*place], medians[*place].exp());
        let is_unusual = logs[*place] - medians[*place] > SCATTER * scatters[*place];
        one.median_ms > usual_ms + LATE_MS && is_unusual
    };
    let jumped: Vec<usize> = (0..answered.len()).filter(jumps).collect();
    if jumped.is_empty() {
        return BTreeMap::new();
    }
    let all = merged(notes.iter().map(|note| &note.nanoseconds));
    let beyond_chance = |place: &usize| {
        let bar_ns = ((medians[*place].exp() + LATE_MS) * 1e6) as u64;
        let share = all.as_ref().map_or(1.0, |all| share_above(all, bar_ns));
        answered[*place].is_late_beyond_chance(share)
    };
    let second = |place: usize| (answered[place].second, answered[place].median_ms);
    let follows = |place: &usize| jumped.contains(&place.wrapping_sub(1));
    let first = jumped.iter().filter(|place| !follows(place));
    first
        .filter(|place| beyond_chance(place))
        .map(|place| second(*place))
        .collect()
}

/// The responses of a second.
struct Answered {
    second: usize,
    count: f64,
    median_ms: f64,
}

impl Answered {
    /// None where nothing ended.
    fn from_note(note: &HistogramNote) -> Option<Answered> {
        let responses = note.nanoseconds.unpack();
        (!responses.is_empty()).then(|| Answered {
            second: note.start_s as usize,
            count: responses.len() as f64,
            median_ms: (responses.value_at_quantile(0.5) as f64 / 1e6).max(1e-6),
        })
    }

    /// Whether half of its operations are late by more than chance, where this share of all operations is. In a second of few operations
    /// the median can be a slow one.
    fn is_late_beyond_chance(&self, share: f64) -> bool {
        let expected = share * self.count;
        self.count / 2.0 > expected + CHANCE * expected.sqrt().max(CHANCE)
    }
}

fn share_above(all: &hdrhistogram::Histogram<u64>, bar_ns: u64) -> f64 {
    let upto = all.count_between(0, bar_ns);
    1.0 - upto as f64 / all.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{open, series, uniform, with_response};
    use crate::load::summary::summarise;
    use record::Stall;

    /// Arrivals and service times (s) as one first-come, first-served queue answers them.
    fn answered(arrivals_s: &[f64], services_s: &[f64], seconds: usize) -> Loaded {
        let mut responses: Vec<Vec<u64>> = vec![Vec::new(); seconds];
        let mut free_s = 0.0f64;
        for (arrival, service) in arrivals_s.iter().zip(services_s) {
            free_s = free_s.max(*arrival) + service;
            if let Some(second) = responses.get_mut(free_s as usize) {
                second.push(((free_s - arrival) * 1e9) as u64);
            }
        }
        let rate = arrivals_s.len() as f64 / seconds as f64;
        let mut load = open(rate, seconds, |_| 0.0);
        let done = series(seconds, |second| responses[second].len() as f64);
        load.series.insert("throughput".into(), done);
        with_response(load, seconds as u32, |second| {
            responses[second as usize].clone()
        })
    }

    fn poisson(rate: f64, seconds: usize, seed: u64) -> Vec<f64> {
        let mut at_s = 0.0;
        let count = (1.3 * rate * seconds as f64) as usize;
        let steps = uniform(count, seed).into_iter().map(|share| {
            at_s -= (1.0 - share).ln() / rate;
            at_s
        });
        steps.take_while(|at_s| *at_s < seconds as f64).collect()
    }

    fn stalls(load: &Loaded) -> Vec<Stall> {
        summarise(load).stalls
    }

    /// 1,000 requests/s at a server that serves 20,000/s and stops for a second at 30 s and a phase of it.
    fn stopped_at(phase: f64, seed: u64) -> Loaded {
        let arrivals = poisson(1000.0, 60, seed);
        let stop_s = 30.0 + phase;
        let first = arrivals.iter().position(|at_s| *at_s >= stop_s).unwrap();
        let mut services = vec![0.05e-3; arrivals.len()];
        services[first] += stop_s + 1.0 - arrivals[first];
        answered(&arrivals, &services, 60)
    }

    #[test]
    fn a_stop_of_a_second_is_a_stall_at_any_phase_of_the_second() {
        for step in 0..40 {
            let phase = f64::from(step) / 40.0;
            let found = stalls(&stopped_at(phase, step as u64));
            assert_eq!(found.len(), 1, "at {phase}: {found:?}");
            assert!(
                (30..=31).contains(&found[0].start_s),
                "at {phase}: {found:?}"
            );
        }
    }

    #[test]
    fn a_stop_that_leaves_each_second_its_operations_is_late_and_loses_none() {
        let found = stalls(&stopped_at(0.8, 1));
        assert_eq!((found[0].start_s, found[0].operations_lost), (31, 0.0));
        assert!(
            (found[0].late_ms.unwrap() - 400.0).abs() < 50.0,
            "{found:?}"
        );
    }

    /// Random service times at high utilisation: long queues, but no second in which the server stood still.
    #[test]
    fn a_busy_server_without_a_stop_has_hardly_ever_a_stall() {
        for (rate, utilisation) in [(20.0, 0.9), (100.0, 0.95), (200.0, 0.98)] {
            let has_stall = |seed: &u64| {
                let arrivals = poisson(rate, 120, *seed);
                let shares = uniform(arrivals.len(), seed + 1000);
                let service = |share: f64| -(1.0 - share).ln() * utilisation / rate;
                let services: Vec<f64> = shares.into_iter().map(service).collect();
                !stalls(&answered(&arrivals, &services, 120)).is_empty()
            };
            let wrong = (0..30).filter(has_stall).count();
            assert!(wrong <= 2, "{rate}/s at {utilisation}: {wrong} of 30");
        }
    }

    #[test]
    fn a_second_whose_few_operations_are_slow_ones_is_no_stall() {
        // Two in five take two seconds.
        let slow = |share: &f64| {
            if *share < 0.4 {
                2_000_000_000
            } else {
                10_000_000
            }
        };
        let of_second = |second: u32| uniform(20, u64::from(second)).iter().map(slow).collect();
        let load = with_response(open(20.0, 120, |_| 0.0), 120, of_second);
        assert!(stalls(&load).is_empty());
    }

    #[test]
    fn the_queue_that_a_stall_left_is_not_a_second_stall() {
        // A stop of three seconds, then the queue is served at 1,500/s: the responses are late for some more seconds.
        let arrivals = poisson(1000.0, 60, 5);
        let first = arrivals.iter().position(|at_s| *at_s >= 30.0).unwrap();
        let mut services = vec![1.0 / 1500.0; arrivals.len()];
        services[first] += 3.0;
        let found = stalls(&answered(&arrivals, &services, 60));
        let spans: Vec<_> = found
            .iter()
            .map(|stall| (stall.start_s, stall.seconds))
            .collect();
        assert_eq!(spans, [(30, 3)]);
    }
}
