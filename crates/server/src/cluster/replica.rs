//! Replication: the first node writes a binary log, which all others apply.
//!
//! All nodes begin with the same data, so the replicas begin at the position where the first node's binary log begins. The words of the
//! statements differ between the servers: MySQL replaced them in 8.0.22 (REPLICA), 8.0.23 (SOURCE) and 8.2 (BINARY LOG STATUS).

use super::{Cluster, MEMBER, Participation, Server};
use crate::builds::Flavor;
use crate::{Reply, ServerError, Session};

/// How often an idle source tells that it lives, and how soon a replica connects again, in seconds.
const BEAT_S: u32 = 1;

pub(super) fn options(cluster: &Cluster, number: u32) -> Vec<String> {
    let mut options = vec![
        format!("--server-id={number}"),
        "--log-bin=binlog".into(),
        "--binlog-format=ROW".into(),
        "--relay-log=relay".into(),
        // After a crash the replica asks the source again for what it had not applied.
        "--relay-log-recovery=ON".into(),
    ];
    if !says_replica(cluster) {
        // Since 5.6 the position is in a table, in the transaction that it belongs to. Older servers do not know the option.
        options.push("--loose-relay-log-info-repository=TABLE".into());
    }
    if cluster.spec.semi_sync {
        options.extend(semi_sync(cluster, number));
    }
    options
}

/// MariaDB has it built in since 10.3. Other servers load a plugin, and ignore the option without it ([`is_semi_sync`]).
fn semi_sync(cluster: &Cluster, number: u32) -> Vec<String> {
    let role = role(cluster, number);
    let is_built_in = cluster.flavor == Flavor::MariaDb && cluster.version >= (10, 3, 0);
    let plugin = (!is_built_in).then(|| format!("--plugin-load-add=semisync_{role}.so"));
    let enabled = format!("--loose-rpl-semi-sync-{role}-enabled=ON");
    plugin.into_iter().chain([enabled]).collect()
}

/// What names of semi-synchronous replication call a node. MySQL changed them in 8.0.26; the old ones ended with 8.4.
fn role(cluster: &Cluster, number: u32) -> &'static str {
    let (source, replica) = if is_mysql_since(cluster, (8, 0, 26)) {
        ("source", "replica")
    } else {
        ("master", "slave")
    };
    if number == 1 { source } else { replica }
}

/// # Errors
/// The cluster should replicate semi-synchronously, and this node does not.
fn is_semi_sync(cluster: &Cluster, number: u32, session: &mut Session) -> Result<(), ServerError> {
    if !cluster.spec.semi_sync {
        return Ok(());
    }
    let name = format!("rpl_semi_sync_{}_enabled", role(cluster, number));
    let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name = '{name}'");
    match session.query(&sql)?.text(0, 1).as_deref() {
        Some("ON") => Ok(()),
        _ => Err(ServerError::Unusable(format!(
            "node {number}: semi_sync = true is not in force: {name} is not ON, as in a build without the plugin; remove semi_sync, or use another build"
        ))),
    }
}

fn says_replica(cluster: &Cluster) -> bool {
    is_mysql_since(cluster, (8, 0, 22))
}

fn is_mysql_since(cluster: &Cluster, version: (u32, u32, u32)) -> bool {
    cluster.flavor == Flavor::MySql && cluster.version >= version
}

/// Lets the replicas begin where the first node is.
pub(super) fn form(cluster: &Cluster, server: &Server) -> Result<(), ServerError> {
    let mut first = server.first().connect()?.for_control();
    is_semi_sync(cluster, 1, &mut first)?;
    let position = if is_mysql_since(cluster, (8, 2, 0)) {
        "SHOW BINARY LOG STATUS"
    } else {
        "SHOW MASTER STATUS"
    };
    let reply = first.query(position)?;
    let field = |name| {
        field(&reply, &[name]).ok_or_else(|| {
            ServerError::Unusable(format!("the first node answers {position} without {name}"))
        })
    };
    let (file, place) = (field("File")?, field("Position")?);
    for (number, node) in (2..).zip(server.nodes().skip(1)) {
        let mut session = node.connect()?.for_control();
        is_semi_sync(cluster, number, &mut session)?;
        session.execute(&source(cluster, &file, &place))?;
        session.execute(match says_replica(cluster) {
            true => "START REPLICA",
            false => "START SLAVE",
        })?;
    }
    Ok(())
}

fn source(cluster: &Cluster, file: &str, place: &str) -> String {
    let (begin, word) = if is_mysql_since(cluster, (8, 0, 23)) {
        ("CHANGE REPLICATION SOURCE TO", "SOURCE")
    } else {
        ("CHANGE MASTER TO", "MASTER")
    };
    let first = cluster.of(1);
    let mut keys = vec![
        format!("{word}_HOST = '{}'", first.host),
        format!("{word}_PORT = {}", first.client),
        format!("{word}_USER = '{MEMBER}'"),
        format!("{word}_PASSWORD = '{}'", cluster.member_password),
        format!("{word}_LOG_FILE = '{file}'"),
        format!("{word}_LOG_POS = {place}"),
        format!("{word}_CONNECT_RETRY = {BEAT_S}"),
        format!("{word}_HEARTBEAT_PERIOD = {BEAT_S}"),
    ];
    // The password of caching_sha2_password is only sent encrypted.
    if is_mysql_since(cluster, (8, 0, 4)) {
        keys.push(format!("GET_{word}_PUBLIC_KEY = 1"));
    }
    format!("{begin} {}", keys.join(", "))
}

/// The columns of a replica's lag (s), by version.
pub(super) const LAG_COLUMNS: [&str; 2] = ["Seconds_Behind_Source", "Seconds_Behind_Master"];

/// The statement with which a replica says how it is.
pub(super) fn status_statement(cluster: &Cluster) -> &'static str {
    if says_replica(cluster) {
        "SHOW REPLICA STATUS"
    } else {
        "SHOW SLAVE STATUS"
    }
}

/// Whether both threads of a replica run and it has applied all that it knows of. The first node always takes part.
pub(super) fn takes_part(
    cluster: &Cluster,
    number: u32,
    session: &mut Session,
) -> Result<Participation, ServerError> {
    if number == 1 {
        return Ok(Participation::Takes);
    }
    let reply = session.query(status_statement(cluster))?;
    let runs = |names: &[&str]| field(&reply, names).as_deref() == Some("Yes");
    let lag_s = field(&reply, &LAG_COLUMNS);
    let error = |name| field(&reply, &[name]).filter(|text| !text.is_empty());
    if let Some(error) = error("Last_SQL_Error") {
        return Err(ServerError::Lost(format!(
            "its replication stopped: {error}"
        )));
    }
    let runs = runs(&["Replica_IO_Running", "Slave_IO_Running"])
        && runs(&["Replica_SQL_Running", "Slave_SQL_Running"]);
    Ok(match (runs, lag_s, error("Last_IO_Error")) {
        (true, Some(lag_s), _) if lag_s == "0" => Participation::Takes,
        (true, lag_s, _) => {
            let lag_s = lag_s.as_deref().unwrap_or("an unknown number of");
            Participation::Waits(format!("it is {lag_s} seconds behind"))
        }
        (false, _, Some(error)) => Participation::Waits(error),
        (false, _, None) => Participation::Waits("it is not connected to the first node".into()),
    })
}

/// The text of the first of these columns in the first row.
pub(super) fn field(reply: &Reply, names: &[&str]) -> Option<String> {
    reply.text(0, reply.column(names)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::{ClusterSpec, Topology};
    use std::path::PathBuf;

    fn cluster(flavor: Flavor, version: (u32, u32, u32)) -> Cluster {
        Cluster {
            spec: ClusterSpec {
                topology: Topology::Replica,
                nodes: 2,
                semi_sync: true,
                link_bits_per_s: None,
                client_link_bits_per_s: None,
            },
            flavor,
            version,
            addresses: Vec::new(),
            _ports: Vec::new(),
            network: None,
            password: String::new(),
            member_password: String::new(),
            uuid: String::new(),
            library: None,
            transfers: PathBuf::new(),
        }
    }

    #[test]
    fn semi_synchronous_replication_is_a_plugin_unless_it_is_built_in() {
        let first = |flavor, version| semi_sync(&cluster(flavor, version), 1).remove(0);
        let plugin = |role| format!("--plugin-load-add=semisync_{role}.so");
        assert_eq!(first(Flavor::MariaDb, (10, 2, 11)), plugin("master"));
        assert_eq!(first(Flavor::MySql, (5, 6, 14)), plugin("master"));
        assert_eq!(first(Flavor::MySql, (8, 0, 33)), plugin("source"));
        let built_in = "--loose-rpl-semi-sync-master-enabled=ON";
        assert_eq!(first(Flavor::MariaDb, (10, 3, 0)), built_in);
    }

    #[test]
    fn a_node_that_ignores_semi_synchronous_replication_is_refused() {
        let checked = |value: Option<&'static str>| {
            let script = move |sql: &str| {
                assert!(sql.ends_with("= 'rpl_semi_sync_slave_enabled'"), "{sql}");
                let row = |value: &str| vec![Some("name".into()), Some(value.into())];
                Ok(Reply {
                    rows: value.map(row).into_iter().collect(),
                    ..Reply::default()
                })
            };
            let mut session = Session::Scripted(Box::new(script));
            is_semi_sync(&cluster(Flavor::MariaDb, (10, 2, 11)), 2, &mut session)
        };
        assert!(checked(Some("ON")).is_ok());
        for other in [Some("OFF"), None] {
            let says = checked(other).unwrap_err().to_string();
            let begins = "node 2: semi_sync = true is not in force";
            assert!(says.starts_with(begins), "{says}");
        }
    }
}
