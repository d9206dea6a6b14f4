//! Switches as factors: settings and hints that a server lacks, adjusts or ignores.
//!
//! Tiers: default, all.

use crate::support::timed::texts;
use crate::support::{Bench, has};

const EXPERIMENT: &str = r#"
title = "Join buffers"
question = "What does a switch do on a server that does not know it?"

[server.mysql]
build = "mysql@5.6.14"
[server.mariadb]
build = "mariadb"

[factor.join.plain]
[factor.join.cached]
session = { join_cache_level = 4, optimizer_switch = "mrr=on" }
[factor.join.tiny]
session = { join_buffer_size = 100 }

[workload.ssb]
scale = 0.01

[protocol]
rounds = ["hot"]
blocks = 1
queries = ["Q1.1"]

[[claim]]
says = "the join cache changes nothing on MySQL"
value = "elapsed"
of = { server = "mysql", join = "cached" }
to = { server = "mysql", join = "plain" }
within = 0.5
"#;

/// The trial of a server and a level.
fn trial<'j>(document: &'j serde_json::Value, server: &str, join: &str) -> &'j serde_json::Value {
    let trials = document["trials"].as_array().unwrap();
    let is_it =
        |trial: &&serde_json::Value| trial["server"] == server && trial["levels"]["join"] == join;
    trials.iter().find(is_it).unwrap()
}

#[test]
fn a_level_that_a_server_lacks_is_not_available_in_every_report() {
    if !has("mariadb") || !has("mysql@5.6.14") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = bench.experiment("joins", EXPERIMENT);
    let checked = bench.run(&["check", &file]);
    assert_eq!(checked.status, 0, "{}", checked.stderr);
    let reason = "server mysql does not know the setting \"join_cache_level\"";
    assert!(checked.stdout.contains(reason), "{}", checked.stdout);
    bench.valid(&["run", &file]);
    let run = bench.runs().pop().unwrap();
    let document = bench.json(&run);
    assert_eq!(document["valid"], true);
    let empty = trial(&document, "mysql", "cached");
    assert_eq!(texts(empty, "not_available"), [reason]);
    assert_eq!(empty["rounds"].as_array().unwrap().len(), 0);
    assert_eq!(document["claims"][0]["verdict"], "not_available");
    for format in ["table", "markdown", "csv"] {
        let run = run.display().to_string();
        let shown = bench.run(&["show", &run, "--format", format]).stdout;
        assert!(
            shown.contains("join") && shown.contains("does not know"),
            "{format}: {shown}"
        );
    }
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("does not know the setting"));

    let known = trial(&document, "mariadb", "cached");
    assert_eq!(known["rounds"].as_array().unwrap().len(), 1);
    for server in ["mysql", "mariadb"] {
        let adjusted = texts(trial(&document, server, "tiny"), "setting_adjusted");
        assert_eq!(
            adjusted,
            ["join_buffer_size: requested 100, the server uses 128"],
            "{server}"
        );
    }
}

const HINTED: &str = r#"
title = "A hint"
question = "What happens to a hint that is ignored?"

[server.old]
build = "mysql@5.6.14"
[server.new]
build = "mysql@8.0.33"

[factor.hint.none]
[factor.hint.misspelt]
workload = { hints = { Q6 = "NO_IPC(lineitem)" } }
[factor.hint."no such table"]
workload = { hints = { Q6 = "NO_MRR(lineitems)" } }

[workload.tpch]
scale = 0.01

[protocol]
rounds = ["hot"]
blocks = 1
queries = ["Q6"]
"#;

#[test]
#[cfg(tier_all)]
fn ignored_hints_are_flagged_and_servers_without_hints_are_not_available() {
    if !has("mysql@5.6.14") || !has("mysql@8.0.33") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = bench.experiment("hints", HINTED);
    let ran = bench.run(&["run", &file]);
    ran.measured();
    let document = bench.json(&bench.runs().pop().unwrap());
    let flag = |server: &str, hint: &str, kind: &str| {
        let trials = document["trials"].as_array().unwrap();
        let is_it = |trial: &&serde_json::Value| {
            trial["server"] == server && trial["levels"]["hint"] == hint
        };
        texts(trials.iter().find(is_it).unwrap(), kind).join("; ")
    };
    assert_eq!(flag("new", "none", "hint_ignored"), "");
    let misspelt = flag("new", "misspelt", "hint_ignored");
    assert!(
        misspelt.starts_with("Q6: 1064 ") && misspelt.contains("NO_IPC"),
        "{misspelt}"
    );
    let unresolved = flag("new", "no such table", "hint_ignored");
    assert!(
        unresolved.starts_with("Q6: 3128 ") && unresolved.contains("lineitems"),
        "{unresolved}"
    );
    let empty = flag("old", "misspelt", "not_available");
    assert!(empty.contains("does not know optimizer hints"), "{empty}");
}
