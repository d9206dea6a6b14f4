//! The noise of ratios and the cost of starts, as trials in slices show them.
//!
//! Purpose: the figures from which a budget is planned. Boundaries: the caller chooses comparable trials, `budget` plans.
//!
//! A group is cells that took turns. What varies between its cells from block to block is the variance of a block (analysis of variance of
//! cells by blocks, Cochran and Cox, "Experimental designs", 1957). What varies between them from batch to batch of seconds within a block
//! is the part within: cells that take turns have their batches at about the same time. The rest is between starts.

use super::budget::SliceNoise;
use super::variance::interaction;
use crate::inference::moderated::{Logs, mean, recentred};
use crate::load::measured::throughput;
use crate::load::summary::of_trial;
use record::trial::{Trial, TrialKey, TrialState};
use std::collections::BTreeMap;

/// Batches of a trial, if its seconds allow so many.
const BATCHES: usize = 10;
/// Seconds of the shortest batch: those next to each other are correlated.
const BATCH_S: usize = 2;
/// With fewer degrees of freedom a standard deviation is known within a factor of 0.6 to 2.9 at best (chi-squared interval of 95 %).
const FREEDOM_MIN: f64 = 4.0;

/// What trials in slices show; figures of several runs can be pooled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceFigures {
    /// Variances of a ratio, as of [`SliceNoise`]. Between starts it is a difference of two estimates, which may be below 0.
    starts: f64,
    second: f64,
    /// Degrees of freedom of the variance of a block.
    pub freedom: f64,
    /// The mean time of a trial beside its warm-up and its slices (s).
    pub start_s: f64,
    /// What a measured second takes, with the changes from one server to the next (s).
    pub second_s: f64,
}

impl SliceFigures {
    /// Of the trials of one run, the control among them. None without a group of two blocks whose trials have batches.
    pub fn of<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Option<SliceFigures> {
        let groups = groups(trials).into_iter().filter_map(of_group);
        SliceFigures::pooled(&Vec::from_iter(groups))
    }

    /// Those of several runs or groups, by their degrees of freedom. None without any.
    pub fn pooled(all: &[SliceFigures]) -> Option<SliceFigures> {
        let freedom: f64 = all.iter().map(|one| one.freedom).sum();
        let weighted = |of: fn(&SliceFigures) -> f64| {
            all.iter().map(|one| of(one) * one.freedom).sum::<f64>() / freedom
        };
        (freedom > 0.0).then(|| SliceFigures {
            starts: weighted(|one| one.starts),
            second: weighted(|one| one.second),
            freedom,
            start_s: weighted(|one| one.start_s),
            second_s: weighted(|one| one.second_s),
        })
    }

    /// None where too few blocks show it.
    pub fn noise(&self) -> Option<SliceNoise> {
        (self.freedom >= FREEDOM_MIN).then_some(SliceNoise {
            starts: self.starts.max(0.0),
            second: self.second,
        })
    }
}

/// The cells of a group, and its trials by block in the order of the cells.
type Blocks<'t> = BTreeMap<u32, Vec<&'t Trial>>;

/// Trials that overlap in time took turns. A group that lacks a trial in some block is another group there.
fn groups<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Vec<Blocks<'t>> {
    let usable = |trial: &&Trial| trial.state == TrialState::Done && trial.slices().is_some();
    let mut trials: Vec<&Trial> = trials.into_iter().filter(usable).collect();
    trials.sort_by_key(|trial| trial.started_ns);
    let together = trials.chunk_by_mut(|one, other| other.started_ns < one.ended_ns);
    let mut groups: BTreeMap<Vec<TrialKey>, Blocks> = BTreeMap::new();
    for block in together {
        block.sort_by_key(|trial| &trial.key);
        let key = |trial: &&Trial| TrialKey {
            block: 0,
            ..trial.key.clone()
        };
        let cells = block.iter().map(key).collect();
        let blocks = groups.entry(cells).or_default();
        blocks.insert(block[0].key.block, block.to_vec());
    }
    groups.into_values().collect()
}

/// What one group shows. None for fewer than two cells or blocks, and without batches.
fn of_group(blocks: Blocks) -> Option<SliceFigures> {
    let cells = blocks.values().next()?.len();
    if cells < 2 || blocks.len() < 2 {
        return None;
    }
    let logs = |cell: usize| {
        let values = blocks.values().map(|block| {
            let throughput = of_trial(block[cell])?.throughput;
            throughput.map(f64::ln).filter(|log| log.is_finite())
        });
        Some(recentred(&values.collect::<Option<Logs>>()?))
    };
    let values: Vec<Logs> = (0..cells).map(logs).collect::<Option<_>>()?;
    let within: Vec<Within> = blocks.values().filter_map(|block| within(block)).collect();
    let within_freedom: f64 = within.iter().map(|within| within.freedom).sum();
    let within_squares: f64 = within.iter().map(|within| within.squares).sum();
    let times: Logs = within.iter().map(|within| within.time_s).collect();
    let costs = blocks.values().map(|block| costs_s(block));
    let (starts, seconds): (Logs, Logs) = costs.unzip();
    let (squares, freedom) = interaction(&values);
    // The ratio of two cells varies by both of them.
    let second = 2.0 * within_squares / within_freedom;
    (within_freedom > 0.0).then(|| SliceFigures {
        starts: 2.0 * squares / freedom - second / mean(&times),
        second,
        freedom,
        start_s: mean(&starts),
        second_s: mean(&seconds),
    })
}

/// What varies between the cells of a group within one block.
struct Within {
    /// Of single seconds: those of a batch are its mean's times the seconds of a batch.
    squares: f64,
    freedom: f64,
    time_s: f64,
}

fn within(block: &[&Trial]) -> Option<Within> {
    let measured = |trial: &&Trial| {
        let (load, summary) = (trial.load.as_deref()?, of_trial(trial)?);
        let seconds = throughput(load);
        Some(seconds.get(summary.steady.range())?.to_vec())
    };
    let measured: Vec<Vec<f64>> = block.iter().map(measured).collect::<Option<_>>()?;
    let seconds = measured.iter().map(Vec::len).min()?;
    let length = (seconds / BATCHES).max(BATCH_S);
    let count = (seconds / length).min(BATCHES);
    let batches = |seconds: &Vec<f64>| {
        let means = seconds.chunks_exact(length).take(count).map(mean);
        recentred(&means.map(f64::ln).collect::<Logs>())
    };
    let cells: Vec<Logs> = measured.iter().map(batches).collect();
    let is_known = cells.iter().flatten().all(|log| log.is_finite());
    (count >= 2 && is_known).then(|| {
        let (squares, freedom) = interaction(&cells);
        Within {
            squares: squares * length as f64,
            freedom,
            time_s: seconds as f64,
        }
    })
}

/// What a block takes: beside its warm-ups and slices, of one of its trials, and for each second that is measured (s).
fn costs_s(block: &[&Trial]) -> (f64, f64) {
    let began_ns = block.iter().map(|trial| trial.started_ns).min();
    let ended_ns = block.iter().map(|trial| trial.ended_ns).max();
    let span_ns = ended_ns.zip(began_ns).map_or(0, |(end, begin)| end - begin);
    let loads = block.iter().filter_map(|trial| trial.load.as_deref());
    let warmups_s: f64 = loads.map(|load| load.warmup.known_s()).sum();
    let summaries = block.iter().filter_map(|trial| of_trial(trial));
    let seconds = summaries.map(|summary| f64::from(summary.steady.seconds()));
    let measured_s: f64 = seconds.sum();
    // They take turns, so the slices of all lie between the first and the last of one.
    let slices = block.iter().filter_map(|trial| trial.slices());
    let spans_s = slices.map(|slices| slices.spanned_s);
    let sliced_s = spans_s.fold(measured_s, f64::max);
    let others_s = span_ns as f64 / 1e9 - warmups_s - sliced_s;
    let start_s = others_s.max(0.0) / block.len() as f64;
    (start_s, sliced_s / measured_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, noisy};
    use record::Slices;

    /// Standard deviations of a cell: from start to start, and of a second.
    const STARTS: f64 = 0.02;
    const SECOND: f64 = 0.1;
    const TIME_S: usize = 40;
    const START_S: f64 = 5.0;

    /// A cell of a group of two, whose speed wanders with the machine's.
    fn cell(block: u32, number: u32, time_s: usize) -> Trial {
        let seed = u64::from(3 * block + number);
        let start = noisy(1, 50_000 + seed, |_| 0.0, STARTS)[0];
        let machine = noisy(
            time_s,
            90_000 + u64::from(block),
            |second| 0.01 * second as f64,
            0.2,
        );
        let seconds = noisy(time_s, seed, |second| start + machine[second], SECOND);
        let mut load = fixture::closed(|second| 1000.0 * seconds[second].exp(), time_s);
        load.engine.slices = Some(Slices {
            length_s: 1.0,
            count: time_s as u32,
            servers: 2,
            spanned_s: 2.0 * time_s as f64,
            finishing_s_max: 0.0,
            edges_share: None,
            first_s_mean: None,
            first_s_max: None,
            operation_s_mean: None,
            written_between_bytes: None,
        });
        let mut trial = fixture::trial(block, &[("cell", ["a", "b"][number as usize])], load);
        let nanoseconds = |seconds: f64| (seconds * 1e9) as i64;
        let began_ns = nanoseconds(1000.0 * f64::from(block));
        trial.started_ns = began_ns + nanoseconds(START_S * f64::from(number));
        trial.ended_ns = began_ns + nanoseconds(2.0 * (START_S + time_s as f64));
        trial
    }

    fn run(blocks: u32, time_s: usize) -> Vec<Trial> {
        let block = |block| [cell(block, 0, time_s), cell(block, 1, time_s)];
        (0..blocks).flat_map(block).collect()
    }

    fn assert_near(measured: f64, truth: f64) {
        assert!(
            (measured / truth - 1.0).abs() < 0.15,
            "{measured}, not {truth}"
        );
    }

    #[test]
    fn the_parts_of_simulated_trials_and_the_cost_of_a_start_are_found() {
        let figures = SliceFigures::of(&run(600, TIME_S)).unwrap();
        let noise = figures.noise().unwrap();
        assert_near(noise.second, 2.0 * SECOND * SECOND);
        assert_near(noise.starts, 2.0 * STARTS * STARTS);
        assert_near(figures.start_s, START_S);
        assert_eq!(figures.freedom, 599.0);
    }

    #[test]
    fn what_lies_between_slices_is_a_cost_of_seconds_and_not_of_starts() {
        let mut trials = run(4, TIME_S);
        for trial in &mut trials {
            let load = trial.load.as_mut().unwrap();
            load.engine.slices.as_mut().unwrap().spanned_s = 2.5 * TIME_S as f64;
            trial.ended_ns += 500_000_000 * TIME_S as i64;
        }
        let figures = SliceFigures::of(&trials).unwrap();
        assert_near(figures.start_s, START_S);
        assert_near(figures.second_s, 1.25);
    }

    #[test]
    fn a_shorter_load_has_fewer_batches_and_the_same_noise_of_a_second() {
        let figures = SliceFigures::of(&run(600, 12)).unwrap();
        assert_near(figures.noise().unwrap().second, 2.0 * SECOND * SECOND);
        assert_eq!(SliceFigures::of(&run(600, 3)), None);
    }

    #[test]
    fn runs_of_three_blocks_tell_nothing_alone_and_enough_together() {
        let one = SliceFigures::of(&run(3, TIME_S)).unwrap();
        assert_eq!(one.noise(), None);
        let both = SliceFigures::pooled(&[one, one]).unwrap();
        assert_eq!(both.freedom, 4.0);
        assert!(both.noise().is_some());
        assert_eq!(SliceFigures::pooled(&[]), None);
    }

    #[test]
    fn trials_one_after_another_and_single_blocks_show_nothing() {
        assert_eq!(SliceFigures::of(&run(1, TIME_S)), None);
        let mut alone = run(8, TIME_S);
        for trial in &mut alone {
            trial.ended_ns = trial.started_ns + 1;
        }
        assert_eq!(SliceFigures::of(&alone), None);
    }
}
