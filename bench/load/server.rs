//! The server of a comparison: started by prony, with the tables for both clients and a user without a password.

use host::{Home, Lease, Leases};
use server::Cache;
use server::{Managed, Node, Session, StartRequest};
use spec::BuildSpec;
use std::path::PathBuf;
use workload::{Dataset, open};

pub(crate) const TABLES: u32 = 4;
pub(crate) const ROWS: u32 = 250_000;

pub(crate) struct Running {
    pub version: String,
    pub socket: PathBuf,
    pub port: u16,
    pub schema: String,
    // Fields are dropped in this order.
    _server: Managed,
    _folder: Lease,
    _leases: Leases,
}

impl Running {
    pub(crate) fn start(build: &str) -> Running {
        let build: BuildSpec = build.parse().expect("a build");
        let home = Home::from_environment().expect("a home");
        let leases = Leases::open(&home).expect("a journal");
        let distribution = Cache::new(&home)
            .get(&build, &leases, &|line| eprintln!("{line}"))
            .expect("the build is available");
        let folder = leases.temporary("bench-load").expect("a folder");
        let data_folder = folder.path().join("data");
        distribution
            .initialise(&leases, &data_folder, &[])
            .expect("an empty data folder");
        let server = Managed::new(distribution, leases.clone(), folder.path().join("instance"));
        let settings = [
            ("innodb_buffer_pool_size", "1G"),
            ("innodb_flush_log_at_trx_commit", "2"),
            ("max_connections", "6000"),
        ];
        let settings = settings.map(|(name, value)| (name.to_string(), value.to_string()));
        server
            .start(&StartRequest {
                data_folder,
                settings: settings.into(),
                groups: Vec::new(),
            })
            .expect("the server starts");
        let workload = open("oltp", &section("point-select")).expect("a valid section");
        let dataset = workload.data().expect("oltp has tables");
        load(&server, dataset);
        let mut session = server.connect().expect("the server answers");
        let version = session.query("select version()").expect("a version");
        let dsn = server.endpoint().expect("a running server");
        Running {
            version: version.first_text().unwrap_or_default(),
            socket: dsn.socket.expect("a socket"),
            port: dsn.port,
            schema: dataset.schema().to_string(),
            _server: server,
            _folder: folder,
            _leases: leases,
        }
    }
}

/// The workload section for one operation on the tables of the comparison.
pub(crate) fn section(operation: &str) -> toml::Table {
    let text = format!("operations = \"{operation}\"\ntables = {TABLES}\nrows = {ROWS}");
    text.parse().expect("valid TOML")
}

fn load(server: &Managed, dataset: &dyn Dataset) {
    let connect = || server.connect();
    let mut session = connect().expect("the server answers");
    dataset.create(&mut session, true).expect("the tables");
    dataset
        .load(&connect, &|_| {}, &|| false)
        .expect("the rows");
    grant(&mut session, dataset.schema());
}

/// Creates a user without a password, because sysbench takes a password only as an argument, which other users can read. The server
/// is reachable from this machine only.
fn grant(session: &mut Session, schema: &str) {
    for host in ["localhost", "127.0.0.1"] {
        for statement in [
            format!("create user 'bench'@'{host}'"),
            format!("grant all on {schema}.* to 'bench'@'{host}'"),
        ] {
            session
                .execute(&statement)
                .expect("a user for both clients");
        }
    }
}
