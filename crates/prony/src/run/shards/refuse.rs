//! Which experiments several machines can run together.
//!
//! Purpose: refuse before anything is connected, with the way out. Outside this module: the shards of a run that is possible.

use crate::run::plan::Request;
use crate::run::{RunError, drive};
use spec::plan::{Plan, PlannedTrial};
use spec::{BuildSpec, Shard};

/// Checks that every shard can take its share of every trial of the request.
///
/// # Errors
/// What cannot be shared, and the way out.
pub(crate) fn check(request: &Request, shard: Shard) -> Result<Vec<PlannedTrial>, RunError> {
    let experiment = &request.experiment;
    let usage = |text: String| Err(RunError::Usage(format!("--shard {shard}: {text}")));
    if !experiment.protocol.is_timed() {
        return usage(
            "it divides a timed load, and this experiment measures rounds of queries; write time = \"60s\" in [protocol] and a load, or use --part to divide the trials".into(),
        );
    }
    if experiment.protocol.looks.is_some() {
        return usage(
            "which blocks are measured would depend on the claims, and no shard knows all figures; give --blocks N".into(),
        );
    }
    let plan =
        Plan::new(experiment, request.seed).map_err(|error| RunError::Usage(error.to_string()))?;
    if plan.needs_figures() {
        return usage(
            "later rates would depend on the figures of earlier trials, and no shard knows all of them; give rates in operations per second".into(),
        );
    }
    let trials: Vec<PlannedTrial> = plan.trials().collect();
    for trial in &trials {
        let Some(server) = &trial.server else {
            return usage("it divides the load on a server, and this experiment has none".into());
        };
        match &server.build {
            BuildSpec::External(_) => {}
            BuildSpec::Sqlite => {
                return usage(format!(
                    "server {} is a file of this machine; name a running server by its DSN",
                    server.name
                ));
            }
            build => {
                return usage(format!(
                    "server {} is {build}, which prony starts on loopback, where shards on other machines cannot reach it; start a server and name it by its DSN: --server mysql://user@host:3306/",
                    server.name
                ));
            }
        }
        let share = drive::share(shard, request.workload(trial)?.as_ref());
        if let Err(text) = share.check(&drive::load(&trial.load)) {
            return usage(format!("{}: {text}", trial.key));
        }
    }
    Ok(trials)
}
