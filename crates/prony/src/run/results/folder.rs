//! The folder of a run: `results/NAME-TIME/` with run.sqlite, logs and report.html.
//!
//! Purpose: a unique name for every run, even if two start in the same second, and one writer at a time.

use crate::run::RunError;
use record::{Run, TrialKey};
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use store::{Store, StoreError};

#[derive(Debug)]
pub(crate) struct RunFolder {
    pub path: PathBuf,
    /// Held while this process writes to the run.
    _lock: File,
}

impl RunFolder {
    /// Creates the results folder. Called before any data is loaded, so that a run that cannot be written fails early.
    pub(crate) fn prepare(results: &Path) -> Result<(), RunError> {
        std::fs::create_dir_all(results).map_err(|error| cannot_make(results, &error))
    }

    /// Creates a new folder below `results`.
    pub(crate) fn create(results: &Path, name: &str) -> Result<RunFolder, RunError> {
        RunFolder::prepare(results)?;
        let now = host::local_now();
        let (date, time) = (now.date().replace('-', ""), now.time().replace(':', ""));
        for attempt in 1.. {
            let suffix = if attempt == 1 {
                String::new()
            } else {
                format!("-{attempt}")
            };
            let path = results.join(format!("{name}-{date}-{time}{suffix}"));
            match std::fs::create_dir(&path) {
                Ok(()) => return RunFolder::lock(path),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(cannot_make(&path, &error)),
            }
        }
        unreachable!("an endless range ended")
    }

    /// Opens the folder of a run to resume.
    pub(crate) fn open(results: &Path, run: &str) -> Result<RunFolder, RunError> {
        RunFolder::lock(find(results, run)?)
    }

    fn lock(path: PathBuf) -> Result<RunFolder, RunError> {
        let name = path.join("lock");
        let lock = File::create(&name).map_err(|error| {
            RunError::Failed(format!("cannot write {}: {error}", name.display()))
        })?;
        if !try_lock(&lock, &name)? {
            return Err(RunError::Usage(format!(
                "{}: another prony process is writing to this run; wait for it or stop it",
                path.display()
            )));
        }
        std::fs::create_dir_all(path.join("logs")).map_err(|error| {
            RunError::Failed(format!("cannot write to {}: {error}", path.display()))
        })?;
        Ok(RunFolder { path, _lock: lock })
    }

    pub(crate) fn id(&self) -> String {
        self.path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path.join("run.sqlite")
    }

    pub(crate) fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }
}

/// Locks the file for this process alone. False while another process holds it.
///
/// # Errors
/// Its file system has no locks.
pub(crate) fn try_lock(lock: &File, path: &Path) -> Result<bool, RunError> {
    match lock.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(RunError::Failed(format!(
            "cannot lock {}: {error}; choose a folder on a local disk with --results or PRONY_HOME",
            path.display()
        ))),
    }
}

/// Writes a file beside its place and renames it: a reader never finds half of it, and a link in its place is replaced, not followed.
pub(crate) fn write_aside(path: &Path, text: &str) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    // A killed process of the same number may have left one.
    let _ = std::fs::remove_file(&aside);
    let write = || {
        File::create_new(&aside)?.write_all(text.as_bytes())?;
        std::fs::rename(&aside, path)
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(&aside);
    })
}

fn cannot_make(path: &Path, error: &std::io::Error) -> RunError {
    RunError::Usage(format!(
        "cannot create the results folder {}: {error}; choose another with --results",
        path.display()
    ))
}

/// The newest run, wherever a run is named.
const LATEST: &str = "@latest";
/// Names of a record in its folder: as it is written, and as it may be kept.
const RECORDS: [&str; 3] = ["run.sqlite", "run.sqlite.zst", "run.sqlite.gz"];

/// Finds the folder of a run by its path, by its run.sqlite, by its name in the results folder, or by `@latest`.
pub(crate) fn find(results: &Path, run: &str) -> Result<PathBuf, RunError> {
    let there = |path: &&PathBuf| path.join(RECORDS[0]).is_file();
    let candidates = candidates(results, run)?;
    candidates
        .iter()
        .find(there)
        .cloned()
        .ok_or_else(|| not_found(results, run, &candidates))
}

/// Finds the record of a run. It may be compressed, and it may have any name.
pub(crate) fn record(results: &Path, run: &str) -> Result<PathBuf, RunError> {
    let given = Path::new(run);
    if given.is_file() {
        return Ok(given.to_path_buf());
    }
    let candidates = candidates(results, run)?;
    let in_folder = |folder: &PathBuf| RECORDS.map(|name| folder.join(name));
    let mut records = candidates.iter().flat_map(in_folder);
    records
        .find(|record| record.is_file())
        .ok_or_else(|| not_found(results, run, &candidates))
}

/// The folders that a name may mean.
fn candidates(results: &Path, run: &str) -> Result<Vec<PathBuf>, RunError> {
    if run == LATEST {
        let newest = runs(results).pop();
        return newest.map(|run| vec![run.folder]).ok_or_else(|| {
            RunError::Usage(format!(
                "{LATEST}: no run in {}; choose the folder with --results",
                results.display()
            ))
        });
    }
    let given = Path::new(run);
    let given = if given.file_name().is_some_and(|name| name == RECORDS[0]) {
        given.parent().unwrap_or(given)
    } else {
        given
    };
    let mut candidates = vec![given.to_path_buf(), results.join(run)];
    candidates.dedup();
    Ok(candidates)
}

fn not_found(results: &Path, run: &str, candidates: &[PathBuf]) -> RunError {
    let looked = candidates.iter().map(|path| path.join(RECORDS[0]));
    let looked: Vec<String> = looked.map(|path| path.display().to_string()).collect();
    let latest = runs(results).pop().map(|run| {
        let name = run.folder.file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        format!("; the newest run in the results folder is {name} ({LATEST})")
    });
    RunError::Usage(format!(
        "run {run} not found: no file {}{}",
        looked.join(" and no file "),
        latest.unwrap_or_default()
    ))
}

/// A folder with a record.
pub(crate) struct Recorded {
    pub folder: PathBuf,
    pub record: PathBuf,
    /// An error where the record cannot be read.
    pub run: Result<Run, StoreError>,
}

/// The runs of a results folder by the time they began; records that cannot be read come first.
pub(crate) fn runs(results: &Path) -> Vec<Recorded> {
    let entries = std::fs::read_dir(results).into_iter().flatten().flatten();
    let recorded = |folder: PathBuf| {
        let mut records = RECORDS.iter().map(|name| folder.join(name));
        let record = records.find(|record| record.is_file())?;
        Some(Recorded {
            run: Store::open(&record).and_then(|store| store.run()),
            record,
            folder,
        })
    };
    let mut runs: Vec<Recorded> = entries.filter_map(|entry| recorded(entry.path())).collect();
    runs.sort_by_key(|run| {
        (
            run.run.as_ref().ok().map(|run| run.started_ns),
            run.folder.clone(),
        )
    });
    runs
}

/// The name of a trial's server log in `logs/`.
pub(crate) fn log_name(key: &TrialKey) -> String {
    // A control's label ends in `(control)`, which tells its log from its twin's.
    let whole = format!("{}-block{}.log", key.label(), key.block + 1);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    whole
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_that_start_in_the_same_second_get_two_folders() {
        let results = tempfile::tempdir().unwrap();
        let one = RunFolder::create(results.path(), "quickstart").unwrap();
        let two = RunFolder::create(results.path(), "quickstart").unwrap();
        assert_ne!(one.path, two.path);
    }

    #[test]
    fn a_run_that_is_being_written_cannot_be_resumed() {
        let results = tempfile::tempdir().unwrap();
        let writing = RunFolder::create(results.path(), "x").unwrap();
        std::fs::write(writing.store(), "").unwrap();
        let error = RunFolder::open(results.path(), &writing.id())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("another prony process is writing to this run"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_cannot_be_locked_is_not_taken_for_that_of_another_process() {
        use std::os::unix::fs::OpenOptionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = File::create(&path).unwrap();
        assert!(try_lock(&lock, &path).unwrap());
        assert!(!try_lock(&File::open(&path).unwrap(), &path).unwrap());
        // The kernel locks no file that is open for its path alone.
        let flags = rustix::fs::OFlags::PATH.bits() as i32;
        let mut options = File::options();
        let unfit = options.read(true).custom_flags(flags).open(&path).unwrap();
        let says = try_lock(&unfit, &path).unwrap_err().to_string();
        assert!(says.starts_with("cannot lock "), "{says}");
        assert!(says.contains("with --results or PRONY_HOME"), "{says}");
    }

    #[test]
    fn a_link_in_place_of_the_report_is_replaced_and_not_followed() {
        let results = tempfile::tempdir().unwrap();
        let (page, other) = (results.path().join("report.html"), results.path().join("x"));
        std::fs::write(&other, "of somebody else").unwrap();
        std::os::unix::fs::symlink(&other, &page).unwrap();
        write_aside(&page, "a page").unwrap();
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "of somebody else");
        assert_eq!(std::fs::read_to_string(&page).unwrap(), "a page");
        assert!(!page.is_symlink());
        assert_eq!(std::fs::read_dir(results.path()).unwrap().count(), 2);
    }

    #[test]
    fn an_unknown_run_is_refused_with_the_name_of_the_newest() {
        let results = tempfile::tempdir().unwrap();
        let there = RunFolder::create(results.path(), "quickstart").unwrap();
        std::fs::write(there.store(), "").unwrap();
        let error = find(results.path(), "nothing").unwrap_err().to_string();
        assert!(
            error.contains("run nothing not found") && error.contains(&there.id()),
            "{error}"
        );
    }

    #[test]
    fn a_kept_record_is_found_in_its_folder_and_by_its_own_name() {
        let results = tempfile::tempdir().unwrap();
        let folder = results.path().join("kept");
        std::fs::create_dir(&folder).unwrap();
        let packed = folder.join("run.sqlite.zst");
        std::fs::write(&packed, "").unwrap();
        let named = packed.display().to_string();
        for run in ["kept", &named] {
            assert_eq!(record(results.path(), run).unwrap(), packed);
        }
        assert!(find(results.path(), "kept").is_err());
    }

    #[test]
    fn latest_without_a_run_is_refused_with_the_folder() {
        let results = tempfile::tempdir().unwrap();
        let error = record(results.path(), "@latest").unwrap_err().to_string();
        let folder = results.path().display().to_string();
        assert!(error.contains("@latest: no run in") && error.contains(&folder));
    }

    #[test]
    fn a_log_file_is_named_after_its_trial() {
        let key = TrialKey {
            block: 0,
            server: Some("5.6".into()),
            levels: vec![("variant".into(), "pool/8".into())],
            role: record::Role::Measured,
        };
        assert_eq!(log_name(&key), "5.6_pool_8-block1.log");
        let control = TrialKey {
            role: record::Role::Control,
            ..key
        };
        assert_eq!(log_name(&control), "5.6_pool_8__control_-block1.log");
    }
}
