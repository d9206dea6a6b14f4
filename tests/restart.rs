//! A server that is killed and restarted during a timed load: the trial continues.
//!
//! Tiers: default, all.

use crate::support::{Bench, has};
use host::{Home, Leases};
use prony::cli::experiment::{self, Overrides};
use prony::run::{Conducted, Means, Progress, Request, conduct_with};
use record::ServerIdentity;
use server::{Abilities, Node, Provider, Server, ServerError, SettingTable};
use spec::Dsn;
use spec::known::Known;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(600);

/// A real provider that sends a copy of each new server to the test.
struct Watched {
    inner: Box<dyn Provider>,
    made: Mutex<Sender<Server>>,
}

impl Provider for Watched {
    fn identity(&self) -> &ServerIdentity {
        self.inner.identity()
    }

    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }

    fn server(&self, folder: &Path) -> Server {
        let server = self.inner.server(folder);
        let _ = self.made.lock().unwrap().send(server.clone());
        server
    }

    fn settings(&self) -> Result<Option<SettingTable>, ServerError> {
        self.inner.settings()
    }

    fn initialise(&self, folder: &Path, layout: &[(String, String)]) -> Result<(), ServerError> {
        self.inner.initialise(folder, layout)
    }

    fn known(&self) -> Result<Known, ServerError> {
        self.inner.known()
    }
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "timed out after {PATIENCE:?}: {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Updates that the node has executed since its start. None if it does not answer.
fn updates(node: &Arc<dyn Node>) -> Option<u64> {
    let mut session = node.connect().ok()?;
    let rows = session
        .query("SHOW GLOBAL STATUS LIKE 'Com_update'")
        .ok()?
        .rows;
    let value = rows.first()?.get(1)?.clone()?;
    String::from_utf8(value).ok()?.parse().ok()
}

/// The node's address before and after the restart.
struct Restarted {
    before: Dsn,
    after: Dsn,
    pids: (u32, u32),
}

/// Waits for the load on the trial's server, kills it with SIGKILL and starts it again.
fn kill_and_restart(made: &Receiver<Server>) -> Restarted {
    // The first server loads the dataset.
    let _loading = made.recv_timeout(PATIENCE).unwrap();
    let server = made.recv_timeout(PATIENCE).unwrap();
    let node = server.first();
    until("a load of updates", || {
        updates(node).filter(|count| *count > 20)
    });
    std::thread::sleep(Duration::from_secs(2));
    let (before, pid) = (node.endpoint().unwrap(), node.pid().unwrap());
    let request = node.started_with().unwrap();
    node.kill().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    node.start(&request).unwrap();
    Restarted {
        before,
        after: node.endpoint().unwrap(),
        pids: (pid, node.pid().unwrap()),
    }
}

/// Runs updates on MariaDB, and kills and restarts the server during the load.
fn run_through_a_restart(load: &str) -> (Conducted, Restarted) {
    let bench = Bench::new();
    let home = Home::at(bench.home()).unwrap();
    let leases = Leases::open(&home).unwrap();
    let progress = Progress::silent();
    let source = format!(
        "title = 't'\nquestion = 'q'\n[server.one]\nbuild = 'mariadb'\n\
         [workload.oltp]\noperations = 'update-index'\nrows = 1000\n{load}\n\
         [protocol]\ntime = '45s'\nreconnect = '900s'\n"
    );
    let none = Overrides::recorded(&[]).unwrap();
    let experiment = experiment::parse("restart", "restart.toml", &source, &none).unwrap();
    let request = Request::new(experiment, 1, bench.results());
    let (send, made) = channel();
    let watched = |build: &spec::BuildSpec| {
        let inner = server::provider(build, &home, &leases, &|_| ())?;
        let made = Mutex::new(send.clone());
        Ok::<Box<dyn Provider>, ServerError>(Box::new(Watched { inner, made }))
    };
    let means = Means {
        home: &home,
        leases: &leases,
        progress: &progress,
        provide: &watched,
    };
    std::thread::scope(|scope| {
        let restarting = scope.spawn(move || kill_and_restart(&made));
        let conducted = conduct_with(&request, &means).unwrap();
        (conducted, restarting.join().unwrap())
    })
}

/// `unanswered` is the series of the updates that got no answer.
fn the_trial_continues(load: &str, unanswered: &str) {
    let (conducted, restarted) = run_through_a_restart(load);
    assert_eq!(restarted.before.port, restarted.after.port);
    assert_eq!(restarted.before.socket, restarted.after.socket);
    assert!(restarted.before.password == restarted.after.password);
    assert_ne!(restarted.pids.0, restarted.pids.1, "another process");

    let trial = &conducted.trials[0];
    let load = trial
        .load
        .as_ref()
        .unwrap_or_else(|| panic!("{:?}", trial.flags));
    let lost: Vec<_> = trial
        .flags
        .iter()
        .filter(|flag| flag.text.contains("clients ended"))
        .collect();
    assert!(lost.is_empty(), "every client reconnects: {lost:?}");
    let done = |second: usize| {
        load.seconds("throughput")
            .get(second)
            .copied()
            .flatten()
            .unwrap_or(0.0)
    };
    let seconds = load.seconds("throughput").len();
    let gap = (0..seconds).find(|second| done(*second) == 0.0);
    let gap = gap.unwrap_or_else(|| {
        panic!(
            "no second without an operation: {:?}",
            load.seconds("throughput")
        )
    });
    assert!(
        (gap + 1..seconds).any(|second| done(second) > 0.0),
        "it continues after second {gap}"
    );

    let summary = stats::summary(load);
    assert!(!summary.stalls.is_empty(), "the gap is a stall");
    let count = load.seconds(unanswered).iter().flatten().sum::<f64>();
    assert!(count > 0.0, "updates without an answer are counted");
}

#[test]
#[cfg(tier_all)]
fn a_closed_load_continues_after_its_server_is_killed_and_restarted() {
    if has("mariadb") {
        the_trial_continues("[load.closed]\nclients = 8", "unknown");
    }
}

#[test]
#[cfg(tier_all)]
fn an_open_load_continues_after_its_server_is_killed_and_restarted() {
    if has("mariadb") {
        // At the moment of the kill all workers may be idle. Then their next updates cannot be sent.
        let load = "[load.open]\nrate = 800\nworkers = 16\nqueue = 100000";
        the_trial_continues(load, "errors");
    }
}
