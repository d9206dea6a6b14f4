//! Whether a load on files keeps more operations in flight than the queue of the device holds.
//!
//! Purpose: the rest waits in the block layer, so a greater depth raises the latency and not the throughput. Boundaries: the device that
//! the file system lies on; one below a loop device has a queue of its own.

use host::storage;
use record::{FlagKind, Trial};
use std::path::Path;
use workload::Files;

/// Flags a load with direct I/O by so many clients, if its operations do not fit into the queue.
pub(crate) fn check(files: &dyn Files, clients: u32, folder: &Path, trial: &mut Trial) {
    let below = storage::below(folder).ok();
    let disk = below.and_then(|below| below.disk);
    let held = disk.and_then(|disk| disk.requests_max());
    let held = held.filter(|_| files.are_direct());
    let in_flight = u64::from(clients) * u64::from(files.depth());
    let text = held.and_then(|held| deeper(in_flight, held));
    trial.flag_each(FlagKind::DeeperThanQueue, text);
}

fn deeper(in_flight: u64, held: u64) -> Option<String> {
    (in_flight > held).then(|| {
        format!(
            "the clients keep {in_flight} operations in flight, and the queues of the device hold {held} (nr_requests): the rest waits in the block layer, which counts as latency; use fewer clients or a smaller depth"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_operations_than_the_queue_holds_are_flagged() {
        let text = deeper(1_024, 256).unwrap();
        let says =
            "the clients keep 1024 operations in flight, and the queues of the device hold 256";
        assert!(text.starts_with(says), "{text}");
        assert_eq!(deeper(256, 256), None);
    }
}
