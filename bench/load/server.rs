//! The server of a comparison: started by prony, with the tables for both clients and a user without a password.

use host::{Home, Lease, Leases};
use server::Cache;
use server::{Managed, Node, StartRequest};
use spec::BuildSpec;
use std::path::PathBuf;
use workload::{Dataset, Loaded, Workload};

#[allow(dead_code)] // the comparisons that share this file read other fields
pub(crate) struct Running {
    pub version: String,
    pub socket: PathBuf,
    pub port: u16,
    pub schema: String,
    pub loaded: Loaded,
    // Fields are dropped in this order.
    pub server: Managed,
    _folder: Lease,
    _leases: Leases,
}

impl Running {
    /// Starts a server with the tables of a workload.
    pub(crate) fn start(build: &str, workload: &dyn Workload) -> Running {
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
        let dataset = workload.data().expect("the workload has tables");
        let loaded = load(&server, dataset);
        grant(&server, dataset.schema());
        let mut session = server.connect().expect("the server answers");
        let version = session.query("select version()").expect("a version");
        let dsn = server.endpoint().expect("a running server");
        Running {
            version: version.first_text().unwrap_or_default(),
            socket: dsn.socket.expect("a socket"),
            port: dsn.port,
            schema: dataset.schema().to_string(),
            loaded,
            server,
            _folder: folder,
            _leases: leases,
        }
    }
}

/// Loads the tables anew.
pub(crate) fn load(server: &Managed, dataset: &dyn Dataset) -> Loaded {
    let connect = || server.connect();
    let mut session = connect().expect("the server answers");
    dataset
        .create(&mut session, &workload::AllowDrop::Pronys)
        .expect("the tables");
    dataset
        .load(&connect, &|_| {}, &|| false)
        .expect("the rows")
}

/// Gives a user without a password the rights on a schema, because the other programs take a password only as an argument, which
/// other users can read. The server is reachable from this machine only.
pub(crate) fn grant(server: &Managed, schema: &str) {
    let mut session = server.connect().expect("the server answers");
    for host in ["localhost", "127.0.0.1"] {
        // It exists from the second schema on.
        let _ = session.execute(&format!("create user 'bench'@'{host}'"));
        session
            .execute(&format!("grant all on {schema}.* to 'bench'@'{host}'"))
            .expect("a user for all clients");
    }
}
