//! Open loop: an idle worker takes the next arrival as a ticket and waits for its due time.

use super::Client;
use crate::drive::shared::Shared;
use crate::pacer::{Take, Ticket};
use crate::seam::{Request, Workload};

/// Operations after which a worker yields to the other workers of its reactor, even if none of its operations had to wait.
const TURN: u32 = 16;

pub(super) async fn run<W: Workload>(worker: &mut Client<'_, W>) {
    let mut turn = TURN;
    let mut free_ns = worker.now_ns();
    worker.recorder.mark_busy();
    while let Some(due) = next(worker, free_ns).await {
        let Ticket {
            number,
            scheduled_ns,
        } = due.ticket;
        let number = worker.shared.drive.share.number(number);
        let request = Request {
            operation: worker.shared.workload.pick(number),
            number,
            scheduled_ns,
            started_ns: due.started_ns,
            zero_ns: worker.zero_ns,
            retries: 0,
        };
        match worker.operate(request, due.late_ns).await {
            Ok(ended_ns) => free_ns = ended_ns,
            Err(_) => break,
        }
        // Reconnect before taking the next arrival, so that the other workers take those that arrive in the meantime.
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
    worker.recorder.mark_idle();
}

/// An arrival to start now.
struct Due {
    ticket: Ticket,
    started_ns: u64,
    /// How late it starts. None if the worker did not wait for it.
    late_ns: Option<u64>,
}

/// The next arrival. None once the drive is over.
#[inline]
async fn next<W: Workload>(worker: &Client<'_, W>, free_ns: u64) -> Option<Due> {
    match take(worker.shared, free_ns)? {
        // A queued arrival can be later than `free_ns`: another worker may have advanced the queue to a later time.
        Take::Queued(ticket) => Some(Due {
            ticket,
            started_ns: free_ns.max(ticket.scheduled_ns),
            late_ns: None,
        }),
        Take::Ahead(ticket) => {
            let started_ns = await_due(worker, ticket.scheduled_ns).await?;
            Some(Due {
                ticket,
                started_ns,
                late_ns: Some(started_ns - ticket.scheduled_ns),
            })
        }
        Take::Over => {
            worker.recorder.mark_idle();
            worker.sleep_until(u64::MAX).await;
            worker.recorder.mark_busy();
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

/// Waits until an arrival is due. None if the drive ends before. An arrival before the end is started, however late its worker
/// wakes.
async fn await_due<W: Workload>(worker: &Client<'_, W>, scheduled_ns: u64) -> Option<u64> {
    worker.recorder.mark_idle();
    worker.sleep_until(scheduled_ns).await;
    worker.recorder.mark_busy();
    (scheduled_ns < worker.shared.end.at_ns()).then(|| worker.now_ns().max(scheduled_ns))
}
