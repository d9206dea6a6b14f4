//! Whether all nodes of a server have applied what was committed before they are audited.
//!
//! Purpose: a replica that says that it is 0 seconds behind has applied what it received, and what is still on its way to it is not lost. So a
//! mark is committed on a node that takes writes, and each other node is audited when it has the mark: nodes apply in the order of commits.

use super::beats::SCHEMA;
use host::{interrupted, now_ns};
use server::{Connector, ServerError, Session};
use std::time::{Duration, Instant};

/// How long a node may take to apply what was committed.
const WITHIN: Duration = Duration::from_secs(300);
const LOOK_EVERY: Duration = Duration::from_millis(50);
const TABLE: [&str; 2] = [
    SCHEMA,
    "CREATE TABLE IF NOT EXISTS prony_beats.marks (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB",
];
const READ: &str = "SELECT n FROM prony_beats.marks WHERE id = 1";

/// Waits until all nodes have what was committed on the first one that takes writes.
///
/// # Errors
/// No node takes writes, or one lacks the mark for five minutes, or is lost.
pub(super) fn await_all(nodes: &[(u32, Connector)]) -> Result<(), ServerError> {
    await_all_within(nodes, WITHIN)
}

fn await_all_within(nodes: &[(u32, Connector)], within: Duration) -> Result<(), ServerError> {
    if nodes.len() < 2 {
        return Ok(());
    }
    let mark = now_ns();
    let writer = written(nodes, mark)?;
    let others = nodes.iter().filter(|(number, _)| *number != writer);
    for (number, connect) in others {
        await_mark(connect, mark, within).map_err(|error| {
            let says = "has not applied all that was committed";
            ServerError::Lost(format!("node {number} {says} on node {writer}: {error}"))
        })?;
    }
    Ok(())
}

/// Writes the mark on the first node that takes writes. Returns its number, or why the last node does not.
fn written(nodes: &[(u32, Connector)], mark: i64) -> Result<u32, ServerError> {
    let mut refused = ServerError::Lost("no node runs".into());
    for (number, connect) in nodes {
        match write(connect, mark) {
            Ok(()) => return Ok(*number),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn write(connect: &Connector, mark: i64) -> Result<(), ServerError> {
    let mut session = connect()?.for_control();
    for statement in TABLE {
        session.execute(statement)?;
    }
    session.execute(&format!(
        "REPLACE INTO prony_beats.marks VALUES (1, {mark})"
    ))?;
    Ok(())
}

fn await_mark(connect: &Connector, mark: i64, within: Duration) -> Result<(), ServerError> {
    let began = Instant::now();
    let mut session = connect()?.for_control();
    while !has(&mut session, mark)? {
        if interrupted() {
            return Err(ServerError::Lost("interrupted".into()));
        }
        if began.elapsed() > within {
            return Err(ServerError::Lost(format!(
                "waited for {} s",
                within.as_secs()
            )));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Whether the mark is there. The table itself may be on its way.
fn has(session: &mut Session, mark: i64) -> Result<bool, ServerError> {
    match session.query(READ) {
        Ok(reply) => Ok(reply.first_text().as_deref() == Some(mark.to_string().as_str())),
        Err(ServerError::Refused { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::Reply;
    use std::sync::{Arc, Mutex};

    /// A node that has the writer's mark from its n-th look on; the first node writes it.
    fn node(marks: &Arc<Mutex<String>>, looks: u32) -> Connector {
        let marks = Arc::clone(marks);
        Box::new(move || {
            let marks = Arc::clone(&marks);
            let mut left = looks;
            Ok(Session::Scripted(Box::new(move |sql: &str| {
                let mut mark = marks.lock().unwrap();
                if let Some((_, n)) = sql.split_once("VALUES (1, ") {
                    *mark = n.trim_end_matches(')').to_string();
                }
                left = left.saturating_sub(1);
                let text = if left == 0 { mark.as_str() } else { "0" };
                let rows = vec![vec![Some(text.as_bytes().to_vec())]];
                Ok(Reply {
                    rows,
                    ..Reply::default()
                })
            })))
        })
    }

    #[test]
    fn a_node_is_audited_when_it_has_what_was_committed() {
        let marks = Arc::default();
        let nodes = [(1, node(&marks, 1)), (2, node(&marks, 3))];
        assert!(await_all_within(&nodes, Duration::from_secs(60)).is_ok());
    }

    #[test]
    fn a_node_that_lacks_it_is_named() {
        let marks = Arc::default();
        let nodes = [(1, node(&marks, 1)), (3, node(&marks, u32::MAX))];
        let error = await_all_within(&nodes, Duration::ZERO).unwrap_err();
        assert!(error.to_string().contains("node 3"), "{error}");
    }
}
