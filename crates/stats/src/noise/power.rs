//! The detection limit: the smallest effect that a number of blocks sees.
//!
//! Purpose: say before the run what it can decide, from trials of the same experiment. Boundaries: the caller finds such trials.
//!
//! Zar, "Biostatistical analysis", 5th edition, 2010, minimum detectable difference: with the probability p, the paired t test sees
//! a difference of (t(1 - alpha / 2) + t(p)) s / sqrt(B).

use crate::compare::contrast;
use crate::inference::ratio::{CONFIDENCE, LogMean};
use crate::judge;
use crate::judge::borrowed_noise::Lenders;
use crate::judge::decide::POWER;
use crate::values::cells::{self, Series};
use record::Looks;
use record::claim::{Cell, RoundSelector, Subject, Use, Value};
use record::run::Question;
use record::trial::Trial;
use std::slice;

/// What a number of blocks sees with 80 % probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    pub blocks: u32,
    /// The ratio of the comparison in the middle, above 1: 1.22 is an effect of 22 %.
    pub effect: f64,
    /// The smallest and the largest of all comparisons.
    pub from: f64,
    pub to: f64,
    pub comparisons: usize,
}

impl Power {
    /// `with 3 blocks an effect of 22 % or more is seen with 80 % probability (median of 7 comparisons: 9 % to 60 %)`
    pub fn sentence(&self) -> String {
        let among = match self.comparisons {
            1 => String::new(),
            several => format!(
                " (median of {several} comparisons: {} to {})",
                effect(self.from),
                effect(self.to)
            ),
        };
        format!(
            "with {} blocks an effect of {} or more is seen with 80 % probability{among}",
            self.blocks,
            effect(self.effect)
        )
    }
}

/// A ratio above 1 as an effect: `22 %`, from 100 % on `a factor of 2.3`.
pub fn effect(ratio: f64) -> String {
    match ratio - 1.0 {
        share if share < 0.0995 => format!("{:.1} %", share * 100.0),
        share if share < 1.0 => format!("{:.0} %", share * 100.0),
        _ if ratio < 10.0 => format!("a factor of {ratio:.1}"),
        _ => {
            let factor = record::separated(&format!("{ratio:.0}"), ",");
            format!("a factor of {factor}")
        }
    }
}

/// The detection limit of the question's comparisons with so many blocks, if their noise is that of `trials`: those of its claims on speed or
/// outages (of all claims without such ones), or without claims those of all rows with the first. None without two measured blocks.
///
/// Claims share an error rate of 5 % (Holm), and without claims the comparisons of servers do, so each is taken at the [`level`] of the
/// strictest test.
pub fn power(question: &Question, trials: &[Trial], blocks: u32) -> Option<Power> {
    let (ratios, tested) = match question.claims.is_empty() {
        true => (
            of_rows(question, trials),
            contrast::tested_in_run(question, trials),
        ),
        false => of_claims(question, trials),
    };
    let alpha = level(&question.looks(), blocks, tested);
    let known = ratios.iter().filter(|ratio| ratio.count > 1);
    let seen = known.filter_map(|ratio| ratio.seen(blocks, alpha, POWER));
    let mut effects: Vec<f64> = seen.map(f64::exp).collect();
    effects.sort_by(f64::total_cmp);
    let last = effects.len().checked_sub(1)?;
    Some(Power {
        blocks,
        effect: (effects[last / 2] * effects[last.div_ceil(2)]).sqrt(),
        from: *effects.first()?,
        to: *effects.last()?,
        comparisons: effects.len(),
    })
}

/// The level of the strictest of so many tests (Holm), with the share of the error rate that the look after these blocks has.
pub fn level(looks: &Looks, blocks: u32, tested: usize) -> f64 {
    let look = looks.around(blocks.saturating_sub(1)).1;
    let weight = look.or(looks.all().last()).map_or(1.0, |look| look.weight);
    (1.0 - CONFIDENCE) * weight / tested.max(1) as f64
}

/// The ratios of the claims, and the number of claims that share the error rate. Beside claims on times, throughputs or outages, the ratios of
/// others are left out: many counters hardly vary, so their ratios show a noise that no time has.
fn of_claims(question: &Question, trials: &[Trial]) -> (Vec<LogMean>, usize) {
    let is_detail = |value: &Value| value.used() == Use::Detail;
    let mut values = (question.claims.iter()).filter_map(|claim| claim.subject.value());
    let only_details = values.all(is_detail);
    let mut lenders = Lenders::of(trials, u32::MAX);
    let mut ratios = Vec::new();
    let mut tested = 0;
    for claim in &question.claims {
        match &claim.subject {
            Subject::Ratio { value, of, to, .. } => {
                tested += 1;
                let pair = judge::pair(trials, u32::MAX, &mut lenders, value, (of, to));
                let counts = only_details || !is_detail(value);
                ratios.extend(pair.ok().filter(|_| counts).map(|pair| pair.ratio));
            }
            Subject::Spread { .. } => tested += 1,
            Subject::Finds { .. } => {}
        }
    }
    (ratios, tested)
}

/// The ratios of all rows to the first: of the throughput of loads, or of the time of the last kind of round.
fn of_rows(question: &Question, trials: &[Trial]) -> Vec<LogMean> {
    let (value, cell) = whole(question);
    let Ok(rows) = cells::series(trials, &cell, &value, u32::MAX) else {
        return Vec::new();
    };
    let Some((first, others)) = rows.split_first() else {
        return Vec::new();
    };
    let ratio = |row: &Series| {
        let (row, first) = (slice::from_ref(row), slice::from_ref(first));
        let blocks = cells::common_blocks(&[row, first]);
        let values = |rows| cells::combined(rows, &blocks);
        LogMean::of_ratios(&values(row), &values(first))
    };
    others.iter().filter_map(ratio).collect()
}

/// What the trials of a question are compared by if no claim says so, of all cells.
pub(crate) fn whole(question: &Question) -> (Value, Cell) {
    let Some(name) = question.rounds.last() else {
        return (Value::Throughput, Cell::default());
    };
    let cell = Cell {
        round: Some(RoundSelector::all(name)),
        ..Cell::default()
    };
    (Value::Elapsed, cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sees(effect: f64, comparisons: usize) -> String {
        let power = Power {
            blocks: 3,
            effect,
            from: 1.09,
            to: 9.13,
            comparisons,
        };
        power.sentence()
    }

    #[test]
    fn the_sentence_names_blocks_effect_and_probability() {
        assert_eq!(
            sees(1.22, 1),
            "with 3 blocks an effect of 22 % or more is seen with 80 % probability"
        );
        assert_eq!(
            sees(2.34, 7),
            "with 3 blocks an effect of a factor of 2.3 or more is seen with 80 % probability (median of 7 comparisons: 9.0 % to a factor of 9.1)"
        );
        assert_eq!(effect(1312.4), "a factor of 1,312");
    }
}
