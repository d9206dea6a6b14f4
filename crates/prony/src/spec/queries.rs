//! The queries that a file names, against those that its workload has.
//!
//! Goal: names in `protocol.queries`, `observe.profile` and claims are checked before anything is loaded.
//! Non-goal: knowing a workload; the caller hands over its operations.

use super::experiment::Experiment;
use super::mistake::{SpecError, suggestion};
use super::place::{Late, Path, answer, path};
use record::{Cell, Subject};

/// `operations` are the names of the workload's queries, in order.
///
/// # Errors
/// Every name that is not among them, or that the protocol leaves out.
pub fn check(experiment: &Experiment, operations: &[&str]) -> Result<(), SpecError> {
    let unknown = |(path, name): (Path, String)| Late {
        path,
        says: format!(
            "the workload {} has no query \"{name}\"",
            experiment.workload
        ),
        label: "no such query",
        help: suggestion(&name, operations),
    };
    let left_out = |(path, name): (Path, String)| Late {
        path,
        says: format!("the protocol leaves out the query \"{name}\""),
        label: "not run",
        help: "name it in protocol.queries too".to_string(),
    };
    let (known, not_known): (Vec<_>, Vec<_>) = named(experiment)
        .into_iter()
        .partition(|(_, name)| operations.contains(&name.as_str()));
    let run = &experiment.protocol.queries;
    let not_run = known
        .into_iter()
        .filter(|(_, name)| !run.is_empty() && !run.contains(name));
    answer(
        experiment,
        not_known
            .into_iter()
            .map(unknown)
            .chain(not_run.map(left_out))
            .collect(),
    )
}

/// Every query that the file names, with its place.
fn named(experiment: &Experiment) -> Vec<(Path, String)> {
    let list =
        |section: &'static str, key: &'static str, names: &[String]| -> Vec<(Path, String)> {
            names
                .iter()
                .enumerate()
                .map(|(index, name)| (path(&[section, key, &index.to_string()]), name.clone()))
                .collect()
        };
    let mut found = list("protocol", "queries", &experiment.protocol.queries);
    found.extend(list("observe", "profile", &experiment.observe.profile));
    for (index, claim) in experiment.claims.iter().enumerate() {
        let cells: Vec<(&str, &Cell)> = match &claim.subject {
            Subject::Ratio { of, to, .. } => vec![("of", of), ("to", to)],
            Subject::Spread { among, .. } => vec![("among", among)],
            Subject::Finds { of, .. } => vec![("of", of)],
        };
        for (key, cell) in cells {
            found.extend(cell.query.iter().map(|query| {
                (
                    path(&["claim", &index.to_string(), key, "query"]),
                    query.clone(),
                )
            }));
        }
    }
    found
}
