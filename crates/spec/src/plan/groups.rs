//! Groups of points that take turns in slices: the cells of one load that claims compare.
//!
//! Purpose: cells that are compared share the same seconds, as far as a group holds them. Claims come in the order of the file. Without
//! claims all cells are compared. Boundaries: `units` has the other units, `slices` refuses what cannot take turns.

use super::matrix::{Point, agrees};
use super::trial;
use crate::Experiment;
use record::{Cell, Claim};

/// The most cells of a group; the A/A control comes in addition.
pub(super) const CELLS_MAX: usize = 4;

/// All points in groups, in the order of their first points. A point that is compared with no other is a group by itself.
pub(super) fn groups(experiment: &Experiment, points: &[Point]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = (0..points.len()).map(|point| vec![point]).collect();
    for (one, other) in compared(experiment, points) {
        let place = |point: usize| groups.iter().position(|group| group.contains(&point));
        let (Some(one), Some(other)) = (place(one), place(other)) else {
            continue;
        };
        let together = groups[one].len() + groups[other].len();
        if one != other && together <= CELLS_MAX {
            let (first, second) = (one.min(other), one.max(other));
            let joined = groups.remove(second);
            groups[first].extend(joined);
        }
    }
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort_unstable();
    groups
}

/// Pairs of points that are compared: by claim, the most alike first, and those that differ in the server first among these.
fn compared(experiment: &Experiment, points: &[Point]) -> Vec<(usize, usize)> {
    let of = |cell: &Cell| -> Vec<usize> {
        let selected = |point: &usize| agrees(experiment, &points[*point], &cell.levels);
        (0..points.len()).filter(selected).collect()
    };
    let sides = |claim: &Claim| {
        let cells = claim.compared();
        Some((of(cells.first()?), of(cells.last()?)))
    };
    let all = Cell::default();
    let sides: Vec<(Vec<usize>, Vec<usize>)> = match experiment.claims.as_slice() {
        [] => vec![(of(&all), of(&all))],
        claims => claims.iter().filter_map(sides).collect(),
    };
    let mut pairs = Vec::new();
    for (claim, (ones, others)) in sides.iter().enumerate() {
        let all = (ones.iter()).flat_map(|one| others.iter().map(move |other| (*one, *other)));
        for (one, other) in all.filter(|(one, other)| one != other) {
            if have_one_load(experiment, &points[one], &points[other]) {
                let (differing, same_server) = differences(&points[one], &points[other]);
                let (first, second) = (one.min(other), one.max(other));
                pairs.push((claim, differing, same_server, first, second));
            }
        }
    }
    pairs.sort_unstable();
    pairs
        .into_iter()
        .map(|(.., one, other)| (one, other))
        .collect()
}

fn have_one_load(experiment: &Experiment, one: &Point, other: &Point) -> bool {
    trial::load(experiment, one) == trial::load(experiment, other)
}

/// In how many factors the points differ, and whether they have the same server.
fn differences(one: &Point, other: &Point) -> (usize, bool) {
    let levels = one.levels.iter().zip(&other.levels);
    let differing = levels.filter(|(one, other)| one != other).count();
    let same_server = one.server == other.server;
    (differing + usize::from(!same_server), same_server)
}
