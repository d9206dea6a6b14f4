//! Galera: the options of a node, and its state. The first node begins with the dataset, the others get it from another node.
//!
//! Source of the options: the manual of Galera Cluster, "Galera Parameters" and "MySQL wsrep Options".

use super::{Cluster, Member, Participation, transfer};
use crate::initialise::output;
use crate::{ServerError, Session};
use host::{interrupted, join};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::SeqCst;

/// Writes that a node keeps for others that missed them.
const KEPT: &str = "gcache.size=512M";
/// The first lines of the state that a node finds in its data folder.
const STATE_FILE: &str = "grastate.dat";
/// What precedes the position in the log of a recovery.
const RECOVERED: &str = "Recovered position: ";

pub(super) fn options(cluster: &Cluster, number: u32, forms: bool) -> Vec<String> {
    let own = cluster.of(number);
    let (host, peer, missed) = (own.host, own.peer, own.missed);
    let library = cluster.library.as_deref().unwrap_or(Path::new("none"));
    let mut options = vec![
        "--binlog-format=ROW".into(),
        "--innodb-autoinc-lock-mode=2".into(),
        "--wsrep-on=ON".into(),
        format!("--server-id={number}"),
        format!("--wsrep-provider={}", library.display()),
        // The protocol allows 32 characters.
        format!("--wsrep-cluster-name=prony-{}", &cluster.uuid[..8]),
        format!("--wsrep-cluster-address=gcomm://{}", cluster.peers()),
        format!("--wsrep-node-name=node{number}"),
        format!("--wsrep-node-address={host}:{peer}"),
        format!("--wsrep-node-incoming-address={host}:{}", own.client),
        format!("--wsrep-sst-method={}", transfer::METHOD),
        format!("--wsrep-sst-receive-address={host}:{missed}"),
        format!(
            "--wsrep-provider-options=gmcast.listen_addr=tcp://{host}:{peer};ist.recv_addr={host}:{missed};\
             ist.recv_bind={host}:{missed};{KEPT};pc.recovery=no"
        ),
    ];
    if forms && number == 1 {
        options.push("--wsrep-new-cluster".into());
    }
    options
}

/// Lets the first node begin a new cluster with the data that it has.
pub(super) fn prepare(member: &Member, data_folder: &Path) -> Result<(), ServerError> {
    if member.number != 1 || !member.forms.load(SeqCst) {
        return Ok(());
    }
    let file = data_folder.join(STATE_FILE);
    let state = format!(
        "# GALERA saved state\nversion: 2.1\nuuid:    {}\nseqno:   0\nsafe_to_bootstrap: 1\n",
        member.cluster.uuid
    );
    fs::write(&file, state)
        .map_err(|error| ServerError::Unusable(format!("cannot write {}: {error}", file.display())))
}

/// Whether a crash left the data folder without the position up to which the node had written.
pub(super) fn has_no_position(data_folder: &Path) -> bool {
    let state = fs::read_to_string(data_folder.join(STATE_FILE)).unwrap_or_default();
    let seqno = state.lines().find_map(|line| line.strip_prefix("seqno:"));
    seqno.is_some_and(|seqno| seqno.trim() == "-1")
}

/// The position in the storage engine, as the service files of the packages get it before each start: a run of the server that only
/// recovers. With it the node gets only what it missed. None: it needs all data. The run is most of the recovery, so it joins the control
/// groups of the server.
pub(super) fn recovered(
    server: &mut Command,
    data_folder: &Path,
    groups: &[PathBuf],
) -> io::Result<Option<String>> {
    join(server, groups)?;
    let recovers = server.arg("--wsrep-recover").stdin(Stdio::null());
    let done = output(recovers, data_folder, interrupted)?;
    let log = String::from_utf8_lossy(&done.stdout);
    let position = log.lines().find_map(|line| line.split_once(RECOVERED));
    let position = position.map(|(_, position)| position.trim().to_string());
    Ok(position.filter(|position| !position.ends_with(":-1")))
}

/// Whether the node has all data and takes statements.
pub(super) fn takes_part(
    cluster: &Cluster,
    session: &mut Session,
) -> Result<Participation, ServerError> {
    let [size, status, state, ready] = STATUS;
    let sql = format!(
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('{}')",
        STATUS.join("', '")
    );
    let reply = session.query(&sql)?;
    let value = |name: &str| {
        let is_it = |row: &usize| reply.text(*row, 0).as_deref() == Some(name);
        let row = (0..reply.rows.len()).find(is_it);
        row.and_then(|row| reply.text(row, 1)).unwrap_or_default()
    };
    Ok(part(
        cluster.spec.nodes,
        [value(size), value(status), value(state), value(ready)],
    ))
}

/// What a node says of itself: how many nodes it sees, whether these are a majority, what it does, and whether it takes statements.
const STATUS: [&str; 4] = [
    "wsrep_cluster_size",
    "wsrep_cluster_status",
    "wsrep_local_state_comment",
    "wsrep_ready",
];

fn part(nodes: u32, [size, status, state, ready]: [String; 4]) -> Participation {
    match (status.as_str(), state.as_str(), ready.as_str()) {
        ("Primary", "Synced", "ON") => Participation::Takes,
        ("non-Primary", ..) => Participation::NoQuorum(format!(
            "the cluster has lost its quorum: this node sees {size} of {nodes} (wsrep_cluster_status is non-Primary) and refuses \
             statements"
        )),
        _ => Participation::Waits(format!("its state is {state}, wsrep_ready is {ready}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(size: &str, status: &str, state: &str, ready: &str) -> Participation {
        part(3, [size, status, state, ready].map(String::from))
    }

    #[test]
    fn the_run_that_recovers_has_the_limits_of_the_server() {
        let folder = tempfile::tempdir().unwrap();
        let group = folder.path().join("cgroup.procs");
        fs::write(&group, "").unwrap();
        let mut server = Command::new("sh");
        server.args(["-c", "echo WSREP: Recovered position: u:7 >&2"]);
        let position = recovered(&mut server, folder.path(), std::slice::from_ref(&group)).unwrap();
        assert_eq!(position.as_deref(), Some("u:7"));
        assert_eq!(fs::read_to_string(&group).unwrap(), "0");
    }

    #[test]
    fn a_node_takes_part_when_it_is_synced_in_a_majority() {
        assert_eq!(of("3", "Primary", "Synced", "ON"), Participation::Takes);
        assert!(matches!(
            of("3", "Primary", "Joining", "OFF"),
            Participation::Waits(_)
        ));
    }

    #[test]
    fn a_node_without_a_majority_says_how_many_it_sees() {
        let Participation::NoQuorum(why) = of("1", "non-Primary", "Initialized", "OFF") else {
            panic!("it has no quorum");
        };
        assert!(why.contains("1 of 3"), "{why}");
    }
}
