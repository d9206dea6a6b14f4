//! Datasets on external servers: loaded into prony's own schema, where they stay.
//!
//! Purpose: only prony's schema is touched, nothing is dropped without permission, and a trial measures the tables it was planned
//! for. Outside this module: the contents of the tables (`workload`).

use super::dataset::{Datasets, Ready, described, failed, fill, loading, verified};
use super::servers::Provided;
use super::typos::{Own, Sees};
use crate::lock;
use crate::run::shards::Meeting;
use crate::run::{Progress, RunError};
use host::interrupt;
use record::{DatasetNote, FlagKind, Trial, percent};
use server::{Node, ServerError, Session, StartRequest};
use spec::{BuildSpec, ServerSpec, Shard};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;
use workload::sql::confined_statements;
use workload::{AfterLoad, AllowDrop, Dataset, DatasetState, Held, Loaded};

/// What the first shard found in the schema: empty tables that it created, or those of an earlier run.
const LOAD: &str = "load";
const THERE: &str = "there";

impl Datasets<'_> {
    /// Returns the dataset in prony's schema on the server. Loads it if it does not exist yet.
    pub(crate) fn in_place(
        &self,
        server: &Provided,
        dataset: &dyn Dataset,
        own: &[Own],
    ) -> Result<Ready, RunError> {
        let instance = server.instance(Path::new(""));
        let node = instance.first().as_ref();
        node.start(&StartRequest::default())?;
        let mut session = node.connect()?;
        self.check_statements(&mut session, dataset, own)?;
        if let Some(meeting) = self.meeting {
            return self.together(meeting, server, node, dataset, session);
        }
        let look = self.looking(server, node, dataset, own);
        look(Sees::Grammar)?;
        self.lock_schema(&mut session, dataset.schema())?;
        if let Some(held) = self.there_or_created(server, dataset, &mut session)? {
            look(Sees::Names)?;
            let note = already_there(dataset, &mut session, &held)?;
            return Ok(self.staying(server, dataset, note));
        }
        let filled = self.fill(server, node, dataset, &mut session, &look)?;
        Ok(self.staying(server, dataset, filled))
    }

    /// Checks that what runs on prony's tables stays within their schema. Every shard does, and a schema of the user's is read-only.
    fn check_statements(
        &self,
        session: &mut Session,
        dataset: &dyn Dataset,
        own: &[Own],
    ) -> Result<(), RunError> {
        if self.allow_setup || dataset.is_theirs() || own.is_empty() {
            return Ok(());
        }
        let statements = own.iter().map(Own::parts);
        confined_statements(session, dataset.schema(), statements).map_err(failed)
    }

    fn staying(&self, server: &Provided, dataset: &dyn Dataset, note: DatasetNote) -> Ready {
        let is_allowed = *self.allow_drop != AllowDrop::No;
        let may_reload = match dataset.after_load() {
            AfterLoad::Keep => is_allowed,
            AfterLoad::Refuse => false,
            AfterLoad::Reload => true,
        };
        Ready {
            data_folder: None,
            may_reload,
            note: DatasetNote {
                server: server.key(),
                ..note
            },
        }
    }

    /// What the tables hold if they are there as loaded; None once it has created them empty.
    fn there_or_created(
        &self,
        server: &Provided,
        dataset: &dyn Dataset,
        session: &mut Session,
    ) -> Result<Option<Held>, RunError> {
        let name = &server.spec.name;
        let why = match found(dataset, session)? {
            Found::AsLoaded => {
                let held = dataset.held(session)?;
                match held.differs() {
                    None => return Ok(Some(held)),
                    Some(says) => Some(not_as_loaded(name, dataset, &says)),
                }
            }
            Found::Changed => Some(changed(name, dataset)),
            Found::Other => None,
        };
        let allow = match why {
            Some(_) if dataset.after_load() == AfterLoad::Reload => &AllowDrop::Pronys,
            Some(why) if *self.allow_drop == AllowDrop::No => return Err(RunError::Usage(why)),
            Some(_) | None => self.allow_drop,
        };
        if !self.allow_setup {
            dataset.confined(session).map_err(failed)?;
        }
        dataset.create(session, allow).map_err(failed)?;
        Ok(None)
    }

    /// Loads the dataset together with the other shards: the first one creates the tables, each loads its part of the rows, and the
    /// first one builds what follows the rows.
    fn together(
        &self,
        meeting: &Mutex<Meeting>,
        server: &Provided,
        node: &dyn Node,
        dataset: &dyn Dataset,
        mut session: Session,
    ) -> Result<Ready, RunError> {
        let shard = lock(meeting).shard();
        let mut is_new = false;
        if shard.is_first() {
            self.lock_schema(&mut session, dataset.schema())?;
            let there = self.there_or_created(server, dataset, &mut session);
            // The other shards cannot know what the first one found, so nobody goes on.
            let there = there.map_err(|error| RunError::Failed(error.to_string()))?;
            is_new = there.is_none();
        }
        let choice = lock(meeting).choose(if is_new { LOAD } else { THERE })?;
        let mut filled = None;
        if choice == LOAD {
            let begun = Instant::now();
            self.fill_part(shard, server, node, dataset, &mut session)?;
            lock(meeting).all()?;
            if shard.is_first() {
                let elapsed_s = begun.elapsed().as_secs_f64();
                filled = self.finish(server, node, dataset, &mut session, elapsed_s)?;
            }
            lock(meeting).after_first()?;
        }
        let note = match filled {
            Some(filled) => filled,
            None => {
                let held = dataset.held(&mut session)?;
                already_there(dataset, &mut session, &held)?
            }
        };
        Ok(self.staying(server, dataset, note))
    }

    /// Loads the shard's part of the rows. The first shard loads all of those that cannot be divided.
    fn fill_part(
        &self,
        shard: Shard,
        server: &Provided,
        node: &dyn Node,
        dataset: &dyn Dataset,
        session: &mut Session,
    ) -> Result<(), RunError> {
        let name = &server.spec.name;
        let Some(divided) = dataset.divided() else {
            if shard.is_first() {
                fill(name, node, dataset, session, self.progress, &|| true)?;
            }
            return Ok(());
        };
        let loaded = divided.load_part(
            shard.number - 1,
            shard.of,
            &|| node.connect(),
            &|loaded| self.progress.now(&loading(name, &loaded)),
            &interrupt::asked,
        );
        if interrupt::asked() {
            return Err(RunError::Interrupted);
        }
        let loaded = loaded.map_err(failed)?;
        self.progress.say(&format!(
            "{name}: shard {shard} loaded {} rows in {:.1} s ({})",
            loaded.rows, loaded.elapsed_s, loaded.method
        ));
        Ok(())
    }

    /// What follows the rows of all shards. None if one shard has loaded everything.
    fn finish(
        &self,
        server: &Provided,
        node: &dyn Node,
        dataset: &dyn Dataset,
        session: &mut Session,
        elapsed_s: f64,
    ) -> Result<Option<DatasetNote>, RunError> {
        let Some(divided) = dataset.divided() else {
            return Ok(None);
        };
        let name = &server.spec.name;
        let finished = divided.finish_parts(
            &|| node.connect(),
            &|loaded| self.progress.now(&loading(name, &loaded)),
            &interrupt::asked,
        );
        let loaded = Loaded {
            elapsed_s,
            ..finished.map_err(failed)?
        };
        verified(name, node, dataset, session, self.progress, loaded).map(Some)
    }

    /// Locks the schema: if two prony processes need it, one loads it and the other waits. The lock ends with the session.
    fn lock_schema(&self, session: &mut Session, schema: &str) -> Result<(), RunError> {
        let mut reported = false;
        loop {
            match session.query(&format!("SELECT GET_LOCK('{schema}', 1)")) {
                Ok(reply) if reply.first_text().as_deref() == Some("0") => {}
                // A cluster may not support GET_LOCK. Then there is no lock.
                Ok(_) | Err(ServerError::Refused { .. }) => return Ok(()),
                Err(lost) => return Err(lost.into()),
            }
            if interrupt::asked() {
                return Err(RunError::Interrupted);
            }
            if !reported {
                self.progress.say(&format!(
                    "waiting for another prony process that is loading {schema}"
                ));
                reported = true;
            }
        }
    }
}

/// Describes the tables of an earlier run, which are reused.
fn already_there(
    dataset: &dyn Dataset,
    session: &mut Session,
    held: &Held,
) -> Result<DatasetNote, ServerError> {
    Ok(DatasetNote {
        rows: held.rows,
        rows_estimated: held.is_estimated,
        moved: held.moved,
        method: "already there".into(),
        ..described(dataset, session)?
    })
}

/// What the schema holds of a dataset.
enum Found {
    AsLoaded,
    /// Loaded completely, and changed by a timed load since.
    Changed,
    Other,
}

fn found(dataset: &dyn Dataset, session: &mut Session) -> Result<Found, ServerError> {
    let own = dataset.fingerprint();
    Ok(match dataset.state(session)? {
        DatasetState::Complete(fingerprint) if fingerprint == own => Found::AsLoaded,
        DatasetState::Changed(fingerprint) if fingerprint == own => Found::Changed,
        _ => Found::Other,
    })
}

/// Explains why tables that somebody or an earlier load has changed are not measured.
fn not_as_loaded(server: &str, dataset: &dyn Dataset, says: &str) -> String {
    format!(
        "server {server}: the tables in {} are not what was loaded ({}): {says}; load them again with --allow-drop, or before each trial with reload = true in the workload's section",
        dataset.schema(),
        dataset.summary()
    )
}

/// Explains why changed tables are not measured.
fn changed(server: &str, dataset: &dyn Dataset) -> String {
    format!(
        "server {server}: an earlier run has changed the tables in {} ({}), and a trial must start from the loaded rows; add reload = true to the workload's section to load them again before each trial, or use a build that prony starts",
        dataset.schema(),
        dataset.summary()
    )
}

/// What a trial needs of tables that an earlier one may have changed.
pub(crate) struct Renewal {
    pub is_timed: bool,
    /// See [`Ready::may_reload`].
    pub may_reload: bool,
}

/// Makes sure before a trial that the tables are as loaded. Loads them anew if an earlier trial has changed them and the workload
/// allows that. Before a timed load, returns what the tables hold.
pub(crate) fn renew(
    server: &str,
    node: &dyn Node,
    dataset: &dyn Dataset,
    needs: Renewal,
    progress: &Progress,
) -> Result<Option<Held>, ServerError> {
    let mut session = node.connect()?;
    let is_changed = match found(dataset, &mut session)? {
        Found::AsLoaded if !needs.is_timed || dataset.knows_changes() => return Ok(None),
        Found::AsLoaded => {
            let held = dataset.held(&mut session)?;
            match held.differs().filter(|_| !is_near(&held)) {
                None => return Ok(Some(held)),
                Some(says) => not_as_loaded(server, dataset, &says),
            }
        }
        Found::Changed => changed(server, dataset),
        Found::Other => return Err(replaced(dataset)),
    };
    if !needs.may_reload {
        return Err(ServerError::Unusable(is_changed));
    }
    let created = dataset
        .create(&mut session, &AllowDrop::Pronys)
        .map_err(failed);
    let filled =
        created.and_then(|()| fill(server, node, dataset, &mut session, progress, &|| true));
    let unusable = |error: RunError| ServerError::Unusable(error.to_string());
    filled.map_err(unusable)?;
    Ok(Some(dataset.held(&mut session)?))
}

/// The largest share of the rows by which a load may have moved its tables, so that the next trial still measures the same.
const MOVED_SHARE: f64 = 0.01;

/// Whether the tables are as loaded, but for a few rows.
fn is_near(held: &Held) -> bool {
    held.other_indexes.is_none() && held.moved_rows() <= MOVED_SHARE
}

/// Enters in a trial what its tables held before it.
pub(crate) fn enter(held: &Held, trial: &mut Trial) {
    if let Some(note) = &mut trial.dataset {
        note.rows = held.rows;
        note.rows_estimated = held.is_estimated;
        note.moved = held.moved;
    }
    let sampled = held.moved.filter(|moved| *moved > 0.0);
    let sampled = sampled.map(|moved| format!("{} of the sampled rows differ", percent(moved)));
    let differs: Vec<String> = held.differs().into_iter().chain(sampled).collect();
    if !differs.is_empty() {
        let text = format!(
            "the tables are not those that were loaded: {}; load them again before each trial with reload = true in the workload's section",
            differs.join("; ")
        );
        trial.flag(FlagKind::DataMoved, text);
    }
}

/// Checks before a trial that the dataset is still there: another run that may drop tables could have replaced it.
pub(crate) fn still_holds(dataset: &dyn Dataset, session: &mut Session) -> Result<(), ServerError> {
    match found(dataset, session)? {
        Found::AsLoaded | Found::Changed => Ok(()),
        Found::Other => Err(replaced(dataset)),
    }
}

fn replaced(dataset: &dyn Dataset) -> ServerError {
    ServerError::Unusable(format!(
        "the tables in {} are no longer the dataset of this run ({}): another run replaced them, or they were dropped; use a separate server for each run",
        dataset.schema(),
        dataset.summary()
    ))
}

/// Refuses several trials on one external server whose tables each of them changes. `wanted` holds the server's name of each
/// trial with such tables.
pub(crate) fn check_changes(servers: &[ServerSpec], wanted: &[String]) -> Result<(), RunError> {
    for spec in servers.iter().filter(|spec| spec.build.is_external()) {
        let is_here = |name: &&String| {
            let named = servers.iter().find(|other| other.name == **name);
            named.is_some_and(|other| other.build == spec.build)
        };
        let trials = wanted.iter().filter(is_here).count();
        if trials > 1 {
            return Err(RunError::Usage(format!(
                "server {} ({}) has no snapshot, and each of its {trials} trials changes the tables that the next one starts from; add reload = true to the workload's section to load them again before each trial, or use a build that prony starts",
                spec.name, spec.build
            )));
        }
    }
    Ok(())
}

/// Refuses a DSN with a schema that is not the one that is measured, and a workload that nobody has made tables for.
pub(super) fn check_tables(
    server: &str,
    build: &BuildSpec,
    data: &dyn Dataset,
) -> Result<(), RunError> {
    let named = match build {
        BuildSpec::External(dsn) => dsn.schema.as_deref(),
        _ => None,
    };
    let usage = |text: String| Err(RunError::Usage(format!("server {server}: {text}")));
    let measured = data.schema();
    match named {
        Some(named) if named != measured && data.is_theirs() => usage(format!(
            "its DSN names the schema {named}, and the workload measures {measured}; leave it out of the DSN"
        )),
        Some(named) if named != measured => usage(format!(
            "its DSN names the schema {named}, and the workload makes its own tables in {measured}; to measure the tables of {named} as they are, write schema = \"{named}\" in [workload.sql] (--schema {named}); else leave it out of the DSN"
        )),
        _ if data.is_empty() => usage(
            "nothing makes the tables that are measured; name those of the server (schema in [workload.sql], --schema shop), or a setup or dump (--setup, --dump)".to_string(),
        ),
        _ => Ok(()),
    }
}

/// Refuses to measure tables of the user's on a server that prony starts, which does not have them.
pub(crate) fn not_theirs(server: &str, summary: &str) -> RunError {
    RunError::Usage(format!(
        "server {server}: prony starts it with an empty data folder, so it does not have {summary}; name a running server by its DSN, or dump the schema and write dump = \"shop.sql\""
    ))
}

/// Checks, before any download or load, what the experiment requests of external servers. `wanted` holds the server's name, the
/// dataset's fingerprint and its summary for each trial.
pub(crate) fn check(
    servers: &[ServerSpec],
    wanted: &[(String, String, String)],
) -> Result<(), RunError> {
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
        Some((spec, lender)) => Err(RunError::Usage(format!(
            "server {} takes its dataset from {}, but prony can copy data folders only between servers that it starts; remove dataset_from, or use builds instead of a DSN",
            spec.name, lender.name
        ))),
    }
}

/// Checks that a server needs only one dataset. Two names may refer to the same server.
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
        Some((_, _, other)) => Err(RunError::Usage(format!(
            "server {} ({}) holds one dataset at a time, but the experiment needs {summary} and {other} on it; choose one with --only, or use a build that prony starts",
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
            cluster: None,
            routing: Default::default(),
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
    fn a_server_with_two_names_still_holds_one_dataset() {
        let servers = [
            server("a", "mysql://db/", None),
            server("b", "mysql://db/", None),
            server("c", "mysql://other/", None),
        ];
        let says = check(&servers, &[wants("a", "x"), wants("b", "y")])
            .unwrap_err()
            .to_string();
        assert!(
            says.contains("the dataset x and the dataset y on it"),
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
    fn several_trials_that_change_the_tables_of_one_external_server_are_refused() {
        let servers = [
            server("a", "mysql://db/", None),
            server("b", "mysql://db/", None),
            server("own", "mariadb", None),
        ];
        let trials = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let says = check_changes(&servers, &trials(&["a", "b"])).unwrap_err();
        assert!(says.to_string().contains("reload = true"), "{says}");
        assert!(check_changes(&servers, &trials(&["a", "own", "own"])).is_ok());
    }

    #[test]
    fn dataset_from_an_external_server_is_refused() {
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

    fn held(rows: u64, indexes: Option<&str>, moved: Option<f64>) -> Held {
        let says = format!("the tables have {rows} rows, 1000 were loaded");
        Held {
            rows,
            loaded_rows: Some(1_000),
            other_rows: if rows == 1_000 { vec![] } else { vec![says] },
            other_indexes: indexes.map(String::from),
            moved,
            ..Held::default()
        }
    }

    #[test]
    fn a_timed_load_goes_on_with_a_hundredth_of_its_rows_moved_but_with_every_index() {
        assert!(is_near(&held(1_000, None, Some(1.0))));
        assert!(is_near(&held(990, None, None)) && is_near(&held(1_010, None, None)));
        assert!(!is_near(&held(989, None, None)));
        assert!(!is_near(&held(
            1_000,
            Some("the index t.k(k) is missing"),
            None
        )));
    }

    #[test]
    fn a_trial_says_how_far_its_tables_have_moved() {
        let flags = |held: &Held| -> Vec<String> {
            let mut trial = crate::run::measure::trial::blank();
            enter(held, &mut trial);
            trial.flags.into_iter().map(|flag| flag.text).collect()
        };
        assert!(flags(&held(1_000, None, Some(0.0))).is_empty());
        let says = &flags(&held(995, None, Some(0.25)))[0];
        assert!(
            says.contains(
                "the tables have 995 rows, 1000 were loaded; 25 % of the sampled rows differ"
            ),
            "{says}"
        );
    }
}
