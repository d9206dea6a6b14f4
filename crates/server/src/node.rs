//! The trait `Node`, one server process, and `Server`, the list of nodes of a trial.
//!
//! Implementations: `managed` (prony starts and stops it), `external` (a DSN), `sqlite` (in process) and `fake` (for fast
//! tests). SQL belongs to the crates `workload` and `observe`.

use crate::{Adjusted, Formation, ServerError, Session, StartRequest};
use record::ServerIdentity;
use spec::Dsn;
use std::path::PathBuf;
use std::sync::Arc;

/// Opens a connection as the administrator, any number of times and from any thread.
pub type Connector = Box<dyn Fn() -> Result<Session, ServerError> + Send + Sync>;

/// One server process. A handle shared by the trial, its events and its observers. Every method may be called from any
/// thread, even while another thread waits for a start.
pub trait Node: Send + Sync {
    /// What this node supports; the protocol marks everything else "not available".
    fn abilities(&self) -> Abilities;
    /// Known after the first start.
    fn identity(&self) -> Option<ServerIdentity>;
    /// Starts the node on the data folder of the request and waits until it answers.
    /// For an external server: connects and checks that it answers.
    ///
    /// # Errors
    /// The node is already running, ended or was killed before it answered, or did not answer in time.
    fn start(&self, request: &StartRequest) -> Result<Started, ServerError>;
    /// The last start request, to start the node again after a kill or a stop; None if prony never started it.
    fn started_with(&self) -> Option<StartRequest> {
        None
    }
    /// Stops the node cleanly and leaves a data folder that can be copied. Does nothing if it is not running.
    fn stop(&self) -> Result<(), ServerError>;
    /// Sends SIGKILL and waits until the process has ended. Does nothing if it is not running.
    fn kill(&self) -> Result<(), ServerError>;
    /// Opens a connection as the administrator: autocommit on, no schema chosen.
    fn connect(&self) -> Result<Session, ServerError> {
        self.connector()?()
    }
    /// A function that opens such connections from any thread, also after this node is restarted.
    ///
    /// # Errors
    /// The node was never started.
    fn connector(&self) -> Result<Connector, ServerError>;
    /// The address of the node, including the password. It is known from the first start on and never changes, so that a
    /// client that reconnects after a restart finds the same server. None if the node takes no connections.
    fn endpoint(&self) -> Option<Dsn> {
        None
    }
    /// The process id, if prony started the process and it is running.
    fn pid(&self) -> Option<u32>;
    /// The folder with the data files, if prony may read it.
    fn data_folder(&self) -> Option<PathBuf>;
    /// The last lines of the server's log, for error messages.
    fn log_tail(&self, lines: usize) -> Vec<String>;
    /// The server's log over all starts, if prony may read it.
    fn log_path(&self) -> Option<PathBuf> {
        None
    }
    /// Why the process ended although prony did not stop it; None while it is running, or if prony cannot know.
    fn exit_reason(&self) -> Option<String> {
        None
    }
    /// Settings of the last start whose value in force is not the requested one.
    fn adjusted(&self, _session: &mut Session) -> Result<Vec<Adjusted>, ServerError> {
        Ok(Vec::new())
    }
}

/// The server of a trial: its nodes, numbered from 1 in the experiment file. Queries go to the first one.
#[derive(Clone)]
pub struct Server {
    first: Arc<dyn Node>,
    others: Vec<Arc<dyn Node>>,
    /// How prony makes them one server.
    formation: Option<Formation>,
}

impl Server {
    /// A server of one node.
    pub fn of(node: impl Node + 'static) -> Server {
        Server::shared(Arc::new(node))
    }

    /// A server of one node that is also used elsewhere.
    pub fn shared(first: Arc<dyn Node>) -> Server {
        Server {
            first,
            others: Vec::new(),
            formation: None,
        }
    }

    /// A server of several nodes; None if the list is empty.
    pub fn of_all(nodes: Vec<Arc<dyn Node>>) -> Option<Server> {
        let mut nodes = nodes.into_iter();
        Some(Server {
            first: nodes.next()?,
            others: nodes.collect(),
            formation: None,
        })
    }

    /// The server, whose nodes are formed in this way.
    pub(crate) fn formed_by(self, formation: Formation) -> Server {
        Server {
            formation: Some(formation),
            ..self
        }
    }

    /// How prony makes its nodes one server; None for one node, and for external servers.
    pub fn formation(&self) -> Option<&Formation> {
        self.formation.as_ref()
    }

    /// Starts all nodes, each with its own request, and makes them one server.
    ///
    /// # Errors
    /// Those of [`Node::start`]; a node does not join the others.
    pub fn start(&self, request: impl Fn(u32) -> StartRequest) -> Result<Started, ServerError> {
        match &self.formation {
            Some(formation) => formation.form(self, request),
            None => self.first.start(&request(1)),
        }
    }

    /// The first node, which has number 1.
    pub fn first(&self) -> &Arc<dyn Node> {
        &self.first
    }

    /// All nodes, in numeric order.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Arc<dyn Node>> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The node with this number, counted from 1.
    pub fn node(&self, number: usize) -> Option<&Arc<dyn Node>> {
        self.nodes().nth(number.checked_sub(1)?)
    }

    /// Stops all nodes, the last one first.
    ///
    /// # Errors
    /// The first error; the other nodes are stopped anyway.
    pub fn stop(&self) -> Result<(), ServerError> {
        first_error(self.nodes().rev().map(|node| node.stop()))
    }

    /// Kills all nodes.
    ///
    /// # Errors
    /// The first error; the other nodes are killed anyway.
    pub fn kill(&self) -> Result<(), ServerError> {
        first_error(self.nodes().map(|node| node.kill()))
    }
}

fn first_error(results: impl Iterator<Item = Result<(), ServerError>>) -> Result<(), ServerError> {
    let failed: Vec<ServerError> = results.filter_map(Result::err).collect();
    failed.into_iter().next().map_or(Ok(()), Err)
}

/// What a server supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// prony can restart it, so rounds can be cold.
    pub restart: bool,
    /// prony can apply `settings`.
    pub settings: bool,
    /// It understands MySQL's SET SESSION, SHOW STATUS, tabular EXPLAIN and LOAD DATA.
    pub mysql: bool,
    /// Datasets can be kept as snapshots of the data folder.
    pub snapshots: bool,
}

/// The result of a start.
#[derive(Clone, Debug)]
pub struct Started {
    /// Seconds from launching the process to its first answer.
    pub elapsed_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fake;
    use crate::fake::reply;

    fn fake(build: &str) -> Arc<Fake> {
        Arc::new(Fake::new(build, |sql| Ok(reply("statement", &[Some(sql)]))))
    }

    #[test]
    fn nodes_are_numbered_from_one() {
        let (one, two) = (fake("one"), fake("two"));
        let server = Server::of_all(vec![one.clone(), two.clone()]).unwrap();
        two.start(&StartRequest::default()).unwrap();
        assert!(server.node(0).is_none() && server.node(3).is_none());
        assert!(server.node(1).unwrap().identity().is_none());
        assert_eq!(server.node(2).unwrap().identity().unwrap().build, "two");
        assert!(Server::of_all(Vec::new()).is_none());
    }

    #[test]
    fn stop_and_kill_reach_all_nodes() {
        let nodes = [fake("one"), fake("two")];
        let server = Server::of_all(nodes.iter().map(|node| node.clone() as _).collect()).unwrap();
        for end in [Server::stop, Server::kill] {
            for node in &nodes {
                node.start(&StartRequest::default()).unwrap();
            }
            end(&server).unwrap();
            assert!(nodes.iter().all(|node| node.connect().is_err()));
        }
    }
}
