//! The server of a trial: a list of nodes.

use super::Formation;
use crate::{Node, ServerError, StartRequest, Started};
use std::sync::Arc;

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
