//! Closed loop: a client starts its next operation after the previous reply and its think time, or after the workload's pauses.

use super::Client;
use super::backoff::SPREAD;
use crate::drive::settings::Closed;
use crate::seam::{Pauses, Request, Workload};
use rand::{RngExt, SeedableRng};
use rand_distr::Exp1;
use rand_pcg::Pcg64;

/// Operations after which a client yields to the other clients of its reactor, even if none of its operations had to wait.
const TURN: u32 = 256;

pub(super) async fn run<W: Workload>(client: &mut Client<'_, W>, closed: &Closed) {
    let mut thinking = Thinking::new(
        closed,
        client.shared.drive.seed,
        client.shared.name(client.number),
    );
    let mut turn = TURN;
    let mut free_ns = client.now_ns();
    client.recorder.mark_busy();
    loop {
        if free_ns >= client.slice_ends_ns {
            match client.next_slice().await {
                Some(now_ns) => free_ns = now_ns,
                None => break,
            }
        }
        if let Some(thinking) = &mut thinking {
            free_ns = client.pause(free_ns, thinking.next_ns()).await;
        }
        if free_ns >= client.shared.end.at_ns() {
            break;
        }
        let number = client.numbers.next();
        let operation = client.shared.workload.pick(number);
        let pauses = pauses(client.shared.workload, operation, number);
        if let Some(pauses) = pauses {
            free_ns = client.pause(free_ns, pauses.before_ns).await;
            if free_ns >= client.shared.end.at_ns() {
                break;
            }
        }
        let request = Request {
            operation,
            number,
            scheduled_ns: free_ns,
            started_ns: free_ns,
            zero_ns: client.zero_ns,
            retries: 0,
        };
        // Reconnect only after the operation is due, so that the wait for a session counts in its service time.
        if client.session.is_none()
            && let Err(gone) = client.reopen().await
        {
            client.count_lost(&request, gone);
            break;
        }
        match client.operate(request, None).await {
            Ok(ended_ns) => free_ns = ended_ns,
            Err(_) => break,
        }
        if let Some(pauses) = pauses {
            free_ns = client.pause(free_ns, pauses.after_ns).await;
        }
        turn -= 1;
        if turn == 0 {
            turn = TURN;
            client.io.yield_now().await;
            free_ns = client.now_ns();
        }
    }
    client.recorder.mark_idle();
}

#[inline]
fn pauses<W: Workload>(workload: &W, operation: u16, number: u64) -> Option<Pauses> {
    workload
        .has_pauses()
        .then(|| workload.pauses(operation, number))
}

/// Exponential think times of one client, from the drive's seed.
struct Thinking {
    random: Pcg64,
    mean_ns: f64,
}

impl Thinking {
    fn new(closed: &Closed, seed: u64, client: u32) -> Option<Thinking> {
        let spread = u64::from(client).wrapping_add(1).wrapping_mul(SPREAD);
        (!closed.think.is_zero()).then(|| Thinking {
            random: Pcg64::seed_from_u64(seed.wrapping_add(spread)),
            mean_ns: closed.think.as_nanos() as f64,
        })
    }

    fn next_ns(&mut self) -> u64 {
        let unit: f64 = self.random.sample(Exp1);
        (unit * self.mean_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn think_times(think_ms: u64, seed: u64, client: u32) -> Option<Vec<u64>> {
        let closed = Closed {
            clients: 1,
            think: Duration::from_millis(think_ms),
        };
        let mut thinking = Thinking::new(&closed, seed, client)?;
        Some((0..20_000).map(|_| thinking.next_ns()).collect())
    }

    #[test]
    fn think_times_are_exponential_with_the_configured_mean() {
        let times = think_times(20, 1, 0).expect("think times");
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        let longer = times.iter().filter(|time| **time > 20_000_000).count() as f64;
        assert!((mean / 2e7 - 1.0).abs() < 0.03, "{mean}");
        assert!((longer / times.len() as f64 - (-1f64).exp()).abs() < 0.02);
    }

    #[test]
    fn think_times_differ_per_client_and_are_reproducible() {
        assert_eq!(think_times(20, 1, 3), think_times(20, 1, 3));
        assert_ne!(think_times(20, 1, 3), think_times(20, 1, 4));
        assert_eq!(think_times(0, 1, 3), None);
    }
}
