//! What prony looks at instead of believing it: sessions, replies, warnings of a load, answers, and the tables on an external server.
//!
//! Tiers: default.

use crate::support::elsewhere::Elsewhere;
use crate::support::timed::{ended_operations, is_whole, texts};
use crate::support::{Bench, Ended, in_a_line};
use serde_json::Value;

/// Two clients that write for three seconds: in one alone a busy disk may not answer.
const LOAD: &str = "
[load.closed]
clients = 2
[protocol]
time = \"3s\"
blocks = BLOCKS
control = false
";

/// Runs an experiment on a server: its setup, its operations and what else the workload needs.
fn load(bench: &Bench, dsn: &str, blocks: u32, workload: &str) -> (Ended, Vec<Value>) {
    let rest = LOAD.replace("BLOCKS", &blocks.to_string());
    let text =
        format!("title = \"t\"\n[server.s]\nbuild = \"{dsn}\"\n[workload.sql]\n{workload}\n{rest}");
    let ended = bench.run(&["run", &bench.experiment("load", &text)]);
    let trials = bench.runs().last().map(|run| trials(bench, run));
    (ended, trials.unwrap_or_default())
}

fn trials(bench: &Bench, run: &std::path::Path) -> Vec<Value> {
    bench.json(run)["trials"].as_array().unwrap().clone()
}

fn says(ended: &Ended, status: i32, text: &str) {
    match status {
        0 => ended.measured(),
        _ => assert_eq!(ended.status, status, "{}\n{}", ended.stdout, ended.stderr),
    }
    let all = format!("{}{}", ended.stdout, ended.stderr);
    // Messages are wrapped.
    let words = in_a_line(&all);
    assert!(words.replace("│ ", "").contains(text), "{all}");
}

#[test]
fn what_is_done_is_in_the_tables_although_the_server_does_not_commit_by_itself() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    theirs.execute("SET GLOBAL autocommit = 0");
    let bench = Bench::new();
    let insert = "setup = \"create table l (n bigint auto_increment primary key, at datetime(6))\"\noperations = \"-- operation: ins\\ninsert into l (at) values (sysdate(6))\"";
    let (ended, trials) = load(&bench, &theirs.dsn_with_password(), 1, insert);
    ended.measured();
    let done = ended_operations(&trials[0]);
    let rows: f64 = theirs.query("SELECT COUNT(*) FROM prony_sql.l")[0]
        .parse()
        .unwrap();
    assert!(done > 0.0 && rows >= done, "{rows} rows of {done} inserts");
    assert!(
        theirs
            .query("SHOW TABLES FROM prony_sql")
            .iter()
            .all(|table| table == "l" || table == "prony_dataset")
    );
}

#[test]
fn an_operation_after_which_autocommit_is_off_is_not_done() {
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let off = "setup = \"create table l (n bigint auto_increment primary key); create procedure off() set autocommit = 0\"\noperations = \"-- operation: ins\\ncall off(); insert into l values ()\"";
    let (ended, trials) = load(&bench, &theirs.dsn_with_password(), 1, off);
    assert_ne!(ended.status, 0, "{}", ended.stdout);
    let failed = trials[0]["errors_by_code"]["64902"].as_u64().unwrap();
    assert!(failed > 0, "{trials:?}");
    assert_eq!(trials[0]["operations"], 0);
    let (ended, _) = load(
        &bench,
        &theirs.dsn_with_password(),
        1,
        &off.replace("call off()", "set autocommit = 0"),
    );
    says(&ended, 2, "it leaves autocommit off");
}

#[test]
fn the_query_cache_of_an_external_server_does_not_answer() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    theirs.execute("SET GLOBAL query_cache_type = 1");
    theirs.execute("SET GLOBAL query_cache_size = 1048576");
    let bench = Bench::new();
    let text = format!(
        "title = \"t\"\n[server.s]\nbuild = \"{}\"\n[workload.sql]\nsetup = \"create table q (id int primary key); insert into q values (1), (2)\"\nqueries = \"-- name: sum\\nselect sum(id) from q\"\n[protocol]\nrounds = [\"hot\", \"hot\", \"hot\"]\nblocks = 1\n",
        theirs.dsn_with_password()
    );
    let ended = bench.run(&["run", &bench.experiment("cached", &text)]);
    ended.measured();
    let trials = trials(&bench, &bench.runs()[0]);
    assert!(texts(&trials[0], "query_cache").is_empty());
    for round in trials[0]["rounds"].as_array().unwrap() {
        // A counter that is missing would be no evidence.
        let hits = &round["queries"][0]["counters"]["Qcache_hits"];
        assert_eq!(*hits, 0, "{round}");
    }
}

#[test]
fn operations_without_effect_and_with_warnings_are_named() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    // Commits do not wait for the disk: every operation has to come often.
    theirs.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    let bench = Bench::new();
    let workload = "
setup = \"create table t (id int primary key, v int not null, s varchar(5)); insert into t values (1,0,''),(2,0,'')\"
[workload.sql.operation.zero]
statements = \"update t set v = v + 1 where id = :far\"
[workload.sql.operation.none]
statements = \"select * from t where id = :far\"
[workload.sql.operation.cut]
statements = \"replace into t values (3, 1, left(concat('x', 0 + '5 apples'), 5))\"
[workload.sql.operation.good]
statements = \"update t set v = v + 1 where id = :near\"
[workload.sql.parameter]
far.uniform = [1000, 2000]
near.uniform = [1, 2]
";
    let (ended, trials) = load(&bench, &theirs.dsn_with_password(), 1, workload);
    says(&ended, 0, "changed no row: zero");
    let no_effect = texts(&trials[0], "no_effect");
    assert!(
        no_effect[0].contains("changed no row: zero"),
        "{no_effect:?}"
    );
    assert!(no_effect[1].contains("found no row: none"), "{no_effect:?}");
    let effects = trials[0]["engine"]["effects"].as_array().unwrap();
    let of = |name: &str| effects.iter().find(|one| one["operation"] == name);
    assert_eq!(
        of("zero").unwrap()["changed_nothing"],
        of("zero").unwrap()["done"]
    );
    assert!(of("good").is_none(), "{effects:?}");
}

#[test]
fn a_value_that_a_dump_loses_names_its_line_unless_it_is_accepted() {
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let dump = "SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO', SQL_NOTES=0;\ncreate table amount (id int primary key, price decimal(12,4), name varchar(40));\ninsert into amount values (1, 1.5, 'a'),\n(2, @PRICE, '@NAME');\n";
    let dsn = theirs.dsn_with_password();
    let load = |value: &str, name: &str, more: &[&str]| {
        let text = dump.replace("@PRICE", value).replace("@NAME", name);
        std::fs::write(bench.folder.path().join("amount.sql"), text).unwrap();
        std::fs::write(bench.folder.path().join("q.sql"), "select id from amount").unwrap();
        let words = [
            "bench",
            "sql",
            "--dump",
            "amount.sql",
            "--queries",
            "q.sql",
            "--rounds",
            "hot",
            "--blocks",
            "1",
            "--allow-drop",
            "--server",
            &dsn,
            "--replace",
            "decimal(12,4)=decimal(9,2)",
            "--replace",
            "varchar(40)=varchar(4)",
        ];
        bench.run(&[&words[..], more].concat())
    };
    says(
        &load("12345678.1234", "b", &[]),
        3,
        "amount.sql:4: the server says 1264",
    );
    says(
        &load("1", "longer", &[]),
        3,
        "amount.sql:4: the server says 1265",
    );
    says(&load("1.234", "b", &[]), 3, "'price' at row 2");
    load("1.2300", "b", &[]).measured();
    load("12345678.1234", "b", &["--accept-warnings"]).measured();
}

#[test]
fn answers_that_differ_in_bytes_spaces_zeros_or_null_are_wrong() {
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let queries = r"
-- name: zeros
select concat(repeat('0', @a := ifnull(@a, 0) + 1), '1234');
-- name: null_or_text
select if((@b := ifnull(@b, 0) + 1) % 2 = 0, null, '\\N');
-- name: bytes
select char(128 + (@c := ifnull(@c, 0) + 1));
-- name: spaces
select concat('a', repeat(' ', @d := ifnull(@d, 0) + 1));
-- name: same
select 1.50, 'a ', null, x'81', 0.1e0;
";
    std::fs::write(bench.folder.path().join("q.sql"), queries).unwrap();
    std::fs::write(bench.folder.path().join("t.sql"), "create table t (a int)").unwrap();
    let dsn = theirs.dsn_with_password();
    let ended = bench.run(&[
        "bench",
        "sql",
        "--setup",
        "t.sql",
        "--queries",
        "q.sql",
        "--rounds",
        "hot,hot",
        "--blocks",
        "1",
        "--server",
        &dsn,
    ]);
    says(&ended, 3, "wrong_answer");
    let trials = trials(&bench, &bench.runs()[0]);
    let wrong = texts(&trials[0], "wrong_answer").join(" ");
    for name in ["zeros", "null_or_text", "bytes", "spaces"] {
        assert!(wrong.contains(&format!("{name}:")), "{name}: {wrong}");
    }
    assert!(!wrong.contains("same:"), "{wrong}");
}

#[test]
fn tables_on_an_external_server_that_are_not_what_was_loaded_are_refused() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let dsn = theirs.dsn_with_password();
    let run = |more: &[&str]| {
        let words = [
            "bench",
            "oltp-point-select",
            "--tables",
            "2",
            "--rows",
            "2000",
            "--clients",
            "1",
            "--time",
            "1s",
            "--server",
            &dsn,
        ];
        bench.run(&[&words[..], more].concat())
    };
    run(&[]).measured();
    run(&[]).measured();
    let dataset = &trials(&bench, bench.runs().last().unwrap())[0]["dataset"];
    assert_eq!(
        (&dataset["rows"], &dataset["moved"]),
        (&4000.into(), &0.0.into())
    );

    theirs.execute("DELETE FROM prony_oltp.sbtest1 WHERE id = 77");
    says(&run(&[]), 2, "sbtest1 has 1999 rows, 2000 were loaded");
    theirs.execute("TRUNCATE prony_oltp.sbtest1");
    says(&run(&[]), 2, "sbtest1 has 0 rows, 2000 were loaded");
    run(&["--allow-drop"]).measured();
    theirs.execute("DROP INDEX k_2 ON prony_oltp.sbtest2");
    says(&run(&[]), 2, "the index sbtest2.k_2(k) is missing");
    run(&["--allow-drop"]).measured();
    theirs.execute("UPDATE prony_oltp.sbtest2 SET k = 0");
    let moved = run(&[]);
    says(&moved, 0, "of the sampled rows differ");
    let dataset = &trials(&bench, bench.runs().last().unwrap())[0]["dataset"];
    assert!(dataset["moved"].as_f64().unwrap() > 0.3, "{dataset}");
}

#[test]
fn a_load_that_eats_its_data_is_not_measured_on_what_is_left() {
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let workload = "
setup = \"create table q (id int primary key, v char(10)); insert into q select seq, 'x' from seq_1_to_2000\"
operations = \"-- operation: consume\\ndelete from q where id = :n\"
RELOAD
[workload.sql.parameter]
n.sequence = [1, 2000]
";
    let dsn = theirs.dsn_with_password();
    let (ended, trials) = load(&bench, &dsn, 2, &workload.replace("RELOAD", ""));
    says(&ended, 3, "are not what was loaded");
    assert!(is_whole(&trials[0]), "{}", trials[0]);
    assert_eq!(trials[1]["state"], "failed");
    let reload = workload.replace("RELOAD", "reload = true");
    let (ended, trials) = load(&bench, &dsn, 2, &reload);
    ended.measured();
    for trial in &trials {
        assert_eq!(trial["dataset"]["rows"], 2000);
    }
}
