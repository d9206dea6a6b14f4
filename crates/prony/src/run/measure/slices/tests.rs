//! Servers that cannot be stopped, and trials that panic, in groups that take turns. Processes that sleep are their servers.

use super::*;
use crate::run::measure::trial::blank;
use crate::run::tests::read_on_server;
use record::TrialState;
use server::ServerError;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// A process that has not ended.
pub(super) fn process(pid: u32) -> Process {
    Process {
        pid,
        exit: Arc::new(|| None),
        kill: Arc::new(|| Ok(())),
    }
}

/// A server of this process, whose load is over.
pub(in super::super) fn connected(pid: u32) -> Connected {
    let targets = observe::Targets::default();
    let edges = observe::Prepared::new(targets).unwrap().at_edges();
    Connected {
        turns: Arc::default(),
        server: process(pid),
        uptime: Arc::default(),
        edges: Arc::new(Mutex::new(edges)),
    }
}

/// No process has this number, so it cannot be stopped.
const UNSTOPPABLE: u32 = 0;

/// Measures cells of which each begins with what `server` does. Returns why each failed; None where none did.
fn failures(cells: usize, server: impl Fn(usize) -> Connected + Sync) -> Vec<Option<String>> {
    let text = "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.oltp]\n[load.closed]\nclients = 1\n[protocol]\ntime = '20s'\n";
    let experiment = read_on_server(text);
    let laps = Laps::new(Duration::from_secs(1), 0, 1);
    let hosts: Vec<usize> = (0..cells).collect();
    let trials = measure(&experiment.protocol, &hosts, laps, |number, seat| {
        let mut trial = blank();
        let failed = seat.map_or_else(Some, |seat| {
            seat.hand_over(server(number));
            seat.wait().failed
        });
        if let Some(why) = failed {
            trial.fail(why);
        }
        Ok(trial)
    });
    let trials = trials.unwrap().into_iter();
    let why = |trial: Trial| match trial.state {
        TrialState::Done => None,
        _ => trial.reason().map(String::from),
    };
    trials.map(why).collect()
}

pub(super) fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat[stat.rfind(')').unwrap() + 2..].starts_with('T')
}

pub(super) fn sleeper() -> Child {
    Command::new("sleep").arg("1000").spawn().unwrap()
}

#[test]
fn a_server_that_cannot_be_stopped_is_killed_and_the_others_take_turns() {
    let mut other = sleeper();
    let pid = other.id();
    let failed = failures(2, |number| {
        connected(if number == 0 { UNSTOPPABLE } else { pid })
    });
    other.kill().unwrap();
    other.wait().unwrap();
    let own = failed[0].as_ref().unwrap();
    assert!(
        own.contains("could not be stopped between two slices, and was killed"),
        "{own}"
    );
    assert_eq!(failed[1], None);
}

#[test]
fn what_has_the_number_of_a_server_that_has_ended_is_not_stopped() {
    let mut other = sleeper();
    let pid = other.id();
    let was_stopped = AtomicBool::new(false);
    let failed = failures(2, |number| {
        // The first server has ended, and was to be stopped before the second one is prepared.
        was_stopped.fetch_or(is_stopped(pid), Relaxed);
        let has_ended = (number == 0).then(|| "killed by signal 9".to_string());
        let server = Process {
            exit: Arc::new(move || has_ended.clone()),
            ..process(pid)
        };
        Connected {
            server,
            ..connected(pid)
        }
    });
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(!was_stopped.into_inner());
    // Their trials find out by themselves.
    assert!(failed.iter().all(Option::is_none), "{failed:?}");
}

#[test]
fn a_server_is_killed_once() {
    let kills = Arc::new(AtomicU32::new(0));
    failures(3, |_| {
        let kills = kills.clone();
        let server = Process {
            kill: Arc::new(move || {
                kills.fetch_add(1, Relaxed);
                Ok(())
            }),
            ..process(UNSTOPPABLE)
        };
        Connected {
            server,
            ..connected(UNSTOPPABLE)
        }
    });
    assert_eq!(kills.load(Relaxed), 2, "the last one is alone then");
}

#[test]
fn a_server_that_runs_on_fails_all_trials_of_its_group() {
    let mut first = sleeper();
    let pid = first.id();
    let failed = failures(3, |number| match number {
        0 => connected(pid),
        _ => Connected {
            server: Process {
                kill: Arc::new(|| Err(ServerError::Unusable("still runs".into()))),
                ..process(UNSTOPPABLE)
            },
            ..connected(UNSTOPPABLE)
        },
    });
    first.kill().unwrap();
    first.wait().unwrap();
    for why in failed {
        let why = why.unwrap();
        assert!(why.contains("kept running beside the others"), "{why}");
    }
}

#[test]
fn a_panic_in_a_trial_leaves_no_other_one_waiting() {
    for panics in [0, 1] {
        let (send, ended) = channel();
        std::thread::spawn(move || {
            let panicked = std::panic::catch_unwind(|| {
                failures(3, |number| match number == panics {
                    true => panic!("deliberate"),
                    false => connected(UNSTOPPABLE),
                })
            });
            let _ = send.send(panicked.is_err());
        });
        assert_eq!(ended.recv_timeout(Duration::from_secs(60)), Ok(true));
    }
}
