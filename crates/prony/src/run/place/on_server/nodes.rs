//! The further nodes of a trial's server: their data, their samplers, and which of them the clients use.

use super::ServerPlace;
use crate::run::drive;
use crate::run::place::beats::PreparedBeats;
use crate::run::place::{Nodes, caught_up};
use host::Interface;
use host::network::Network;
use observe::{Prepared, Targets};
use record::{Flag, FlagKind, LimitNote, Trial};
use server::{Connector, Node, ServerError, Session};
use spec::{Dsn, Reads, Routing, Writes};
use std::path::Path;
use std::sync::Arc;
use wire::Login;
use workload::Readers;

/// The link by which clients reach a server.
pub(crate) struct ClientsLink {
    pub interface: Interface,
    /// Its speed in each direction, if it is known.
    pub bits_per_s: Option<u64>,
}

/// What a server has to itself, whatever name it is reached by. Clones share all but some of it, and no server has all.
fn which_server(session: &mut Session) -> Result<Vec<String>, ServerError> {
    let reply = session.query(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('hostname', 'port', 'datadir', 'server_id', 'server_uuid', 'server_uid')",
    )?;
    let texts = (0..reply.rows.len()).filter_map(|row| reply.text(row, 1));
    Ok(texts.collect())
}

impl ServerPlace<'_> {
    /// The further nodes that prony starts, with their numbers from 2.
    fn further(&self) -> impl Iterator<Item = (u32, &Arc<dyn Node>)> {
        (2..).zip(self.hosted.instance.nodes().skip(1))
    }

    /// Gives each further node its copy of the snapshot, unless it gets its data from another node.
    pub(super) fn place_further_data(&self, snapshot: &Path) -> Result<(), ServerError> {
        let Some(formation) = self.hosted.instance.formation() else {
            return Ok(());
        };
        self.further().try_for_each(|(number, _)| {
            let with_data = formation.begins_with_data(number);
            self.hosted
                .disks
                .fill_further(number, with_data.then_some(snapshot))
        })
    }

    /// How the clients of a load log in: at the first nodes, or spread over all.
    pub(super) fn login(&self) -> Result<Login, ServerError> {
        let mut login = self.login_to_all()?;
        let topology = self.planned.server.as_ref().and_then(|own| own.topology());
        if let Writes::First(nodes) = self.routing().writes(topology) {
            login.endpoints.truncate(nodes as usize);
        }
        Ok(login)
    }

    /// The nodes for operations that only read; None: they go where the others go.
    pub(super) fn readers(&self) -> Result<Option<Box<Readers>>, ServerError> {
        let Some(reads) = self.routing().reads else {
            return Ok(None);
        };
        let mut login = self.login_to_all()?;
        if reads == Reads::First {
            login.endpoints.truncate(1);
        }
        let in_turn = reads == Reads::RoundRobin;
        // Both begin with the first node, so as many nodes are the same nodes, and need no further connections.
        let is_same = !in_turn && login.endpoints.len() == self.login()?.endpoints.len();
        Ok((!is_same).then(|| Box::new(Readers { login, in_turn })))
    }

    fn routing(&self) -> Routing {
        let own = self.planned.server.as_ref();
        own.map(|own| own.routing).unwrap_or_default()
    }

    /// The login of the first node, with the endpoints of all: those that prony started, or the hosts of a DSN.
    fn login_to_all(&self) -> Result<Login, ServerError> {
        let without = || {
            ServerError::Unusable("a timed load needs a server that clients can connect to".into())
        };
        let logins = self
            .hosted
            .instance
            .nodes()
            .map(|node| Some(drive::login(&node.endpoint()?)));
        let logins: Vec<Login> = logins.collect::<Option<_>>().ok_or_else(without)?;
        let endpoints = logins.iter().flat_map(|login| login.endpoints.clone());
        let endpoints = endpoints.collect();
        let first = logins.into_iter().next().ok_or_else(without)?;
        Ok(Login { endpoints, ..first })
    }

    /// How to reach the servers of the further hosts of a DSN, with the numbers of the hosts from 2. Several names of one server are one.
    fn further_hosts(&self) -> Result<Vec<(u32, Connector)>, ServerError> {
        let Some(dsn) = self.node().endpoint().filter(|dsn| !dsn.others.is_empty()) else {
            return Ok(Vec::new());
        };
        let mut known = vec![which_server(&mut self.node().connect()?)?];
        let mut hosts = Vec::new();
        for (number, (host, port)) in (2..).zip(&dsn.others) {
            let host = Dsn {
                host: host.clone(),
                port: *port,
                others: Vec::new(),
                socket: None,
                ..dsn.clone()
            };
            let connector: Connector = Box::new(move || Session::open(&host));
            let server = which_server(&mut connector()?)?;
            if !known.contains(&server) {
                known.push(server);
                hosts.push((number, connector));
            }
        }
        Ok(hosts)
    }

    /// Opens connections to each node that runs, in the workload's schema, for what audits it. Each has caught up with the others.
    ///
    /// # Errors
    /// A node that runs does not take part in the server again, or none runs.
    pub(crate) fn audited_nodes(&self) -> Result<Vec<(u32, Connector)>, ServerError> {
        let Some(formation) = self.hosted.instance.formation() else {
            return Ok(vec![(1, Box::new(self.connector()))]);
        };
        let running = (1..).zip(self.hosted.instance.nodes());
        let running = running.filter(|(_, node)| node.pid().is_some());
        let audited = running.map(|(number, node)| {
            formation.rejoined(&self.hosted.instance, number)?;
            Ok((number, Box::new(self.connector_to(node)) as Connector))
        });
        let audited: Vec<_> = audited.collect::<Result<_, ServerError>>()?;
        if audited.is_empty() {
            let says = "all nodes were down at the end of the load";
            return Err(ServerError::Lost(says.into()));
        }
        caught_up::await_all(&audited)?;
        Ok(audited)
    }

    /// The network of a cluster; None without one.
    fn network(&self) -> Option<&Network> {
        self.hosted.instance.formation()?.network()
    }

    /// The link by which clients reach the server; None for sockets, the loopback interface, and addresses that are names.
    pub(crate) fn clients_link(&self) -> Option<ClientsLink> {
        if let Some(network) = self.network() {
            return Some(ClientsLink {
                interface: Interface::named(network.client_interface()),
                bits_per_s: network.bandwidths().client_link_bits_per_s,
            });
        }
        let endpoint = self.node().endpoint()?;
        if endpoint.socket.is_some() {
            return None;
        }
        let interface = Interface::to(endpoint.host.parse().ok()?)?;
        Some(ClientsLink {
            bits_per_s: interface.bits_per_s(),
            interface,
        })
    }

    /// Brings every link up again.
    pub(super) fn heal(&self) -> Result<(), String> {
        let Some(network) = self.network() else {
            return Ok(());
        };
        let mut numbers = (1..).zip(self.hosted.instance.nodes());
        numbers
            .try_for_each(|(number, _)| network.heal(number))
            .map_err(|error| error.to_string())
    }

    /// Measures the links before a load.
    pub(super) fn note_links(&self, trial: &mut Trial) -> Result<(), ServerError> {
        let Some(network) = self.network() else {
            return Ok(());
        };
        let noted = network.verify()?.into_iter().map(|speed| LimitNote {
            name: format!("{} (Mbit/s)", speed.link),
            asked: speed.limit_bits_per_s as f64 / 1e6,
            measured: speed.measured_bits_per_s / 1e6,
        });
        trial.limits.extend(noted);
        Ok(())
    }
}

impl Nodes for ServerPlace<'_> {
    fn nodes_in_use(&self) -> u32 {
        let readers = self.readers().ok().flatten();
        let of_readers = readers.map_or(1, |readers| readers.login.endpoints.len());
        let own = self.login().map_or(1, |login| login.endpoints.len());
        own.max(of_readers) as u32
    }

    fn prepare_further_samplers(&self) -> Result<Vec<(u32, Prepared)>, ServerError> {
        let hosts = self.further_hosts()?.into_iter().map(|(number, host)| {
            let prepared = Prepared::new(Targets {
                connector: Some(host),
                ..Targets::default()
            });
            Ok((number, prepared?))
        });
        self.further()
            .map(|(number, node)| {
                let prepared = Prepared::new(Targets {
                    connector: Some(node.connector()?),
                    configure: node.abilities().settings,
                    server_pid: Some({
                        let node = node.clone();
                        Box::new(move || node.pid())
                    }),
                    data_folder: node.data_folder(),
                    interface: None,
                });
                Ok((number, prepared?))
            })
            .chain(hosts)
            .collect()
    }

    fn prepare_beats(&self) -> Result<Option<PreparedBeats>, ServerError> {
        let Some(formation) = self.hosted.instance.formation() else {
            return Ok(None);
        };
        if self.further().next().is_none() {
            return Ok(None);
        }
        let all = (1..).zip(self.hosted.instance.nodes());
        let nodes = all.map(|(number, node)| Ok((number, node.connector()?)));
        let nodes = nodes.collect::<Result<Vec<_>, ServerError>>()?;
        PreparedBeats::new(nodes, self.session_statements(), formation.behind()).map(Some)
    }

    fn log(&self) -> Vec<String> {
        let all = (1..).zip(self.hosted.instance.nodes());
        let heading = |number| match self.hosted.instance.formation() {
            Some(_) => vec![format!("== node {number}")],
            None => Vec::new(),
        };
        all.flat_map(|(number, node): (u32, _)| {
            [heading(number), node.log_tail(usize::MAX)].concat()
        })
        .collect()
    }

    fn lost_quorum(&self) -> Option<Flag> {
        let text = self
            .hosted
            .instance
            .formation()?
            .lost_quorum(&self.hosted.instance)?;
        Some(Flag {
            kind: FlagKind::QuorumLost,
            text,
        })
    }

    fn single_session(&self) -> Result<Option<Session>, ServerError> {
        let is_single = self.hosted.instance.formation().is_none();
        is_single.then(|| self.session()).transpose()
    }

    fn link_bits_per_s(&self) -> Option<u64> {
        self.clients_link()?.bits_per_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::Reply;

    #[test]
    fn clones_with_one_name_and_folder_are_told_apart_by_their_own_number() {
        let server = |uuid: &'static str| {
            let reply = move |sql: &str| {
                assert!(sql.contains("server_uuid"), "{sql}");
                let row =
                    |cells: [&str; 2]| cells.map(|cell| Some(cell.as_bytes().to_vec())).to_vec();
                Ok::<_, ServerError>(Reply {
                    rows: vec![row(["hostname", "db"]), row(["server_uuid", uuid])],
                    ..Reply::default()
                })
            };
            which_server(&mut Session::Scripted(Box::new(reply))).unwrap()
        };
        assert_eq!(server("a"), server("a"));
        assert_ne!(server("a"), server("b"));
    }
}
