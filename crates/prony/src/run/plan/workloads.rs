//! The workloads of a run. Each distinct section is opened once.
//!
//! Purpose: trials of one section share one workload, so that its rows are counted once. Outside this module: reading sections (crate
//! `workload`).

use crate::lock;
use crate::run::RunError;
use spec::plan::PlannedTrial;
use spec::{Experiment, SectionError};
use std::sync::{Arc, Mutex};
use workload::Workload;

/// Opens a workload by its name and section.
type Open = dyn Fn(&str, &toml::Table) -> Result<Arc<dyn Workload>, SectionError> + Send + Sync;

/// The open workloads by their sections. A linear search is enough, since sections are few.
type Opened = Mutex<Vec<(toml::Table, Arc<dyn Workload>)>>;

/// The open workloads of a run.
#[derive(Clone)]
pub struct Workloads {
    open: Arc<Open>,
    opened: Arc<Opened>,
}

impl Default for Workloads {
    fn default() -> Workloads {
        Workloads::opened_by(workload::open)
    }
}

impl Workloads {
    /// Opens workloads with `open`. Tests pass their own, such as `run::tests::toy::Toy`.
    pub fn opened_by(
        open: impl Fn(&str, &toml::Table) -> Result<Arc<dyn Workload>, SectionError>
        + Send
        + Sync
        + 'static,
    ) -> Workloads {
        Workloads {
            open: Arc::new(open),
            opened: Arc::default(),
        }
    }

    /// The workload of a trial.
    ///
    /// # Errors
    /// The trial's section is wrong. This cannot happen in a checked experiment.
    pub fn of(
        &self,
        experiment: &Experiment,
        trial: &PlannedTrial,
    ) -> Result<Arc<dyn Workload>, RunError> {
        let mut opened = lock(&self.opened);
        let section = &trial.workload;
        if let Some((_, known)) = opened.iter().find(|(known, _)| known == section) {
            return Ok(Arc::clone(known));
        }
        let workload = (self.open)(&experiment.workload, section)
            .map_err(|mistake| RunError::Usage(mistake.to_string()))?;
        opened.push((section.clone(), Arc::clone(&workload)));
        Ok(workload)
    }
}

/// The names of a workload's queries; empty if it has none.
pub(crate) fn query_names(workload: &dyn Workload) -> Vec<String> {
    let queries = workload.queries();
    let operations = queries.map(|queries| queries.operations());
    let operations = operations.unwrap_or_default().into_iter();
    operations.map(|operation| operation.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::read_on_server;
    use crate::run::tests::toy::Toy;
    use spec::plan::expand;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    const SOURCE: &str = "title = \"t\"\n[server.a]\nbuild = \"mariadb\"\n[workload.ssb]\nscale = 0.01\n\
        [protocol]\nblocks = 3\ncontrol = false\n[factor.joins]\nansi = { workload = { joins = \"ansi\" } }\noriginal = { workload = { joins = \"original\" } }\n";

    #[test]
    fn each_distinct_section_is_opened_once() {
        let experiment = read_on_server(SOURCE);
        let opened = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&opened);
        let workloads = Workloads::opened_by(move |_, _| {
            count.fetch_add(1, SeqCst);
            Ok(Arc::new(Toy::rounds()))
        });
        let trials = expand(&experiment, 1).unwrap();
        for trial in &trials {
            workloads.of(&experiment, trial).unwrap();
        }
        assert!(trials.len() == 6, "{} trials", trials.len());
        assert_eq!(opened.load(SeqCst), 2);
    }

    #[test]
    fn trials_of_one_section_share_its_workload() {
        let experiment = read_on_server(SOURCE);
        let workloads = Workloads::default();
        for trial in expand(&experiment, 1).unwrap() {
            let workload = workloads.of(&experiment, &trial).unwrap();
            let again = workloads.of(&experiment, &trial).unwrap();
            assert!(Arc::ptr_eq(&workload, &again));
            let expected = workload::open("ssb", &trial.workload).unwrap();
            assert_eq!(workload.summary(), expected.summary());
        }
    }
}
