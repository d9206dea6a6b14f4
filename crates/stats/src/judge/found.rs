//! What the trials show about one claim, before the tests of all claims are taken together.

use super::Decision;
use super::borrowed_noise::{self, Lenders};
use super::decide::{Missing, Side};
use super::plans::{self, PlanHolds};
use super::{basis, finding};
use crate::inference::ratio::{Band, CONFIDENCE, LogMean, MARGIN};
use crate::values::cells::{self, Series};
use crate::values::spread::Spread;
use crate::values::words;
use record::claim::{BlocksUsed, Bound, Cell, Claim, Direction, Finding, Limit, Subject, Value};
use record::trial::{Trial, TrialState};
use record::{for_count, percent};
use std::collections::BTreeSet;

const LIMIT: &str = "a query reached the time limit: the figure is a bound";

/// The result for one claim before the correction for multiple tests.
#[derive(Default)]
pub(super) struct Found {
    pub(super) ratio: Option<LogMean>,
    /// All pairs, of which `ratio` is the widest.
    pub(super) spread: Option<Spread>,
    pub(super) limit: Option<Limit>,
    pub(super) evidence: Evidence,
    pub(super) side: Option<Side>,
    /// Complete blocks that it rests on.
    pub(super) blocks: usize,
    /// The same among all blocks of its cells; None where nothing could be compared.
    pub(super) used: Option<BlocksUsed>,
    /// Of its look.
    pub(super) weight: f64,
    /// The nearest ratio that the threshold separates from the claimed ones.
    pub(super) edge: f64,
    pub(super) notes: Vec<String>,
}

#[derive(Default)]
pub(super) enum Evidence {
    /// The test's two-sided p value, and whether the figure is on the claimed side.
    Tested {
        p: f64,
        claimed_side: bool,
    },
    /// Read from the record itself, without noise; no test is needed.
    Seen(bool),
    /// The trials do not tell: they are too short, or what they were to show did not happen.
    TooShort,
    OneBlock,
    #[default]
    Missing,
}

impl Evidence {
    /// Takes the p values of the claimed side and of the other side; the smaller one decides.
    fn tested((p_claimed, p_other): (f64, f64)) -> Evidence {
        Evidence::Tested {
            p: p_claimed.min(p_other),
            claimed_side: p_claimed <= p_other,
        }
    }

    /// Read from the record itself, where it tells.
    fn seen(holds: Option<bool>) -> Evidence {
        holds.map_or(Evidence::TooShort, Evidence::Seen)
    }

    fn p(&self) -> Option<f64> {
        match self {
            Evidence::Tested { p, .. } => Some(*p),
            _ => None,
        }
    }

    /// Whether it speaks for the claim, decided or not.
    fn is_claimed(&self) -> bool {
        match self {
            Evidence::Seen(claimed_side) | Evidence::Tested { claimed_side, .. } => *claimed_side,
            Evidence::TooShort | Evidence::OneBlock | Evidence::Missing => true,
        }
    }
}

impl Found {
    pub(super) fn p(&self) -> Option<f64> {
        self.evidence.p()
    }

    pub(super) fn not_available(why: String) -> Found {
        Found {
            notes: vec![why],
            ..Found::default()
        }
    }

    fn figure(ratio: LogMean, p_values: (f64, f64), notes: Vec<String>) -> Found {
        Found {
            evidence: match ratio.count < 2 {
                true => Evidence::OneBlock,
                false => Evidence::tested(p_values),
            },
            blocks: ratio.count,
            ratio: Some(ratio),
            notes,
            ..Found::default()
        }
    }

    /// The confidence interval; of a bound it is open on the other side.
    pub(super) fn ci(&self) -> Option<(f64, f64)> {
        let alpha = (1.0 - CONFIDENCE) * self.weight;
        let (low, high) = match &self.spread {
            Some(spread) => spread.interval(alpha)?,
            None => self.ratio?.interval(alpha)?,
        };
        Some(match self.limit {
            None => (low, high),
            Some(Limit::AtLeast) => (low, f64::INFINITY),
            Some(Limit::AtMost) => (0.0, high),
        })
    }

    /// None where the figure is a bound: more blocks do not move it across the threshold. The direction of a ratio that is
    /// equivalent to 1 is not missed.
    pub(super) fn missing(&self, decision: &Decision) -> Option<Missing> {
        let ratio = self
            .ratio
            .filter(|ratio| ratio.count > 1 && self.limit.is_none())?;
        let undecided =
            decision.direction == Some(Direction::Undecided) && !Band::within(MARGIN).holds(&ratio);
        let edge = (!decision.threshold).then_some(self.edge);
        let alpha = (1.0 - CONFIDENCE) * self.weight / decision.tested.max(1) as f64;
        // What the rounding of the values hides, more blocks do not show.
        let in_reach = |value: &f64| !ratio.cannot_exclude(*value);
        let direction = undecided.then_some(1.0).filter(in_reach);
        Missing::of(&ratio, direction, edge.filter(in_reach), alpha)
    }

    /// Whether more blocks may decide the verdict. An open direction alone asks for none: a ratio near 1 would take any number of them, and a
    /// claim about the direction has its threshold at 1.
    pub(super) fn is_open(&self, decision: &Decision) -> bool {
        match self.evidence {
            Evidence::OneBlock => self.ratio.is_some() && self.limit.is_none(),
            _ => (self.missing(decision)).is_some_and(|missing| missing.has_threshold()),
        }
    }

    /// The p values as shares of the error rate of their look.
    pub(super) fn weighed(mut self, weight: f64) -> Found {
        self.weight = weight;
        self.side = self.side.map(|side| side.weighed(weight));
        if let Evidence::Tested { p, .. } = &mut self.evidence {
            *p = (*p / weight).min(1.0);
        }
        self
    }

    /// What two looks show together: the later figure, and of each test the smaller p value. Where nothing was measured between them,
    /// there was no second look.
    pub(super) fn followed_by(self, later: Found) -> Found {
        let is_missing = matches!(later.evidence, Evidence::Missing);
        if later.blocks <= self.blocks && !is_missing {
            return self;
        }
        let keeps = matches!((self.p(), later.p()), (Some(before), Some(now)) if before <= now);
        Found {
            side: match (self.side, later.side) {
                (Some(before), Some(now)) => Some(before.or(now)),
                (_, now) => now,
            },
            evidence: match keeps {
                true => self.evidence,
                false => later.evidence,
            },
            ..later
        }
    }
}

/// In the blocks below `until`; a shape in all blocks.
pub(super) fn find<'t>(
    claim: &Claim,
    trials: &'t [Trial],
    until: u32,
    lenders: &mut Lenders<'t>,
    holds: &PlanHolds,
) -> Found {
    let found = cells::lack_the_same(trials, &claim.cells()).and_then(|()| match &claim.subject {
        Subject::Ratio {
            value,
            of,
            to,
            bound,
        } => find_ratio(trials, until, lenders, value, (of, to), *bound),
        Subject::Spread {
            value,
            among,
            within,
        } => find_spread(trials, until, lenders, value, among, *within),
        Subject::Finds { finding, of } => find_shape(trials, finding, of, holds),
    });
    found.unwrap_or_else(Found::not_available)
}

fn find_ratio<'t>(
    trials: &'t [Trial],
    until: u32,
    lenders: &mut Lenders<'t>,
    value: &Value,
    cells: (&Cell, &Cell),
    bound: Bound,
) -> Result<Found, String> {
    let pair = pair(trials, until, lenders, value, cells)?;
    let used = used(trials, &[cells.0, cells.1], until, pair.blocks.len());
    tested(pair.ratio, (&pair.of, &pair.to), bound, used)
}

pub(super) fn find_unpaired(
    trials: &[Trial],
    value: &Value,
    (of_cell, to_cell): (&Cell, &Cell),
    bound: Bound,
) -> Result<Found, String> {
    cells::lack_the_same(trials, &[of_cell, to_cell])?;
    let of = cells::series(trials, of_cell, value, u32::MAX)?;
    let to = cells::series(trials, to_cell, value, u32::MAX)?;
    let values = |rows: &[Series]| cells::combined(rows, &cells::common_blocks(&[rows]));
    let ratio = LogMean::unpaired(&values(&of), &values(&to)).ok_or("a side has no value")?;
    let known_to = |rows: &[Series]| cells::known_to(rows, &cells::common_blocks(&[rows]));
    let ratio = ratio.known_to(known_to(&of) + known_to(&to));
    let side = |cell: &Cell, rows: &[Series]| {
        let blocks = cells::common_blocks(&[rows]);
        used(trials, &[cell], u32::MAX, blocks.len())
    };
    let (of_used, to_used) = (side(of_cell, &of), side(to_cell, &to));
    let fewest = match to_used.share() < of_used.share() {
        true => to_used,
        false => of_used,
    };
    let ratio = borrowed_noise::at_resolution(ratio, value);
    tested(ratio, (&of, &to), bound, fewest)
}

/// The ratio against 1 and against the bound.
fn tested(
    ratio: LogMean,
    (of, to): (&[Series], &[Series]),
    bound: Bound,
    used: BlocksUsed,
) -> Result<Found, String> {
    let limit = limit(of, to)?;
    let band = band(bound);
    let p_values = match limit {
        None => (band.p_inside(&ratio), band.p_outside(&ratio)),
        Some(Limit::AtLeast) => band.p_from_below(&ratio),
        Some(Limit::AtMost) => band.p_from_above(&ratio),
    };
    let notes = [
        combined_note("of", of),
        combined_note("to", to),
        left_out_note(used),
        limit.map(|_| LIMIT.to_string()),
        uncertain_note(of.iter().chain(to)),
        rounding_note(&ratio, band),
    ];
    let notes = notes.into_iter().flatten().collect();
    Ok(Found {
        used: Some(used),
        limit,
        side: Side::of(&ratio, limit),
        edge: band.nearest_edge(&ratio),
        ..Found::figure(ratio, p_values, notes)
    })
}

/// Two cells, with what their matrix lends to their ratio.
pub(crate) struct Pair<'t> {
    pub(crate) ratio: LogMean,
    of: Vec<Series<'t>>,
    to: Vec<Series<'t>>,
    blocks: Vec<u32>,
}

pub(crate) fn pair<'t>(
    trials: &'t [Trial],
    until: u32,
    lenders: &mut Lenders<'t>,
    value: &Value,
    (of_cell, to_cell): (&Cell, &Cell),
) -> Result<Pair<'t>, String> {
    let of = cells::series(trials, of_cell, value, until)?;
    let to = cells::series(trials, to_cell, value, until)?;
    let blocks = cells::common_blocks(&[&of, &to]);
    let ratio = cells::ratio(&of, &to, &blocks).ok_or("no block has both sides")?;
    Ok(Pair {
        ratio: lenders.moderate(ratio, value, (of_cell, &of), (to_cell, &to)),
        of,
        to,
        blocks,
    })
}

/// Returns an error if both sides reached the time limit: the ratio is unknown.
fn limit(of: &[Series], to: &[Series]) -> Result<Option<Limit>, String> {
    let any = |rows: &[Series]| rows.iter().any(|row| row.at_least);
    match (any(of), any(to)) {
        (true, true) => Err("queries of both sides reached the time limit".to_string()),
        (true, false) => Ok(Some(Limit::AtLeast)),
        (false, true) => Ok(Some(Limit::AtMost)),
        (false, false) => Ok(None),
    }
}

fn find_spread<'t>(
    trials: &'t [Trial],
    until: u32,
    lenders: &mut Lenders<'t>,
    value: &Value,
    among: &Cell,
    within: f64,
) -> Result<Found, String> {
    let rows = cells::series(trials, among, value, until)?;
    if rows.len() < 2 {
        return Err(format!(
            "only one row of {}: nothing to compare it with",
            words::cell_words(among)
        ));
    }
    let blocks = cells::common_blocks(&[&rows]);
    if rows.iter().any(|row| row.at_least) {
        return Err("a query reached the time limit: the maximum is unknown".into());
    }
    let lend = |ratio, of: &Series<'t>, to: &Series<'t>| {
        let side = |row| (among, std::slice::from_ref(row));
        lenders.moderate(ratio, value, side(of), side(to))
    };
    let spread = Spread::of(&rows, &blocks, lend).ok_or("no block has all rows")?;
    let band = Band::within(within);
    let used = used(trials, &[among], until, blocks.len());
    let notes = left_out_note(used).into_iter();
    let notes = notes.chain(uncertain_note(rows.iter()));
    let notes = notes.chain(rounding_note(&spread.widest, band)).collect();
    let p_values = (spread.p_inside(band), spread.p_outside(band));
    let figure = Found::figure(spread.widest, p_values, notes);
    Ok(Found {
        used: Some(used),
        edge: band.nearest_edge(&spread.widest),
        spread: Some(spread),
        ..figure
    })
}

fn find_shape(
    trials: &[Trial],
    finding: &Finding,
    of: &Cell,
    reads: &PlanHolds,
) -> Result<Found, String> {
    let matching = cells::matching(trials, of);
    cells::all_applied(&matching)?;
    let (blocks, seen, words) = match finding {
        Finding::PlanChanged => {
            let seen = plans::seen(trials, of)?;
            let (changed, words) = seen.changed();
            if !changed {
                seen.of_every_query(&matching, of)?;
            }
            (seen.blocks(), Evidence::Seen(changed), words)
        }
        Finding::PlanHolds(text) => {
            let seen = plans::seen(trials, of)?;
            seen.of_every_query(&matching, of)?;
            let (holds, words) = seen.holds(text, reads)?;
            (seen.blocks(), Evidence::Seen(holds), words)
        }
        _ => {
            let shown = finding::shown(trials, finding, of)?;
            let evidence = match finding {
                // One loss is a loss, and one stale read a stale read.
                Finding::Losses | Finding::StaleReads => Evidence::seen(shown.any()),
                Finding::NoLosses | Finding::NoStaleReads => Evidence::seen(shown.all()),
                _ if shown.is_open(finding) => Evidence::TooShort,
                _ => Evidence::tested(shown.p_values(finding)),
            };
            let p = evidence.p().filter(|_| shown.blocks > 1);
            let words = shown.words(p, evidence.is_claimed());
            (shown.blocks, evidence, words)
        }
    };
    let is_proved = is_proved(finding, &seen);
    let has_changed = matches!(
        (finding, &seen),
        (Finding::PlanChanged, Evidence::Seen(true))
    );
    let unmeasured = basis::unmeasured_row(of, &matching, finding.is_on_losses());
    if let Some(why) = unmeasured.filter(|_| !is_proved && !has_changed) {
        return Err(why);
    }
    let used = used(trials, &[of], u32::MAX, blocks);
    let is_open = blocks < 2 && !is_proved;
    let left_out = left_out_note(used).or_else(|| left_out_trials(&matching));
    Ok(Found {
        evidence: if is_open { Evidence::OneBlock } else { seen },
        blocks,
        used: Some(used),
        notes: std::iter::once(words).chain(left_out).collect(),
        ..Found::default()
    })
}

/// One loss proves that there are losses, and one stale read that there are stale reads.
fn is_proved(finding: &Finding, evidence: &Evidence) -> bool {
    match finding {
        Finding::Losses | Finding::StaleReads => matches!(evidence, Evidence::Seen(true)),
        Finding::NoLosses | Finding::NoStaleReads => matches!(evidence, Evidence::Seen(false)),
        _ => false,
    }
}

fn band(bound: Bound) -> Band {
    match bound {
        Bound::AtLeast(low) => Band {
            low,
            high: f64::INFINITY,
        },
        Bound::AtMost(high) => Band { low: 0.0, high },
        Bound::Within(width) => Band::within(width),
    }
}

fn combined_note(side: &str, rows: &[Series]) -> Option<String> {
    (rows.len() > 1).then(|| format!("`{side}` is the geometric mean of {} rows", rows.len()))
}

/// Named where it decides the interval, and is more than what counts as equivalent or hides on which side of the threshold the ratio lies.
fn rounding_note(ratio: &LogMean, band: Band) -> Option<String> {
    let counts = ratio.rounding() > MARGIN || ratio.cannot_exclude(band.nearest_edge(ratio));
    (counts && ratio.is_coarse()).then(|| {
        format!(
            "the values are so few operations or seconds that their ratio is known only to {}: measure for longer, more blocks do not help",
            percent(ratio.rounding())
        )
    })
}

/// The first of the values that is uncertain.
fn uncertain_note<'s>(mut rows: impl Iterator<Item = &'s Series<'s>>) -> Option<String> {
    rows.find_map(|row| row.uncertain.clone())
}

/// So many blocks among all that were begun in the cells, below `until`.
fn used(trials: &[Trial], cells: &[&Cell], until: u32, used: usize) -> BlocksUsed {
    let blocks: BTreeSet<u32> = (cells.iter())
        .flat_map(|cell| cells::matching(trials, cell))
        .map(|trial| trial.key.block)
        .filter(|block| *block < until)
        .collect();
    BlocksUsed {
        used: used as u32,
        of: blocks.len() as u32,
    }
}

/// The trials of a shape that do not count in blocks of which others do.
fn left_out_trials(matching: &[&Trial]) -> Option<String> {
    let is_out = |trial: &&&Trial| trial.state != TrialState::Done && trial.audit.is_none();
    let left_out = matching.iter().filter(is_out).count();
    let all = matching.len();
    (left_out > 0).then(|| {
        format!(
            "{left_out} of {all} trials failed or {} invalid",
            for_count(left_out, "is", "are")
        )
    })
}

fn left_out_note(BlocksUsed { used, of }: BlocksUsed) -> Option<String> {
    let left_out = of.saturating_sub(used) as usize;
    (left_out > 0).then(|| {
        format!(
            "{left_out} of {of} blocks {} incomplete and left out",
            for_count(left_out, "is", "are")
        )
    })
}
