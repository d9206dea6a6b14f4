//! The ten tasks of a new user, on a screen of 80 columns, with real servers and little data.
//!
//! Tier: default.

use crate::support::elsewhere::Elsewhere;
use crate::support::process::{ended, nothing_is_left, send, until};
use crate::support::{Bench, Ended, has, in_a_line};
use rustix::process::Signal;
use std::path::Path;
use std::process::Command;

const COLUMNS: usize = 80;

/// The command `prony WORDS` on the small screen; the words are separated by spaces.
fn prony(bench: &Bench, words: &str) -> Command {
    on_screen(bench, words, COLUMNS)
}

fn on_screen(bench: &Bench, words: &str, columns: usize) -> Command {
    let mut command = bench.prony(&words.split(' ').collect::<Vec<_>>());
    command.env("COLUMNS", columns.to_string());
    command
}

/// How often a command is run until its trials are valid: one second of load is easily disturbed on a busy machine.
const ATTEMPTS: usize = 10;

/// One step of a task: the command ends with this status, fits the screen, and says each of these.
fn step(bench: &Bench, words: &str, status: i32, says: &[&str]) -> Ended {
    let run = || Ended::from(prony(bench, words).output().unwrap());
    let mut ended = run();
    for _ in 1..ATTEMPTS {
        if ended.status == 3 && status != 3 {
            eprintln!(
                "prony {words}: again, since a trial is invalid:\n{}",
                ended.stdout
            );
            ended = run();
        }
    }
    judge(words, &ended, status, says);
    ended
}

fn judge(words: &str, ended: &Ended, status: i32, says: &[&str]) {
    let all = format!("{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(ended.status, status, "prony {words}:\n{all}");
    fits(words, &all, COLUMNS);
    // A sentence may be broken between any of its words.
    let flat = in_a_line(&all);
    for sentence in says {
        assert!(flat.contains(sentence), "{sentence:?} of {words}:\n{all}");
    }
}

/// A single word, such as a path, cannot be broken.
fn fits(words: &str, text: &str, columns: usize) {
    let is_too_wide =
        |line: &&str| line.chars().count() > columns && line.split_whitespace().count() > 1;
    let wide: Vec<&str> = text.lines().filter(is_too_wide).collect();
    assert!(
        wide.is_empty(),
        "prony {words} at {columns}: {}",
        wide.join("\n")
    );
}

/// The user's own tables and queries, in the folder of the bench.
fn own_sql(bench: &Bench) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/sql");
    let shop = std::fs::read_to_string(folder.join("shop.sql")).unwrap();
    // A tenth of the example's orders.
    let small = shop.replace("WHERE g.d < 2", "WHERE g.d = 0 AND f.d < 2");
    assert_ne!(small, shop);
    std::fs::write(bench.folder.path().join("shop.sql"), small).unwrap();
    for file in ["queries.sql", "own-queries.toml"] {
        std::fs::copy(folder.join(file), bench.folder.path().join(file)).unwrap();
    }
}

#[test]
fn the_quickstart_ends_with_verdicts_and_its_report_is_written_again() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    step(&bench, "--help", 0, &["Benchmark without an experiment"]);
    for verb in ["run", "bench", "compare"] {
        step(&bench, &format!("{verb} --help"), 0, &["Exit status:"]);
    }
    step(&bench, "list", 0, &["quickstart"]);
    step(&bench, "check quickstart", 0, &["trials"]);
    let line = "run quickstart --scale 0.01 --blocks 2";
    let run = step(
        &bench,
        line,
        0,
        &["of 3 claims", "run: results/quickstart-"],
    );
    assert!(run.stdout.contains("Hot, the small pool"), "{}", run.stdout);

    let page = bench.runs()[0].join("report.html");
    let written = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    step(&bench, "report @latest", 0, &["report.html"]);
    assert_eq!(std::fs::read_to_string(&page).unwrap(), written);
    assert!(written.contains("Hot, the small pool is slower"));
    step(&bench, "show @latest", 0, &["of 3 claims"]);
    step(&bench, "list --runs", 0, &["4 of 4 trials"]);
    step(
        &bench,
        "cache list",
        0,
        &["kind size unused name", "0 days"],
    );
}

#[test]
fn own_sql_runs_cold_and_hot_with_two_settings() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    own_sql(&bench);
    step(&bench, "check own-queries.toml", 0, &["trials 9:"]);
    step(
        &bench,
        "run own-queries.toml --blocks 2",
        0,
        &["of 1 claim"],
    );
    let shown = bench.json(&bench.runs()[0]);
    for trial in shown["trials"].as_array().unwrap() {
        let rounds = trial["rounds"].as_array().unwrap();
        let names: Vec<_> = rounds.iter().map(|round| &round["name"]).collect();
        assert_eq!(names, ["cold", "hot", "hot"], "{}", trial["flags"]);
        for query in rounds[0]["queries"].as_array().unwrap() {
            assert_eq!(query["answer"], "ok", "{query}");
        }
    }
}

#[test]
fn own_sql_compares_two_versions_by_one_line() {
    if !has("mariadb") || !has("mysql@8.0.33") {
        return;
    }
    let bench = Bench::new();
    own_sql(&bench);
    step(
        &bench,
        "bench sql --dump shop.sql --queries queries.sql --rounds hot,hot --blocks 2 --server mysql@8.0.33 --server mariadb",
        0,
        // The comparison is named whether it is decided, as one in twenty is by chance, or not.
        &["mariadb against mysql@8.0.33"],
    );
}

#[test]
fn an_own_server_is_measured_by_its_dsn() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let before = theirs.surroundings();
    let dsn = theirs.dsn_with_password();
    let line = format!("bench oltp-point-select --rows 1000 --time 1s --server {dsn}");
    step(&bench, &line, 0, &["ops/s"]);
    assert_eq!(theirs.surroundings(), before, "it is left unchanged");
}

/// Two runs of a load on the same server.
#[test]
fn two_runs_are_compared_and_the_gate_answers_with_its_status() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let line = "bench oltp-point-select --rows 1000 --time 1s --blocks 2";
    step(&bench, line, 0, &["ops/s"]);
    let name = |run: &Path| run.file_name().unwrap().to_string_lossy().into_owned();
    let first = name(bench.runs().last().unwrap());
    step(&bench, line, 0, &[]);
    step(
        &bench,
        &format!("compare {first} @latest"),
        0,
        &["Comparison of 2 runs", "the ratios are unpaired"],
    );
    step(
        &bench,
        &format!("compare {first} @latest --gate --tolerance 900%"),
        0,
        &["gate passed"],
    );

    // A kept record of a part of its matrix: its claims failed decidedly, and others were not measured.
    let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../bench/results/p6/bka-page-cache.sqlite.zst");
    step(
        &bench,
        &format!("show {} --gate", kept.display()),
        3,
        &["failed: ", "not measured: ", "gate not passed"],
    );
    own_sql(&bench);
    let queries = bench.folder.path().join("queries.sql");
    std::fs::write(queries, "SELECT colour FROM orders").unwrap();
    step(
        &bench,
        "bench sql --dump shop.sql --queries queries.sql --rounds hot",
        3,
        &["queries.sql:1", "Unknown column 'colour'"],
    );
}

/// Two servers of one build. Without a hash join, the second one compares each row of the table with each other row.
const SLOWER: &str = r#"
title = "The same build without a hash join"
question = "Is the new server slower?"
[server.old]
build = "mariadb"
settings = { join_cache_level = 8, optimizer_switch = "join_cache_hashed=on" }
[server.new]
build = "mariadb"
settings = { join_cache_level = 2 }
[workload.sql]
setup_file = "setup.sql"
queries_file = "join.sql"
[protocol]
rounds = ["hot"]
blocks = 5
control = false
"#;
const SETUP: &str = "CREATE TABLE d (d INT NOT NULL PRIMARY KEY);
INSERT INTO d VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
CREATE TABLE t (k INT NOT NULL);
INSERT INTO t SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d FROM d a, d b, d c, d e WHERE e.d < 4;";
const JOIN: &str = "SELECT COUNT(*) FROM t a JOIN t b ON a.k = b.k;";

#[test]
fn the_gate_fails_for_a_slower_server_and_its_files_say_so() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let write = |name: &str, text: &str| {
        std::fs::write(bench.folder.path().join(name), text).unwrap();
    };
    write("slower.toml", SLOWER);
    write("setup.sql", SETUP);
    write("join.sql", JOIN);
    let says = ["failed: new against old", "gate failed: 1 check, 1 failed"];
    let words = "run slower.toml --gate --junit gate.xml --summary gate.md";
    step(&bench, words, 1, &says);
    let read = |name: &str| std::fs::read_to_string(bench.folder.path().join(name)).unwrap();
    let junit = read("gate.xml");
    assert!(junit.contains("failures=\"1\""), "{junit}");
    assert!(junit.contains("<failure message="), "{junit}");
    let summary = read("gate.md");
    assert!(summary.starts_with("## prony: gate failed"), "{summary}");
    assert!(summary.contains("| failed | new against old"), "{summary}");
}

#[test]
fn a_check_fits_every_width() {
    let bench = Bench::new();
    own_sql(&bench);
    let file = bench.folder.path().join("own-queries.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let long =
        "a pool of a quarter of the data, as on the replica of the archive in the other region";
    std::fs::write(&file, text.replace("small pool", long)).unwrap();
    for columns in [60, 80, 100, 200] {
        for words in ["check own-queries.toml", "check quickstart"] {
            let ended = Ended::from(on_screen(&bench, words, columns).output().unwrap());
            assert_eq!(ended.status, 0, "{}", ended.stderr);
            fits(
                words,
                &format!("{}\n{}", ended.stdout, ended.stderr),
                columns,
            );
        }
    }
}

#[test]
fn a_typo_is_answered_with_its_place_and_the_nearest_word() {
    let bench = Bench::new();
    own_sql(&bench);
    let file = bench.folder.path().join("own-queries.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("[protocol]", "[protocl]", 1)).unwrap();
    let line = text.lines().position(|line| line == "[protocol]").unwrap() + 1;
    step(
        &bench,
        "check own-queries.toml",
        2,
        &[
            &format!("own-queries.toml:{line}:"),
            "did you mean \"protocol\"?",
        ],
    );
    let text = text.replacen(
        "{ variant = \"large pool\"",
        "{ variant = \"large poll\"",
        1,
    );
    std::fs::write(&file, text).unwrap();
    step(
        &bench,
        "run own-queries.toml",
        2,
        &["did you mean \"large pool\"?"],
    );
    for (words, nearest) in [
        ("run quickstrat", "did you mean quickstart?"),
        ("bench oltp-point-select --threads 8", "'--clients'"),
        ("bench oltp-point-selekt", "point-select"),
        ("lst", "'list'"),
        (
            "bench oltp-point-select --server mysql@5.6.41",
            "mysql@5.6.14",
        ),
    ] {
        step(&bench, words, 2, &[nearest]);
    }
    assert!(bench.runs().is_empty(), "nothing was measured");
}

#[test]
fn ctrl_c_keeps_what_is_measured_and_the_run_is_resumed() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let line = "bench oltp-point-select --rows 1000 --time 3s --blocks 4";
    let running = prony(&bench, line).spawn().unwrap();
    until("the first trial", || bench.finished() >= 1);
    send(running.id(), Signal::INT);
    judge(
        line,
        &ended(running),
        130,
        &["resume with: prony run --resume"],
    );
    nothing_is_left(&bench);
    let kept = bench.finished();
    assert!((1..4).contains(&kept), "{kept}");
    // A trial that a busy machine has made invalid is not measured again, so that repeating it would not help.
    let resume = "run --resume @latest";
    let resumed = Ended::from(prony(&bench, resume).output().unwrap());
    resumed.measured();
    judge(resume, &resumed, resumed.status, &["ops/s"]);
    assert_eq!((bench.finished(), bench.runs().len()), (4, 1));
}
