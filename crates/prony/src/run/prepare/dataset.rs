//! Datasets: loaded once per server build, and kept as a snapshot of the data folder for all trials.
//!
//! Purpose: one load for any number of trials, runs and prony processes. A snapshot is complete or does not exist.
//! Outside this module: the contents of the tables (`workload`).

use super::servers::Provided;
use super::typos::{Own, Sees, Typos, has_tables};
use super::{crash_cause, layout, space};
use crate::lock;
use crate::run::machine::redo_log;
use crate::run::results::folder::try_lock;
use crate::run::shards::Meeting;
use crate::run::{Progress, RunError};
use host::{Home, Leases, interrupt};
use record::DatasetNote;
use server::{Node, ServerError, Session, Sha256, StartRequest};
use spec::listed;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use workload::loader::fault::names_enospc;
use workload::loader::settings::{load_settings, redo_log_bytes};
use workload::{AllowDrop, Dataset, DatasetState, LoadError, Loaded, Unit, index_bytes};

/// A dataset that trials can use.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    /// The snapshot's data folder. None on an external server, where the data stays.
    pub data_folder: Option<PathBuf>,
    /// Whether prony's own tables on an external server may be dropped and loaded anew between trials.
    pub may_reload: bool,
    /// How the data was loaded. Stored with the snapshot, so that later runs can report it.
    pub note: DatasetNote,
}

/// The start of the name of a snapshot's folder while it is being loaded.
pub(crate) const BUILDING: &str = "building-";

/// The lock of a snapshot. Every use creates it anew, so that its time is the time of the last use.
pub(crate) fn lock_of(snapshot: &Path) -> PathBuf {
    let mut path = snapshot.as_os_str().to_owned();
    path.push(".lock");
    PathBuf::from(path)
}

/// What a dataset is loaded for: what the files of a snapshot depend on besides their rows, and the statements.
pub(crate) struct Shape<'a> {
    /// See [`super::layout`].
    pub layout: &'a [(String, String)],
    /// The largest redo log of the trials that start from it.
    pub redo_log_bytes: u64,
    /// The largest number of nodes of a trial, each with a copy.
    pub nodes: u32,
    /// What its trials run on the tables, of the user's own.
    pub own: &'a [Own],
}

/// Number of server log lines in the message of a failed load.
const LOG_LINES: usize = 10;

/// With less free space a load fails for lack of it, whatever the server says.
const FREE_BYTES_MIN: u64 = 16 << 20;

/// What loading a dataset needs.
pub(crate) struct Datasets<'a> {
    pub home: &'a Home,
    pub leases: &'a Leases,
    pub progress: &'a Progress,
    pub allow_drop: &'a AllowDrop,
    pub allow_setup: bool,
    pub typos: &'a Typos<'a>,
    /// The other shards of the run, which load together.
    pub meeting: Option<&'a Mutex<Meeting>>,
}

impl Datasets<'_> {
    /// Returns the dataset on this server. Loads it if it does not exist yet.
    pub(crate) fn ready(
        &self,
        server: &Provided,
        dataset: &dyn Dataset,
        shape: &Shape,
    ) -> Result<Ready, RunError> {
        if server.provider.abilities().snapshots {
            self.snapshot(server, dataset, shape)
        } else {
            self.in_place(server, dataset, shape.own)
        }
    }

    fn snapshot(
        &self,
        server: &Provided,
        dataset: &dyn Dataset,
        shape: &Shape,
    ) -> Result<Ready, RunError> {
        let name = name(server, dataset, shape.layout);
        let folder = self.home.snapshots().join(&name);
        let ready = |note| Ready {
            data_folder: Some(folder.join("data")),
            may_reload: false,
            note,
        };
        let _lock = self.lock(&folder)?;
        if let Some(note) = read_note(&folder) {
            return Ok(ready(note));
        }
        let building = format!("{BUILDING}{}-{name}", std::process::id());
        let building = self.home.snapshots().join(building);
        let lease = self.leases.folder(&building)?;
        std::fs::create_dir_all(building.join("data"))
            .map_err(|error| cannot_write(&building, &error))?;
        self.check_disk_space(server, dataset, shape)?;
        let note = self
            .build(server, dataset, shape, &building)
            .map_err(|error| with_full_disk(error, host::disk::free(&building).ok()))?;
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
        }
        std::fs::rename(&building, &folder).map_err(|error| cannot_write(&folder, &error))?;
        drop(lease);
        Ok(ready(note))
    }

    /// Locks the snapshot: if two prony processes need it, one makes it and the other waits.
    fn lock(&self, folder: &Path) -> Result<File, RunError> {
        let path = lock_of(folder);
        let lock = File::create(&path).map_err(|error| cannot_write(&path, &error))?;
        if !try_lock(&lock, &path)? {
            self.progress.say(&format!(
                "waiting for another prony process that is loading {}",
                folder.display()
            ));
            while !try_lock(&lock, &path)? {
                if interrupt::asked() {
                    return Err(RunError::Interrupted);
                }
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
        }
        Ok(lock)
    }

    /// Checks that the load, the snapshot and one trial's copy of it fit on the disk.
    fn check_disk_space(
        &self,
        server: &Provided,
        dataset: &dyn Dataset,
        shape: &Shape,
    ) -> Result<(), RunError> {
        let data_bytes = dataset.estimate().data_bytes;
        let needed = match server.is_managed() {
            true => {
                let of_load_bytes = 2 * redo_log_bytes(pool_bytes(dataset));
                space::needed_bytes(data_bytes, of_load_bytes, shape.redo_log_bytes, shape.nodes)
            }
            false => data_bytes.saturating_mul(5) / 2,
        };
        let free = host::disk::free(&self.home.snapshots())
            .map_err(|error| cannot_write(&self.home.snapshots(), &error))?;
        if free >= needed {
            return Ok(());
        }
        Err(RunError::Failed(format!(
            "cannot load {} for server {}: not enough disk space: it needs about {} MiB with one trial's copy, and {} has {} MiB free; reduce the data with --scale, free disk space with prony cache prune, or set PRONY_HOME to a folder on a larger disk",
            dataset.summary(),
            server.spec.name,
            needed >> 20,
            self.home.snapshots().display(),
            free >> 20
        )))
    }

    fn build(
        &self,
        server: &Provided,
        dataset: &dyn Dataset,
        shape: &Shape,
        building: &Path,
    ) -> Result<DatasetNote, RunError> {
        let data_folder = building.join("data");
        let layout = layout_known(server, shape.layout)?;
        let mut settings = layout.clone();
        if let Some(known) = server.provider.settings()? {
            self.progress
                .now(&format!("{}: creating a data folder", server.spec.name));
            server
                .provider
                .initialise(&data_folder, &layout::of_files(&layout))?;
            for (name, value) in load_settings(&|name| known.knows(name), pool_bytes(dataset)) {
                if !settings
                    .iter()
                    .any(|(given, _)| listed(given) == listed(&name))
                {
                    settings.push((name, value));
                }
            }
        }
        let work = building.join("instance");
        let instance = server.instance(&work);
        let node = instance.first().as_ref();
        node.start(&StartRequest {
            data_folder: data_folder.clone(),
            settings,
            groups: Vec::new(),
        })?;
        let loaded = self.load(server, node, dataset, shape.own);
        let filled = loaded.map_err(|error| explain(error, node))?;
        node.stop()?;
        self.settle(server, node, dataset, &data_folder, &layout)?;
        drop(instance);
        let _ = std::fs::remove_dir_all(&work);
        let note = DatasetNote {
            server: server.key(),
            ..filled
        };
        let text = serde_json::to_string_pretty(&note)
            .map_err(|error| RunError::Failed(error.to_string()))?;
        std::fs::write(building.join("dataset.json"), text)
            .map_err(|error| cannot_write(building, &error))?;
        // Flushed to disk before the rename, so that a crash of the machine leaves no incomplete snapshot.
        rustix::fs::syncfs(
            std::fs::File::open(building).map_err(|error| cannot_write(building, &error))?,
        )
        .map_err(|error| cannot_write(building, &error.into()))?;
        Ok(note)
    }

    /// Starts and stops the server once with the trials' settings. So no trial has to resize the redo log of the load, and none has to
    /// copy it.
    fn settle(
        &self,
        server: &Provided,
        node: &dyn Node,
        dataset: &dyn Dataset,
        data_folder: &Path,
        layout: &[(String, String)],
    ) -> Result<(), RunError> {
        if !node.abilities().settings {
            return Ok(());
        }
        if server.provider.keeps_redo_log_size() {
            redo_log::remove(data_folder).map_err(|error| cannot_write(data_folder, &error))?;
        }
        node.start(&StartRequest {
            data_folder: data_folder.to_path_buf(),
            settings: layout.to_vec(),
            groups: Vec::new(),
        })?;
        let mut session = node.connect()?;
        let is_there = matches!(dataset.state(&mut session)?, DatasetState::Complete(_))
            && !has_lost_rows(dataset, &mut session)?;
        node.stop()?;
        match is_there {
            true => Ok(()),
            false => Err(RunError::NotAvailable(format!(
                "the rows of {} were lost when the server restarted: a storage engine that keeps its rows only in memory cannot be measured from a snapshot",
                dataset.summary()
            ))),
        }
    }

    fn load(
        &self,
        server: &Provided,
        node: &dyn Node,
        dataset: &dyn Dataset,
        own: &[Own],
    ) -> Result<DatasetNote, RunError> {
        let look = self.looking(server, node, dataset, own);
        look(Sees::Grammar)?;
        let mut session = node.connect()?;
        dataset
            .create(&mut session, &AllowDrop::No)
            .map_err(failed)?;
        self.fill(server, node, dataset, &mut session, &look)
    }

    /// Looks for typos in the statements that run on the tables.
    pub(crate) fn looking<'l>(
        &'l self,
        server: &'l Provided,
        node: &'l dyn Node,
        dataset: &'l dyn Dataset,
        own: &'l [Own],
    ) -> impl Fn(Sees) -> Result<(), RunError> + Sync + 'l {
        let (typos, name) = (self.typos, server.spec.name.as_str());
        move |sees| typos.look(name, sees, own, &|| node.connect(), dataset)
    }

    /// Loads the empty tables. Looks for typos as soon as there are tables to look at.
    pub(crate) fn fill(
        &self,
        server: &Provided,
        node: &dyn Node,
        dataset: &dyn Dataset,
        session: &mut Session,
        look: &(dyn Fn(Sees) -> Result<(), RunError> + Sync),
    ) -> Result<DatasetNote, RunError> {
        let hopeless = Mutex::new(None);
        let goes_on = || match look(Sees::Names) {
            Ok(()) => true,
            // Half a load on a server of others would have to be dropped.
            Err(error) if !server.is_managed() => {
                self.progress.say(&format!("warning: {error}"));
                true
            }
            Err(error) => {
                *lock(&hopeless) = Some(error);
                false
            }
        };
        let name = &server.spec.name;
        let begins = !has_tables(session, dataset.schema())? || goes_on();
        let filled = begins.then(|| fill(name, node, dataset, session, self.progress, &goes_on));
        match (hopeless.into_inner(), filled) {
            (Ok(None), Some(filled)) => {
                let filled = filled?;
                look(Sees::Names)?;
                Ok(filled)
            }
            (Ok(Some(error)), _) => Err(error),
            _ => Err(RunError::Failed("the load was ended".into())),
        }
    }
}

/// Whether tables of the engine MEMORY, which a start empties, had rows. The marker is in another engine.
fn has_lost_rows(dataset: &dyn Dataset, session: &mut Session) -> Result<bool, ServerError> {
    if !session.is_mysql() {
        return Ok(false);
    }
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{}' AND engine = 'MEMORY'",
        dataset.schema()
    );
    let is_any = session.query(&sql)?.first_text().is_some_and(|n| n != "0");
    Ok(is_any && dataset.held(session)?.differs().is_some())
}

/// Loads the empty tables on the server of this name, verifies them and measures their size. Asks `goes_on` when statements of the
/// user's have made them, before rows come from files.
pub(crate) fn fill(
    server: &str,
    node: &dyn Node,
    dataset: &dyn Dataset,
    session: &mut Session,
    progress: &Progress,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Result<DatasetNote, RunError> {
    let ends = AtomicBool::new(false);
    let loaded = dataset.load(
        &|| node.connect(),
        &|loaded| {
            if loaded.has_tables && !goes_on() {
                ends.store(true, SeqCst);
            }
            progress.now(&loading(server, &loaded));
        },
        &|| ends.load(SeqCst) || interrupt::asked(),
    );
    if interrupt::asked() {
        return Err(RunError::Interrupted);
    }
    let loaded = loaded.map_err(failed)?;
    verified(server, node, dataset, session, progress, loaded)
}

/// Verifies tables whose rows are in, and measures their size.
pub(crate) fn verified(
    server: &str,
    node: &dyn Node,
    dataset: &dyn Dataset,
    session: &mut Session,
    progress: &Progress,
    loaded: Loaded,
) -> Result<DatasetNote, RunError> {
    progress.now(&format!("{server}: verifying the rows"));
    dataset.verify(session).map_err(failed)?;
    dataset.verify_rules(&|| node.connect()).map_err(failed)?;
    let tables = described(dataset, session)?;
    progress.say(&format!(
        "{server}: loaded {}: {} rows in {:.1} s ({:.0} rows/s, {}){}, {} MiB with indexes",
        dataset.summary(),
        loaded.rows,
        loaded.elapsed_s,
        loaded.rows_per_s(),
        loaded.method,
        indexes_afterwards(&loaded),
        tables.data_bytes >> 20
    ));
    Ok(DatasetNote {
        rows: loaded.rows,
        load_s: Some(loaded.elapsed_s),
        index_s: loaded.index_s,
        method: loaded.method,
        events: loaded.events,
        ..tables
    })
}

/// Describes tables as their server does, without its name, and without what is known of their rows.
pub(crate) fn described(
    dataset: &dyn Dataset,
    session: &mut Session,
) -> Result<DatasetNote, ServerError> {
    Ok(DatasetNote {
        fingerprint: dataset.fingerprint(),
        data_bytes: dataset.data_bytes(session)?,
        index_bytes: index_bytes(session, dataset.schema())?,
        collations: dataset.collations(session)?,
        definitions: dataset.definitions(session)?,
        objects: dataset.objects(session)?,
        ..DatasetNote::default()
    })
}

/// The part of a layout that this server knows. The layout may hold settings of a newer server that starts from this one's data
/// (`dataset_from`).
fn layout_known(
    server: &Provided,
    layout: &[(String, String)],
) -> Result<Vec<(String, String)>, ServerError> {
    let Some(known) = server.provider.settings()? else {
        return Ok(layout.to_vec());
    };
    let own = layout.iter().filter(|(name, _)| known.knows(name));
    Ok(own.cloned().collect())
}

/// The buffer pool for loading: twice the data, at most a quarter of the machine's memory.
fn pool_bytes(dataset: &dyn Dataset) -> u64 {
    let quarter = host::machine::memory_bytes() / 4;
    (dataset.estimate().data_bytes * 2).clamp(64 << 20, quarter.max(64 << 20))
}

/// `, indexes in 12.3 s` if they were built after the rows.
fn indexes_afterwards(loaded: &Loaded) -> String {
    match loaded.index_s.values().sum::<f64>() {
        0.0 => String::new(),
        seconds => format!(", indexes in {seconds:.1} s"),
    }
}

/// `5.6: loading lineorder, 45 % of 600000 rows, 250000 rows/s`
pub(crate) fn loading(server: &str, progress: &workload::Progress) -> String {
    let share = 100.0 * progress.rows as f64 / progress.rows_total.max(1) as f64;
    let rate = progress.rows as f64 / progress.elapsed_s.max(1e-9);
    let (total, rate) = match progress.unit {
        Unit::Rows => (
            format!("{} rows", progress.rows_total),
            format!("{rate:.0} rows/s"),
        ),
        Unit::Bytes => (
            format!("{:.1} MB", progress.rows_total as f64 / 1e6),
            format!("{:.1} MB/s", rate / 1e6),
        ),
    };
    format!(
        "{server}: loading {}, {share:.0} % of {total}, {rate}",
        progress.table
    )
}

/// Adds to a failed load how the server ended, if it did, and the last lines of its log. A server that only refused a statement of the
/// user's has said why.
fn explain(error: RunError, node: &dyn Node) -> RunError {
    let (RunError::Failed(said) | RunError::Written(said)) = &error else {
        return error;
    };
    let text = match crash_cause::reason_if_silent(node) {
        Some(reason) => format!("{said}; the server ended: {reason}"),
        None if matches!(error, RunError::Written(_)) => return error,
        None => said.clone(),
    };
    let lines = node.log_tail(LOG_LINES);
    RunError::Failed(match lines.is_empty() {
        true => text,
        false => format!(
            "{text}\nlast lines of the server's log:\n  {}",
            lines.join("\n  ")
        ),
    })
}

/// Names a full disk, with the free bytes that are left. The server may not: its log lies on the same disk.
fn with_full_disk(error: RunError, free_bytes: Option<u64>) -> RunError {
    let is_full = free_bytes.is_some_and(|free_bytes| free_bytes < FREE_BYTES_MIN);
    match error {
        RunError::Failed(text) | RunError::Written(text) if is_full || names_enospc(&text) => {
            RunError::Failed(format!(
                "the disk of PRONY_HOME is full: free space on it, set PRONY_HOME to a folder on a larger disk, or use a smaller --scale\n{text}"
            ))
        }
        other => other,
    }
}

fn name(server: &Provided, dataset: &dyn Dataset, layout: &[(String, String)]) -> String {
    let settings = layout
        .iter()
        .map(|(setting, value)| format!("-{}={}", listed(setting), in_a_path(value)));
    let settings: String = settings.collect();
    let settings = match settings.len() > SETTINGS_BYTES_MAX {
        true => format!("-{}", hashed(&settings)),
        false => settings,
    };
    format!("{}-{}{settings}", server.key(), dataset.fingerprint())
}

/// The name of a folder has at most 255 bytes.
const SETTINGS_BYTES_MAX: usize = 120;

/// A value as a part of a folder's name. Servers end a path at `:` and `;`, so a value with unsafe characters is replaced by its hash.
fn in_a_path(value: &str) -> String {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if value.bytes().all(is_safe) {
        return value.to_string();
    }
    hashed(value)
}

fn hashed(text: &str) -> String {
    Sha256::of(text).hex_of_first(6)
}

fn read_note(folder: &Path) -> Option<DatasetNote> {
    let text = std::fs::read_to_string(folder.join("dataset.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// Classifies a failed load: an occupied schema is a mistake of the command line, a missing engine makes trials not available.
pub(crate) fn failed(error: LoadError) -> RunError {
    match error {
        LoadError::Exists { .. }
        | LoadError::Theirs { .. }
        | LoadError::Foreign { .. }
        | LoadError::Unconfined { .. } => RunError::Usage(error.to_string()),
        LoadError::NoEngine { .. } => RunError::NotAvailable(error.to_string()),
        LoadError::Written { .. } => RunError::Written(error.to_string()),
        _ => RunError::Failed(error.to_string()),
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> RunError {
    RunError::Failed(format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_unsafe_in_a_path_is_replaced_by_its_hash() {
        assert_eq!(in_a_path("16K"), "16K");
        let (one, other) = ("ibdata1:12M;ibdata2:12M", "ibdata1:12M;ibdata2:24M");
        assert!(
            in_a_path(one)
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric())
        );
        assert_ne!(in_a_path(one), in_a_path(other));
    }

    #[test]
    fn a_full_disk_is_named_even_if_the_server_does_not_name_it() {
        let named = |text: &str, free_bytes| {
            let error = with_full_disk(RunError::Failed(text.into()), Some(free_bytes));
            error.to_string()
        };
        let silent = "mariadb does not start: it exited with status 1";
        assert_eq!(named(silent, 1 << 40), silent);
        for (text, free_bytes) in [(silent, 4096), ("[ERROR] Errcode: 28", 1 << 40)] {
            let says = named(text, free_bytes);
            assert!(says.starts_with("the disk of PRONY_HOME is full: free space"));
            assert!(says.ends_with(text), "{says}");
        }
    }
}
