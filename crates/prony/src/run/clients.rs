//! A pass of several clients: each runs the whole list of queries once on a connection of its own, all at once.
//!
//! Goal: one wall time from the common start to the last client's end, and every client's answers checked like one's. The places
//! at which the clients begin are spread evenly over the list, so that they do not all ask the same at once; within the list the
//! order stays. (TPC-H's throughput test gives each stream an order of its own, by a table of its specification, clause 5.3.5.)
//! Non-goals: counters of single queries, which cannot be told apart here; clients that come and go (crate `load`).

use super::round::{Asked, Asking, Client, Live, Pass, Passed, difference, read};
use super::watch::Watch;
use host::interrupt;
use observe::process;
use server::{ServerError, Session};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Instant;
use workload::Operation;

#[cfg(test)]
mod tests;

/// Where client number `client` (from 0) of so many begins in the list.
pub fn begins_at(client: usize, clients: usize, operations: usize) -> usize {
    client * operations / clients
}

/// One client's part of a pass, its answers to be looked at when all have ended.
struct Part<'a> {
    asked: Vec<(&'a Operation, Asked)>,
    ended: Instant,
}

/// What the clients of a pass share.
struct Shared<'a> {
    /// Held for writing until all are there.
    gate: RwLock<()>,
    /// One of them is lost, so that the others' figures mean nothing.
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
    pub(super) fn by_several(&self, live: &mut Live) -> Result<Passed, ServerError> {
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
        Ok(passed)
    }

    /// The common start, and every client's part in their order; or the first client's error.
    fn all_at_once(
        &self,
        clients: Vec<(&mut Session, &Watch)>,
    ) -> Result<(Instant, Vec<Part<'a>>), ServerError> {
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
                    let asking = Asking {
                        session,
                        watch,
                        client: place as u32 + 1,
                        clients: count as u32,
                    };
                    self.begin(scope, &shared, asking)
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
            // All are waited for before the first error counts.
            let parts: Vec<_> = parts.collect();
            let parts = parts.into_iter().collect::<Result<_, ServerError>>()?;
            Ok((started, parts))
        })
    }

    fn begin<'s, 'e>(
        &'s self,
        scope: &'s Scope<'s, 'e>,
        shared: &'s Shared<'s>,
        asking: Asking<'s>,
    ) -> Result<ScopedJoinHandle<'s, Result<Part<'a>, ServerError>>, ServerError> {
        let client = asking.client;
        let run = move || {
            drop(shared.gate.read());
            self.one_client(shared, asking)
                .inspect_err(|_| shared.end_all())
        };
        Builder::new().spawn_scoped(scope, run).map_err(|error| {
            ServerError::Unusable(format!(
                "client {client} of the round cannot be started: {error}; take fewer clients"
            ))
        })
    }

    fn one_client(&self, shared: &Shared, asking: Asking) -> Result<Part<'a>, ServerError> {
        let Asking {
            session,
            watch,
            client,
            clients,
        } = asking;
        let mut part = Part {
            asked: Vec::new(),
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
            let asking = Asking {
                session: &mut *session,
                watch,
                client,
                clients,
            };
            let asked = self.ask(asking, operation);
            if interrupt::asked() {
                return Err(ServerError::Lost("interrupted".into()));
            }
            let asked = asked.map_err(|error| of_client(client, error))?;
            part.ended = Instant::now();
            part.asked.push((operation, asked));
        }
        Ok(part)
    }

    fn together(&self, started: Instant, parts: Vec<Part>) -> Passed {
        let ended = parts.iter().map(|part| part.ended).max();
        let elapsed = ended.map(|ended| ended.saturating_duration_since(started));
        let mut passed = Passed {
            elapsed_s: elapsed.unwrap_or_default().as_secs_f64(),
            ..Passed::default()
        };
        for (operation, asked) in parts.into_iter().flat_map(|part| part.asked) {
            let (query, flag) = self.judge(operation, asked);
            passed.queries.push(query);
            passed.flags.extend(flag);
        }
        passed
    }

    /// The whole list from this place on, and then what stands before it.
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
