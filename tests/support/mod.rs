//! Shared by the end-to-end tests: a private home on top of the user's build cache, real servers, and the prony binary.

use record::TrialKey;
use store::{Store, StoreError};

pub(crate) mod elsewhere;
pub(crate) mod fresh;
pub(crate) mod hostile;
pub(crate) mod packets;
pub(crate) mod process;
pub(crate) mod proxy;
pub(crate) mod random;
pub(crate) mod skip;
pub(crate) mod sound;
pub(crate) mod switch;
pub(crate) mod tier;
pub(crate) mod timed;

use host::volume::{DiskOptions, Filesystem, VolumeOptions};
use host::{Home, Lease, Leases};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

/// Snapshots shared by several tests. The guard removes them after the test binary has ended.
static SNAPSHOTS: LazyLock<Lease> = LazyLock::new(|| {
    let home = Home::at(user_home()).unwrap();
    let leases = Leases::open(&home).unwrap();
    leases.temporary("snapshots").unwrap()
});

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A text without the line breaks and columns of a terminal.
pub(crate) fn in_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is measured, again where a busy machine or disk has hidden what is to be found, and at most so many `times`.
pub(crate) fn repeated<T>(
    times: usize,
    measure: impl Fn() -> T,
    is_found: impl Fn(&T) -> bool,
) -> T {
    let mut measured = measure();
    for _ in 1..times {
        if is_found(&measured) {
            break;
        }
        measured = measure();
    }
    measured
}

/// Whether a build is available, checked once per build.
static BUILDS: Mutex<BTreeMap<String, Arc<OnceLock<bool>>>> = Mutex::new(BTreeMap::new());

/// A temporary folder with its own PRONY_HOME and a results folder. Builds come from the user's cache, so they are
/// downloaded only once.
pub(crate) struct Bench {
    pub folder: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let builds = user_home().join("builds");
        std::fs::create_dir_all(&builds).unwrap();
        std::fs::create_dir_all(folder.path().join("home")).unwrap();
        std::os::unix::fs::symlink(&builds, folder.path().join("home/builds")).unwrap();
        Bench { folder }
    }

    /// A bench that shares snapshots with other such benches, so that each dataset is loaded once. For tests that neither test loading
    /// nor damage data.
    pub(crate) fn with_shared_snapshots() -> Bench {
        let bench = Bench::new();
        std::os::unix::fs::symlink(SNAPSHOTS.path(), bench.snapshots()).unwrap();
        bench
    }

    fn snapshots(&self) -> PathBuf {
        self.home().join("snapshots")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    /// The command `prony ARGUMENTS`, ready to run.
    pub(crate) fn prony(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command
            .args(arguments)
            .env("PRONY_HOME", self.home())
            .env_remove("COLUMNS")
            .current_dir(self.folder.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        Ended::from(self.prony(arguments).output().unwrap())
    }

    /// Runs `prony WORDS`; the words are separated by spaces and not quoted.
    pub(crate) fn line(&self, words: &str) -> Ended {
        self.run(&words.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.prony(arguments).spawn().unwrap()
    }

    /// Writes an experiment file. Returns its path. Tests measure briefly, and some beside another prony process, which the file has
    /// to allow.
    pub(crate) fn experiment(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(format!("{name}.toml"));
        let short = if text.contains("\ntime") {
            "short = true\n"
        } else {
            ""
        };
        let allows = format!("[protocol]\nshared_machine = true\n{short}");
        std::fs::write(&path, text.replacen("[protocol]\n", &allows, 1)).unwrap();
        path.display().to_string()
    }

    /// The folders of the runs, oldest first.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let mut runs: Vec<PathBuf> = std::fs::read_dir(self.results())
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        runs.sort();
        runs
    }

    /// How many trials the last run has finished so far.
    pub(crate) fn finished(&self) -> usize {
        self.runs().last().map_or(0, |run| {
            finished(&run.join("run.sqlite")).map_or(0, |keys| keys.len())
        })
    }

    pub(crate) fn json(&self, run: &Path) -> serde_json::Value {
        let shown = self.run(&["show", &run.display().to_string(), "--format", "json"]);
        assert_eq!(shown.status, 0, "{}", shown.stderr);
        serde_json::from_str(&shown.stdout).unwrap()
    }

    /// Processes whose command line or environment mentions this bench's home: servers, guards, helpers.
    pub(crate) fn processes(&self) -> Vec<String> {
        let home = self.home().display().to_string();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let pid = entry.file_name().to_string_lossy().into_owned();
            if !pid.bytes().all(|byte| byte.is_ascii_digit())
                || pid == std::process::id().to_string()
            {
                continue;
            }
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let names = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(&home);
            if names(&line) || names(&environment) {
                found.push(format!(
                    "{pid}: {}",
                    String::from_utf8_lossy(&line).replace('\0', " ")
                ));
            }
        }
        found
    }

    /// Waits until no process of this bench is running; the guard needs a moment after a kill.
    pub(crate) fn wait_until_quiet(&self) {
        let left = format!("the end of {:#?}", self.processes());
        process::until(&left, || {
            // Looking at every process of the machine takes CPU time from the guard.
            std::thread::sleep(std::time::Duration::from_millis(40));
            self.processes().is_empty()
        });
    }

    /// Files that an ended prony process must not leave: instances and clones, unfinished snapshots, journals.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        let below = |name: &str| {
            std::fs::read_dir(self.home().join(name))
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
        };
        // In a shared folder another test may be loading a dataset.
        let is_shared = self.snapshots().is_symlink();
        let building = below("snapshots").filter(|path| {
            !is_shared
                && path
                    .file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with("building-"))
        });
        let journals = below("leases").filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "journal")
        });
        below("work").chain(building).chain(journals).collect()
    }
}

pub(crate) struct Ended {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        Ended {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn user_home() -> PathBuf {
    if let Some(home) = std::env::var_os("PRONY_HOME") {
        return home.into();
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    cache
        .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"))
        .join("prony")
}

/// Whether a build is available. Downloads it into the user's cache once for all tests, and prints the reason if it fails.
pub(crate) fn has(build: &str) -> bool {
    let known = BUILDS
        .lock()
        .unwrap()
        .entry(build.into())
        .or_default()
        .clone();
    *known.get_or_init(|| get(build))
}

fn get(build: &str) -> bool {
    let got = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["server", "get", build])
        .env("PRONY_HOME", user_home())
        .output()
        .unwrap();
    if got.status.success() {
        return true;
    }
    let reason = String::from_utf8_lossy(&got.stderr);
    skip::skipped(&format!("{build} is not available: {reason}"));
    false
}

/// Whether this machine can set limits: needs root, and the controllers of cgroups v1 or v2.
pub(crate) fn can_limit() -> bool {
    let version_1 = ["blkio", "memory", "cpu"]
        .iter()
        .all(|name| Path::new("/sys/fs/cgroup").join(name).is_dir());
    let version_2 =
        std::fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").is_ok_and(|names| {
            ["io", "memory", "cpu"]
                .iter()
                .all(|name| names.contains(name))
        });
    let can = rustix::process::geteuid().is_root() && (version_1 || version_2);
    if !can {
        skip::skipped("limits need root and control group controllers");
    }
    can
}

/// A volume that forgets what is not flushed.
pub(crate) fn volatile(filesystem: Filesystem) -> VolumeOptions {
    VolumeOptions {
        filesystem,
        volatile: Some(DiskOptions::default()),
        ..VolumeOptions::default()
    }
}

/// Whether this machine can have the volume: needs root, loop devices, and FUSE for one that forgets.
pub(crate) fn can_have(options: &VolumeOptions) -> bool {
    host::volume::check(options)
        .inspect_err(|error| skip::skipped(&error.to_string()))
        .is_ok()
}

pub(crate) fn can_mount() -> bool {
    can_have(&VolumeOptions::default())
}

pub(crate) fn can_cut() -> bool {
    can_have(&volatile(Filesystem::Ext4))
}

/// The keys of the trials that a run has finished so far. The prony process that writes the run may still be running.
pub(crate) fn finished(store: &Path) -> Result<Vec<TrialKey>, StoreError> {
    Store::open(store)?.finished()
}
