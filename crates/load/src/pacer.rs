//! Open loop without a dispatcher: the next arrival is a ticket, and an idle worker takes it.
//!
//! Goal: exact first come, first served over all reactors, with a queue that has a bound, from a schedule alone. Nothing
//! happens between two takes but arrivals, so the queue at any moment follows from the times of the takes: no
//! process has to run for it. Non-goals: waiting for a ticket's time, the lock around it (`drive`).

use crate::arrivals::Schedule;
use std::collections::VecDeque;

/// Room for a queue that is allocated at the beginning; a longer one grows.
const QUEUE_ALLOCATED: u64 = 16 * 1024;

/// What happens to an arrival that finds the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The drive ends there and says so.
    Stop,
    /// It is dropped and counted.
    Drop,
    /// The schedule stops until a worker takes an arrival; how long it stopped is reported.
    Wait,
}

/// One arrival. The time is nanoseconds since the drive's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// From 0, in the order of arrival; dropped ones have numbers too.
    pub number: u64,
    pub scheduled_ns: u64,
}

/// What a worker that is free is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// It was queued: start it now. Where a take with a later time came before, it can have arrived after this one's.
    Queued(Ticket),
    /// Nothing is queued: this is the next arrival, wait for it.
    Ahead(Ticket),
    /// Nothing is due any more before the end.
    Over,
}

#[derive(Debug)]
pub struct Pacer {
    schedule: Schedule,
    /// The schedule's next time, without what it was held.
    next_ns: Option<u64>,
    next_number: u64,
    /// The last arrival's.
    last_ns: u64,
    queue: VecDeque<Ticket>,
    room: u64,
    when_full: WhenFull,
    /// Arrivals from here on do not count.
    end_ns: u64,
    now_ns: u64,
    dropped: u64,
    full_at_ns: Option<u64>,
    held_since_ns: Option<u64>,
    held_ns: u64,
}

impl Pacer {
    /// `room` is how many arrivals may wait for a worker; those before `end_ns` count.
    pub fn new(mut schedule: Schedule, room: u64, when_full: WhenFull, end_ns: u64) -> Pacer {
        Pacer {
            next_ns: schedule.next(),
            schedule,
            next_number: 0,
            last_ns: 0,
            queue: VecDeque::with_capacity(room.min(QUEUE_ALLOCATED) as usize),
            room,
            when_full,
            end_ns,
            now_ns: 0,
            dropped: 0,
            full_at_ns: None,
            held_since_ns: None,
            held_ns: 0,
        }
    }

    /// What a worker that is free at `now_ns` is to do.
    pub fn take(&mut self, now_ns: u64) -> Take {
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

    /// Lets everything arrive that is due by `now_ns`. Times before the last one asked about count as that one.
    pub fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        while self.held_since_ns.is_none()
            && let Some(due_ns) = self.due_before_end()
            && due_ns <= self.now_ns
        {
            if (self.queue.len() as u64) < self.room {
                let ticket = self.arrive(due_ns);
                self.queue.push_back(ticket);
            } else {
                self.overflow(due_ns);
            }
        }
    }

    /// Ends the schedule at `at_ns`, if it does not end before. What has arrived and was not taken stays queued.
    pub fn end(&mut self, at_ns: u64) {
        self.advance(at_ns);
        self.end_ns = self.end_ns.min(at_ns);
    }

    /// Arrived and not taken.
    pub fn queued(&self) -> u64 {
        self.queue.len() as u64
    }

    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn room(&self) -> u64 {
        self.room
    }

    /// Nothing arrives from here on. It comes forward where the queue was full, or where a trace is
    /// over and all of it was taken.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// When an arrival found the queue full (`WhenFull::Stop`).
    pub fn full_at_ns(&self) -> Option<u64> {
        self.full_at_ns
    }

    /// How long the schedule has stood still (`WhenFull::Wait`).
    pub fn held_ns(&self) -> u64 {
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
        self.last_ns = scheduled_ns;
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

    /// A take made room: the schedule goes on from now, and what it stood at arrives.
    fn resume(&mut self) {
        if self.room > 0 && self.release() {
            self.advance(self.now_ns);
        }
    }

    /// Where there is no queue at all, the arrival that the schedule stood at goes to the worker at once.
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
            None => {
                if self.next_ns.is_none() {
                    self.end_ns = self.end_ns.min(self.now_ns.max(self.last_ns + 1));
                }
                Take::Over
            }
        }
    }
}

#[cfg(test)]
mod tests;
