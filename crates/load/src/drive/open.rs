//! Open loop: a worker that is free takes the next arrival as a ticket and waits for its time.

use super::client::Client;
use super::shared::Shared;
use crate::pacer::{Take, Ticket};
use crate::seam::{Request, Workload};

/// Operations in a row after which the other workers of the reactor get their turn, also where none of them waited.
const TURN: u32 = 16;

pub async fn run<W: Workload>(worker: &mut Client<'_, W>) {
    let mut turn = TURN;
    let mut free_ns = worker.now_ns();
    worker.recorder.run();
    while let Some(due) = next(worker, free_ns).await {
        let Ticket {
            number,
            scheduled_ns,
        } = due.ticket;
        let request = Request {
            operation: worker.shared.workload.pick(number),
            number,
            scheduled_ns,
            started_ns: due.started_ns,
            retries: 0,
        };
        match worker.operate(request, due.late_ns).await {
            Ok(ended_ns) => free_ns = ended_ns,
            Err(_) => break,
        }
        // Before the next arrival is taken: the other workers take those that come meanwhile.
        if worker.session.is_none() {
            match worker.reopen().await {
                Ok(()) => free_ns = worker.now_ns(),
                Err(_) => break,
            }
        }
        turn -= 1;
        if turn == 0 {
            turn = TURN;
            worker.io.yield_now().await;
            free_ns = worker.now_ns();
        }
    }
    worker.recorder.rest();
}

/// An arrival that is to be started.
struct Due {
    ticket: Ticket,
    started_ns: u64,
    /// Where it was waited for.
    late_ns: Option<u64>,
}

/// The next arrival; none once the drive is over.
#[inline]
async fn next<W: Workload>(worker: &Client<'_, W>, free_ns: u64) -> Option<Due> {
    match take(worker.shared, free_ns)? {
        // Another worker's clock can be ahead of when this one was free, and what had arrived by then is queued.
        Take::Queued(ticket) => Some(Due {
            ticket,
            started_ns: free_ns.max(ticket.scheduled_ns),
            late_ns: None,
        }),
        Take::Ahead(ticket) => {
            let started_ns = await_time(worker, ticket.scheduled_ns).await?;
            Some(Due {
                ticket,
                started_ns,
                late_ns: Some(started_ns - ticket.scheduled_ns),
            })
        }
        Take::Over => {
            worker.recorder.rest();
            worker.sleep_until(u64::MAX).await;
            worker.recorder.run();
            None
        }
    }
}

#[inline]
fn take<W: Workload>(shared: &Shared<'_, W>, free_ns: u64) -> Option<Take> {
    let mut pacer = shared.pacer()?;
    let taken = pacer.take(free_ns);
    if taken == Take::Over {
        shared.end.bring_forward(pacer.end_ns(), None);
    }
    Some(taken)
}

/// None: the drive ended before that time came. An arrival before the end is started, however late its worker woke.
async fn await_time<W: Workload>(worker: &Client<'_, W>, scheduled_ns: u64) -> Option<u64> {
    worker.recorder.rest();
    worker.sleep_until(scheduled_ns).await;
    worker.recorder.run();
    (scheduled_ns < worker.shared.end.at_ns()).then(|| worker.now_ns().max(scheduled_ns))
}
