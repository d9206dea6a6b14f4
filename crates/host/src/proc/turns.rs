//! Counts how often the threads of a process were scheduled, and how long they waited for a CPU:
//! `/proc/PID/task/*/schedstat`.
//!
//! Each time a thread is scheduled is one context switch to it. Reading them costs less than 1 % of a core. Voluntary and
//! involuntary switches are not distinguished: only `status` does that, and reading it costs 2.3 times as much
//! (bench/results/sampler.md).

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Processes with more threads are skipped, because reading them would cost more than 1 % of a core.
const THREADS_MAX: u32 = 2000;

/// Adds up the scheduling counts of one process's threads since the first reading. If a thread ends between two readings,
/// its counts since the earlier one are lost.
#[derive(Default)]
pub struct Turns {
    threads: BTreeMap<u32, Turn>,
    count: u64,
    waited: Duration,
}

/// Cumulative counts of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Turn {
    waited_ns: u64,
    count: u64,
}

impl Turns {
    /// Reads (times scheduled, time waited for a CPU) of all threads since the first reading; None if they cannot be read.
    pub fn read(&mut self, pid: u32, threads: u32) -> Option<(u64, Duration)> {
        if threads > THREADS_MAX {
            return None;
        }
        let folder = format!("/proc/{pid}/task");
        let mut now = BTreeMap::new();
        for entry in fs::read_dir(&folder).ok()?.flatten() {
            let thread = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            let text = fs::read_to_string(entry.path().join("schedstat")).ok();
            // The thread may have ended meanwhile.
            if let (Some(thread), Some(turn)) = (thread, text.and_then(|text| parse(&text))) {
                now.insert(thread, turn);
            }
        }
        // A kernel without schedstat writes zeros.
        if now.values().all(|turn| turn.count == 0) {
            return None;
        }
        self.add(now);
        Some((self.count, self.waited))
    }

    fn add(&mut self, now: BTreeMap<u32, Turn>) {
        let is_first = self.threads.is_empty();
        for (thread, turn) in &now {
            let before = match self.threads.get(thread) {
                // The thread id was reused.
                Some(before) if before.count > turn.count => Turn::default(),
                Some(before) => *before,
                None if is_first => *turn,
                None => Turn::default(),
            };
            self.count += turn.count - before.count;
            self.waited += Duration::from_nanos(turn.waited_ns.saturating_sub(before.waited_ns));
        }
        self.threads = now;
    }
}

/// Parses `36027213 21201285 109`: nanoseconds on a CPU, nanoseconds waiting for one, times scheduled
/// (Documentation/scheduler/sched-stats.rst).
fn parse(text: &str) -> Option<Turn> {
    let mut fields = text.split_whitespace().skip(1);
    Some(Turn {
        waited_ns: fields.next()?.parse().ok()?,
        count: fields.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(of: &[(u32, u64)]) -> BTreeMap<u32, Turn> {
        let turn = |&(thread, count)| {
            let waited_ns = count * 1000;
            (thread, Turn { waited_ns, count })
        };
        of.iter().map(turn).collect()
    }

    #[test]
    fn counts_start_at_the_first_reading() {
        let mut all = Turns::default();
        all.add(turns(&[(1, 100), (2, 50)]));
        assert_eq!(all.count, 0);
        all.add(turns(&[(1, 103), (2, 50)]));
        assert_eq!((all.count, all.waited), (3, Duration::from_micros(3)));
    }

    #[test]
    fn new_threads_are_added_and_ended_threads_are_not_subtracted() {
        let mut all = Turns::default();
        all.add(turns(&[(1, 100), (2, 50)]));
        all.add(turns(&[(1, 100), (3, 7)]));
        assert_eq!(all.count, 7);
        all.add(turns(&[(1, 100), (3, 2)]));
        assert_eq!(all.count, 9, "thread id 3 was reused");
    }

    #[test]
    fn the_kernels_schedstat_format_is_parsed() {
        let expected = Turn {
            waited_ns: 21_201_285,
            count: 109,
        };
        assert_eq!(parse("36027213 21201285 109\n"), Some(expected));
        assert_eq!(parse("36027213 21201285"), None);
    }

    #[test]
    fn a_process_with_too_many_threads_or_none_is_absent() {
        assert_eq!(
            Turns::default().read(std::process::id(), THREADS_MAX + 1),
            None
        );
        assert_eq!(Turns::default().read(u32::MAX, 1), None);
    }

    #[test]
    fn each_sleep_of_this_process_is_counted() {
        let (mut turns, pid) = (Turns::default(), std::process::id());
        if turns.read(pid, 1).is_none() {
            eprintln!("skipped: this kernel has no schedstat");
            return;
        }
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(turns.read(pid, 1).unwrap().0 >= 10);
    }
}
