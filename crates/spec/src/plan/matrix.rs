//! The points of the matrix: every combination of a server and levels that `only` allows.
//!
//! Purpose: check the size before expanding, then list the points in file order. Boundaries: `order` handles blocks.

use super::PlanError;
use crate::{Experiment, LevelSpec, Pairs, RateSpec, ServerSpec};

/// The maximum number of trials.
pub(super) const TRIALS_MAX: u128 = 100_000;

/// A point of the matrix, by indices into the experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// None: the trials run on a folder.
    pub server: Option<usize>,
    /// One level of each factor.
    pub levels: Vec<usize>,
}

/// All points in file order: servers, then factors; the last factor varies fastest.
pub(crate) fn points(experiment: &Experiment) -> Result<Vec<Point>, PlanError> {
    refuse_a_large_matrix(experiment)?;
    let mut found = Vec::new();
    let servers: Vec<Option<usize>> = match experiment.servers.len() {
        0 => vec![None],
        count => (0..count).map(Some).collect(),
    };
    let counts = experiment.factors.iter().map(|factor| factor.levels.len());
    let counts: Vec<usize> = counts.collect();
    for server in servers {
        let points = (choices(&counts).into_iter()).map(|levels| Point { server, levels });
        found.extend(points.filter(|point| is_allowed(experiment, point)));
    }
    match found.is_empty() {
        true => Err(PlanError::Empty),
        false => Ok(found),
    }
}

fn refuse_a_large_matrix(experiment: &Experiment) -> Result<(), PlanError> {
    let mut counts = vec![("server".to_string(), experiment.servers.len().max(1))];
    counts.extend(
        experiment
            .factors
            .iter()
            .map(|factor| (factor.name.clone(), factor.levels.len())),
    );
    counts.push(("blocks".to_string(), experiment.protocol.blocks as usize));
    let trials = counts.iter().fold(1u128, |product, (_, count)| {
        product.saturating_mul(*count as u128)
    });
    if trials > TRIALS_MAX {
        Err(PlanError::too_large(trials, counts))
    } else {
        Ok(())
    }
}

/// All combinations of one index below each count; one empty combination if there are no counts.
fn choices(counts: &[usize]) -> Vec<Vec<usize>> {
    counts.iter().fold(vec![Vec::new()], |choices, count| {
        let extended = |choice: Vec<usize>| {
            (0..*count).map(move |level| [choice.as_slice(), &[level]].concat())
        };
        choices.into_iter().flat_map(extended).collect()
    })
}

/// Restrictions that allow a share of the maximum also allow the maximum.
fn is_allowed(experiment: &Experiment, point: &Point) -> bool {
    let measures_for = |(factor, allowed): &(String, Vec<String>)| {
        let is_share = |name: &String| name.parse().is_ok_and(|rate: RateSpec| rate.is_relative());
        factor == "rate" && is_max(experiment, point) && allowed.iter().any(is_share)
    };
    let allows = |only: &Pairs<Vec<String>>| {
        only.iter()
            .all(|one| measures_for(one) || holds(experiment, point, one))
    };
    levels(experiment, point).all(|(_, level)| allows(&level.only))
}

/// Whether the point measures the maximum for rates given as shares.
pub(super) fn is_max(experiment: &Experiment, point: &Point) -> bool {
    levels(experiment, point).any(|(_, level)| {
        let load = level.patch.load.as_ref();
        load.is_some_and(|load| load.rate == Some(RateSpec::Max))
    })
}

/// Whether the point has one of the levels of each factor that a restriction names.
pub(crate) fn agrees(experiment: &Experiment, point: &Point, only: &Pairs<Vec<String>>) -> bool {
    only.iter().all(|one| holds(experiment, point, one))
}

fn holds(
    experiment: &Experiment,
    point: &Point,
    (factor, allowed): &(String, Vec<String>),
) -> bool {
    match factor.as_str() {
        "server" => server(experiment, point).is_some_and(|server| allowed.contains(&server.name)),
        _ => levels(experiment, point)
            .any(|(name, level)| name == factor && allowed.contains(&level.name)),
    }
}

/// The server of the point.
pub(crate) fn server<'e>(experiment: &'e Experiment, point: &Point) -> Option<&'e ServerSpec> {
    experiment.servers.get(point.server?)
}

/// The point's level of each factor.
pub(crate) fn levels<'e>(
    experiment: &'e Experiment,
    point: &'e Point,
) -> impl Iterator<Item = (&'e str, &'e LevelSpec)> {
    experiment
        .factors
        .iter()
        .zip(&point.levels)
        .map(|(factor, level)| (factor.name.as_str(), &factor.levels[*level]))
}
