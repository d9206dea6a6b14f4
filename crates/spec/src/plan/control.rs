//! Chooses the cell of the A/A control: the one that is measured twice in each block.
//!
//! Purpose: the cheapest cell that a claim compares, because its noise is that of the claims. Boundaries: `order` draws its place in
//! each block, `stats` compares it with its twin.

use super::matrix::{Point, agrees, is_max};
use super::trial::{self, Measured};
use super::units::{self, Unit};
use crate::Experiment;
use record::{Cell, Role};

/// The point that is measured twice, and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Twin {
    pub point: usize,
    pub unit: usize,
}

/// None with one block, where the experiment switches it off, and for a search, whose trials have different rates.
pub(super) fn twin(experiment: &Experiment, points: &[Point], units: &[Unit]) -> Option<Twin> {
    let protocol = &experiment.protocol;
    if !protocol.control || protocol.blocks < 2 || experiment.search().is_some() {
        return None;
    }
    let places = || {
        let members = |(unit, points): (usize, &Unit)| {
            let twin = move |point: &usize| Twin {
                point: *point,
                unit,
            };
            points.iter().map(twin).collect::<Vec<_>>()
        };
        units.iter().enumerate().flat_map(members)
    };
    let cells: Vec<&Cell> = (experiment.claims.iter())
        .flat_map(|claim| claim.compared())
        .collect();
    let is_compared = |twin: &Twin| {
        let point = &points[twin.point];
        !is_max(experiment, point)
            && cells
                .iter()
                .any(|cell| agrees(experiment, point, &cell.levels))
    };
    let cost = |twin: &Twin| cost(experiment, points, twin.point);
    let cheapest =
        (places().filter(is_compared).min_by_key(cost)).or_else(|| places().min_by_key(cost))?;
    Some(starter(experiment, points, units, cheapest))
}

/// (rounds, clients, place in the file): what is known of a trial's cost before it was measured.
fn cost(experiment: &Experiment, points: &[Point], point: usize) -> (usize, u32, usize) {
    let at = (0, Role::Control);
    let planned = trial::planned(experiment, &points[point], at, Measured::default());
    (planned.rounds.len(), planned.load.clients(), point)
}

/// In a series, the point that starts the server, since the control starts its own. Otherwise the point itself.
fn starter(experiment: &Experiment, points: &[Point], units: &[Unit], twin: Twin) -> Twin {
    if !experiment.protocol.series {
        return twin;
    }
    let members = units::ordered(experiment, points, &units[twin.unit], (0, twin.unit), 0);
    Twin {
        point: members[0],
        ..twin
    }
}
