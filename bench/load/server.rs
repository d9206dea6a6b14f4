//! The server of a comparison: prony's own, with the tables that both clients use and a user without a password.

use host::{Home, Lease, Leases};
use server::builds::Cache;
use server::{Managed, Node, Session, StartRequest};
use spec::BuildSpec;
use std::path::PathBuf;
use workload::{Dataset, open};

pub const TABLES: u32 = 4;
pub const ROWS: u32 = 250_000;

pub struct Running {
    pub version: String,
    pub socket: PathBuf,
    pub port: u16,
    pub schema: String,
    // In the order in which they have to end.
    _server: Managed,
    _folder: Lease,
    _leases: Leases,
}

impl Running {
    pub fn start(build: &str) -> Running {
        let build: BuildSpec = build.parse().expect("a build");
        let home = Home::from_environment().expect("a home");
        let leases = Leases::open(&home).expect("a journal");
        let distribution = Cache::new(&home)
            .get(&build, &leases, &|line| eprintln!("{line}"))
            .expect("the build can be had");
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
        let workload = open("oltp", &section("point-select")).expect("the section is right");
        let dataset = workload.data().expect("oltp has tables");
        load(&server, dataset);
        let mut session = server.connect().expect("the server answers");
        let version = session.query("select version()").expect("it has one");
        let dsn = server.endpoint().expect("it runs");
        Running {
            version: version.first_text().unwrap_or_default(),
            socket: dsn.socket.expect("it has a socket"),
            port: dsn.port,
            schema: dataset.schema().to_string(),
            _server: server,
            _folder: folder,
            _leases: leases,
        }
    }
}

/// The section of the workload for one operation on the comparison's tables.
pub fn section(operation: &str) -> toml::Table {
    let text = format!("operations = \"{operation}\"\ntables = {TABLES}\nrows = {ROWS}");
    text.parse().expect("it is TOML")
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

/// sysbench takes a password as an argument, where everybody can read it: so its user has none, on a server that only this machine reaches.
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
