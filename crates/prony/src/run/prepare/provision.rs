//! The datasets of a run. Each is loaded, or found, once for all trials that start from it.
//!
//! Purpose: one key identifies a dataset. Outside this module: loading it (`dataset`).

use super::dataset::{Datasets, Ready, Shape};
use super::servers::Provided;
use super::{layout, space, typos};
use crate::run::plan::{Request, sharing};
use crate::run::{RunError, settings, stop_if_interrupted};
use host::clone;
use spec::plan::PlannedTrial;
use std::collections::BTreeMap;
use std::path::Path;
use workload::Dataset;

/// What identifies a dataset: the server that loads it, the tables' fingerprint, the settings that shape the data.
type DatasetKey = (String, String, Vec<(String, String)>);

/// The datasets of a run.
pub(crate) struct Provisioned {
    ready: BTreeMap<DatasetKey, Available>,
}

/// A dataset, or why its server cannot hold it.
pub(crate) type Available = Result<Ready, String>;

impl Provisioned {
    pub(crate) fn of(&self, request: &Request, trial: &PlannedTrial) -> Option<&Available> {
        let workload = request.workload(trial).ok()?;
        self.ready.get(&key(trial, workload.data()?))
    }

    /// What servers have given the same text columns different collations; None if there are none.
    pub(crate) fn collations(&self) -> Option<String> {
        let ready = self.ready.iter().filter_map(|((server, ..), ready)| {
            let collations = ready.as_ref().ok()?.note.collations.join(", ");
            (!collations.is_empty()).then_some((server, collations))
        });
        let by_server: BTreeMap<&String, String> = ready.collect();
        let mut all = by_server.values();
        let first = all.next()?;
        if all.all(|other| other == first) {
            return None;
        }
        let each = by_server.iter();
        let each: Vec<String> = each
            .map(|(server, names)| format!("{server} {names}"))
            .collect();
        Some(format!(
            "text columns have different collations, which sort and compare at different costs: {}; name one in the tables (COLLATE), in a dump with replace",
            each.join("; ")
        ))
    }

    /// Bytes of the largest dataset that a server's trials start from.
    pub(crate) fn largest(&self, request: &Request, trials: &[PlannedTrial], server: &str) -> u64 {
        let own = trials.iter().filter(|trial| trial.server_name() == server);
        let sizes = own.filter_map(|trial| self.data_bytes(request, trial));
        sizes.max().unwrap_or(0)
    }

    /// Bytes of the dataset that a trial starts from; None if it has none.
    pub(crate) fn data_bytes(&self, request: &Request, trial: &PlannedTrial) -> Option<u64> {
        Some(self.of(request, trial)?.as_ref().ok()?.note.data_bytes)
    }

    /// # Errors
    /// The copies of a group, whose servers exist at the same time, do not fit on the disk of the snapshots.
    fn fit_together(&self, request: &Request, snapshots: &Path) -> Result<(), RunError> {
        for group in sharing::owners(request, request.plan()?.groups()) {
            // A volume has space of its own.
            let on_disk = group.iter().filter(|trial| trial.host.volume().is_none());
            let copied: Vec<&Path> = on_disk
                .flat_map(|trial| self.copied(request, trial))
                .collect();
            // A single copy says so itself.
            if copied.len() > 1 {
                clone::fit_together(&copied, snapshots).map_err(|error| {
                    let copies = copied.len();
                    RunError::Failed(format!(
                        "{copies} copies of data exist at the same time: {error}"
                    ))
                })?;
            }
        }
        Ok(())
    }

    /// The snapshot that a trial copies, once for each node.
    fn copied(&self, request: &Request, trial: &PlannedTrial) -> Vec<&Path> {
        let ready = self.of(request, trial);
        let ready = ready.and_then(|ready| ready.as_ref().ok());
        let folder = ready.and_then(|ready| ready.data_folder.as_deref());
        let cluster = trial.server.as_ref().and_then(|server| server.cluster);
        let nodes = cluster.map_or(1, |cluster| cluster.nodes);
        let folders = std::iter::repeat_n(folder, nodes as usize);
        folders.flatten().collect()
    }
}

fn key(trial: &PlannedTrial, dataset: &dyn Dataset) -> DatasetKey {
    let server = trial.server.as_ref();
    let lender = server.and_then(|server| server.dataset_from.clone());
    let layout = layout::layout(&settings::resolve(&trial.settings, 0));
    (
        lender.unwrap_or_else(|| trial.server_name().to_string()),
        dataset.fingerprint(),
        layout,
    )
}

/// Whether a trial starts from the dataset of this key.
fn is_for(request: &Request, trial: &PlannedTrial, key: &DatasetKey) -> bool {
    let workload = request.workload(trial).ok();
    let own = workload.and_then(|workload| Some(self::key(trial, workload.data()?)));
    own.as_ref() == Some(key)
}

/// Of all trials, as if each started from this dataset.
fn largest_redo_log(trials: &[PlannedTrial], dataset: &dyn Dataset) -> u64 {
    let data_bytes = dataset.estimate().data_bytes;
    let bytes = trials
        .iter()
        .map(|trial| space::redo_log_bytes(&trial.settings, data_bytes));
    bytes.max().unwrap_or_default()
}

/// Of the servers that prony starts.
fn most_nodes(trials: &[PlannedTrial]) -> u32 {
    let servers = trials.iter().filter_map(|trial| trial.server.as_ref());
    let clusters = servers.filter_map(|server| server.cluster);
    clusters.map(|cluster| cluster.nodes).max().unwrap_or(1)
}

pub(crate) fn provision(
    request: &Request,
    trials: &[PlannedTrial],
    servers: &BTreeMap<String, Provided>,
    datasets: &Datasets,
) -> Result<Provisioned, RunError> {
    let mut ready = BTreeMap::new();
    let at_once = request.plan()?.servers_at_once();
    for trial in trials {
        let workload = request.workload(trial)?;
        let Some(dataset) = workload.data() else {
            continue;
        };
        let key = key(trial, dataset);
        if ready.contains_key(&key) {
            continue;
        }
        let alike = trials.iter().filter(|other| is_for(request, other, &key));
        let own = typos::of_trials(request, alike)?;
        let shape = Shape {
            own: &own,
            layout: &key.2,
            redo_log_bytes: largest_redo_log(trials, dataset),
            nodes: most_nodes(trials).max(at_once),
        };
        let one = match datasets.ready(&servers[&key.0], dataset, &shape) {
            Ok(one) => Ok(one),
            Err(RunError::NotAvailable(why)) => {
                let text = format!("warning: {}: {}: {why}", key.0, dataset.summary());
                datasets.progress.say(&text);
                Err(why)
            }
            Err(error) => return Err(error),
        };
        ready.insert(key, one);
        stop_if_interrupted()?;
    }
    let provisioned = Provisioned { ready };
    provisioned.fit_together(request, &datasets.home.snapshots())?;
    Ok(provisioned)
}
