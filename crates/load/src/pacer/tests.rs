use super::*;
use crate::arrivals::Arrivals;
use proptest::prelude::*;

const FOREVER_NS: u64 = 1_000_000;

fn pacer(at_ns: &[u64], capacity: u64, when_full: WhenFull, end_ns: u64) -> Pacer {
    let arrivals = Arrivals::Trace {
        at_ns: at_ns.into(),
    };
    Pacer::new(Schedule::new(&arrivals, 0), capacity, when_full, end_ns)
}

fn ticket(number: u64, scheduled_ns: u64) -> Ticket {
    Ticket {
        number,
        scheduled_ns,
    }
}

#[test]
fn an_idle_worker_gets_the_next_arrival_ahead_of_its_time() {
    let mut pacer = pacer(&[10, 20], 5, WhenFull::Stop, FOREVER_NS);
    assert_eq!(pacer.take(0), Take::Ahead(ticket(0, 10)));
    assert_eq!(pacer.take(3), Take::Ahead(ticket(1, 20)));
    assert_eq!(pacer.take(4), Take::Over);
}

#[test]
fn queued_arrivals_are_taken_first_come_first_served() {
    let mut pacer = pacer(&[10, 20, 30, 99], 5, WhenFull::Stop, FOREVER_NS);
    pacer.take(0);
    pacer.advance(30);
    assert_eq!(pacer.queued(), 2);
    assert_eq!(pacer.take(40), Take::Queued(ticket(1, 20)));
    assert_eq!(pacer.take(41), Take::Queued(ticket(2, 30)));
    assert_eq!(pacer.take(42), Take::Ahead(ticket(3, 99)));
}

#[test]
fn arrivals_after_the_end_do_not_count_and_earlier_ones_stay_queued() {
    let mut pacer = pacer(&[10, 20, 30], 5, WhenFull::Stop, 30);
    assert_eq!(pacer.take(30), Take::Over);
    assert_eq!(pacer.queued(), 2);
}

#[test]
fn a_full_queue_stops_the_schedule_at_the_next_arrival() {
    let mut pacer = pacer(&[1, 2, 3, 4, 5], 3, WhenFull::Stop, FOREVER_NS);
    assert_eq!(pacer.take(50), Take::Over);
    assert_eq!(pacer.full_at_ns(), Some(4));
    assert_eq!(pacer.queued(), 3);
}

#[test]
fn a_full_queue_drops_the_newest_arrival_and_counts_it() {
    let mut pacer = pacer(&[1, 2, 3, 4, 60], 2, WhenFull::Drop, FOREVER_NS);
    assert_eq!(pacer.take(50), Take::Queued(ticket(0, 1)));
    assert_eq!(pacer.dropped(), 2);
    assert_eq!(pacer.take(51), Take::Queued(ticket(1, 2)));
    assert_eq!(pacer.take(52), Take::Ahead(ticket(4, 60)));
}

#[test]
fn a_full_queue_pauses_the_schedule_and_reports_how_long() {
    let mut pacer = pacer(&[1, 2, 3, 10], 2, WhenFull::Wait, FOREVER_NS);
    pacer.advance(40);
    assert_eq!(pacer.held_ns(), 37);
    assert_eq!(pacer.take(50), Take::Queued(ticket(0, 1)));
    assert_eq!(pacer.held_ns(), 47);
    assert_eq!(pacer.take(51), Take::Queued(ticket(1, 2)));
    assert_eq!(pacer.take(52), Take::Queued(ticket(2, 50)));
    assert_eq!(pacer.take(53), Take::Ahead(ticket(3, 57)));
    assert_eq!(pacer.held_ns(), 47);
}

#[test]
fn without_a_queue_the_held_arrival_goes_to_the_next_idle_worker() {
    let mut pacer = pacer(&[1, 5], 0, WhenFull::Wait, FOREVER_NS);
    assert_eq!(pacer.take(9), Take::Queued(ticket(0, 9)));
    assert_eq!(pacer.take(10), Take::Ahead(ticket(1, 13)));
}

#[test]
fn an_early_end_keeps_queued_arrivals() {
    let mut pacer = pacer(&[1, 2, 30], 5, WhenFull::Stop, FOREVER_NS);
    pacer.end(20);
    assert_eq!(pacer.take(21), Take::Over);
    pacer.advance(FOREVER_NS);
    assert_eq!(pacer.queued(), 2);
}

#[test]
fn a_take_with_an_earlier_time_counts_as_the_latest_time() {
    let mut pacer = pacer(&[10, 20, 99], 5, WhenFull::Stop, FOREVER_NS);
    pacer.advance(30);
    assert_eq!(pacer.take(5), Take::Queued(ticket(0, 10)));
    assert_eq!(pacer.take(31), Take::Queued(ticket(1, 20)));
    assert_eq!(pacer.take(4), Take::Ahead(ticket(2, 99)));
}

/// A simulation of the queue in time steps. Arrivals of a step precede its takes.
struct Naive {
    due: VecDeque<u64>,
    capacity: usize,
    when_full: WhenFull,
    end: u64,
    number: u64,
    queue: VecDeque<u64>,
    idle: VecDeque<usize>,
    held: bool,
    stopped: bool,
    dropped: u64,
    held_moments: u64,
    given: Vec<Option<(u64, u64)>>,
}

impl Naive {
    fn run(mut self, takes: &[u64]) -> Naive {
        self.given = vec![None; takes.len()];
        for moment in 0..self.end {
            self.arrivals(moment);
            for (taker, _) in takes.iter().enumerate().filter(|take| *take.1 == moment) {
                self.take(taker, moment);
            }
            if self.held {
                self.held_moments += 1;
                self.due.iter_mut().for_each(|due| *due += 1);
            }
        }
        self
    }

    fn arrivals(&mut self, moment: u64) {
        while !self.stopped && self.due.front().is_some_and(|due| *due <= moment) {
            if let Some(taker) = self.idle.pop_front() {
                self.given[taker] = Some((self.number, moment));
            } else if self.queue.len() < self.capacity {
                self.queue.push_back(self.number);
            } else if self.when_full == WhenFull::Drop {
                self.dropped += 1;
            } else {
                self.held = self.when_full == WhenFull::Wait;
                self.stopped = self.when_full == WhenFull::Stop;
                return;
            }
            self.held = false;
            self.number += 1;
            self.due.pop_front();
        }
    }

    fn take(&mut self, taker: usize, moment: u64) {
        if self.stopped {
            return;
        }
        match self.queue.pop_front() {
            Some(number) => self.given[taker] = Some((number, moment)),
            None => self.idle.push_back(taker),
        }
        self.held = false;
        self.arrivals(moment);
    }
}

fn any_when_full() -> impl Strategy<Value = WhenFull> {
    prop_oneof![
        Just(WhenFull::Stop),
        Just(WhenFull::Drop),
        Just(WhenFull::Wait)
    ]
}

fn moments(most: usize) -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec(0..200u64, 1..most).prop_map(|mut moments| {
        moments.sort_unstable();
        moments
    })
}

proptest! {
    #[test]
    fn takes_match_a_step_by_step_simulation(
        due in moments(60),
        takes in moments(60),
        capacity in 0..6usize,
        when_full in any_when_full(),
        end in 1..220u64,
    ) {
        let naive = Naive {
            due: due.iter().copied().collect(), capacity, when_full, end, number: 0, queue: VecDeque::new(),
            idle: VecDeque::new(), held: false, stopped: false, dropped: 0, held_moments: 0, given: Vec::new(),
        }.run(&takes);
        let mut pacer = pacer(&due, capacity as u64, when_full, end);
        for (taker, moment) in takes.iter().enumerate() {
            let given = match pacer.take(*moment) {
                Take::Queued(ticket) => {
                    prop_assert!(ticket.scheduled_ns <= *moment);
                    Some((ticket.number, *moment))
                }
                Take::Ahead(ticket) => Some((ticket.number, ticket.scheduled_ns)),
                Take::Over => None,
            };
            prop_assert_eq!(given, naive.given[taker], "take {} at {}", taker, moment);
        }
        pacer.advance(end);
        prop_assert_eq!(pacer.queued(), naive.queue.len() as u64);
        prop_assert_eq!(pacer.dropped(), naive.dropped);
        prop_assert_eq!(pacer.held_ns(), naive.held_moments);
        prop_assert_eq!(pacer.full_at_ns().is_some(), naive.stopped);
    }

    #[test]
    fn takes_out_of_order_use_the_latest_time_so_far(
        due in moments(60),
        takes in proptest::collection::vec(0..200u64, 1..60),
        capacity in 0..6u64,
        when_full in any_when_full(),
        end in 1..220u64,
    ) {
        let mut unsorted = pacer(&due, capacity, when_full, end);
        let mut sorted = pacer(&due, capacity, when_full, end);
        let mut latest = 0;
        for moment in takes {
            latest = moment.max(latest);
            let taken = unsorted.take(moment);
            prop_assert_eq!(taken, sorted.take(latest));
            if let Take::Queued(ticket) = taken {
                prop_assert!(ticket.scheduled_ns <= latest);
            }
        }
    }

    #[test]
    fn every_arrival_is_taken_queued_or_dropped(
        due in moments(80),
        takes in moments(80),
        capacity in 0..6u64,
        when_full in any_when_full(),
    ) {
        let mut pacer = pacer(&due, capacity, when_full, 500);
        let taken = takes.iter().filter(|moment| pacer.take(**moment) != Take::Over).count();
        pacer.advance(499);
        let counted = taken as u64 + pacer.queued() + pacer.dropped();
        if when_full == WhenFull::Drop {
            prop_assert_eq!(counted, due.len() as u64);
        } else {
            prop_assert!(counted <= due.len() as u64);
        }
    }
}
