//! Turns lists in the load into factors.
//!
//! Purpose: several values become levels; a single value does not. Boundaries: `load::section` reads the lists.

use crate::experiment::{FactorSpec, LevelSpec, Patch};
use crate::load::{Load, LoadPatch, RateSpec};
use record::LoadFactor;

/// `clients`, `rate` and `workers`, if the load has lists of them.
pub(crate) fn load_factors(load: &Load) -> Vec<FactorSpec> {
    let all = [
        clients_factor(&load.clients),
        rate_factor(&load.rates),
        workers_factor(&load.workers),
    ];
    all.into_iter().flatten().collect()
}

pub(crate) fn clients_factor(counts: &[u32]) -> Option<FactorSpec> {
    factor(LoadFactor::Clients, counts, |clients| LoadPatch {
        clients: Some(*clients),
        ..LoadPatch::default()
    })
}

pub(crate) fn workers_factor(counts: &[u32]) -> Option<FactorSpec> {
    factor(LoadFactor::Workers, counts, |workers| LoadPatch {
        workers: Some(*workers),
        ..LoadPatch::default()
    })
}

/// If some of the rates are shares of the maximum, the level that measures it comes first.
pub(crate) fn rate_factor(rates: &[RateSpec]) -> Option<FactorSpec> {
    let max = rates.iter().any(RateSpec::is_relative);
    let all: Vec<RateSpec> = max
        .then_some(RateSpec::Max)
        .into_iter()
        .chain(rates.iter().cloned())
        .collect();
    factor(LoadFactor::Rate, &all, |rate| LoadPatch {
        rate: Some(rate.clone()),
        ..LoadPatch::default()
    })
}

fn factor<T: ToString>(
    factor: LoadFactor,
    values: &[T],
    load: impl Fn(&T) -> LoadPatch,
) -> Option<FactorSpec> {
    let level = |value: &T| LevelSpec {
        name: value.to_string(),
        patch: Patch {
            load: Some(load(value)),
            ..Patch::default()
        },
        only: Vec::new(),
        on: Vec::new(),
    };
    (values.len() > 1).then(|| FactorSpec {
        name: factor.name().to_string(),
        levels: values.iter().map(level).collect(),
    })
}
