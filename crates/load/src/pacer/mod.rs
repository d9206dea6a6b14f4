//! The arrival queue of open loop, without a dispatcher: idle workers take arrivals as tickets.
//!
//! Goal: exact first come, first served over all reactors, with a bounded queue. Only arrivals happen between two takes, so the
//! queue at any time follows from the schedule and the times of the takes, and no thread has to maintain it. Non-goals: waiting
//! for a ticket's due time, locking (`drive`).

use crate::arrivals::Schedule;
use std::collections::VecDeque;

/// Maximum initial allocation of the queue. A longer queue grows.
const QUEUE_ALLOCATED: u64 = 16 * 1024;

/// What happens to an arrival that finds the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The drive ends and reports why.
    Stop,
    /// The arrival is dropped and counted.
    Drop,
    /// The schedule pauses until a worker takes an arrival. The total pause is reported.
    Wait,
}

/// One arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// The number of the arrival, from 0 in order. Dropped arrivals have numbers too.
    pub number: u64,
    /// Due time in nanoseconds since the start of the drive.
    pub scheduled_ns: u64,
}

/// What an idle worker gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// A queued arrival to start now. It can be later than this take's time if an earlier take had a later time.
    Queued(Ticket),
    /// The queue is empty: wait for this next arrival.
    Ahead(Ticket),
    /// No more arrivals before the end.
    Over,
}

/// The arrival queue of one drive.
#[derive(Debug)]
pub(crate) struct Pacer {
    schedule: Schedule,
    /// The schedule's next arrival, without pauses.
    next_ns: Option<u64>,
    next_number: u64,
    queue: VecDeque<Ticket>,
    capacity: u64,
    when_full: WhenFull,
    /// Arrivals from this time on do not count.
    end_ns: u64,
    now_ns: u64,
    dropped: u64,
    full_at_ns: Option<u64>,
    held_since_ns: Option<u64>,
    held_ns: u64,
}

impl Pacer {
    /// `capacity` is how many arrivals may wait for a worker. Arrivals before `end_ns` count.
    pub(crate) fn new(
        mut schedule: Schedule,
        capacity: u64,
        when_full: WhenFull,
        end_ns: u64,
    ) -> Pacer {
        Pacer {
            next_ns: schedule.next(),
            schedule,
            next_number: 0,
            queue: VecDeque::with_capacity(capacity.min(QUEUE_ALLOCATED) as usize),
            capacity,
            when_full,
            end_ns,
            now_ns: 0,
            dropped: 0,
            full_at_ns: None,
            held_since_ns: None,
            held_ns: 0,
        }
    }

    /// Returns what a worker that is idle at `now_ns` does next.
    pub(crate) fn take(&mut self, now_ns: u64) -> Take {
        self.advance(now_ns);
        if self.now_ns >= self.end_ns {
            return Take::Over;
        }
        let queued = self.queue.pop_front();
        self.resume();
        match queued.or_else(|| self.arrived_without_a_queue()) {
            Some(ticket) => Take::Queued(ticket),
            None => self.ahead(),
        }
    }

    /// Processes all arrivals due by `now_ns`. A time before the latest one so far counts as that latest time.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        while self.held_since_ns.is_none()
            && let Some(due_ns) = self.due_before_end()
            && due_ns <= self.now_ns
        {
            if (self.queue.len() as u64) < self.capacity {
                let ticket = self.arrive(due_ns);
                self.queue.push_back(ticket);
            } else {
                self.overflow(due_ns);
            }
        }
    }

    /// Ends the schedule at `at_ns`, unless it ends earlier. Queued arrivals stay queued.
    pub(crate) fn end(&mut self, at_ns: u64) {
        self.advance(at_ns);
        self.end_ns = self.end_ns.min(at_ns);
    }

    /// The number of queued arrivals.
    pub(crate) fn queued(&self) -> u64 {
        self.queue.len() as u64
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The end of the schedule. It moves forward when the queue was full.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// When an arrival found the queue full (`WhenFull::Stop`).
    pub(crate) fn full_at_ns(&self) -> Option<u64> {
        self.full_at_ns
    }

    /// How long the schedule was paused (`WhenFull::Wait`).
    pub(crate) fn held_ns(&self) -> u64 {
        let until_ns = self.now_ns.min(self.end_ns);
        let held = |since_ns| until_ns.saturating_sub(since_ns);
        self.held_ns + self.held_since_ns.map_or(0, held)
    }

    fn due_before_end(&self) -> Option<u64> {
        let due_ns = self.next_ns? + self.held_ns;
        (due_ns < self.end_ns).then_some(due_ns)
    }

    fn arrive(&mut self, scheduled_ns: u64) -> Ticket {
        let number = self.next_number;
        self.next_number += 1;
        self.next_ns = self.schedule.next();
        Ticket {
            number,
            scheduled_ns,
        }
    }

    fn overflow(&mut self, due_ns: u64) {
        match self.when_full {
            WhenFull::Stop => {
                self.full_at_ns = Some(due_ns);
                self.end_ns = due_ns;
            }
            WhenFull::Drop => {
                self.arrive(due_ns);
                self.dropped += 1;
            }
            WhenFull::Wait => self.held_since_ns = Some(due_ns),
        }
    }

    /// Resumes a paused schedule after a take: the held arrival arrives now.
    fn resume(&mut self) {
        if self.capacity > 0 && self.release() {
            self.advance(self.now_ns);
        }
    }

    /// With a queue capacity of 0, the held arrival goes directly to the worker.
    fn arrived_without_a_queue(&mut self) -> Option<Ticket> {
        self.release().then(|| self.arrive(self.now_ns))
    }

    fn release(&mut self) -> bool {
        let Some(since_ns) = self.held_since_ns.take() else {
            return false;
        };
        self.held_ns += self.now_ns - since_ns;
        true
    }

    fn ahead(&mut self) -> Take {
        match self.due_before_end() {
            Some(due_ns) => Take::Ahead(self.arrive(due_ns)),
            None => Take::Over,
        }
    }
}

#[cfg(test)]
mod tests;
