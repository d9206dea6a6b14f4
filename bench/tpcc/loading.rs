//! Loads the tables of every program, each in a schema of its own, and times it.

use crate::Settings;
use crate::server::{Running, grant, load};
use server::{Node, Session};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use workload::Workload;

const GO_TPC: &str = "go_tpc";
const TPCC_MYSQL: &str = "tpcc_mysql";

/// A finished load.
pub(crate) struct Load {
    pub name: String,
    pub rows_per_s: f64,
}

/// Loads by prony, with LOAD DATA and with INSERT, and by the peers. The last tables of each stay.
pub(crate) fn all(settings: &Settings, running: &Running, workload: &dyn Workload) -> Vec<Load> {
    let dataset = workload.data().expect("it has tables");
    let rows = running.loaded.rows as f64;
    let mut session = running.server.connect().expect("the server answers");
    let mut switch = |on: u8| {
        let set = format!("SET GLOBAL local_infile = {on}");
        session.execute(&set).expect("the right to set it");
    };
    switch(0);
    let by_insert = load(&running.server, dataset);
    switch(1);
    let mut loads: Vec<Load> = [&by_insert, &running.loaded]
        .into_iter()
        .map(|loaded| Load {
            name: format!("prony, {}", loaded.method),
            rows_per_s: loaded.rows_per_s(),
        })
        .collect();
    let peers = [
        (
            settings.go_tpc.as_deref(),
            "go-tpc, INSERT",
            load_go_tpc as LoadPeer,
        ),
        (
            settings.tpcc_mysql.as_deref(),
            "tpcc-mysql, INSERT",
            load_tpcc_mysql,
        ),
    ];
    for (peer, name, load) in peers {
        let Some(peer) = peer else { continue };
        let begun = Instant::now();
        load(peer, running, settings.warehouses);
        loads.push(Load {
            name: name.into(),
            rows_per_s: rows / begun.elapsed().as_secs_f64(),
        });
    }
    loads
}

/// Loads a peer's tables: program or folder, server, warehouses.
type LoadPeer = fn(&Path, &Running, u32);

fn load_go_tpc(program: &Path, running: &Running, warehouses: u32) {
    drop(schema(running, GO_TPC));
    let mut command = go_tpc(program, running, warehouses);
    succeed(command.args(["prepare", "--threads=8", "--no-check"]));
}

/// With the two indexes that finding a customer and its last order need, as the other programs have, and without foreign keys.
fn load_tpcc_mysql(folder: &Path, running: &Running, warehouses: u32) {
    let mut session = schema(running, TPCC_MYSQL);
    let tables = std::fs::read_to_string(folder.join("create_table.sql")).expect("its tables");
    for statement in tables.split(';').filter(|text| !text.trim().is_empty()) {
        session.execute(statement).expect("its tables can be made");
    }
    succeed(&mut tpcc_mysql(
        &folder.join("tpcc_load"),
        running,
        warehouses,
    ));
    for index in [
        "CREATE INDEX idx_customer ON customer (c_w_id, c_d_id, c_last, c_first)",
        "CREATE INDEX idx_orders ON orders (o_w_id, o_d_id, o_c_id, o_id)",
    ] {
        session.execute(index).expect("its indexes can be made");
    }
}

/// An empty schema, in a session that uses it.
fn schema(running: &Running, name: &str) -> Session {
    let mut session = running.server.connect().expect("the server answers");
    for statement in [format!("CREATE DATABASE {name}"), format!("USE {name}")] {
        session.execute(&statement).expect("a new schema");
    }
    grant(&running.server, name);
    session
}

/// The command line of go-tpc for the server, without the verb.
pub(crate) fn go_tpc(program: &Path, running: &Running, warehouses: u32) -> Command {
    let mut command = Command::new(program);
    command.args(["tpcc", "--user=bench", "--host=127.0.0.1"]);
    command.arg(format!("--port={}", running.port));
    command.arg(format!("--db={GO_TPC}"));
    command.arg(format!("--warehouses={warehouses}"));
    command
}

/// The command line of one of tpcc-mysql's programs for the server.
pub(crate) fn tpcc_mysql(program: &Path, running: &Running, warehouses: u32) -> Command {
    let mut command = Command::new(program);
    command.args(["-h127.0.0.1", "-ubench", "-p", ""]);
    command.arg(format!("-P{}", running.port));
    command
        .arg(format!("-d{TPCC_MYSQL}"))
        .arg(format!("-w{warehouses}"));
    command
}

fn succeed(command: &mut Command) {
    let status = command.stdout(Stdio::null()).status();
    let status = status.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    assert!(status.success(), "{command:?} failed");
}
