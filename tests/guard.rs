//! Tests that a killed prony process leaves nothing behind.
//!
//! The killed process is this test program, started again for the first test below, which then waits while it holds its leases.
//! As root it mounts a file system too.
//!
//! Tier: default.

use host::process::start_ticks;
use host::{Home, Leases};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Set in the process that other tests kill: the home of its leases.
const HOME: &str = "PRONY_TEST_HOLDER_HOME";

#[test]
fn what_a_process_holds_is_released_in_order() {
    let own = tempfile::tempdir().unwrap();
    let waits_in = std::env::var_os(HOME).map(PathBuf::from);
    let home = waits_in.as_deref().unwrap_or(own.path());
    let leases = Leases::open_with(&Home::at(home).unwrap(), Some(&prony())).unwrap();
    let folder = leases.temporary("instance").unwrap();
    std::fs::write(folder.path().join("data"), "rows").unwrap();
    let volume = folder.path().join("volume");
    std::fs::create_dir(&volume).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let mount = is_root.then(|| leases.mount(&volume, "none", "tmpfs", "size=1m").unwrap());
    let mut sleep = leases.command("sleep");
    // It keeps the file system busy.
    let mut child = sleep.arg("1000").current_dir(&volume).spawn().unwrap();
    let grandchild = "(trap '' TERM HUP INT; sleep 1000) >/dev/null 2>&1 & echo $!; wait";
    let mut shell = leases
        .command("sh")
        .args(["-c", grandchild])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut deep = String::new();
    BufReader::new(shell.stdout.as_mut().unwrap())
        .read_line(&mut deep)
        .unwrap();
    println!();
    println!(
        "holds {} {} {}",
        leases.guard_pid().unwrap(),
        child.id(),
        deep.trim()
    );
    println!("holds {}", folder.path().display());
    if waits_in.is_some() {
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    }
    drop((mount, folder, leases));
    assert!(!volume.exists());
    child.wait().unwrap();
    shell.wait().unwrap();
}

/// The name of the test above.
const HOLDS: &str = "guard::what_a_process_holds_is_released_in_order";

/// A prony process with a leased folder, a file system mounted in it (as root), and three child processes.
struct Holder {
    process: Child,
    guard: Process,
    children: Vec<Process>,
    folder: PathBuf,
}

impl Holder {
    fn start(home: &Path) -> Holder {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", HOLDS, "--nocapture"])
            .env(HOME, home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        let mut pids = held(&mut lines)
            .split(' ')
            .map(|pid| Process::now(pid.parse().unwrap()))
            .collect::<Vec<_>>();
        let folder = PathBuf::from(held(&mut lines));
        // Drain the rest of its output, so that it never writes to a closed pipe.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Holder {
            process,
            guard: pids.remove(0),
            children: pids,
            folder,
        }
    }

    fn holds_everything(&self) -> bool {
        self.children.iter().all(Process::is_running)
            && self.folder.join("data").exists()
            && self.is_mounted() == rustix::process::geteuid().is_root()
    }

    fn holds_nothing(&self) -> bool {
        !self.children.iter().any(Process::is_running)
            && !self.folder.exists()
            && !self.is_mounted()
    }

    fn is_mounted(&self) -> bool {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        mounts.contains(self.folder.join("volume").to_str().unwrap())
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }
}

fn held(lines: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    while !line.starts_with("holds ") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the holder ended");
    }
    line["holds ".len()..].trim_end().to_string()
}

/// A process, identified by its id and start time.
struct Process {
    pid: u32,
    start_ticks: u64,
}

impl Process {
    fn now(pid: u32) -> Process {
        Process {
            pid,
            start_ticks: start_ticks(pid).unwrap(),
        }
    }

    /// Whether the process is running. A zombie is not.
    fn is_running(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let state = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next());
        start_ticks(self.pid) == Some(self.start_ticks) && !matches!(state, Some('Z' | 'X') | None)
    }

    fn kill(&self) {
        Command::new("kill")
            .args(["-KILL", &self.pid.to_string()])
            .status()
            .unwrap();
    }

    fn wait(&self) {
        while self.is_running() {
            std::thread::yield_now();
        }
    }
}

fn prony() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_prony"))
}

fn journals(home: &Path) -> usize {
    std::fs::read_dir(home.join("leases")).unwrap().count()
}

#[test]
fn the_guard_of_a_killed_prony_kills_its_processes_unmounts_and_removes_its_folders() {
    let home = tempfile::tempdir().unwrap();
    let mut dead = Holder::start(home.path());
    let living = Holder::start(home.path());
    assert!(dead.holds_everything());
    dead.kill();
    dead.guard.wait();
    assert!(dead.holds_nothing());
    assert!(living.holds_everything());
    assert_eq!(journals(home.path()), 1);
    living.end();
}

#[test]
fn the_next_start_cleans_up_after_a_killed_guard_but_spares_running_processes() {
    let home = tempfile::tempdir().unwrap();
    let mut dead = Holder::start(home.path());
    let living = Holder::start(home.path());
    dead.guard.kill();
    dead.guard.wait();
    dead.kill();
    assert!(dead.holds_everything());
    let next = Leases::open_with(&Home::at(home.path()).unwrap(), Some(&prony())).unwrap();
    assert_eq!((next.swept().pronys, next.swept().problems.len()), (1, 0));
    assert!(dead.holds_nothing());
    assert!(living.holds_everything());
    living.end();
}

#[test]
fn a_clean_exit_leaves_no_process_folder_or_journal() {
    let home = tempfile::tempdir().unwrap();
    let leases = Leases::open_with(&Home::at(home.path()).unwrap(), Some(&prony())).unwrap();
    let guard = Process::now(leases.guard_pid().unwrap());
    let folder = leases.temporary("build").unwrap();
    let path = folder.path().to_path_buf();
    let mut child = leases.command("sleep").arg("1000").spawn().unwrap();
    drop(leases);
    assert!(
        guard.is_running() && path.exists(),
        "a lease keeps the guard running"
    );
    drop(folder);
    assert!(!guard.is_running() && !path.exists() && journals(home.path()) == 0);
    assert!(!child.wait().unwrap().success());
}

#[test]
fn the_guard_ignores_termination_signals_of_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let mut dead = Holder::start(home.path());
    for signal in ["-INT", "-HUP", "-TERM"] {
        Command::new("kill")
            .args([signal, &dead.guard.pid.to_string()])
            .status()
            .unwrap();
    }
    assert!(dead.guard.is_running());
    dead.kill();
    dead.guard.wait();
    assert!(dead.holds_nothing());
}

#[test]
fn concurrent_starts_clean_up_the_same_leftovers_only_once() {
    let home = tempfile::tempdir().unwrap();
    let mut dead = Holder::start(home.path());
    dead.guard.kill();
    dead.guard.wait();
    dead.kill();
    let open = || Leases::open_with(&Home::at(home.path()).unwrap(), Some(&prony())).unwrap();
    let swept = std::thread::scope(|scope| {
        let starts = [scope.spawn(open), scope.spawn(open), scope.spawn(open)];
        starts
            .map(|start| start.join().unwrap())
            .iter()
            .map(|leases| leases.swept().pronys)
            .sum::<usize>()
    });
    assert_eq!(swept, 1);
    assert_eq!(
        dead.children
            .iter()
            .filter(|child| child.is_running())
            .count(),
        0
    );
}
