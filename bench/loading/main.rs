//! Compares prony's loader with the server's own client, which loads the same rows with LOAD DATA from files in the page cache. Runs
//! alternate on the same server; the results are medians.
//!
//! cargo bench -p prony --bench loading -- DSN CLIENT [SCALE [TIMES [ssb|tpch]]]
//!
//! DSN is a server whose schema prony_ssb or prony_tpch may be dropped. CLIENT is its `mysql` program, which must reach the server
//! through the DSN's socket or host. Goal: a ratio of at most 1.1. The last result is in bench/results/loading.md.

#[path = "../median.rs"]
mod median;
#[path = "../peer.rs"]
mod peer;

use datagen::ssb::{self, Ssb};
use datagen::tpch::{self, Tpch};
use datagen::{Benchmark, Format};
use server::Session;
use spec::Dsn;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use workload::{Dataset, open};

/// In the order in which prony loads them.
const OF_SSB: [ssb::Table; 5] = [
    ssb::Table::Date,
    ssb::Table::Supplier,
    ssb::Table::Customer,
    ssb::Table::Part,
    ssb::Table::Lineorder,
];
const OF_TPCH: [tpch::Table; 8] = [
    tpch::Table::Region,
    tpch::Table::Nation,
    tpch::Table::Supplier,
    tpch::Table::Part,
    tpch::Table::Customer,
    tpch::Table::Partsupp,
    tpch::Table::Orders,
    tpch::Table::Lineitem,
];

/// Files for the client as (table, file), in load order.
type Files = Vec<(&'static str, PathBuf)>;

fn main() {
    let Some(peer) = peer::Peer::from_arguments() else {
        return;
    };
    let scale: f64 = peer
        .rest
        .first()
        .map_or(0.25, |text| text.parse().expect("SCALE is a number"));
    let times: usize = peer
        .rest
        .get(1)
        .map_or(5, |text| text.parse().expect("TIMES is a number"));

    let section = toml::Table::from_iter([("scale".to_owned(), toml::Value::Float(scale))]);
    let workload = peer.rest.get(2).map_or("ssb", String::as_str);
    let opened = open(workload, &section).expect("a valid section");
    let dataset = opened.data().expect("it has tables");
    let folder = tempfile::tempdir().expect("a folder for the files");
    let (files, rows) = match workload {
        "tpch" => files_of_tpch(scale, folder.path()),
        _ => files_of_ssb(scale, folder.path()),
    };

    let mut pairs = Vec::new();
    for n in 0..times {
        // The order alternates, so that neither program always runs after the other.
        let first_s = run(n.is_multiple_of(2), dataset, &peer, &files);
        let second_s = run(!n.is_multiple_of(2), dataset, &peer, &files);
        let pair = if n.is_multiple_of(2) {
            (first_s, second_s)
        } else {
            (second_s, first_s)
        };
        println!(
            "{}: prony {:.2} s, client {:.2} s, ratio {:.3}",
            n + 1,
            pair.0,
            pair.1,
            pair.0 / pair.1
        );
        pairs.push(pair);
    }
    let prony_s = median::median(pairs.iter().map(|pair| pair.0));
    let client_s = median::median(pairs.iter().map(|pair| pair.1));
    println!(
        "{workload}, scale {scale}, {rows} rows, medians of {times}: prony {prony_s:.2} s ({:.0} rows/s), client {client_s:.2} s",
        rows as f64 / prony_s
    );
    println!(
        "median of the ratios {:.3} (goal: at most 1.1)",
        median::median(pairs.iter().map(|pair| pair.0 / pair.1))
    );
}

/// The load time in seconds, from the first row to the last commit, without CREATE and ANALYZE.
fn run(prony: bool, dataset: &dyn Dataset, peer: &peer::Peer, files: &Files) -> f64 {
    let mut session = connect(&peer.dsn);
    dataset
        .create(&mut session, &workload::AllowDrop::Pronys)
        .expect("the tables can be made");
    if prony {
        let connect = || Session::open(&peer.dsn);
        dataset
            .load(&connect, &|_| {}, &|| false)
            .expect("prony loads")
            .elapsed_s
    } else {
        by_client(peer, dataset.schema(), files)
    }
}

fn by_client(peer: &peer::Peer, schema: &str, files: &Files) -> f64 {
    let mut sql = String::new();
    for (table, file) in files {
        sql += &format!(
            "LOAD DATA LOCAL INFILE '{}' INTO TABLE {table} CHARACTER SET latin1 FIELDS TERMINATED BY '|' LINES TERMINATED BY '|\\n';",
            file.display()
        );
    }
    let begun = Instant::now();
    let status = peer
        .client(schema)
        .arg("--local-infile=1")
        .arg("-e")
        .arg(sql)
        .status()
        .expect("the client starts");
    assert!(status.success(), "the client failed");
    begun.elapsed().as_secs_f64()
}

fn files_of_ssb(scale: f64, folder: &Path) -> (Files, u64) {
    let ssb = Ssb::new(scale).expect("a valid scale");
    let write = |table: ssb::Table, to: &mut dyn Write| ssb.whole(table).write(to, Format::Tbl);
    files(folder, OF_SSB.map(|table| (table.name(), table)), write)
}

fn files_of_tpch(scale: f64, folder: &Path) -> (Files, u64) {
    let tpch = Tpch::new(scale).expect("a valid scale");
    let write = |table: tpch::Table, to: &mut dyn Write| tpch.whole(table).write(to, Format::Tbl);
    files(folder, OF_TPCH.map(|table| (table.name(), table)), write)
}

/// Writes each table to a file. Returns the files and the total number of rows.
fn files<T: Copy, const N: usize>(
    folder: &Path,
    tables: [(&'static str, T); N],
    write: impl Fn(T, &mut dyn Write) -> io::Result<u64>,
) -> (Files, u64) {
    let written = tables.map(|(name, table)| {
        let path = folder.join(name);
        let file = std::fs::File::create(&path).expect("a writable folder");
        let rows = write(table, &mut BufWriter::new(file)).expect("enough disk space");
        ((name, path), rows)
    });
    let rows = written.iter().map(|(_, rows)| rows).sum();
    (written.map(|(file, _)| file).to_vec(), rows)
}

fn connect(dsn: &Dsn) -> Session {
    Session::open(dsn).expect("the server answers")
}
