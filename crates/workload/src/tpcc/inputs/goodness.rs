//! A chi-squared test of counts against exact probabilities.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Pearson's approximation needs this many expected draws in a group.
const FEWEST_EXPECTED: f64 = 20.0;
/// The numbers are cut into this many ranges, so that an unevenness across them is found.
const RANGES: usize = 16;
/// Most groups of a range; more would not find more.
const GROUPS: f64 = 16.0;

/// The probability that draws with these probabilities differ at least as much from them as `counts` do. None if a range has too few
/// draws for a group, as where a mix of transactions hardly draws such numbers.
///
/// Numbers are grouped by range, and within a range by their probability: a uniform draw is found because it hits the likely
/// groups too rarely, a shifted one because it hits other numbers than the likely ones.
pub(super) fn p_value(counts: &[u32], mass: &[f64]) -> Option<f64> {
    let draws: f64 = counts.iter().copied().map(f64::from).sum();
    let enough = f64::max(FEWEST_EXPECTED, draws / (RANGES as f64 * GROUPS));
    let range = counts.len().div_ceil(RANGES);
    let ranges = counts.chunks(range).zip(mass.chunks(range));
    let groups: Vec<Group> = ranges
        .flat_map(|(counts, mass)| grouped(counts, mass, draws, enough))
        .collect();
    let is_small = |group: &Group| group.expected < FEWEST_EXPECTED;
    if groups.iter().any(is_small) {
        return None;
    }
    let deviation = |group: &Group| (group.observed - group.expected).powi(2) / group.expected;
    let statistic: f64 = groups.iter().map(deviation).sum();
    let distribution = ChiSquared::new(groups.len() as f64 - 1.0).ok()?;
    Some(distribution.sf(statistic))
}

#[derive(Default)]
struct Group {
    observed: f64,
    expected: f64,
}

/// Groups of at least `enough` expected draws, the likely numbers first. What is left joins the last group.
fn grouped(counts: &[u32], mass: &[f64], draws: f64, enough: f64) -> Vec<Group> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by(|a, b| mass[*b].total_cmp(&mass[*a]));
    let mut groups = vec![Group::default()];
    for number in order {
        if groups.last().is_some_and(|last| last.expected >= enough) {
            groups.push(Group::default());
        }
        if let Some(last) = groups.last_mut() {
            last.observed += f64::from(counts[number]);
            last.expected += mass[number] * draws;
        }
    }
    if groups.len() > 1
        && let Some(rest) = groups.pop_if(|last| last.expected < enough)
        && let Some(last) = groups.last_mut()
    {
        last.observed += rest.observed;
        last.expected += rest.expected;
    }
    groups
}
