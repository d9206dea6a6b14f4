//! MySQL Group Replication with one primary node: the options of a node, how the group begins, and a node's state.
//!
//! Source of the options: the MySQL 8.0 manual, "Configuring an Instance for Group Replication".

use super::{Cluster, MEMBER, Participation, Server};
use crate::{ServerError, Session};

/// The rights of the account with which a joining node gets what it missed.
pub(super) const RIGHTS: &str =
    "REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM";

pub(super) fn options(cluster: &Cluster, number: u32, forms: bool) -> Vec<String> {
    let own = cluster.of(number);
    let allowed = if cluster.is_linked() {
        "198.18.0.0/16"
    } else {
        "127.0.0.1/32"
    };
    let of_group = [
        ("group_name", cluster.uuid.clone()),
        ("local_address", format!("{}:{}", own.host, own.peer)),
        ("group_seeds", cluster.peers()),
        ("ip_allowlist", allowed.to_string()),
        ("recovery_get_public_key", "ON".to_string()),
        // The first time by statements, in order; after a crash by itself.
        (
            "start_on_boot",
            if forms { "OFF" } else { "ON" }.to_string(),
        ),
    ];
    let mut options = vec![
        format!("--server-id={number}"),
        "--log-bin=binlog".into(),
        "--gtid-mode=ON".into(),
        "--enforce-gtid-consistency=ON".into(),
        format!("--report-host={}", own.host),
        format!("--report-port={}", own.client),
        "--plugin-load-add=group_replication.so".into(),
    ];
    options.extend(
        of_group
            .into_iter()
            .map(|(name, value)| format!("--loose-group_replication_{name}={value}")),
    );
    options
}

/// Begins the group on the first node, and lets the others join.
pub(super) fn form(cluster: &Cluster, server: &Server) -> Result<(), ServerError> {
    let channel = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_USER = '{MEMBER}', SOURCE_PASSWORD = '{}' \
         FOR CHANNEL 'group_replication_recovery'",
        cluster.member_password
    );
    for (index, node) in server.nodes().enumerate() {
        // The start waits for the node's place in the group.
        let mut session = node.connect()?;
        session.execute(&channel)?;
        if index == 0 {
            session.execute("SET GLOBAL group_replication_bootstrap_group = ON")?;
        }
        session.execute("START GROUP_REPLICATION")?;
        if index == 0 {
            session.execute("SET GLOBAL group_replication_bootstrap_group = OFF")?;
        }
    }
    Ok(())
}

/// Whether the node has all data and is in the group.
pub(super) fn takes_part(
    cluster: &Cluster,
    number: u32,
    session: &mut Session,
) -> Result<Participation, ServerError> {
    let own = cluster.of(number);
    let sql = format!(
        "SELECT MAX(CASE WHEN member_host = '{}' AND member_port = {} THEN member_state END), \
         SUM(member_state = 'UNREACHABLE'), COUNT(*) FROM performance_schema.replication_group_members",
        own.host, own.client
    );
    let reply = session.query(&sql)?;
    let count = |column| reply.text(0, column).and_then(|text| text.parse().ok());
    Ok(part(
        reply.text(0, 0).as_deref(),
        count(1).unwrap_or(0),
        count(2).unwrap_or(0),
    ))
}

/// From its own state, and how many members it knows and cannot reach.
fn part(state: Option<&str>, unreachable: u32, known: u32) -> Participation {
    match state {
        // The rest of the group waits for a majority without an end; statements that write wait with it.
        Some("ONLINE") if 2 * unreachable >= known.max(1) => Participation::NoQuorum(format!(
            "the group has lost its quorum: this node cannot reach {unreachable} of {known} members"
        )),
        Some("ONLINE") => Participation::Takes,
        other => Participation::Waits(format!("its state is {}", other.unwrap_or("unknown"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_takes_part_while_it_reaches_a_majority() {
        assert_eq!(part(Some("ONLINE"), 0, 3), Participation::Takes);
        assert_eq!(part(Some("ONLINE"), 1, 3), Participation::Takes);
        assert!(matches!(
            part(Some("RECOVERING"), 0, 3),
            Participation::Waits(_)
        ));
        assert!(matches!(part(None, 0, 0), Participation::Waits(_)));
    }

    #[test]
    fn half_of_the_members_are_no_majority() {
        for (unreachable, known) in [(1, 2), (2, 3), (2, 4)] {
            let part = part(Some("ONLINE"), unreachable, known);
            assert!(
                matches!(part, Participation::NoQuorum(_)),
                "{unreachable} of {known}"
            );
        }
    }
}
