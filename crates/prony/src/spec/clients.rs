//! The clients that a file asks for, against those that its load can drive.
//!
//! Goal: no figure of one client under the name of eight. Non-goal: driving them.

use super::experiment::{Experiment, LevelSpec, LoadSpec};
use super::mistake::SpecError;
use super::place::{Late, Path, answer, path};

/// # Errors
/// Every place that asks for another number than one: rounds of queries run over one connection.
pub fn check(experiment: &Experiment) -> Result<(), SpecError> {
    let late = asked(experiment)
        .into_iter()
        .filter(|(_, clients)| *clients != 1)
        .map(|(path, clients)| Late {
            path,
            says: format!("{clients} clients: rounds of queries run over one connection"),
            label: "more than one",
            help: "write clients = [1], or leave it out; more come with the load engine"
                .to_string(),
        });
    answer(experiment, late.collect())
}

/// Every number of clients, with its place.
fn asked(experiment: &Experiment) -> Vec<(Path, u32)> {
    let LoadSpec::Closed { clients } = &experiment.load;
    let file = clients
        .iter()
        .map(|clients| (path(&["load", "closed", "clients"]), *clients));
    let levels = experiment.factors.iter().flat_map(|factor| {
        factor
            .levels
            .iter()
            .flat_map(|level| of_level(&factor.name, level))
    });
    file.chain(levels).collect()
}

fn of_level(factor: &str, level: &LevelSpec) -> Vec<(Path, u32)> {
    let at = path(&["factor", factor, &level.name]);
    let own = level
        .patch
        .clients
        .map(|clients| ([at.clone(), path(&["load", "clients"])].concat(), clients));
    let replaced = level.on.iter().filter_map(|(server, patch)| {
        let below = path(&["on", server, "load", "clients"]);
        Some(([at.clone(), below].concat(), patch.clients?))
    });
    own.into_iter().chain(replaced).collect()
}
