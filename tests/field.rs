//! What people bring: each input in `tests/data/field` is measured right, or refused in words that help. Its queries return a fixed
//! number of rows only if the data arrived unchanged.
//!
//! Tiers: default, all.

use crate::support::elsewhere::Elsewhere;
use crate::support::{Bench, Ended, has};
use serde_json::Value;
use std::path::Path;

/// What is given, and the rows of each query in each round.
type Measured = (&'static str, &'static [(&'static str, u64)]);
/// What is given, and parts of the message.
type Refused = (&'static str, &'static [&'static str]);

const MEASURED: [Measured; 29] = [
    // Rows that vanish.
    (
        "--dump commit-off.sql --load t=three.csv --queries count-t.sql",
        &[("three", 3)],
    ),
    (
        "--setup commit-off.sql --load t=three.csv --queries count-t.sql",
        &[("three", 3)],
    ),
    ("--setup begin.sql --queries begin-q.sql", &[("two", 2)]),
    (
        "--setup k.sql --load k=k1.tsv --load k=k2.tsv --queries count-k.sql",
        &[("five", 5)],
    ),
    ("--dump locked.sql --queries locked-q.sql", &[("three", 3)]),
    // Text that changes.
    (
        "--dump no-charset.sql --queries no-charset-q.sql",
        &[("three", 3)],
    ),
    ("--dump latin1.sql --queries latin1-q.sql", &[("three", 3)]),
    ("--dump gbk.sql --queries gbk-q.sql", &[("three", 3)]),
    ("--dump bom.sql --queries bom-q.sql", &[("one", 1)]),
    ("--dump utf16.sql --queries plain-q.sql", &[("one", 1)]),
    // What only reads.
    (
        "--setup cte-setup.sql --queries cte-q.sql",
        &[("recent", 1), ("text", 1), ("flag", 1)],
    ),
    ("--setup plain-a.sql --queries use-q.sql", &[("three", 3)]),
    (
        "--setup plain-a.sql --queries client-q.sql",
        &[("three", 3), ("two", 2), ("one", 1)],
    ),
    // CSV.
    (
        "--setup paths.sql --load paths=paths.csv --queries paths-q.sql",
        &[("three", 3)],
    ),
    (
        "--setup header.sql --load v=header-bom.csv --queries header-q.sql",
        &[("two", 2)],
    ),
    (
        "--setup header.sql --load v=header-mixed.csv --queries header-q.sql",
        &[("two", 2)],
    ),
    (
        "--setup exact.sql --load x=exact.csv --queries exact-q.sql",
        &[("two", 2)],
    ),
    (
        "--setup codes.sql --load codes=codes.csv --queries codes-q.sql",
        &[("two", 2)],
    ),
    (
        "--setup codes.sql --load codes=codes-sep.csv --queries codes-q.sql",
        &[("two", 2)],
    ),
    // What is computed may be rounded.
    (
        "--setup computed.sql --queries computed-q.sql",
        &[("two", 2)],
    ),
    // Dumps as tools write them.
    (
        "--dump qualified.sql --queries qualified-q.sql",
        &[("two", 2), ("one", 1)],
    ),
    ("--dump source.sql --queries source-q.sql", &[("three", 3)]),
    ("--dump definer.sql --queries definer-q.sql", &[("one", 1)]),
    ("--setup infile.sql --queries pet-q.sql", &[("two", 2)]),
    ("--dump again.sql --queries again-q.sql", &[("one", 1)]),
    ("--dump binlog.sql --queries binlog-q.sql", &[("one", 1)]),
    ("--dump programs.sql --queries again-q.sql", &[("one", 1)]),
    ("--dump again.sql --queries again-q.sql", &[("one", 1)]),
    ("--dump accounts.sql --queries count-t.sql", &[("three", 3)]),
];

const REFUSED: [Refused; 13] = [
    (
        "--setup header.sql --load v=header.csv --queries header-q.sql",
        &["header.csv:1: the header names \"title\", which is not a column of v"],
    ),
    (
        "--setup plain-a.sql --queries outfile-q.sql",
        &["outfile-q.sql:2: the statement writes a file on the server"],
    ),
    (
        "--setup header.sql --load v=empty.csv --queries header-q.sql",
        &["empty.csv: the file has text, and no row of v came of it"],
    ),
    (
        "--setup paths.sql --load paths=backslash.csv --queries paths-q.sql",
        &[
            "backslash.csv:2: text follows a closing quote",
            "options = ",
        ],
    ),
    (
        "--dump outside.sql --queries again-q.sql",
        &[
            "outside.sql:1: it reads the file \"/etc/passwd\"",
            "of the folder",
        ],
    ),
    (
        "--dump shop.sql.xz --queries again-q.sql",
        &["compressed with xz: unpack it first"],
    ),
    (
        "--dump failed.sql --queries again-q.sql",
        &["failed.sql:1: this line is a message, not SQL"],
    ),
    (
        "--dump rollback.sql --load t=outfile.csv --queries count-t.sql",
        &["rollback.sql:3: the server would read \"/tmp/x\" from its own disk"],
    ),
    // Values that a server would change without a warning.
    (
        "--setup exact.sql --load x=rounded.csv --queries exact-q.sql",
        &["rounded.csv:1: \"19.99\" for the column n has decimal places"],
    ),
    (
        "--setup exact.sql --load x=day-first.csv --queries exact-q.sql",
        &["day-first.csv:2: \"1/2/15\" for the column d does not begin with a year"],
    ),
    (
        "--setup exact.sql --load x=twice.csv --queries exact-q.sql",
        &["twice.csv:1: the header names \"n\" twice"],
    ),
    // Files of others, and files that end too early.
    (
        "--dump postgres.sql --queries again-q.sql",
        &["postgres.sql:2: this is a dump of PostgreSQL"],
    ),
    (
        "--dump phpmyadmin-cut.sql --queries count-t.sql",
        &["phpmyadmin-cut.sql:6: the file has no COMMIT behind its START TRANSACTION"],
    ),
];

fn bench() -> Bench {
    let bench = Bench::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/field");
    for entry in std::fs::read_dir(data).unwrap().flatten() {
        std::fs::copy(entry.path(), bench.folder.path().join(entry.file_name())).unwrap();
    }
    bench
}

fn run(bench: &Bench, words: &str, more: &[&str]) -> Ended {
    let words = words.split(' ').collect::<Vec<_>>();
    let first = ["bench", "sql", "--rounds", "hot,hot", "--blocks", "1"];
    bench.run(&[&first[..], &words[..], more].concat())
}

/// Name and rows of each query in each round of the last run.
fn rows(bench: &Bench) -> Vec<(String, u64)> {
    let runs = bench.runs();
    let shown = bench.json(runs.last().unwrap());
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let rounds = list(&shown, "trials")
        .into_iter()
        .flat_map(|trial| list(&trial, "rounds"));
    let queries = rounds.flat_map(|round| list(&round, "queries"));
    queries
        .map(|query| {
            (
                query["name"].as_str().unwrap().into(),
                query["rows"].as_u64().unwrap(),
            )
        })
        .collect()
}

fn is_measured(bench: &Bench, (words, expected): &Measured, more: &[&str]) {
    let ended = run(bench, words, more);
    println!("{words}");
    ended.measured();
    let expected = expected
        .iter()
        .map(|(name, rows)| (name.to_string(), *rows));
    let expected: Vec<_> = expected.collect();
    let twice = [expected.clone(), expected].concat();
    assert_eq!(rows(bench), twice, "{words}");
}

#[test]
fn what_people_bring_is_measured_right_or_refused_in_words() {
    // No right to set SQL_LOG_BIN, and none outside of prony's schemas.
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON `prony_%`.*") else {
        return;
    };
    let bench = bench();
    let dsn = theirs.dsn_with_password();
    let more = ["--server", &dsn, "--allow-drop"];
    for case in &MEASURED {
        is_measured(&bench, case, &more);
    }
    let runs = bench.runs().len();
    for (words, parts) in &REFUSED {
        let ended = run(&bench, words, &more);
        assert_ne!(ended.status, 0, "{words}");
        for part in *parts {
            assert!(ended.stderr.contains(part), "{words}: {}", ended.stderr);
        }
    }
    assert_eq!(bench.runs().len(), runs, "nothing was measured");
}

#[cfg(tier_all)]
#[test]
fn the_events_of_a_dump_do_not_run_beside_the_measurement() {
    if !has("mysql@8.0.33") {
        return;
    }
    let case = (
        "--dump event.sql --queries event-q.sql",
        &[("two", 2), ("pause", 1), ("two_again", 2)][..],
    );
    is_measured(&bench(), &case, &["--server", "mysql@8.0.33"]);
}

/// Runs an experiment of the folder.
#[cfg(tier_all)]
fn experiment(bench: &Bench, file: &str) -> Value {
    let path = bench.folder.path().join(file).display().to_string();
    let ended = bench.run(&["run", &path]);
    ended.measured();
    bench.json(bench.runs().last().unwrap())
}

#[cfg(tier_all)]
#[test]
fn settings_that_shape_data_have_a_dataset_each() {
    if !has("mariadb") {
        return;
    }
    let bench = bench();
    experiment(&bench, "shaping.toml");
    let snapshots = std::fs::read_dir(bench.home().join("snapshots")).unwrap();
    let folders = snapshots.flatten().filter(|entry| entry.path().is_dir());
    assert_eq!(folders.count(), 2);
}

#[cfg(tier_all)]
#[test]
fn preloading_passes_over_an_index_that_the_optimizer_does_not_see() {
    if has("mysql@8.0.33") {
        experiment(&bench(), "invisible.toml");
    }
}

#[cfg(tier_all)]
#[test]
fn rows_in_memory_that_a_start_of_the_server_empties_have_no_figure() {
    if !has("mariadb") {
        return;
    }
    let words = "--setup memory.sql --queries memory-q.sql";
    let ended = run(&bench(), words, &["--server", "mariadb"]);
    let shown = format!("{}{}", ended.stdout, ended.stderr);
    for says in [
        "were lost when the server restarted",
        "No figure could be measured",
    ] {
        assert!(shown.contains(says), "{shown}");
    }
}

#[cfg(tier_all)]
#[test]
fn versioned_tables_have_rows_and_a_size() {
    if !has("mariadb") {
        return;
    }
    let bench = bench();
    let case = (
        "--setup versioned.sql --queries versioned-q.sql",
        &[("all", 1)][..],
    );
    is_measured(
        &bench,
        &case,
        &["--set", "innodb_buffer_pool_size=data * 2"],
    );
    let shown = bench.json(bench.runs().last().unwrap());
    let dataset = &shown["trials"][0]["dataset"];
    assert_eq!(dataset["rows"], 200_000);
    assert!(
        dataset["data_bytes"].as_u64().unwrap() > 20 << 20,
        "{dataset}"
    );
}

#[cfg(tier_all)]
#[test]
fn a_large_answer_is_counted_in_little_memory() {
    if !has("mariadb") {
        return;
    }
    let case = (
        "--setup large.sql --queries large-q.sql",
        &[("all_orders", 524_288), ("counted", 1)][..],
    );
    is_measured(&bench(), &case, &[]);
}

#[test]
fn a_query_that_fails_leaves_the_others_their_figures() {
    if !has("mariadb") {
        return;
    }
    let bench = bench();
    let ended = run(&bench, "--setup plain-a.sql --queries typo-q.sql", &[]);
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    let shown = format!("{}{}", ended.stdout, ended.stderr);
    assert!(shown.contains("1054 Unknown column 'nothing'"), "{shown}");
    let json = bench.json(bench.runs().last().unwrap());
    let round = &json["trials"][0]["rounds"][0];
    assert!(round["elapsed_s"].is_null(), "{round}");
    let (bad, three) = (&round["queries"][0], &round["queries"][1]);
    assert!(
        bad["elapsed_s"].is_null() && three["elapsed_s"].as_f64() > Some(0.0),
        "{round}"
    );
}

#[test]
fn a_schema_in_a_dsn_is_measured_or_refused_before_anything_is_made() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = bench();
    let queries = "-- name: three\nselect n from lineorder;\n";
    std::fs::write(bench.folder.path().join("shop-q.sql"), queries).unwrap();
    let (without, with) = (
        theirs.dsn_with_password(),
        theirs.dsn_with_password() + "shop",
    );
    let refused = |words: &str, dsn: &str, part: &str| {
        let ended = run(&bench, words, &["--server", dsn]);
        assert_eq!(ended.status, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    };
    refused(
        "--setup plain-a.sql --queries typo-q.sql",
        &with,
        "its DSN names the schema shop",
    );
    refused("--queries shop-q.sql", &without, "nothing makes the tables");
    let made =
        "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'prony%'";
    assert_eq!(theirs.query(made), [""; 0]);
    let case = ("--queries shop-q.sql", &[("three", 3)][..]);
    is_measured(&bench, &case, &["--server", &with]);
}

#[cfg(tier_all)]
#[test]
fn a_typo_in_a_setup_is_reported_with_its_line_and_without_the_servers_log() {
    if !has("mariadb") {
        return;
    }
    let bench = bench();
    std::fs::write(
        bench.folder.path().join("bad.sql"),
        "CREATE TABEL a (id INT);\n",
    )
    .unwrap();
    let ended = run(&bench, "--setup bad.sql --queries plain-q.sql", &[]);
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("bad.sql:1"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("log:"), "{}", ended.stderr);
}

#[test]
fn a_mistake_on_the_command_line_names_the_flag_and_no_file() {
    let bench = bench();
    let ended = bench.run(&[
        "bench",
        "oltp-point-select",
        "--time",
        "30",
        "--server",
        "mysqld",
    ]);
    assert_eq!(ended.status, 2);
    for part in ["error: --time: ", "error: --server: "] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    assert!(!ended.stderr.contains(".toml"), "{}", ended.stderr);
}
