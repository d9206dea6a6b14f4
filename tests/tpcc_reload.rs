//! TPC-C on a running server, which has no snapshot: changed tables are loaded anew where that is allowed, else refused. The
//! conditions hold while transactions run.
//!
//! Tiers: default, all.

use crate::support::elsewhere::Elsewhere;
use crate::support::{Bench, Ended};
use server::{ServerError, Session};
use spec::Dsn;
use std::time::Duration;
use workload::tpcc::SCHEMA;
use workload::tpcc::conditions::{When, check};

/// A trial of one second; `section` adds keys to the workload.
fn file(bench: &Bench, dsn: &str, section: &str, clients: &str) -> String {
    let text = format!(
        "title = \"Reload\"\n[server.theirs]\nbuild = \"{dsn}\"\n[workload.tpcc]\n{section}\n[load.closed]\nclients = {clients}\n[protocol]\ntime = \"1s\"\n"
    );
    bench.experiment("reload", &text)
}

/// Asserts that the trials were measured, even on a busy machine, after so many loads.
fn measured_after(ended: &Ended, expected_loads: usize) {
    assert!([0, 3].contains(&ended.status), "{}", ended.stderr);
    assert!(ended.stderr.contains("report.html") || ended.stdout.contains("report.html"));
    assert_eq!(loads(ended), expected_loads, "{}", ended.stderr);
}

fn loads(ended: &Ended) -> usize {
    let lines = ended.stderr.lines();
    lines
        .filter(|line| line.contains(": loaded ") && line.contains("warehouse"))
        .count()
}

#[test]
fn changed_tables_on_a_running_server_are_refused_or_loaded_anew() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON prony_tpcc.*") else {
        return;
    };
    let (bench, dsn) = (Bench::new(), theirs.dsn_with_password());
    let run =
        |section: &str, clients: &str| bench.run(&["run", &file(&bench, &dsn, section, clients)]);

    let two_trials = run("", "[1, 2]");
    assert_eq!(two_trials.status, 2, "{}", two_trials.stderr);
    let says = "each of its 2 trials changes the tables";
    assert!(two_trials.stderr.contains(says), "{}", two_trials.stderr);

    let first = run("", "1");
    measured_after(&first, 1);

    let second = run("", "1");
    assert_eq!((second.status, loads(&second)), (2, 0), "{}", second.stderr);
    for part in ["server theirs", "prony_tpcc", "add reload = true"] {
        assert!(second.stderr.contains(part), "{part}: {}", second.stderr);
    }

    let reloaded = run("reload = true", "[1, 2]");
    measured_after(&reloaded, 2);

    theirs.execute("CREATE TABLE prony_tpcc.theirs (n INT)");
    let beside = run("reload = true", "1");
    assert_eq!((beside.status, loads(&beside)), (2, 0), "{}", beside.stderr);
    let says = "also holds theirs, which prony did not create";
    assert!(beside.stderr.contains(says), "{}", beside.stderr);
    assert_eq!(
        theirs.query("SELECT COUNT(*) FROM prony_tpcc.item"),
        ["100000"]
    );
}

#[test]
#[cfg(tier_all)]
fn the_conditions_hold_while_transactions_run() {
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON prony_tpcc.*") else {
        return;
    };
    let (bench, dsn) = (Bench::new(), theirs.dsn_with_password());
    let arguments = format!("bench tpcc --scale 2 --clients 8 --time 8s --server {dsn}");
    let mut child = bench.start(&arguments.split(' ').collect::<Vec<_>>());
    let dsn: Dsn = dsn.parse().unwrap();
    let connect = || Session::open(&dsn);
    let mut checks_during_the_run = 0;
    while child.try_wait().unwrap().is_none() {
        if !has_begun(&connect) {
            std::thread::sleep(Duration::from_millis(100));
            continue;
        }
        let found = check(&connect, SCHEMA, 2, When::Later).unwrap();
        assert_eq!(found.sentences(), Vec::<String>::new());
        checks_during_the_run += 1;
    }
    let ended = Ended::from(child.wait_with_output().unwrap());
    measured_after(&ended, 1);
    assert!(checks_during_the_run > 0);
    assert!(has_begun(&connect));
}

/// Whether the tables are loaded and a transaction has changed them.
fn has_begun(connect: &dyn Fn() -> Result<Session, ServerError>) -> bool {
    let marked = "SELECT COUNT(*) FROM prony_tpcc.prony_dataset";
    let changed = "SELECT COUNT(*) FROM prony_tpcc.district WHERE d_next_o_id > 3001";
    [marked, changed].iter().all(|sql| {
        let count = connect().and_then(|mut session| session.query(sql));
        count.is_ok_and(|count| count.first_text().as_deref() != Some("0"))
    })
}

#[test]
fn sqlite_is_refused_with_the_reason() {
    let sqlite = Bench::new().line("bench tpcc --time 1s --server sqlite");
    assert_ne!(sqlite.status, 0, "{}", sqlite.stderr);
    assert!(
        sqlite.stderr.contains("SQLite does not support"),
        "{}",
        sqlite.stderr
    );
}
