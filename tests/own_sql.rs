//! The user's own SQL in rounds: on a dump, on files, and on the tables that a running server has.
//!
//! Tiers: default, all.

use crate::support::elsewhere::Elsewhere;
use crate::support::process::nothing_is_left;
use crate::support::{Bench, has};
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;

const QUERIES: &str = "-- name: by_region
select c.region, count(*), sum(o.price), sum(o.weight)
from orders o join customers c on c.id = o.customer
group by c.region;

-- operation: view
select * from sales order by total;

-- name: binary
select id, name, hex(photo) from customers;
";

/// A dump in the folder `tests/data/dumps`.
fn dump(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/dumps");
    std::fs::read(folder.join(name)).unwrap()
}

fn write(bench: &Bench, name: &str, content: impl AsRef<[u8]>) {
    std::fs::write(bench.folder.path().join(name), content).unwrap();
}

/// All queries of the only run, as (server, round, query).
fn measured(bench: &Bench) -> Vec<(String, String, Value)> {
    let shown = bench.json(&bench.runs()[0]);
    let mut found = Vec::new();
    for trial in shown["trials"].as_array().unwrap() {
        for round in trial["rounds"].as_array().unwrap() {
            for query in round["queries"].as_array().unwrap() {
                let text = |value: &Value| value.as_str().unwrap().to_string();
                found.push((text(&trial["server"]), text(&round["name"]), query.clone()));
            }
        }
    }
    found
}

/// Runs the queries of the shop cold and hot on a dump of it, and checks that all servers give the same answers.
fn is_measured(bench: &Bench, dump: &str, servers: &[&str]) {
    write(bench, "q.sql", QUERIES);
    let mut words = vec!["bench", "sql", "--dump", dump, "--queries", "q.sql"];
    words.extend(["--rounds", "cold,hot"]);
    words.extend(["--replace", "utf8mb4_0900_ai_ci=utf8mb4_general_ci"]);
    for server in servers {
        words.extend(["--server", server]);
    }
    let ended = bench.run(&words);
    ended.measured();
    let queries = measured(bench);
    assert_eq!(queries.len(), servers.len() * 2 * 3);
    for (server, round, query) in &queries {
        assert_eq!(query["answer"], "ok", "{server} {round} {query}");
        assert!(!query["plan_hash"].is_null(), "{server} {round} {query}");
    }
    let names: Vec<&str> = queries[..3]
        .iter()
        .map(|(.., query)| query["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["by_region", "view", "binary"]);
    nothing_is_left(bench);
}

fn available<'b>(builds: &[&'b str]) -> Vec<&'b str> {
    builds.iter().copied().filter(|build| has(build)).collect()
}

#[test]
fn a_dump_of_mysql_loads_into_all_servers_and_gives_the_same_answers() {
    let servers = available(&["mariadb", "mysql@5.6.14", "mysql@8.0.33"]);
    let bench = Bench::new();
    write(&bench, "shop.sql", dump("shop-mysql-8.0.sql"));
    is_measured(&bench, "shop.sql", &servers);
}

#[test]
#[cfg(tier_all)]
fn a_compressed_dump_of_mariadb_loads_into_all_servers() {
    let servers = available(&["mariadb", "mysql@5.6.14", "mysql@8.0.33"]);
    let bench = Bench::new();
    let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&dump("shop-mariadb-10.11.sql")).unwrap();
    write(&bench, "shop.sql.gz", gzip.finish().unwrap());
    is_measured(&bench, "shop.sql.gz", &servers);
}

#[test]
fn a_collation_that_a_server_lacks_is_named_with_its_line_and_the_fix() {
    if !has("mysql@5.6.14") {
        return;
    }
    let bench = Bench::new();
    write(&bench, "shop.sql", dump("shop-mysql-8.0.sql"));
    write(&bench, "q.sql", QUERIES);
    let ended = bench.line("bench sql --dump shop.sql --queries q.sql --server mysql@5.6.14");
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    for part in [
        "shop.sql:30: the server says 1273",
        "--replace utf8mb4_0900_ai_ci=",
    ] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
}

#[test]
fn a_dump_that_stops_halfway_names_its_line() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let whole = dump("shop-mysql-8.0.sql");
    let cut = whole
        .windows(8)
        .position(|word| word == b",(2,2,20")
        .unwrap();
    let line = 1 + whole[..cut].iter().filter(|byte| **byte == b'\n').count();
    write(&bench, "shop.sql", &whole[..cut]);
    write(&bench, "q.sql", QUERIES);
    let ended = bench.line(
        "bench sql --dump shop.sql --queries q.sql --replace utf8mb4_0900_ai_ci=utf8mb4_general_ci",
    );
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    let place = format!("shop.sql:{line}: the file ends within the statement");
    assert!(ended.stderr.contains(&place), "{}", ended.stderr);
    assert!(bench.runs().is_empty(), "nothing was measured");
}

#[test]
fn a_typo_in_a_query_is_said_before_the_rows_are_loaded() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    write(&bench, "t.sql", "create table t (id int primary key);\n");
    write(&bench, "t.csv", "1\n2\n");
    let queries = "select count(*) from t;\nshow tables;\nselect colour from t;\n";
    let line = |queries: &str| {
        write(&bench, "q.sql", queries);
        bench.line("bench sql --setup t.sql --load t=t.csv --queries q.sql --rounds hot")
    };
    let ended = line(queries);
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    let said = |part: &str| {
        let found = ended.stderr.find(part);
        found.unwrap_or_else(|| panic!("{part}: {}", ended.stderr))
    };
    assert!(said("Q3 (q.sql:3): the server says 1054") < said("loaded "));
    let shows = "Q2 (q.sql:2): the server says";
    assert!(!ended.stderr.contains(shows), "{}", ended.stderr);
    let shown = bench.json(&bench.runs().pop().unwrap());
    let queries = &shown["trials"][0]["rounds"][0]["queries"];
    assert_eq!(queries[0]["rows"], 1, "{queries}");
    // With the tables there, the first round says it.
    let ended = line("select 1 fro t where;\nselect id from t;\n");
    assert!(
        ended.stderr.contains("Q1 (q.sql:1): the server says 1064"),
        "{}",
        ended.stderr
    );
}

#[test]
fn queries_that_can_all_not_run_end_the_run_before_anything_is_loaded() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    write(&bench, "t.sql", "create table t (id int primary key);\n");
    write(&bench, "t.csv", "1\n2\n");
    for query in ["select id fro t where", "select name from t"] {
        write(&bench, "q.sql", query);
        let ended = bench.line("bench sql --setup t.sql --load t=t.csv --queries q.sql");
        assert_eq!(ended.status, 3, "{}", ended.stderr);
        assert!(ended.stderr.contains("q.sql:1"), "{}", ended.stderr);
        assert!(!ended.stderr.contains("loaded "), "{}", ended.stderr);
        assert!(bench.runs().is_empty(), "nothing was measured");
    }
}

#[test]
fn files_are_loaded_and_a_wrong_value_names_its_line() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    write(
        &bench,
        "tables.sql",
        "create table orders (id int primary key, region varchar(20), price decimal(10,2)) charset utf8mb4;",
    );
    write(
        &bench,
        "q.sql",
        "select region, sum(price) from orders group by region",
    );
    let line =
        "bench sql --setup tables.sql --load orders=orders.csv --queries q.sql --rounds hot,hot";
    write(
        &bench,
        "orders.csv",
        "region,id,price\nnorth,1,10.5\n\"south, or \"\"so\"\"\",x,20\n",
    );
    let wrong = bench.line(line);
    assert_eq!(wrong.status, 3, "{}", wrong.stderr);
    assert!(
        wrong.stderr.contains("orders.csv:3: the server says 1366"),
        "{}",
        wrong.stderr
    );
    write(
        &bench,
        "orders.csv",
        "region,id,price\nnorth,1,10.5\n\"south, or \"\"so\"\"\",2,20\n",
    );
    bench.line(line).measured();
    let queries = measured(&bench);
    assert!(
        queries
            .iter()
            .all(|(.., query)| query["rows"] == 2 && query["answer"] == "ok"),
        "{queries:?}"
    );
}

#[test]
fn a_row_that_a_server_skips_silently_is_found() {
    if !has("mysql@5.6.14") {
        return;
    }
    let bench = Bench::new();
    write(
        &bench,
        "tables.sql",
        "create table orders (id int primary key, price int)",
    );
    write(&bench, "q.sql", "select count(*) from orders");
    write(&bench, "orders.csv", "1,10\n2,20\n1,30\n");
    let ended = bench.line("bench sql --setup tables.sql --load orders=orders.csv --queries q.sql --server mysql@5.6.14");
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    let says = "orders.csv: 1 rows have a key that an earlier row of orders has";
    assert!(ended.stderr.contains(says), "{}", ended.stderr);
}

#[test]
fn operations_that_the_server_refuses_are_no_throughput_and_say_what_it_said() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let table =
        "CREATE TABLE c (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20)) CHARSET=latin1;\n";
    write(&bench, "setup.sql", table);
    let insert = "-- operation: ins\nINSERT INTO c (name) VALUES ('\u{4e2d}\u{6587}');\n";
    write(&bench, "operations.sql", insert);
    let ended =
        bench.line("bench sql --setup setup.sql --operations operations.sql --time 2s --clients 2");
    assert_eq!(ended.status, 3, "{}\n{}", ended.stdout, ended.stderr);
    let run = bench.runs().pop().unwrap();
    let trial = &bench.json(&run)["trials"][0];
    assert_eq!(trial["state"], "invalid");
    // A busy machine may have a flag of its own before it.
    let mut flags = trial["flags"].as_array().unwrap().iter();
    let failed = flags.find(|flag| flag["kind"] == "operations_failed");
    let reason = failed.expect("a flag")["text"].as_str().unwrap();
    assert!(
        reason.starts_with("less than half of the operations were done"),
        "{reason}"
    );
    assert_eq!(reason.matches("error 1366").count(), 1, "{reason}");
    assert!(trial["failed_ms"]["mean"].as_f64().unwrap() > 0.0);
    assert_eq!(trial["latency_ms"], Value::Null);
}

#[test]
fn a_schema_of_a_running_server_is_only_read() {
    let rights = "SELECT ON shop.*";
    let Some(mut theirs) = Elsewhere::start("mariadb", rights) else {
        return;
    };
    let bench = Bench::new();
    write(
        &bench,
        "q.sql",
        "select count(*) from lineorder;\nselect n from lineorder where n > 1;\n",
    );
    let before = (theirs.pid(), theirs.surroundings());
    let dsn = theirs.dsn_with_password();
    let ended = bench.run(&[
        "bench",
        "sql",
        "--schema",
        "shop",
        "--queries",
        "q.sql",
        "--server",
        &dsn,
    ]);
    ended.measured();
    assert_eq!((theirs.pid(), theirs.surroundings()), before);
    let schemas = theirs.query(
        "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'prony%'",
    );
    assert_eq!(schemas, Vec::<String>::new());
    let queries = measured(&bench);
    assert_eq!(queries.len(), 6, "{queries:?}");
    assert!(
        queries.iter().all(|(.., query)| query["answer"] == "ok"),
        "{queries:?}"
    );
    // A function that writes is what read-only transactions are for.
    theirs.execute("CREATE TABLE shop.log (n INT)");
    theirs.execute("GRANT EXECUTE, INSERT ON shop.* TO 'guest'@'127.0.0.1'");
    theirs.execute("CREATE FUNCTION shop.logged() RETURNS INT BEGIN INSERT INTO shop.log VALUES (1); RETURN 1; END");
    write(&bench, "q.sql", "select logged()");
    let ended = bench.run(&[
        "bench",
        "sql",
        "--schema",
        "shop",
        "--queries",
        "q.sql",
        "--server",
        &dsn,
    ]);
    let shown = format!("{}{}", ended.stdout, ended.stderr);
    assert!(ended.status == 3 && shown.contains("READ ONLY"), "{shown}");
    assert_eq!(theirs.query("SELECT COUNT(*) FROM shop.log"), ["0"]);
}

#[test]
fn a_setup_changes_nothing_outside_pronys_schema_unless_allowed() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    write(&bench, "q.sql", "select count(*) from t");
    let dsn = theirs.dsn_with_password();
    let before = theirs.surroundings();
    let run = |more: &[&str]| {
        let words = ["bench", "sql", "--setup", "t.sql", "--queries", "q.sql"];
        let rest = ["--rounds", "hot", "--server", &dsn];
        bench.run(&[&words[..], &rest[..], more].concat())
    };
    for (statement, says) in [
        ("drop table shop.lineorder", "names the schema shop"),
        ("set global max_connections = 99", "SET with GLOBAL"),
    ] {
        write(
            &bench,
            "t.sql",
            format!("create table t (a int);\n{statement};\n"),
        );
        let refused = run(&["--allow-drop"]);
        assert_eq!(refused.status, 2, "{}", refused.stderr);
        for part in ["t.sql:2: ", says, "--allow-setup"] {
            assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
        }
        assert_eq!(theirs.surroundings(), before);
    }
    run(&["--allow-setup"]).measured();
    let connections = theirs.query("SELECT @@global.max_connections");
    assert_eq!(connections, ["99"]);
}

#[test]
fn operations_and_queries_do_not_leave_pronys_schema_unless_allowed() {
    let Some(mut theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let setup = "create table t (a int primary key);\ninsert into t values (1);\n";
    write(&bench, "t.sql", setup);
    let dsn = theirs.dsn_with_password();
    let before = theirs.surroundings();
    let run = |kind: &[&str], statements: &str, more: &[&str]| {
        write(&bench, "own.sql", statements);
        let words = ["bench", "sql", "--setup", "t.sql", "--server", &dsn];
        bench.run(&[&words[..], kind, more].concat())
    };
    let rounds = ["--queries", "own.sql", "--rounds", "hot"];
    let operations = "--operations own.sql --time 2s --clients 2";
    let timed: Vec<&str> = operations.split(' ').collect();
    let on_theirs = "select 1;\nselect count(*) from shop.lineorder;\n";
    let update = "-- operation: add\nupdate shop.lineorder set n = n + 10;\n";
    // Before the tables are loaded, and with the tables there.
    for _ in 0..2 {
        for (kind, statements, place) in [
            (&rounds[..], on_theirs, "own.sql:2: "),
            (&timed[..], update, "add: "),
        ] {
            let refused = run(kind, statements, &[]);
            assert_eq!(refused.status, 2, "{}", refused.stderr);
            for part in [place, "names the schema shop", "--allow-setup"] {
                assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
            }
        }
        run(&rounds, "select count(*) from t", &[]).measured();
        assert_eq!(theirs.surroundings(), before);
    }
    run(&rounds, on_theirs, &["--allow-setup"]).measured();
}

#[test]
fn a_set_in_the_queries_that_overrides_a_level_is_refused() {
    let bench = Bench::new();
    let set = "SET optimizer_switch = 'default';\nselect 1;\n";
    write(&bench, "q.sql", set);
    let text = "title = \"t\"
[server.a]
build = \"mariadb\"
[factor.mrr.on]
session = { optimizer_switch = \"mrr=on\" }
[factor.mrr.off]
session = { optimizer_switch = \"mrr=off\" }
[workload.sql]
queries_file = \"q.sql\"
[protocol]
rounds = [\"hot\"]
";
    let ended = bench.run(&["check", &bench.experiment("mrr", text)]);
    assert_eq!(ended.status, 2, "{}", ended.stderr);
    let said = ended.stderr.replace('\n', " ");
    for part in ["q.sql:2: SET optimizer_switch", "level mrr \"on\" sets"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_schema_needs_a_running_server() {
    let bench = Bench::new();
    write(&bench, "q.sql", "select 1");
    let ended = bench.line("bench sql --schema shop --queries q.sql --server mariadb");
    assert_eq!(ended.status, 2, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("name a running server by its DSN"),
        "{}",
        ended.stderr
    );
}
