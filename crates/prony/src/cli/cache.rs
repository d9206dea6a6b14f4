//! `prony cache list|prune`: what PRONY_HOME holds, and how to get the disk space back.

use super::failure::{Failure, Status, print};
use super::terminal;
use crate::run::is_measuring;
use crate::run::prepare::dataset::{BUILDING, lock_of};
use host::{Home, disk};
use server::Cache;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// On narrower screens, names are cut by the terminal.
const NAME_COLUMNS_MIN: usize = 20;

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// List server builds and loaded datasets, with their sizes
    List,
    /// Remove server builds and loaded datasets that were not used lately; the next run gets them again
    Prune {
        /// Days since the last use
        #[arg(long, value_name = "DAYS", default_value_t = 30)]
        unused: u64,
    },
}

pub(super) fn run(command: Command) -> Result<Status, Failure> {
    let home = Home::from_environment().map_err(Failure::usage)?;
    match command {
        Command::List => list(&home),
        Command::Prune { unused } => prune(&home, unused),
    }
}

#[derive(Clone, Copy)]
enum CachedKind {
    Build,
    /// Of one server build.
    Dataset,
}

/// What the cache holds.
struct Entry {
    kind: CachedKind,
    name: String,
    folder: PathBuf,
    bytes: u64,
    unused: Duration,
}

impl Entry {
    /// False for a build in use.
    fn remove(&self, cache: &Cache) -> Result<bool, Failure> {
        if let CachedKind::Build = self.kind {
            return cache.remove(&self.name).map_err(Failure::failed);
        }
        fs::remove_dir_all(&self.folder).map_err(|error| {
            Failure::failed(format!("cannot remove {}: {error}", self.folder.display()))
        })?;
        let _ = fs::remove_file(lock_of(&self.folder));
        Ok(true)
    }
}

fn list(home: &Home) -> Result<Status, Failure> {
    let head = row("kind", "size", "unused", "name");
    let entries = entries(home).into_iter().map(|entry| {
        let kind = match entry.kind {
            CachedKind::Build => "build",
            CachedKind::Dataset => "dataset",
        };
        line(kind, entry.bytes, &days(entry.unused), &entry.name)
    });
    let mut lines: Vec<String> = [head].into_iter().chain(entries).collect();
    lines.push(format!("in {}", home.root().display()));
    print(&lines.join("\n"));
    Ok(Status::Done)
}

fn line(kind: &str, bytes: u64, unused: &str, name: &str) -> String {
    row(kind, &disk::shown(bytes), unused, name)
}

/// Long names go on in further lines, below their beginning.
fn row(kind: &str, size: &str, unused: &str, name: &str) -> String {
    let start = format!("{kind:8} {size:>9} {unused:>8}  ");
    let columns = terminal::width().saturating_sub(start.len());
    let below = format!("\n{:1$}", "", start.len());
    start + &report::wrapped(name, columns.max(NAME_COLUMNS_MIN)).join(&below)
}

/// Refused while a run may be using the builds and datasets.
fn prune(home: &Home, unused_days: u64) -> Result<Status, Failure> {
    if is_measuring(home) {
        return Err(Failure::usage(
            "another prony process is loading or measuring with these builds and datasets; wait for it",
        ));
    }
    let old = Duration::from_secs(unused_days.saturating_mul(24 * 3600));
    let cache = Cache::new(home);
    let (mut freed, mut removed) = (0, 0);
    let entries = entries(home).into_iter();
    for entry in entries.filter(|entry| entry.unused >= old) {
        let is_removed = entry.remove(&cache)?;
        let word = if is_removed { "removed" } else { "in use" };
        print(&line(word, entry.bytes, "", &entry.name));
        if is_removed {
            (freed, removed) = (freed + entry.bytes, removed + 1);
        }
    }
    print(&format!("{removed} removed, {} freed", disk::shown(freed)));
    Ok(Status::Done)
}

/// Builds, then datasets, each by name.
fn entries(home: &Home) -> Vec<Entry> {
    let builds = Cache::new(home).held().into_iter().map(|held| {
        let folder = home.builds().join(&held.name);
        Entry {
            kind: CachedKind::Build,
            bytes: held.bytes,
            unused: unused(&folder),
            name: held.name,
            folder,
        }
    });
    builds.chain(datasets(home)).collect()
}

/// A folder that is being built is not one.
fn datasets(home: &Home) -> Vec<Entry> {
    let entries = fs::read_dir(home.snapshots())
        .into_iter()
        .flatten()
        .flatten();
    let dataset = |folder: PathBuf| {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        let is_one = folder.is_dir() && !name.starts_with(BUILDING);
        is_one.then(|| Entry {
            kind: CachedKind::Dataset,
            bytes: disk::used(&folder).unwrap_or(0),
            unused: unused(&folder),
            name,
            folder,
        })
    };
    let mut all: Vec<Entry> = entries.filter_map(|entry| dataset(entry.path())).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Time since the last use, which is in the lock beside the folder.
fn unused(folder: &Path) -> Duration {
    let times = [lock_of(folder), folder.to_path_buf()].into_iter();
    let used = times.filter_map(|path| path.metadata().ok()?.modified().ok());
    let unused = used.max().and_then(|used| used.elapsed().ok());
    unused.unwrap_or_default()
}

fn days(time: Duration) -> String {
    record::plural(time.as_secs() as usize / (24 * 3600), "day")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by `server::Cache`.
    const BUILD: &str = r#"{"format":1,"build":"mysql@5.6.14","origin":[],"artifact_sha256":null,"manifest":{"files":{}}}"#;

    #[test]
    fn prune_removes_builds_and_datasets_that_are_old_enough_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let home = Home::at(root.path()).unwrap();
        let folder = home.snapshots().join("mariadb-oltp");
        fs::create_dir_all(folder.join("data")).unwrap();
        fs::write(folder.join("data/ibdata1"), vec![1; 10_000]).unwrap();
        fs::write(lock_of(&folder), "").unwrap();
        let build = home.builds().join("mysql@5.6.14");
        fs::create_dir_all(&build).unwrap();
        fs::write(build.join("build.json"), BUILD).unwrap();
        let building = home.snapshots().join("building-1-mariadb");
        fs::create_dir_all(&building).unwrap();
        prune(&home, 1).unwrap();
        assert!(folder.exists() && build.exists());
        prune(&home, 0).unwrap();
        assert!(!folder.exists() && !lock_of(&folder).exists());
        assert!(!build.exists() && building.exists());
    }
}
