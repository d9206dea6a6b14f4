//! Replication lag as the nodes report it. Galera reports it in a status variable, the other topologies need a query of their own.

use super::Formation;
use super::replica::{LAG_COLUMNS, field, status_statement};
use crate::{ServerError, Session};
use spec::Topology;

/// The query for the lag of a further node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// A replica's lag in whole seconds, from the answer to this statement.
    Seconds { sql: &'static str },
    /// Transactions that a group member has received and not yet applied.
    Transactions,
}

const QUEUE: &str = "SELECT COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE \
    FROM performance_schema.replication_group_member_stats WHERE MEMBER_ID = @@server_uuid";

impl Formation {
    /// The query for the nodes from 2 on; None if their status variables have it.
    pub fn behind(&self) -> Option<Behind> {
        match self.topology() {
            Topology::Galera => None,
            Topology::Replica => Some(Behind::Seconds {
                sql: status_statement(&self.cluster),
            }),
            Topology::Group => Some(Behind::Transactions),
        }
    }
}

impl Behind {
    /// Queries a node. None if it does not know its lag, as a replica that has stopped.
    pub fn query(&self, session: &mut Session) -> Result<Option<f64>, ServerError> {
        let text = match self {
            Behind::Seconds { sql } => field(&session.query(sql)?, &LAG_COLUMNS),
            Behind::Transactions => session.query(QUEUE)?.first_text(),
        };
        Ok(text.and_then(|text| text.parse().ok()))
    }
}
