//! The five transactions over prepared statements, for the load engine.
//!
//! Goals: each transaction is sequential code in a file of its own; inputs depend only on the seed and the number of the
//! operation, so that a retry, and closed and open loop, see the same; few round trips, because each costs the client CPU time.
//! Boundaries: `datagen::tpcc` draws NURand, crate `load` schedules and retries, `ledger` remembers what was written.
//!
//! Locks are taken in one order by all: district, stock or customer, warehouse. Locking statements come before plain reads, so
//! that a snapshot is never older than the locks (with `innodb_snapshot_isolation`, MariaDB refuses to lock rows that changed
//! since the snapshot).

mod decimal;
mod deck;
mod inputs;
mod queue;
mod session;
mod sql;
mod standard;
mod stop;
mod terminal;
mod transactions;
mod waits;

pub use inputs::{Inputs, Line, NewOrder, OrderStatus, Payment, StockLevel};
pub use terminal::Home;

use super::ledger::Ledger;
use super::{Delivery, Mix, SCHEMA, Section, TRANSACTIONS, Waits};
use crate::Target;
use crate::script::{Policy, Verdict};
use datagen::tpcc::Constants;
use deck::Picks;
use load::{Background, Failure, Io, Left, Outcome, Pauses, Request, Standard, Workload};
use queue::{Queue, Queued};
use session::Session;
use std::sync::Arc;
use stop::{Finish, Stop};
use transactions::{Prepared, delivery, new_order, order_status, payment, stock_level};
use wire::Login;

/// Retries of one transaction before it counts as failed.
const RETRIES_MAX: u16 = 100;
/// Deferred deliveries that were completed: an operation of its own, with its own response times (2.7.2.2).
const COMPLETED: &str = "delivery-completed";

/// The mean of the standard's pauses around a transaction of this mix (s).
pub(super) fn mean_pause_s(mix: Mix) -> f64 {
    waits::mean_s(deck::parts(mix))
}

/// The transactions of a run, shared by all clients.
pub struct Driver {
    warehouses: u32,
    login: Login,
    /// Runs once on each new connection.
    session: Vec<String>,
    picks: Picks,
    waits: Waits,
    inputs: Inputs,
    policy: Policy,
    ledger: Arc<Ledger>,
    /// Deliveries that terminals have queued; None if terminals wait for them.
    queue: Option<Queue>,
}

/// One terminal: its session, and the statements of the five transactions.
pub struct Terminal {
    session: Session,
    prepared: Prepared,
}

/// The index of a transaction in [`TRANSACTIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransactionKind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
    /// Completes a queued delivery.
    Complete,
}

const KINDS: [TransactionKind; 6] = [
    TransactionKind::NewOrder,
    TransactionKind::Payment,
    TransactionKind::OrderStatus,
    TransactionKind::Delivery,
    TransactionKind::StockLevel,
    TransactionKind::Complete,
];

impl Driver {
    /// The driver on a server; None on any other target. `load`: the constants with which the data were generated.
    /// `ledger` remembers what the clients write.
    pub fn on(
        target: &Target,
        section: &Section,
        load: &Constants,
        seed: u64,
        ledger: &Arc<Ledger>,
    ) -> Option<Driver> {
        let Target::Server { login, session, .. } = target else {
            return None;
        };
        let queue = (section.delivery == Delivery::Deferred).then(Queue::default);
        Some(Driver {
            warehouses: section.warehouses,
            login: Login {
                schema: Some(SCHEMA.into()),
                ..login.clone()
            },
            session: session.clone(),
            picks: Picks::new(section.mix, seed),
            waits: section.waits,
            inputs: Inputs::new(section.warehouses, load, seed),
            policy: Policy {
                retries_max: RETRIES_MAX,
                also: Vec::new(),
            },
            ledger: Arc::clone(ledger),
            queue,
        })
    }

    /// What its terminals draw.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Runs the statements of a transaction, up to but without its end.
    async fn body(&self, terminal: &mut Terminal, request: &Request) -> Result<Finish, Stop> {
        let Terminal { session, prepared } = terminal;
        let (number, home) = (request.number, session.home);
        let inputs = &self.inputs;
        // A retry repeats its inputs, and they count once.
        let is_first = request.retries == 0;
        match KINDS[usize::from(request.operation)] {
            TransactionKind::NewOrder => {
                let input = inputs.new_order(number, home);
                is_first.then(|| input.note(&mut session.book));
                new_order::run(session, &prepared.new_order, &input).await
            }
            TransactionKind::Payment => {
                let input = inputs.payment(number, home);
                is_first.then(|| input.note(&mut session.book));
                payment::run(session, &prepared.payment, &input).await
            }
            TransactionKind::OrderStatus => {
                let input = inputs.order_status(number, home);
                is_first.then(|| input.note(&mut session.book));
                order_status::run(session, &prepared.order_status, &input).await
            }
            TransactionKind::StockLevel => {
                let input = inputs.stock_level(number, home);
                stock_level::run(session, &prepared.stock_level, &input).await
            }
            TransactionKind::Delivery | TransactionKind::Complete => {
                let carrier = inputs.carrier(number);
                delivery::run(session, &prepared.delivery, home.warehouse, carrier).await
            }
        }
    }

    /// Ends a transaction whose statements have all succeeded.
    async fn finish(&self, session: &mut Session, request: &Request, finish: Finish) -> Outcome {
        let (end, written) = match finish {
            Finish::Commit(write) => ("COMMIT", Some(write)),
            Finish::Rollback(write) => ("ROLLBACK", Some(write)),
            // It ends the snapshot.
            Finish::Read(_) => ("COMMIT", None),
        };
        if let Some(write) = written {
            session.book.sent(write, session.now_ns(request));
        }
        let ended = session.connection.query(end).await;
        match (ended, finish) {
            (Ok(_), Finish::Commit(_)) => session.book.acknowledged(session.now_ns(request)),
            (Ok(_), Finish::Rollback(_)) => session.book.refused(),
            (Ok(_), Finish::Read(saw)) => session.note(saw, request),
            (Err(error), Finish::Commit(_)) if error.may_have_committed() => {
                session.book.unknown();
                return Outcome::Unknown(error.code());
            }
            (Err(error), _) => return self.after(session, request, error.into()).await,
        }
        Outcome::Done
    }

    /// The outcome of a failed transaction, which is rolled back: a deadlock has ended it, a lock wait timeout has not.
    #[cold]
    async fn after(&self, session: &mut Session, request: &Request, stop: Stop) -> Outcome {
        session.book.refused();
        let verdict = match stop {
            Stop::Data(code) => Verdict::Fail(code.number()),
            Stop::Wire(error) => self.policy.judge(&error),
        };
        if !matches!(verdict, Verdict::Lost(_))
            && let Err(error) = session.connection.query("ROLLBACK").await
        {
            return Outcome::Lost(error.code());
        }
        match verdict {
            Verdict::Lost(code) => Outcome::Lost(code),
            Verdict::Repeat(code) if request.retries < self.policy.retries_max => {
                Outcome::Retry(code)
            }
            Verdict::Repeat(code) | Verdict::Fail(code) => Outcome::Failed(code),
        }
    }

    /// Queues a delivery for the background. None: the terminal has to wait for its delivery.
    fn queued(&self, session: &Session, request: &Request) -> Option<Outcome> {
        let queue = self.queue.as_ref()?;
        let is_delivery = KINDS[usize::from(request.operation)] == TransactionKind::Delivery;
        is_delivery.then(|| {
            queue.push(Queued {
                warehouse: session.home.warehouse,
                left: Left {
                    number: request.number,
                    since_ns: request.started_ns,
                },
            });
            Outcome::Done
        })
    }
}

impl Workload for Driver {
    type Session = Terminal;

    /// The server limits them over all clients (`max_prepared_stmt_count`).
    fn statements(&self) -> usize {
        transactions::STATEMENTS
    }

    fn operations(&self) -> Vec<String> {
        let completed = self.queue.iter().map(|_| COMPLETED);
        TRANSACTIONS
            .into_iter()
            .chain(completed)
            .map(str::to_owned)
            .collect()
    }

    fn standard(&self) -> Option<Standard> {
        Some(standard::requirements(self.queue.is_some()))
    }

    fn pick(&self, number: u64) -> u16 {
        self.picks.pick(number)
    }

    fn has_pauses(&self) -> bool {
        self.waits == Waits::Standard
    }

    fn pauses(&self, operation: u16, number: u64) -> Pauses {
        waits::pauses(operation, &mut self.inputs.waits(number))
    }

    /// A worker per warehouse, so that deliveries of different warehouses do not wait for each other.
    fn background(&self, clients: u32) -> Option<Background> {
        let workers = self.warehouses.min(clients);
        self.queue.as_ref().map(|_| Background { workers })
    }

    fn take(&self, terminal: &mut Terminal) -> Option<Left> {
        let queued = self.queue.as_ref()?.pop()?;
        terminal.session.home.warehouse = queued.warehouse;
        Some(queued.left)
    }

    fn give_up(&self) -> Option<Left> {
        Some(self.queue.as_ref()?.pop()?.left)
    }

    async fn open(&self, io: &Io, client: u32) -> Result<Terminal, Failure> {
        let home = terminal::Home::of(client, self.warehouses);
        let book = self.ledger.book();
        let opened = Session::open(io, &self.login, client, &self.session, home, book);
        let mut session = opened.await?;
        let prepared = Prepared::on(&mut session.connection).await?;
        Ok(Terminal { session, prepared })
    }

    async fn operate(&self, terminal: &mut Terminal, request: &Request) -> Outcome {
        if let Some(outcome) = self.queued(&terminal.session, request) {
            return outcome;
        }
        let body = self.body(terminal, request).await;
        let session = &mut terminal.session;
        match body {
            Ok(finish) => self.finish(session, request, finish).await,
            Err(stop) => self.after(session, request, stop).await,
        }
    }

    async fn close(&self, terminal: Terminal) {
        terminal.session.connection.close().await;
    }
}

#[cfg(test)]
mod tests;
