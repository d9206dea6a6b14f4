//! Plans on real servers: recorded in every form, checked against the experiment, compared between trials.
//!
//! Tiers: default, all.

use crate::support::elsewhere::Elsewhere;
use crate::support::process::nothing_is_left;
use crate::support::timed::{is_whole, texts};
use crate::support::{Bench, Ended, has};
use serde_json::Value;

/// MRR by its switch, and one level with the wrong switch.
const SWITCH: &str = r#"
title = "A switch and its use"

[server.tried]
build = "BUILD"

[workload.tpch]
scale = 0.01
form  = "published"

[factor.mrr.on]
session = { optimizer_switch = "mrr=on,mrr_cost_based=off" }
observe = { check_plan = { Q10 = "MRR_WORD" } }
[factor.mrr.off]
session = { optimizer_switch = "mrr=off" }
observe = { check_plan = { Q10 = { lacks = "MRR_WORD" } } }
[factor.mrr.forgotten]
session = { optimizer_switch = "mrr=off" }
observe = { check_plan = { Q10 = "MRR_WORD" } }

[protocol]
rounds  = ["hot", "hot"]
queries = ["Q10"]

[observe]
plans = "analyze"
"#;

fn trial<'j>(shown: &'j Value, mrr: &str) -> &'j Value {
    let trials = shown["trials"].as_array().unwrap().iter();
    let mut its = trials.filter(|trial| trial["levels"]["mrr"] == mrr);
    its.next().unwrap()
}

fn an_unused_switch_is_detected(build: &str, word: &str, analyses: bool) {
    if !has(build) {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let text = SWITCH.replace("BUILD", build).replace("MRR_WORD", word);
    let ended = bench.run(&["run", &bench.experiment("switch", &text)]);
    assert_eq!(ended.status, 3, "{}\n{}", ended.stdout, ended.stderr);
    let shown = bench.json(&bench.runs()[0]);
    for mrr in ["on", "off"] {
        let trial = trial(&shown, mrr);
        assert!(is_whole(trial), "{build} {mrr}: {trial}");
        assert_eq!(texts(trial, "plan_unmet"), Vec::<String>::new());
    }
    let forgotten = trial(&shown, "forgotten");
    assert_eq!(forgotten["state"], "invalid");
    let unmet = texts(forgotten, "plan_unmet");
    assert_eq!(unmet.len(), 1, "flagged once for both rounds: {unmet:?}");
    let says = format!("Q10: its plan does not contain \"{word}\": ");
    assert!(
        unmet[0].starts_with(&says) && unmet[0].contains("orders range key o_orderdate"),
        "{unmet:?}"
    );
    let plans = shown["plans"][0]["plans"].as_array().unwrap();
    assert_eq!(plans.len(), 2, "with MRR and without: {plans:?}");
    let changes = plans[1]["differs"].as_array().unwrap();
    assert!(
        changes.iter().any(|change| change["step"] == "orders"
            && change["columns"]
                .as_array()
                .unwrap()
                .iter()
                .any(|column| column["name"] == "Extra")),
        "{changes:?}"
    );
    assert_eq!(
        shown["plans"][0]["changes"].as_array().unwrap().len(),
        0,
        "between rows it is a fact"
    );
    let analysed = plans
        .iter()
        .all(|plan| plan["rows"][0]["analysis"].is_string());
    assert_eq!(analysed, analyses, "{plans:?}");
    let reasons = texts(trial(&shown, "on"), "not_analyzed");
    assert_eq!(reasons.is_empty(), analyses, "{reasons:?}");
    nothing_is_left(&bench);
}

#[test]
#[cfg(tier_all)]
fn an_unused_switch_is_detected_on_mysql_5_6() {
    an_unused_switch_is_detected("mysql@5.6.14", "Using MRR", false);
}

#[test]
#[cfg(tier_all)]
fn an_unused_switch_is_detected_on_mysql_8_0() {
    an_unused_switch_is_detected("mysql@8.0.33", "Using MRR", true);
}

#[test]
#[cfg(tier_all)]
fn an_unused_switch_is_detected_on_mysql_9_7_with_tree_plans() {
    an_unused_switch_is_detected("mysql@9.7", "Using MRR", true);
}

#[test]
fn an_unused_switch_is_detected_on_mariadb() {
    an_unused_switch_is_detected("mariadb", "Rowid-ordered scan", true);
}

/// The server is not reset between trials. Each trial changes the statistics: few suppliers become many, and many become few.
const ALTERED: &str = r#"
title = "A plan that changes from trial to trial"

[server.theirs]
build = "DSN"

[workload.ssb]
scale = 0.01

[protocol]
rounds  = ["hot"]
blocks  = 4
control = false
queries = ["Q2.1", "Q3.1", "Q4.1"]

[[event]]
at  = "1ms"
sql = """
STATISTICS;
flush tables prony_ssb.supplier"""

[[claim]]
says  = "the plan changed"
finds = "plan changed"
of    = { server = "theirs" }
"#;

#[test]
#[cfg(tier_all)]
fn a_plan_change_between_trials_is_reported_on_mysql() {
    let statistics = "update mysql.innodb_table_stats set n_rows = if(n_rows > 1000, 20, 1000000)
        where database_name = 'prony_ssb' and table_name = 'supplier'";
    a_change_between_trials_is_reported("mysql@5.6.14", statistics);
}

/// MariaDB reads InnoDB's own statistics of a table once, and engine-independent statistics after each FLUSH.
#[test]
fn a_plan_change_between_trials_is_reported_on_mariadb() {
    let statistics = "insert into mysql.table_stats values ('prony_ssb', 'supplier', 1000000)
        on duplicate key update cardinality = if(cardinality > 1000, 20, 1000000)";
    a_change_between_trials_is_reported("mariadb", statistics);
}

fn a_change_between_trials_is_reported(build: &'static str, statistics: &str) {
    let Some(theirs) = Elsewhere::start(build, "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let text = ALTERED
        .replace("DSN", &theirs.dsn_with_password())
        .replace("STATISTICS", statistics);
    bench.valid(&["run", &bench.experiment("altered", &text)]);
    let run = bench.runs().pop().unwrap();
    let shown = bench.json(&run);
    assert_eq!(
        shown["claims"][0]["verdict"], "reproduced",
        "{}",
        shown["plans"]
    );
    let queries = shown["plans"].as_array().unwrap();
    let changed: Vec<&Value> = queries
        .iter()
        .filter(|query| !query["changes"].as_array().unwrap().is_empty())
        .collect();
    assert!(!changed.is_empty(), "{queries:?}");
    let plans = changed[0]["plans"].as_array().unwrap();
    assert!(!plans[1]["differs"].as_array().unwrap().is_empty());
    let counted: u64 = plans
        .iter()
        .map(|plan| plan["rows"][0]["times"][0]["counted"].as_u64().unwrap())
        .sum();
    assert_eq!(counted, 4, "each plan has the time of its trial: {plans:?}");
    let query = changed[0]["query"].as_str().unwrap();
    for format in ["", "markdown"] {
        let shown = show(&bench, &run.display().to_string(), format);
        assert!(
            shown.contains("changed") && shown.contains(query),
            "{shown}"
        );
    }
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("changed within one row"), "the page names it");
}

fn show(bench: &Bench, run: &str, format: &str) -> String {
    let mut arguments = vec!["show", run];
    if !format.is_empty() {
        arguments.extend(["--format", format]);
    }
    let Ended { status, stdout, .. } = bench.run(&arguments);
    assert_eq!(status, 0);
    stdout
}
