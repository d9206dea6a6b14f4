//! Servers as a cloud offers them: an account with few privileges, TLS with a private authority, no LOCAL INFILE, a proxy in between, an
//! endpoint for reading. What cannot be measured is said once, and everything else works.
//!
//! Tiers: default, all.

use crate::support::elsewhere::{Elsewhere, PASSWORD};
use crate::support::skip::skipped;
use crate::support::timed::{flags, is_whole, trials};
use crate::support::{Bench, Ended};
use serde_json::Value;
use std::process::{Child, Command, Stdio};

/// A server whose account owns prony's schemas and nothing else, and reaches it only by TLS where the server has certificates.
struct Cloud {
    server: Elsewhere,
    parameters: String,
}

impl Cloud {
    fn of(build: &'static str) -> Option<Cloud> {
        let mut server = Elsewhere::start(build, "ALL ON `prony\\_%`.*")?;
        server.execute("SET GLOBAL local_infile = 0");
        let authority = server.authority();
        let parameters = match authority.exists() {
            true => {
                server.execute("ALTER USER 'guest'@'127.0.0.1' REQUIRE SSL");
                format!("?tls=verify-ca&tls_ca={}", authority.display())
            }
            false => String::new(),
        };
        Some(Cloud { server, parameters })
    }

    fn dsn_on(&self, port: u16) -> String {
        format!("mysql://guest@127.0.0.1:{port}/{}", self.parameters)
    }
}

fn run(bench: &Bench, arguments: &[&str]) -> Ended {
    let mut prony = bench.prony(arguments);
    prony.env("PRONY_PASSWORD", PASSWORD);
    prony.output().unwrap().into()
}

/// The only trial of the last run.
fn trial(bench: &Bench, ended: &Ended) -> Value {
    assert!(
        [0, 3].contains(&ended.status),
        "{}\n{}",
        ended.stdout,
        ended.stderr
    );
    let shown = bench.json(&bench.runs().pop().unwrap());
    let trial = trials(&shown)[0].clone();
    assert!(is_whole(&trial), "{}", ended.stderr);
    trial
}

const SSB: &str = "title = \"Cloud\"\n[server.cloud]\nbuild = \"DSN\"\n[workload.ssb]\nscale = 0.01\n[protocol]\nrounds = [\"hot\"]\n";
const OLTP: [&str; 9] = [
    "bench",
    "oltp",
    "--rows",
    "1000",
    "--clients",
    "2",
    "--time",
    "5s",
    "--server",
];

/// Loads and runs the queries of the Star Schema Benchmark and a load of transactions.
fn everything_works(bench: &Bench, dsn: &str, lacks: bool) {
    let ended = run(
        bench,
        &["run", &bench.experiment("cloud", &SSB.replace("DSN", dsn))],
    );
    let queries = trial(bench, &ended);
    assert!(ended.stderr.contains("INSERT"), "{}", ended.stderr);
    assert_eq!(
        flags(&queries, "not_permitted").contains("PROCESS"),
        lacks,
        "{queries}"
    );
    let ended = run(bench, &[&OLTP[..], &[dsn]].concat());
    let load = trial(bench, &ended);
    assert!(load["throughput"].as_f64().unwrap() > 0.0, "{load}");
    let said = flags(&load, "not_permitted").matches("PROCESS").count();
    assert_eq!(said, usize::from(lacks), "{load}");
}

#[test]
#[cfg(tier_all)]
fn an_account_with_few_privileges_runs_queries_and_loads_over_tls_with_a_private_authority() {
    for build in ["mysql@8.0.33", "mariadb"] {
        let Some(cloud) = Cloud::of(build) else {
            continue;
        };
        everything_works(&Bench::new(), &cloud.dsn_on(cloud.server.port), true);
    }
}

/// HAProxy in front of a port.
struct Proxy {
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Proxy {
    /// None where it is not installed.
    fn before(port: u16) -> Option<Proxy> {
        let folder = tempfile::tempdir().unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let own = free.local_addr().unwrap().port();
        drop(free);
        let configuration = folder.path().join("haproxy.cfg");
        let text = format!(
            "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
             listen cloud\n  bind 127.0.0.1:{own}\n  server one 127.0.0.1:{port}\n"
        );
        std::fs::write(&configuration, text).unwrap();
        let process = Command::new("haproxy")
            .arg("-db")
            .arg("-f")
            .arg(&configuration)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut proxy = Proxy {
            process: process.ok()?,
            port: own,
            _folder: folder,
        };
        while std::net::TcpStream::connect(("127.0.0.1", own)).is_err() {
            if proxy.process.try_wait().unwrap().is_some() {
                // Another program has taken the port first.
                return Proxy::before(port);
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Some(proxy)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
#[cfg(tier_all)]
fn a_proxy_in_between_changes_nothing() {
    let Some(cloud) = Cloud::of("mysql@8.0.33") else {
        return;
    };
    let Some(proxy) = Proxy::before(cloud.server.port) else {
        return skipped("haproxy is not installed");
    };
    everything_works(&Bench::new(), &cloud.dsn_on(proxy.port), true);
}

#[test]
fn an_endpoint_for_reading_is_read_and_refuses_a_load_of_writes_with_one_message() {
    let Some(mut cloud) = Cloud::of("mysql@8.0.33") else {
        return;
    };
    cloud
        .server
        .execute("GRANT SELECT ON shop.* TO 'guest'@'127.0.0.1'");
    cloud.server.execute("SET GLOBAL super_read_only = 1");
    let (bench, dsn) = (Bench::new(), cloud.dsn_on(cloud.server.port));
    let queries = bench.home().join("queries.sql");
    std::fs::write(
        &queries,
        "-- operation: count\nselect count(*) from lineorder;\n",
    )
    .unwrap();
    let queries = queries.display().to_string();
    let reads = [
        "bench",
        "sql",
        "--schema",
        "shop",
        "--queries",
        &queries,
        "--server",
        &dsn,
    ];
    trial(&bench, &run(&bench, &reads));
    let refused = run(&bench, &[&OLTP[..], &[&dsn]].concat());
    assert_ne!(refused.status, 0);
    assert_eq!(
        refused.stderr.matches("the server is read-only").count(),
        1,
        "{}",
        refused.stderr
    );
}
