//! Several operations in flight per client.

use super::*;
use crate::seam::Background;

/// Operations of 2 ms, which note how many are in flight.
#[derive(Default)]
struct Deep {
    depth: u32,
    in_flight: AtomicU32,
    highest: AtomicU32,
    numbers: Mutex<Vec<u64>>,
    syncs: AtomicU32,
    is_synced: AtomicU32,
    open: AtomicU32,
    has_background: bool,
}

impl Workload for Deep {
    type Session = Io;

    fn depth(&self) -> u32 {
        self.depth
    }

    fn operations(&self) -> Vec<String> {
        let names = ["one", "sync"].map(String::from);
        names[..1 + usize::from(self.has_background)].to_vec()
    }

    fn pick(&self, _: u64) -> u16 {
        0
    }

    fn background(&self, _: u32) -> Option<Background> {
        self.has_background.then_some(Background { workers: 1 })
    }

    fn take(&self, _: &mut Io) -> Option<crate::seam::Left> {
        let is_last = self.open.load(SeqCst) == 1 && self.is_synced.swap(1, SeqCst) == 0;
        is_last.then_some(crate::seam::Left {
            number: 0,
            since_ns: 100 * MS,
        })
    }

    async fn open(&self, io: &Io, _: u32) -> Result<Io, Failure> {
        self.open.fetch_add(1, SeqCst);
        Ok(io.clone())
    }

    async fn operate(&self, io: &mut Io, request: &Request) -> Outcome {
        if request.operation == 1 {
            self.syncs.fetch_add(1, SeqCst);
            return Outcome::Done;
        }
        let in_flight = self.in_flight.fetch_add(1, SeqCst) + 1;
        self.highest.fetch_max(in_flight, SeqCst);
        self.numbers.lock().unwrap().push(request.number);
        io.sleep_until(io.now_ns() + 2 * MS).await;
        self.in_flight.fetch_sub(1, SeqCst);
        Outcome::Done
    }

    async fn close(&self, _: Io) {
        self.open.fetch_sub(1, SeqCst);
    }
}

fn deep(depth: u32) -> Deep {
    Deep {
        depth,
        ..Deep::default()
    }
}

#[test]
fn each_client_and_each_worker_has_as_many_operations_in_flight_as_its_depth() {
    let rate = Arrivals::Uniform { rate: 50_000.0 };
    for (settings, expected) in [
        (closed(2, 1_000), 6),
        (open(rate, 4, 1_000_000, WhenFull::Stop, 1_000), 12),
    ] {
        let workload = deep(3);
        unwatched(&workload, &settings, &AtomicBool::new(false)).unwrap();
        assert_eq!(workload.highest.load(SeqCst), expected);
    }
}

#[test]
fn the_operations_of_a_reactor_start_in_the_order_of_their_numbers() {
    let workload = deep(8);
    unwatched(&workload, &closed(1, 40), &AtomicBool::new(false)).unwrap();
    let numbers = workload.numbers.lock().unwrap();
    let expected: Vec<u64> = (0..numbers.len() as u64).collect();
    assert_eq!(*numbers, expected);
}

#[test]
fn work_that_is_left_when_the_last_client_has_ended_is_done_and_is_not_cut_off_by_the_end() {
    let workload = Deep {
        has_background: true,
        ..deep(2)
    };
    let driven = unwatched(&workload, &closed(2, 40), &AtomicBool::new(false)).unwrap();
    assert_eq!(workload.syncs.load(SeqCst), 1);
    assert_eq!((driven.tallies[1].done(), driven.late[1].ended()), (1, 0));
    assert_eq!(driven.started, driven.tallies[0].done());
}
