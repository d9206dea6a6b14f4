//! Datasets on servers that are not prony's: loaded into prony's own schema, where they stay.
//!
//! Goal: nothing but prony's schema is touched, nothing is dropped without leave, and a trial never measures other
//! tables than it was planned for. Non-goal: what the tables hold (`workload`).

use super::RunError;
use super::dataset::{Datasets, Ready, failed, note};
use super::servers::Provided;
use host::interrupt;
use record::DatasetNote;
use server::{ServerError, Session, StartRequest};
use spec::ServerSpec;
use std::collections::BTreeMap;
use std::path::Path;
use workload::{Dataset, State, index_bytes};

impl Datasets<'_> {
    /// The dataset in the server's own schema of this workload, loaded if it is not there yet.
    pub(super) fn in_place(
        &self,
        server: &Provided,
        dataset: &dyn Dataset,
    ) -> Result<Ready, RunError> {
        let instance = server.instance(Path::new(""));
        let node = instance.first().as_ref();
        node.start(&StartRequest::default())?;
        let mut session = node.connect()?;
        self.alone(&mut session, dataset.schema())?;
        if holds(dataset, &mut session)? {
            let note = already_there(server, dataset, &mut session)?;
            return Ok(staying(note));
        }
        dataset
            .create(&mut session, self.allow_drop)
            .map_err(failed)?;
        let filled = self.fill(server, node, dataset, &mut session)?;
        Ok(staying(note(server, dataset, &filled)))
    }

    /// Two pronys that want the same schema: one loads it, the other waits. The lock ends with the session.
    fn alone(&self, session: &mut Session, schema: &str) -> Result<(), RunError> {
        let mut told = false;
        loop {
            match session.query(&format!("SELECT GET_LOCK('{schema}', 1)")) {
                Ok(reply) if reply.first_text().as_deref() == Some("0") => {}
                // A cluster may have no such locks; then it goes without.
                Ok(_) | Err(ServerError::Refused { .. }) => return Ok(()),
                Err(lost) => return Err(lost.into()),
            }
            if interrupt::asked() {
                return Err(RunError::Interrupted);
            }
            if !told {
                self.progress.say(&format!(
                    "waiting for another prony that is loading {schema}"
                ));
                told = true;
            }
        }
    }
}

fn staying(note: DatasetNote) -> Ready {
    Ready {
        data_folder: None,
        note,
    }
}

/// The tables of an earlier run are used again.
fn already_there(
    server: &Provided,
    dataset: &dyn Dataset,
    session: &mut Session,
) -> Result<DatasetNote, ServerError> {
    Ok(DatasetNote {
        fingerprint: dataset.fingerprint(),
        server: server.key(),
        rows: dataset.estimate().rows,
        data_bytes: dataset.data_bytes(session)?,
        index_bytes: index_bytes(session, dataset.schema())?,
        load_s: None,
        index_s: BTreeMap::new(),
        method: "already there".into(),
    })
}

/// Whether the schema holds this dataset whole.
fn holds(dataset: &dyn Dataset, session: &mut Session) -> Result<bool, ServerError> {
    Ok(dataset.state(session)? == State::Complete(dataset.fingerprint()))
}

/// Before a trial: others use the server too, and another prony with leave to drop may have replaced the tables.
pub fn still_holds(dataset: &dyn Dataset, session: &mut Session) -> Result<(), ServerError> {
    if holds(dataset, session)? {
        return Ok(());
    }
    Err(ServerError::Unusable(format!(
        "the tables in {} are no longer the dataset of this run ({}): another run has replaced them, or somebody has dropped them; give each run a server of its own",
        dataset.schema(),
        dataset.summary()
    )))
}

/// Before anything is got or loaded: what the experiment asks of external servers and they cannot give. `wanted` holds for
/// each trial the server's name, the dataset's fingerprint and its summary.
pub fn check(servers: &[ServerSpec], wanted: &[(String, String, String)]) -> Result<(), RunError> {
    for spec in servers.iter().filter(|spec| spec.build.is_external()) {
        one_dataset(spec, servers, wanted)?;
    }
    let pairs = servers.iter().filter_map(|spec| {
        let lender = servers
            .iter()
            .find(|other| spec.dataset_from.as_ref() == Some(&other.name))?;
        Some((spec, lender))
    });
    let mut apart = pairs.filter(|(a, b)| a.build.is_external() || b.build.is_external());
    match apart.next() {
        None => Ok(()),
        Some((spec, lender)) => Err(RunError::Asked(format!(
            "server {} takes its dataset from {}, and a data folder goes only between servers that prony starts itself; leave dataset_from out, or take builds instead of a DSN",
            spec.name, lender.name
        ))),
    }
}

/// Two names may stand for one and the same server.
fn one_dataset(
    spec: &ServerSpec,
    servers: &[ServerSpec],
    wanted: &[(String, String, String)],
) -> Result<(), RunError> {
    let same = |name: &String| {
        servers
            .iter()
            .any(|other| other.name == *name && other.build == spec.build)
    };
    let mut here = wanted.iter().filter(|(server, ..)| same(server));
    let Some((_, first, summary)) = here.next() else {
        return Ok(());
    };
    match here.find(|(_, fingerprint, _)| fingerprint != first) {
        None => Ok(()),
        Some((_, _, other)) => Err(RunError::Asked(format!(
            "server {} ({}) holds one dataset at a time, and the experiment wants {summary} and {other} there; choose one with --only, or take a build that prony starts itself",
            spec.name, spec.build
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::Pairs;

    fn server(name: &str, build: &str, dataset_from: Option<&str>) -> ServerSpec {
        ServerSpec {
            name: name.into(),
            build: build.parse().unwrap(),
            dataset_from: dataset_from.map(String::from),
            settings: Pairs::new(),
        }
    }

    fn wants(server: &str, dataset: &str) -> (String, String, String) {
        (
            server.into(),
            dataset.into(),
            format!("the dataset {dataset}"),
        )
    }

    #[test]
    fn two_names_for_one_server_do_not_give_it_room_for_two_datasets() {
        let servers = [
            server("a", "mysql://db/", None),
            server("b", "mysql://db/", None),
            server("c", "mysql://other/", None),
        ];
        let says = check(&servers, &[wants("a", "x"), wants("b", "y")])
            .unwrap_err()
            .to_string();
        assert!(
            says.contains("the dataset x and the dataset y there"),
            "{says}"
        );
        assert!(
            check(
                &servers,
                &[wants("a", "x"), wants("b", "x"), wants("c", "y")]
            )
            .is_ok()
        );
    }

    #[test]
    fn a_data_folder_goes_only_between_servers_of_pronys_own() {
        let from_theirs = [
            server("theirs", "mysql://db/", None),
            server("own", "mariadb", Some("theirs")),
        ];
        let says = check(&from_theirs, &[]).unwrap_err().to_string();
        assert!(
            says.contains("server own takes its dataset from theirs"),
            "{says}"
        );
        let between_own = [
            server("old", "mysql@5.5.34", None),
            server("new", "mysql@5.6.14", Some("old")),
        ];
        assert!(check(&between_own, &[]).is_ok());
    }
}
