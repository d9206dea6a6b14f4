//! Groups points that belong together: a series, shares of a maximum with that maximum, or cells that take turns in slices.
//!
//! Purpose: units are shuffled and assigned to parts as a whole, with their points in execution order. A point that
//! belongs to no other is a unit of its own. Boundaries: `order` shuffles the units.

use super::groups;
use super::matrix::{Point, is_max};
use super::order;
use super::trial;
use crate::{Experiment, LoadSpec, RateSpec};
use record::LoadFactor;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Indices of points, at least one.
pub(super) type Unit = Vec<usize>;

/// The units of an experiment, in the order of their first points. Omits maxima that no rate refers to.
pub(super) fn units(experiment: &Experiment, points: &[Point]) -> Vec<Unit> {
    if experiment.protocol.slices.is_some() {
        return groups::groups(experiment, points);
    }
    let is_relative =
        |point: &Point| rate(experiment, point).is_some_and(|rate| rate.is_relative());
    let mut units: Vec<Unit> = Vec::new();
    let has_max = points.iter().any(|point| is_max(experiment, point));
    let are_together = experiment.protocol.series || has_max;
    let mut by_place: HashMap<(Option<usize>, Vec<usize>), usize> = HashMap::new();
    for (index, point) in points.iter().enumerate() {
        let place = (point.server, without_load(experiment, point));
        match by_place.entry(place) {
            Entry::Occupied(unit) if are_together => units[*unit.get()].push(index),
            Entry::Occupied(_) => units.push(vec![index]),
            Entry::Vacant(place) => {
                place.insert(units.len());
                units.push(vec![index]);
            }
        }
    }
    for unit in &mut units {
        let is_wanted = unit.iter().any(|point| is_relative(&points[*point]));
        unit.retain(|point| is_wanted || !is_max(experiment, &points[*point]));
    }
    units.retain(|unit| !unit.is_empty());
    units
}

/// The levels of a point without clients, workers and rate.
fn without_load(experiment: &Experiment, point: &Point) -> Vec<usize> {
    let factors = experiment.factors.iter().zip(&point.levels);
    let others = factors.filter(|(factor, _)| LoadFactor::named(&factor.name).is_none());
    others.map(|(_, level)| *level).collect()
}

/// A unit in execution order within a block: the maximum first, then ascending in a series, else shuffled.
pub(super) fn ordered(
    experiment: &Experiment,
    points: &[Point],
    unit: &Unit,
    place: (u32, usize),
    seed: u64,
) -> Vec<usize> {
    let mut ordered = unit.clone();
    if experiment.protocol.series {
        let place = |point: &usize| ascending(experiment, &points[*point]);
        ordered.sort_by(|a, b| (place(a).partial_cmp(&place(b))).unwrap_or(Ordering::Equal));
    } else {
        let (block, unit) = place;
        ordered = order::within(unit, block, seed, &ordered);
        ordered.sort_by_key(|point| !is_max(experiment, &points[*point]));
    }
    ordered
}

/// (not the maximum, clients or workers, whether the rate is a share, the rate)
fn ascending(experiment: &Experiment, point: &Point) -> (bool, u32, bool, f64) {
    let (is_share, rate) = match rate(experiment, point) {
        Some(RateSpec::PerSecond(rate)) => (false, rate),
        Some(RateSpec::ShareOfMax(share)) => (true, share),
        _ => (false, 0.0),
    };
    (
        !is_max(experiment, point),
        clients(experiment, point),
        is_share,
        rate,
    )
}

fn clients(experiment: &Experiment, point: &Point) -> u32 {
    match trial::load(experiment, point) {
        LoadSpec::Closed { clients, .. } => clients,
        LoadSpec::Open(open) => open.workers,
    }
}

fn rate(experiment: &Experiment, point: &Point) -> Option<RateSpec> {
    match trial::load(experiment, point) {
        LoadSpec::Closed { .. } => None,
        LoadSpec::Open(open) => Some(open.rate),
    }
}
