//! A pass of several concurrent clients. Each runs every query once, on its own connection.
//!
//! Purpose: the wall time from the common start to the end of the last client, with every answer checked. The clients start at evenly
//! spaced places of the list, so that they do not all issue the same query at once. The order within the list stays the same.
//! (TPC-H's throughput test gives each stream its own order, from a table in its specification, clause 5.3.5.)
//! Outside this module: counters per query, which cannot be attributed here; clients that connect and disconnect (crate `load`).

use super::pass::{Issued, Issuer, Pass, Passed, difference, read};
use crate::run::place::live::{Client, Live};
use crate::run::watch::Watch;
use host::interrupt;
use observe::{counters, process};
use server::{ServerError, Session};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Instant;
use workload::Operation;

#[cfg(test)]
mod tests;

/// The query at which client number `client` (from 0) of `clients` starts.
pub(crate) fn begins_at(client: usize, clients: usize, operations: usize) -> usize {
    client * operations / clients
}

/// One client's part of a pass. Its answers are checked after all clients ended.
struct ClientPart<'a> {
    issued: Vec<(&'a Operation, Issued<'a>)>,
    ended: Instant,
}

/// What the clients of a pass share.
struct Shared<'a> {
    /// Locked for writing until all clients are ready.
    gate: RwLock<()>,
    /// One client lost its connection, so the pass is void.
    stop: AtomicBool,
    watches: Vec<&'a Watch>,
}

impl Shared<'_> {
    fn end_all(&self) {
        self.stop.store(true, Relaxed);
        self.watches.iter().for_each(|watch| watch.halt());
    }
}

impl<'a> Pass<'a> {
    pub(crate) fn run_concurrent(&self, live: &mut Live) -> Result<Passed, ServerError> {
        let Live {
            session,
            watch,
            others,
            observer,
            process,
        } = live;
        let before = read(observer)?;
        let others = others
            .iter_mut()
            .map(|Client { session, watch }| (session, &*watch));
        let clients: Vec<(&mut Session, &Watch)> =
            std::iter::once((session, &*watch)).chain(others).collect();
        let used_before = process::read(process);
        let (started, parts) = self.all_at_once(clients)?;
        let used = process::since(&used_before, &process::read(process));
        let after = read(observer)?;
        let mut passed = self.together(started, parts);
        passed.counters = difference(observer, &before, &after);
        passed.counters.extend(used);
        passed.flags.extend(counters::flushed(&before, &after));
        Ok(passed)
    }

    /// Returns the common start and the part of each client, in order, or the first client's error.
    fn all_at_once(
        &self,
        clients: Vec<(&mut Session, &Watch)>,
    ) -> Result<(Instant, Vec<ClientPart<'a>>), ServerError> {
        let shared = Shared {
            gate: RwLock::new(()),
            stop: AtomicBool::new(false),
            watches: clients.iter().map(|(_, watch)| *watch).collect(),
        };
        let count = clients.len();
        std::thread::scope(|scope| {
            let closed = shared.gate.write();
            let began = clients
                .into_iter()
                .enumerate()
                .map(|(place, (session, watch))| {
                    let issuer = Issuer {
                        session,
                        watch,
                        client: place as u32 + 1,
                        clients: count as u32,
                    };
                    self.begin(scope, &shared, issuer)
                });
            let began: Vec<Result<_, ServerError>> = began.collect();
            if began.iter().any(Result::is_err) {
                shared.end_all();
            }
            let started = Instant::now();
            drop(closed);
            let parts = began.into_iter().map(|began| {
                began?
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            // Joins all threads before it returns the first error.
            let parts: Vec<_> = parts.collect();
            let parts = parts.into_iter().collect::<Result<_, ServerError>>()?;
            Ok((started, parts))
        })
    }

    fn begin<'s, 'e>(
        &'s self,
        scope: &'s Scope<'s, 'e>,
        shared: &'s Shared<'s>,
        issuer: Issuer<'s>,
    ) -> Result<ScopedJoinHandle<'s, Result<ClientPart<'a>, ServerError>>, ServerError> {
        let client = issuer.client;
        let run = move || {
            drop(shared.gate.read());
            self.one_client(shared, issuer)
                .inspect_err(|_| shared.end_all())
        };
        Builder::new().spawn_scoped(scope, run).map_err(|error| {
            ServerError::Unusable(format!(
                "client {client}: cannot start its thread: {error}; use fewer clients"
            ))
        })
    }

    fn one_client(&self, shared: &Shared, issuer: Issuer) -> Result<ClientPart<'a>, ServerError> {
        let Issuer {
            session,
            watch,
            client,
            clients,
        } = issuer;
        let mut part = ClientPart {
            issued: Vec::new(),
            ended: Instant::now(),
        };
        for operation in self.from(begins_at(
            client as usize - 1,
            clients as usize,
            self.operations.len(),
        )) {
            if shared.stop.load(Relaxed) {
                break;
            }
            let issuer = Issuer {
                session: &mut *session,
                watch,
                client,
                clients,
            };
            let issued = self.issue(issuer, operation);
            if interrupt::asked() {
                return Err(ServerError::Lost("interrupted".into()));
            }
            let issued = issued.map_err(|error| of_client(client, error))?;
            part.ended = Instant::now();
            part.issued.push((operation, issued));
        }
        Ok(part)
    }

    fn together(&self, started: Instant, parts: Vec<ClientPart>) -> Passed {
        let ended = parts.iter().map(|part| part.ended).max();
        let elapsed = ended.map(|ended| ended.saturating_duration_since(started));
        let mut passed = Passed {
            elapsed_s: elapsed.unwrap_or_default().as_secs_f64(),
            ..Passed::default()
        };
        for (operation, issued) in parts.into_iter().flat_map(|part| part.issued) {
            let (query, flags) = self.judge(operation, issued);
            passed.queries.push(query);
            passed.flags.extend(flags);
        }
        passed
    }

    /// The whole list, starting at this place and wrapping around.
    fn from(&self, place: usize) -> impl Iterator<Item = &'a Operation> {
        let (before, after) = self.operations.split_at(place);
        after.iter().chain(before)
    }
}

fn of_client(client: u32, error: ServerError) -> ServerError {
    match error {
        ServerError::Lost(why) => ServerError::Lost(format!("client {client}: {why}")),
        other => other,
    }
}
