//! External servers, named by a DSN: measured with their settings, and left unchanged.
//!
//! Tiers: default, all.

use crate::support::elsewhere::{Elsewhere, PASSWORD, PASSWORD_IN_A_DSN};
use crate::support::process::nothing_is_left;
use crate::support::timed::flags;
use crate::support::{Bench, Ended};
use std::path::Path;

const EXPERIMENT: &str = r#"
title = "External server"
question = "What can be measured on an external server?"

[server.theirs]
build = "DSN"

[settings]
innodb_buffer_pool_size = "data / 8"

[workload.ssb]
scale = 0.01

[load.closed]
clients = [1]

[protocol]
rounds = ["cold", "hot"]

[observe]
plans = true
profile = ["Q1.1"]
"#;

fn experiment(bench: &Bench, dsn: &str) -> String {
    bench.experiment("theirs", &EXPERIMENT.replace("DSN", dsn))
}

/// Runs prony with the password in the environment.
fn run(bench: &Bench, arguments: &[&str]) -> Ended {
    let mut prony = bench.prony(arguments);
    prony.env("PRONY_PASSWORD", PASSWORD);
    prony.output().unwrap().into()
}

/// Files below a folder that hold the text. Links are not followed.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(holding(&path, text));
        } else if kind.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            if bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
            {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

fn is_measured_and_left_unchanged(build: &'static str) {
    let Some(mut theirs) = Elsewhere::start(build, "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let before = (theirs.pid(), theirs.surroundings());
    // The command line replaces the build that the file names.
    let file = experiment(&bench, "sqlite");
    let first = bench.run(&["run", &file, "--server", &theirs.dsn_with_password()]);
    first.measured();
    assert!(first.stderr.contains("LOAD DATA LOCAL"), "{}", first.stderr);
    assert_eq!((theirs.pid(), theirs.surroundings()), before);

    let shown = bench.json(&bench.runs()[0]);
    let trial = &shown["trials"][0];
    let rounds: Vec<_> = trial["rounds"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&rounds[0]["name"], &rounds[1]["name"]),
        (&"lukewarm".into(), &"hot".into())
    );
    let not_applied = flags(trial, "setting_not_applied");
    assert!(not_applied.contains("innodb_buffer_pool_size"), "{trial}");
    assert!(
        flags(trial, "lukewarm").contains("was not restarted"),
        "{trial}"
    );

    let tables = theirs.query("SELECT table_name, create_time FROM information_schema.tables WHERE table_schema = 'prony_ssb' ORDER BY 1");
    assert_eq!(tables.len(), 6, "{tables:?}");
    let second = bench.run(&["run", &file, "--server", &theirs.dsn_with_password()]);
    second.measured();
    assert!(
        !second.stderr.contains("loaded Star Schema"),
        "{}",
        second.stderr
    );
    let again = theirs.query("SELECT table_name, create_time FROM information_schema.tables WHERE table_schema = 'prony_ssb' ORDER BY 1");
    assert_eq!(again, tables, "the second run reuses the tables");
    assert_eq!((theirs.pid(), theirs.surroundings()), before);

    nothing_is_left(&bench);
    for word in [PASSWORD, PASSWORD_IN_A_DSN] {
        assert_eq!(holding(bench.folder.path(), word), Vec::<String>::new());
        for ended in [&first, &second] {
            assert!(!ended.stdout.contains(word) && !ended.stderr.contains(word));
        }
    }
}

#[test]
fn an_external_mariadb_is_measured_and_left_unchanged() {
    is_measured_and_left_unchanged("mariadb");
}

#[test]
#[cfg(tier_all)]
fn an_external_mysql_5_6_is_measured_and_left_unchanged() {
    is_measured_and_left_unchanged("mysql@5.6.14");
}

/// Settings that the server has, one that it lacks for every trial, and one that a level sets.
const SETTINGS: &str = r#"
title = "Settings of a server that runs"
question = "Which claims depend on settings that it does not have?"

[server.theirs]
build = "DSN"

[settings]
innodb_buffer_pool_size = "POOL"
innodb_stats_on_metadata = "off"
innodb_old_blocks_time = 7

[factor.buffer.small]
session = { sort_buffer_size = "64K" }
[factor.buffer.large]
session = { sort_buffer_size = "4M" }
[factor.dive.deep]
settings = { innodb_lru_scan_depth = 77 }
[factor.dive.usual]

[workload.ssb]
scale = 0.01

[protocol]
rounds = ["hot"]
blocks = 2
queries = ["Q1.1"]

[[claim]]
says = "The buffer"
value = "elapsed"
of = { buffer = "large", dive = "usual" }
to = { buffer = "small", dive = "usual" }
at_least = 1.05

[[claim]]
says = "The depth"
value = "elapsed"
of = { dive = "deep", buffer = "small" }
to = { dive = "usual", buffer = "small" }
at_least = 1.05
"#;

#[test]
fn settings_that_a_server_has_are_met_and_only_claims_on_others_are_not_available() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON prony_ssb.*") else {
        return;
    };
    let bench = Bench::new();
    let pool = theirs.query("SELECT @@innodb_buffer_pool_size DIV 1048576")[0].clone();
    let text = SETTINGS.replace("DSN", &theirs.dsn());
    let file = bench.experiment("settings", &text.replace("POOL", &format!("{pool}M")));
    for verb in ["check", "run"] {
        let ended = run(&bench, &[verb, &file]);
        ended.measured();
        let said = ended.stderr.replace('\n', " ");
        for part in [
            "innodb_lru_scan_depth = 77 (the server has ",
            "innodb_old_blocks_time = 7 (the server has 1000)",
        ] {
            assert!(said.contains(part), "{verb}: {part}: {said}");
        }
        assert!(!said.contains("innodb_buffer_pool_size"), "{verb}: {said}");
        assert!(!said.contains("innodb_stats_on_metadata"), "{verb}: {said}");
    }
    let shown = bench.json(&bench.runs()[0]);
    let claims = shown["claims"].as_array().unwrap();
    assert!(claims[0]["measured"].is_f64(), "{}", claims[0]);
    assert_eq!(claims[1]["verdict"], "not_available", "{}", claims[1]);
    let why = claims[1]["reason"].as_str().unwrap();
    assert!(why.contains("innodb_lru_scan_depth: requested 77"), "{why}");
    assert!(
        shown["control"]["measured"].is_f64(),
        "{}",
        shown["control"]
    );
    assert_eq!(shown["environment"]["unconfigured"][0], "theirs");
}

#[test]
fn passwords_are_not_recorded_and_resume_reads_them_from_the_environment() {
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let file = experiment(&bench, &theirs.dsn_with_password());
    let ended = bench.run(&["run", &file]);
    ended.measured();
    let run_folder = bench.runs().pop().unwrap();
    for word in [PASSWORD, PASSWORD_IN_A_DSN] {
        assert_eq!(holding(&run_folder, word), Vec::<String>::new());
        assert_eq!(holding(&bench.home(), word), Vec::<String>::new());
        assert!(!ended.stdout.contains(word) && !ended.stderr.contains(word));
    }
    let name = run_folder.display().to_string();
    let mut without = bench.prony(&["run", "--resume", &name]);
    without
        .env_remove("PRONY_PASSWORD")
        .env("HOME", bench.home());
    let without = Ended::from(without.output().unwrap());
    assert_eq!(without.status, 3, "{}", without.stderr);
    assert!(
        without.stderr.contains("PRONY_PASSWORD"),
        "{}",
        without.stderr
    );
    run(&bench, &["run", "--resume", &name]).measured();
}

#[test]
fn a_wrong_password_gives_one_message_with_the_fix() {
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let wrong = theirs
        .dsn_with_password()
        .replace(PASSWORD_IN_A_DSN, "Wr0ngWord");
    let refused = bench.run(&["run", &experiment(&bench, &wrong)]);
    assert_eq!(refused.status, 3, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("PRONY_PASSWORD"),
        "{}",
        refused.stderr
    );
    assert_eq!(
        refused.stderr.matches("refused the login").count(),
        1,
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("Wr0ngWord"), "{}", refused.stderr);
    assert!(bench.runs().is_empty(), "no run was started");
}

#[test]
fn an_incomplete_load_is_replaced_only_with_allow_drop() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let file = experiment(&bench, &theirs.dsn());
    run(&bench, &["run", &file]).measured();
    // As a kill during the load leaves it.
    theirs.execute("DELETE FROM prony_ssb.prony_dataset");
    theirs.execute("DELETE FROM prony_ssb.lineorder LIMIT 100");
    theirs.execute("CREATE TABLE prony_ssb.notes (n INT)");
    let rows = theirs.query("SELECT COUNT(*) FROM prony_ssb.lineorder");

    let refused = run(&bench, &["run", &file]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("--allow-drop"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("prony_ssb"), "{}", refused.stderr);
    assert_eq!(
        theirs.query("SELECT COUNT(*) FROM prony_ssb.lineorder"),
        rows
    );

    let replaced = run(&bench, &["run", &file, "--allow-drop"]);
    replaced.measured();
    assert!(
        replaced.stderr.contains("loaded Star Schema"),
        "{}",
        replaced.stderr
    );
    assert_ne!(
        theirs.query("SELECT COUNT(*) FROM prony_ssb.lineorder"),
        rows
    );
    assert_eq!(
        theirs.query("SELECT COUNT(*) FROM prony_ssb.notes"),
        ["0"],
        "a foreign table stays"
    );
}

#[test]
fn a_users_table_with_the_name_of_pronys_is_dropped_only_by_its_name() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let file = experiment(&bench, &theirs.dsn());
    theirs.execute("CREATE DATABASE prony_ssb");
    theirs.execute("CREATE TABLE prony_ssb.part (n INT)");
    theirs.execute("INSERT INTO prony_ssb.part VALUES (7)");
    for allow in ["--blocks=1", "--allow-drop", "--allow-drop=supplier"] {
        let refused = run(&bench, &["run", &file, allow]);
        assert_eq!(refused.status, 2, "{allow}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("part, which prony did not load")
                && refused.stderr.contains("--allow-drop=part")
                && !refused.stderr.contains("did not end"),
            "{}",
            refused.stderr
        );
        assert_eq!(theirs.query("SELECT n FROM prony_ssb.part"), ["7"]);
    }
    run(&bench, &["run", &file, "--allow-drop=part"]).measured();
}

#[test]
#[cfg(tier_all)]
fn another_dataset_in_the_schema_is_dropped_only_with_allow_drop() {
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let file = experiment(&bench, &theirs.dsn());
    run(&bench, &["run", &file]).measured();
    let refused = run(&bench, &["run", &file, "--scale", "0.02"]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("--allow-drop"),
        "{}",
        refused.stderr
    );
    run(&bench, &["run", &file, "--scale", "0.02", "--allow-drop"]).measured();
}

#[test]
fn two_datasets_in_one_run_are_refused_before_any_load() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let text = EXPERIMENT.replace("DSN", &theirs.dsn())
        + "\n[factor.scale.small]\nworkload = { scale = 0.01 }\n[factor.scale.large]\nworkload = { scale = 0.02 }\n";
    let refused = run(
        &bench,
        &["run", &bench.experiment("two", &text), "--allow-drop"],
    );
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("holds one dataset at a time"),
        "{}",
        refused.stderr
    );
    assert!(theirs.query("SHOW DATABASES LIKE 'prony%'").is_empty());
}

#[test]
#[cfg(tier_all)]
fn tables_replaced_during_a_run_fail_the_remaining_trials() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    // A trial's event changes the marker that the next trial checks.
    let text = EXPERIMENT
        .replace("DSN", &theirs.dsn())
        .replace("rounds = ", "blocks = 3\nrounds = ")
        + "\n[[event]]\nat = \"1ms\"\nsql = \"update prony_ssb.prony_dataset set fingerprint = 'another'\"\n";
    let ended = run(&bench, &["run", &bench.experiment("replaced", &text)]);
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("are no longer the dataset of this run"),
        "{}",
        ended.stderr
    );
    assert_eq!(
        theirs.query("SELECT fingerprint FROM prony_ssb.prony_dataset"),
        ["another"]
    );
}

#[test]
fn rows_are_inserted_if_load_data_local_is_refused() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    theirs.execute("SET GLOBAL local_infile = 0");
    let bench = Bench::new();
    let ended = run(&bench, &["run", &experiment(&bench, &theirs.dsn())]);
    ended.measured();
    assert!(ended.stderr.contains(", INSERT)"), "{}", ended.stderr);
}

#[test]
#[cfg(tier_all)]
fn two_concurrent_runs_load_a_server_once() {
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let file = experiment(&bench, &theirs.dsn());
    let both = [(); 2].map(|()| {
        let mut prony = bench.prony(&["run", &file]);
        prony.env("PRONY_PASSWORD", PASSWORD).spawn().unwrap()
    });
    let both = both.map(|child| Ended::from(child.wait_with_output().unwrap()));
    both.iter().for_each(Ended::measured);
    let loads = both
        .iter()
        .filter(|ended| ended.stderr.contains("loaded Star Schema"));
    assert_eq!(loads.count(), 1);
    // The run that loaded waited to measure until the other run had started.
    assert!(
        both.iter()
            .any(|ended| ended.stderr.contains("shared_machine"))
    );
}
