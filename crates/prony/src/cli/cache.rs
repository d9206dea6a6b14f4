//! `prony cache list|prune`: what PRONY_HOME holds, and how to get the disk space back.

use super::failure::{Failure, Status, print};
use super::terminal;
use crate::run::dataset::{BUILDING, lock_of};
use crate::run::is_measuring;
use host::{Home, disk};
use server::Cache;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// On narrower screens, names are cut by the terminal.
const NAME_COLUMNS_MIN: usize = 20;

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// List server builds and loaded datasets, with their sizes
    List,
    /// Remove loaded datasets that were not used lately; the next run loads them again
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

/// A loaded dataset of one server build.
struct Snapshot {
    name: String,
    folder: PathBuf,
    bytes: u64,
    unused: Duration,
}

fn list(home: &Home) -> Result<Status, Failure> {
    let builds = Cache::new(home).held().into_iter();
    let builds = builds.map(|build| line("build", build.bytes, "", &build.name));
    let datasets = snapshots(home).into_iter().map(|snapshot| {
        line(
            "dataset",
            snapshot.bytes,
            &days(snapshot.unused),
            &snapshot.name,
        )
    });
    let head = row("kind", "size", "unused", "name");
    let mut lines: Vec<String> = [head].into_iter().chain(builds).chain(datasets).collect();
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

/// Refused while a run may be using the datasets.
fn prune(home: &Home, unused_days: u64) -> Result<Status, Failure> {
    if is_measuring(home) {
        return Err(Failure::usage(
            "another prony process is loading or measuring with these datasets; wait for it",
        ));
    }
    let old = Duration::from_secs(unused_days.saturating_mul(24 * 3600));
    let all = snapshots(home).into_iter();
    let (mut freed, mut removed) = (0, 0);
    for snapshot in all.filter(|snapshot| snapshot.unused >= old) {
        fs::remove_dir_all(&snapshot.folder).map_err(|error| {
            Failure::failed(format!(
                "cannot remove {}: {error}",
                snapshot.folder.display()
            ))
        })?;
        let _ = fs::remove_file(lock_of(&snapshot.folder));
        print(&line("removed", snapshot.bytes, "", &snapshot.name));
        (freed, removed) = (freed + snapshot.bytes, removed + 1);
    }
    let datasets = if removed == 1 { "dataset" } else { "datasets" };
    print(&format!(
        "{removed} {datasets} removed, {} freed",
        disk::shown(freed)
    ));
    Ok(Status::Done)
}

/// By name. A folder that is being built is not one.
fn snapshots(home: &Home) -> Vec<Snapshot> {
    let entries = fs::read_dir(home.snapshots())
        .into_iter()
        .flatten()
        .flatten();
    let snapshot = |folder: PathBuf| {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        if !folder.is_dir() || name.starts_with(BUILDING) {
            return None;
        }
        let used = [lock_of(&folder), folder.clone()].into_iter();
        let used = used
            .filter_map(|path| path.metadata().ok()?.modified().ok())
            .max();
        let unused = used.and_then(|used| SystemTime::now().duration_since(used).ok());
        Some(Snapshot {
            bytes: disk::used(&folder).unwrap_or(0),
            unused: unused.unwrap_or_default(),
            name,
            folder,
        })
    };
    let mut all: Vec<Snapshot> = entries.filter_map(|entry| snapshot(entry.path())).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn days(time: Duration) -> String {
    match time.as_secs() / (24 * 3600) {
        1 => "1 day".to_string(),
        days => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prune_removes_datasets_that_are_old_enough_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let home = Home::at(root.path()).unwrap();
        let folder = home.snapshots().join("mariadb-oltp");
        fs::create_dir_all(folder.join("data")).unwrap();
        fs::write(folder.join("data/ibdata1"), vec![1; 10_000]).unwrap();
        fs::write(lock_of(&folder), "").unwrap();
        let building = home.snapshots().join("building-1-mariadb");
        fs::create_dir_all(&building).unwrap();
        prune(&home, 1).unwrap();
        assert!(folder.exists());
        prune(&home, 0).unwrap();
        assert!(!folder.exists() && !lock_of(&folder).exists());
        assert!(building.exists());
    }
}
