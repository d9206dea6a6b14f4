//! The parts of the variance of a trial: block, server start, trial, within the trial.
//!
//! Purpose: say what lowers it next: more blocks, longer trials or more server starts. Boundaries: the verdicts' noise is `moderated`.
//!
//! An analysis of variance of cells by blocks, with server starts as plots where cells share them (Cochran and Cox, "Experimental
//! designs", 1957). The part within a trial is the squared standard error of its own value.

use super::power::whole;
use crate::inference::moderated::{
    Logs, Row, by_block, mean, minus, squares, starts, without_means, without_rows,
};
use crate::judge::borrowed_noise;
use crate::load::summary::summary;
use crate::values::cells;
use record::claim::RoundSelector;
use record::run::Question;
use record::trial::{Trial, TrialState};

/// Standard deviations, as shares of a trial's value: 0.05 is 5 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    /// What all cells of a block have in common. It cancels in comparisons.
    pub block: f64,
    /// What the cells of a server start have in common; none where every trial starts its server, so that it is a part of `trial`.
    pub start: Option<f64>,
    pub trial: f64,
    /// None where a trial is a single round, or too short.
    pub within: Option<f64>,
}

/// The part that is the largest in a comparison of two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Largest {
    Start,
    Trial,
    Within,
}

impl Variance {
    /// `A trial varies by 4.6 % (standard deviation): trial 4.1 %, within the trial 2.1 %; a block by 3.0 %, which cancels in comparisons.
    /// Next, buy more blocks: 79 % of the variance of a comparison is between trials, which longer trials do not lower.`
    pub fn sentence(&self) -> String {
        let percent = |part: f64| format!("{:.1} %", part * 100.0);
        let named = |name: &str, part: Option<f64>| Some(format!("{name} {}", percent(part?)));
        let parts = [
            named("server start", self.start),
            named("trial", Some(self.trial)),
            named("within the trial", self.within),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let (largest, share) = self.largest();
        format!(
            "A trial varies by {} (standard deviation): {}; a block by {}, which cancels in comparisons. {}",
            percent(self.of_trial().sqrt()),
            parts.join(", "),
            percent(self.block),
            advice(largest, share, self.within.is_some())
        )
    }

    /// The variance of a trial in its block.
    fn of_trial(&self) -> f64 {
        let squared = |part: Option<f64>| part.unwrap_or(0.0).powi(2);
        squared(self.start) + self.trial.powi(2) + squared(self.within)
    }

    /// With its share of the variance of a trial in its block.
    fn largest(&self) -> (Largest, f64) {
        let parts = [
            (Largest::Trial, Some(self.trial)),
            (Largest::Start, self.start),
            (Largest::Within, self.within),
        ];
        let known = parts
            .into_iter()
            .filter_map(|(name, part)| Some((name, part?)));
        let largest = known.max_by(|a, b| a.1.total_cmp(&b.1));
        let (name, part) = largest.unwrap_or((Largest::Trial, self.trial));
        (name, part.powi(2) / self.of_trial().max(f64::MIN_POSITIVE))
    }
}

fn advice(largest: Largest, share: f64, knows_within: bool) -> String {
    let share = format!("{:.0} % of the variance of a comparison", share * 100.0);
    match largest {
        Largest::Start => format!(
            "Next, buy more server starts (series = false, or more blocks): {share} is between them."
        ),
        Largest::Trial if knows_within => format!(
            "Next, buy more blocks: {share} is between trials, which longer trials do not lower."
        ),
        Largest::Trial => "Next, buy more blocks: single short trials do not show whether longer ones would vary less.".to_string(),
        Largest::Within => format!("Next, buy longer trials (or more rounds): {share} is within them."),
    }
}

/// Of the throughput of loads, or of the time of the last kind of round. None with fewer than two cells in two complete blocks, and for
/// slices: most of what varies within them cancels in a ratio.
pub fn variance(question: &Question, trials: &[Trial]) -> Option<Variance> {
    if trials.iter().any(Trial::took_turns) {
        return None;
    }
    let (value, cell) = whole(question);
    let rows = borrowed_noise::logs(trials, &value, cell.round.clone());
    let within = within(trials, cell.round.as_ref());
    Parts::of(&rows).map(|parts| parts.with(within))
}

/// What is left of cells without their means if what they have in common is taken away too: the sum of squares, and its degrees of freedom.
pub(super) fn interaction(cells: &[Logs]) -> (f64, f64) {
    let shared = by_block(cells, mean);
    let residuals = cells.iter().map(|cell| squares(&minus(cell, &shared)));
    let freedom = (cells.len() - 1) * (shared.len() - 1);
    (residuals.sum(), freedom as f64)
}

/// Variances of logarithms. What is within a trial is still a part of `trial`.
#[derive(Clone, Copy, Debug)]
struct Parts {
    block: f64,
    start: Option<f64>,
    trial: f64,
}

impl Parts {
    fn of(rows: &[Row]) -> Option<Parts> {
        let cells: Vec<_> = without_means(rows).into_iter().flatten().collect();
        let blocks = cells.first()?.len();
        if cells.len() < 2 || blocks < 2 {
            return None;
        }
        let count = cells.len() as f64;
        let of_blocks = by_block(&cells, mean);
        let (residuals, freedom) = interaction(&cells);
        let of_trial = residuals / freedom;
        let of_block = count * squares(&of_blocks) / (blocks - 1) as f64;
        // What the mean of a block varies by without a common part, times the number of cells.
        let (start, trial, by_chance) = match shared_starts(rows) {
            Some((start, trial)) => (Some(start), trial, rows[0].len() as f64 * start + trial),
            None => (None, of_trial, of_trial),
        };
        Some(Parts {
            block: (of_block - by_chance).max(0.0) / count,
            start,
            trial,
        })
    }

    /// A drift that all trials share is within them too, but makes no difference between them.
    fn with(self, within: Option<f64>) -> Variance {
        let within = within.map(|within| within.min(self.trial));
        Variance {
            block: self.block.sqrt(),
            start: self.start.map(f64::sqrt),
            trial: (self.trial - within.unwrap_or(0.0)).max(0.0).sqrt(),
            within: within.map(f64::sqrt),
        }
    }
}

/// The variances of server starts and of trials, where at least two rows of equal length share their starts.
fn shared_starts(rows: &[Row]) -> Option<(f64, f64)> {
    let width = rows.first()?.len();
    if width < 2 || rows.len() < 2 || rows.iter().any(|row| row.len() != width) {
        return None;
    }
    let residuals = without_rows(&without_means(rows));
    let freedom = rows.len() * (width - 1) * (rows[0][0].len() - 1);
    let each = residuals.iter().flatten().map(|cell| squares(cell));
    let trial = each.sum::<f64>() / freedom as f64;
    Some((starts(rows, &residuals).variance, trial))
}

/// The mean variance of a trial's own value: of the batches of a load, or of the rounds of one name.
fn within(trials: &[Trial], round: Option<&RoundSelector>) -> Option<f64> {
    let counted = trials
        .iter()
        .filter(|trial| trial.state == TrialState::Done);
    let each: Vec<f64> = counted
        .filter_map(|trial| match &trial.load {
            Some(load) => Some(summary(load).throughput_error?.powi(2)),
            None => of_rounds(trial, round),
        })
        .collect();
    (!each.is_empty()).then(|| mean(&each))
}

fn of_rounds(trial: &Trial, round: Option<&RoundSelector>) -> Option<f64> {
    let rounds = cells::rounds(trial, round);
    let whole = rounds.iter().filter(|round| !round.lacks_queries());
    let logs: Vec<f64> = whole.map(|round| round.elapsed_s.ln()).collect();
    let count = logs.len() as f64;
    (count >= 2.0).then(|| {
        let centre = mean(&logs);
        let squared: f64 = logs.iter().map(|log| (log - centre).powi(2)).sum();
        squared / (count - 1.0) / count
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    /// A standard normal number (Box and Muller 1958).
    fn normal(random: &mut Pcg64) -> f64 {
        let (a, b): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// Rows of cells in so many blocks, with these standard deviations of blocks, server starts and trials.
    fn rows(count: usize, width: usize, blocks: usize, sd: [f64; 3]) -> Vec<Row> {
        let mut random = Pcg64::seed_from_u64(5);
        let of_blocks: Vec<f64> = (0..blocks).map(|_| sd[0] * normal(&mut random)).collect();
        let mut row = |_| -> Row {
            let of_starts: Vec<f64> = (0..blocks).map(|_| sd[1] * normal(&mut random)).collect();
            let mut cell = |_| {
                let value = |block: usize| {
                    of_blocks[block] + of_starts[block] + sd[2] * normal(&mut random)
                };
                (0..blocks).map(value).collect()
            };
            (0..width).map(&mut cell).collect()
        };
        (0..count).map(&mut row).collect()
    }

    fn assert_near(measured: f64, truth: f64) {
        assert!(
            (measured / truth - 1.0).abs() < 0.15,
            "{measured}, not {truth}"
        );
    }

    #[test]
    fn the_parts_of_a_simulated_series_are_found() {
        let parts = Parts::of(&rows(20, 4, 400, [0.03, 0.10, 0.05])).unwrap();
        assert_near(parts.block.sqrt(), 0.03);
        assert_near(parts.start.unwrap().sqrt(), 0.10);
        assert_near(parts.trial.sqrt(), 0.05);
    }

    #[test]
    fn without_a_series_the_server_start_is_a_part_of_the_trial() {
        let parts = Parts::of(&rows(20, 1, 400, [0.08, 0.03, 0.04])).unwrap();
        assert_near(parts.block.sqrt(), 0.08);
        assert_eq!(parts.start, None);
        assert_near(parts.trial.sqrt(), 0.05);
    }

    #[test]
    fn one_cell_or_one_block_cannot_be_split() {
        assert!(Parts::of(&rows(1, 1, 5, [0.1; 3])).is_none());
        assert!(Parts::of(&rows(5, 1, 1, [0.1; 3])).is_none());
    }

    #[test]
    fn the_sentence_names_what_to_buy_next() {
        let split = |start: Option<f64>, trial: f64, within: Option<f64>| {
            let variance = Variance {
                block: 0.03,
                start,
                trial,
                within,
            };
            variance.sentence()
        };
        assert_eq!(
            split(None, 0.041, Some(0.021)),
            "A trial varies by 4.6 % (standard deviation): trial 4.1 %, within the trial 2.1 %; a block by 3.0 %, which cancels in comparisons. Next, buy more blocks: 79 % of the variance of a comparison is between trials, which longer trials do not lower."
        );
        assert!(split(None, 0.01, Some(0.05)).contains("buy longer trials (or more rounds): 96 %"));
        assert!(split(Some(0.1), 0.01, Some(0.05)).contains("buy more server starts"));
        assert!(split(None, 0.04, None).contains("buy more blocks"));
    }
}
