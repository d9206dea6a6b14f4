//! A real server killed with SIGKILL in the middle of TPC-C, and the audit of the answers that its clients got.
//!
//! Tier: default.

use crate::support::timed::is_whole;
use crate::support::{Bench, has};
use serde_json::Value;

/// The trial of a load in which the server is killed after four of eight seconds.
fn killed(bench: &Bench, flush: u32) -> Value {
    let text = format!(
        "title = \"Killed\"\n[server.a]\nbuild = \"mariadb\"\nsettings = {{ innodb_buffer_pool_size = \"256M\", innodb_flush_log_at_trx_commit = {flush} }}\n[workload.tpcc]\n[load.closed]\nclients = 4\n[protocol]\ntime = \"8s\"\nreconnect = \"60s\"\n[[event]]\nat = \"4s\"\nkill = {{ node = 1 }}\n"
    );
    let file = bench.experiment(&format!("killed-{flush}"), &text);
    let ended = bench.run(&["run", &file]);
    assert!([0, 3].contains(&ended.status), "{}", ended.stderr);
    let run = bench.runs().pop().unwrap();
    bench.json(&run)["trials"][0].clone()
}

#[test]
fn a_killed_server_loses_what_it_did_not_write_and_the_audit_counts_it() {
    if !has("mariadb") {
        return;
    }
    for flush in [1, 0] {
        let trial = killed(&Bench::with_shared_snapshots(), flush);
        let audit = &trial["audit"];
        assert!(audit["acknowledged"].as_u64().unwrap() > 0, "{audit}");
        for fault in ["ghosts", "partly_applied", "violations"] {
            assert_eq!(audit[fault], 0, "flush {flush}: {audit}");
        }
        let lost = audit["lost"].as_u64().unwrap();
        if flush == 1 {
            assert_eq!((lost, &audit["seen_but_lost"]), (0, &0.into()), "{audit}");
        }
        // The server writes once a second, so that a crash just after it loses nothing. A busy disk may delay that.
        let window_s = audit["loss_window_s"].as_f64();
        assert_eq!(window_s.is_some(), lost > 0, "{audit}");
        assert!(window_s.is_none_or(|window_s| window_s < 5.0), "{audit}");
        assert!(is_whole(&trial), "{:?}", trial["flags"]);
    }
}
