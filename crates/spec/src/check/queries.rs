//! Checks the names of queries in a file against the workload.
//!
//! Purpose: check `protocol.queries`, `observe` and claims before anything is loaded.
//! Boundaries: the caller passes the names of the workload's queries.

use crate::experiment::place::{Late, Path, answer, changes, path};
use crate::experiment::{Experiment, ObservePatch, PlanCheck, Plans};
use crate::file::mistake::{SpecError, suggestion};
use record::{Cell, Subject};

/// `operations` are the names of the workload's queries, in order.
///
/// # Errors
/// Lists every name that is not among them or that the protocol does not run.
pub fn check(experiment: &Experiment, operations: &[&str]) -> Result<(), SpecError> {
    if experiment.protocol.is_timed() {
        answer(experiment, without_plans(experiment))?;
    }
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
        says: format!("the protocol does not run the query \"{name}\""),
        label: "not run",
        help: "add it to protocol.queries".to_string(),
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

/// Every query that the file names, with its path.
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
    found.extend(checked(&["observe"], &experiment.observe.checks));
    for (at, patch) in observed(experiment) {
        let steps: Vec<&str> = at.iter().map(String::as_str).collect();
        found.extend(checked(&steps, &patch.checks));
        for (index, name) in patch.profile.iter().flatten().enumerate() {
            let own = path(&["profile", &index.to_string()]);
            found.push(([at.as_slice(), own.as_slice()].concat(), name.clone()));
        }
    }
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

/// The changes of levels to `[observe]`, with their paths.
fn observed(experiment: &Experiment) -> impl Iterator<Item = (Path, &ObservePatch)> {
    let changes = experiment.factors.iter().flat_map(changes);
    changes.filter_map(|(at, patch)| {
        Some(([at, path(&["observe"])].concat(), patch.observe.as_ref()?))
    })
}

/// The queries whose plans are checked one by one.
fn checked(observe: &[&str], checks: &[PlanCheck]) -> Vec<(Path, String)> {
    let mut found: Vec<(Path, String)> = Vec::new();
    for query in checks.iter().filter_map(|check| check.query.as_ref()) {
        let at = path(&[observe, &["check_plan", query]].concat());
        if !found.iter().any(|(_, known)| known == query) {
            found.push((at, query.clone()));
        }
    }
    found
}

/// Notes checks and analyses of plans in a timed load, which records none.
fn without_plans(experiment: &Experiment) -> Vec<Late> {
    let late = |observe: &Path, checks: &[PlanCheck], plans: Option<Plans>| {
        let wrong = [
            (!checks.is_empty(), "check_plan", "checked"),
            (plans == Some(Plans::Analyze), "plans", "analyzed"),
        ];
        let wrong = wrong.into_iter().filter(|(is_there, ..)| *is_there);
        let late = wrong.map(|(_, key, done)| Late {
            path: [observe.as_slice(), &[key.to_string()]].concat(),
            says: format!("a timed load records no plans, so none can be {done}"),
            label: "no plans",
            help: "remove it; plans are recorded in rounds of queries only".to_string(),
        });
        late.collect::<Vec<Late>>()
    };
    let base = &experiment.observe;
    let base = late(&path(&["observe"]), &base.checks, Some(base.plans));
    let levels = observed(experiment);
    base.into_iter()
        .chain(levels.flat_map(|(at, patch)| late(&at, &patch.checks, patch.plans)))
        .collect()
}
