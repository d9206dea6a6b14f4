//! The folder of a run: `results/NAME-TIME/` with run.sqlite, logs and report.html.
//!
//! Purpose: a unique name for every run, even if two start in the same second, and one writer at a time.

use super::RunError;
use record::TrialKey;
use std::fs::File;
use std::path::{Path, PathBuf};

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
        let began = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
        for attempt in 1.. {
            let suffix = if attempt == 1 {
                String::new()
            } else {
                format!("-{attempt}")
            };
            let path = results.join(format!("{name}-{began}{suffix}"));
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
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).map_err(
            |_| {
                RunError::Usage(format!(
                    "{}: another prony process is writing to this run; wait for it or stop it",
                    path.display()
                ))
            },
        )?;
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

fn cannot_make(path: &Path, error: &std::io::Error) -> RunError {
    RunError::Usage(format!(
        "cannot create the results folder {}: {error}; choose another with --results",
        path.display()
    ))
}

/// Finds a run by its folder, by its run.sqlite, or by its name in the results folder.
pub(crate) fn find(results: &Path, run: &str) -> Result<PathBuf, RunError> {
    let given = Path::new(run);
    let given = if given.file_name().is_some_and(|name| name == "run.sqlite") {
        given.parent().unwrap_or(given)
    } else {
        given
    };
    let mut candidates = vec![given.to_path_buf(), results.join(run)];
    candidates.dedup();
    let there = |path: &&PathBuf| path.join("run.sqlite").is_file();
    candidates.iter().find(there).cloned().ok_or_else(|| {
        let looked: Vec<String> = candidates
            .iter()
            .map(|path| path.join("run.sqlite").display().to_string())
            .collect();
        RunError::Usage(format!(
            "run {run} not found: no file {}{}",
            looked.join(" and no file "),
            latest(results)
        ))
    })
}

/// A hint that names the newest run.
fn latest(results: &Path) -> String {
    let runs = std::fs::read_dir(results)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join("run.sqlite").is_file());
    match runs.max_by_key(|entry| entry.metadata().and_then(|data| data.modified()).ok()) {
        Some(run) => format!(
            "; the newest run in the results folder is {}",
            run.file_name().to_string_lossy()
        ),
        None => String::new(),
    }
}

/// The name of a trial's server log in `logs/`.
pub(crate) fn log_name(key: &TrialKey) -> String {
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
    fn a_log_file_is_named_after_its_trial() {
        let key = TrialKey {
            block: 0,
            server: Some("5.6".into()),
            levels: vec![("variant".into(), "pool/8".into())],
        };
        assert_eq!(log_name(&key), "5.6_pool_8-block1.log");
    }
}
