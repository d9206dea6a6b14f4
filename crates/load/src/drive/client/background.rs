//! Workers in the background: run what operations left behind.
//!
//! Goal: an operation that only queues its work is answered at once, and the work has its own response time, from queueing to
//! completion. What is still queued when the drive is given up counts as lost. Non-goal: the queue, which is the workload's.

use super::{Client, Gone};
use crate::seam::{Left, Request, Workload};

/// How often an idle worker looks for work.
const LOOK_INTERVAL_NS: u64 = 2_000_000;

/// Runs until the sessions of all clients are closed and nothing is left for this worker.
pub(super) async fn run<W: Workload>(worker: &mut Client<'_, W>) {
    worker.recorder.mark_busy();
    while let Some(left) = next(worker).await {
        let request = request(worker, left);
        if worker.operate(request, None).await.is_err() {
            break;
        }
        if worker.session.is_none() && worker.reopen().await.is_err() {
            break;
        }
    }
    while worker.io.is_interrupted()
        && let Some(left) = worker.shared.workload.give_up()
    {
        worker.count_lost(&request(worker, left), Gone(0));
    }
    worker.recorder.mark_idle();
}

fn request<W: Workload>(worker: &Client<'_, W>, left: Left) -> Request {
    Request {
        operation: worker.shared.background_operation(),
        number: left.number,
        scheduled_ns: left.since_ns,
        started_ns: worker
            .shared
            .background_start(left.since_ns, worker.now_ns()),
        zero_ns: worker.zero_ns,
        retries: 0,
    }
}

async fn next<W: Workload>(worker: &mut Client<'_, W>) -> Option<Left> {
    loop {
        // Read before the last look.
        let is_over = worker.shared.are_closed();
        let session = worker.session.as_mut()?;
        if let Some(left) = worker.shared.workload.take(session) {
            return Some(left);
        }
        if is_over || worker.io.is_interrupted() {
            return None;
        }
        worker.recorder.mark_idle();
        let look_ns = worker.io.now_ns() + LOOK_INTERVAL_NS;
        worker.io.sleep_until(look_ns).await;
        worker.recorder.mark_busy();
    }
}
