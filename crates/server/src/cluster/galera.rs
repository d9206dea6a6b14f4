//! Galera: the options of a node, and its state. The first node begins with the dataset, the others get it from another node.
//!
//! Source of the options: the manual of Galera Cluster, "Galera Parameters" and "MySQL wsrep Options".

use super::{Cluster, Member, Part, transfer};
use crate::{ServerError, Session};
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
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
    let peers = cluster.addresses.iter();
    let peers: Vec<String> = peers
        .map(|one| format!("{}:{}", one.host, one.peer))
        .collect();
    let library = cluster.library.as_deref().unwrap_or(Path::new("none"));
    let mut options = vec![
        "--binlog-format=ROW".into(),
        "--innodb-autoinc-lock-mode=2".into(),
        "--wsrep-on=ON".into(),
        format!("--server-id={number}"),
        format!("--wsrep-provider={}", library.display()),
        // The protocol allows 32 characters.
        format!("--wsrep-cluster-name=prony-{}", &cluster.uuid[..8]),
        format!("--wsrep-cluster-address=gcomm://{}", peers.join(",")),
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
/// recovers. With it the node gets only what it missed. None: it needs all data.
pub(super) fn recovered(server: &mut Command) -> io::Result<Option<String>> {
    let done = server.arg("--wsrep-recover").output()?;
    let log = String::from_utf8_lossy(&done.stderr);
    let position = log.lines().find_map(|line| line.split_once(RECOVERED));
    let position = position.map(|(_, position)| position.trim().to_string());
    Ok(position.filter(|position| !position.ends_with(":-1")))
}

/// Whether the node has all data and takes statements.
pub(super) fn takes_part(session: &mut Session) -> Result<Part, ServerError> {
    let sql =
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_local_state_comment')";
    let rows = session.query(sql)?.rows;
    let value = |row: &Vec<Option<Vec<u8>>>| row.get(1).cloned().flatten();
    let mut values: Vec<Vec<u8>> = rows.iter().filter_map(value).collect();
    values.sort();
    if values == [b"ON".to_vec(), b"Synced".to_vec()] {
        return Ok(Part::Takes);
    }
    let states = values.iter().map(|value| String::from_utf8_lossy(value));
    let states: Vec<_> = states.collect();
    Ok(Part::Waits(format!("its state is {}", states.join(", "))))
}
