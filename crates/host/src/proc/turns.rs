//! How often the threads of a process were put on a processor, and how long they waited for one: `/proc/PID/task/*/schedstat`.
//!
//! Goal: context switches for less than 1 % of a core. Non-goal: telling voluntary from involuntary ones: that is in `status`
//! alone, which the kernel writes out for 2.3 times as much (bench/results/sampler.md). A turn on a processor is a switch to
//! the thread, whichever way the one before it left.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Processes with more threads are not looked at: that costs 1 % of a core.
const MOST_THREADS: u32 = 2000;

/// Follows the threads of one process and adds up what they did since the first look. Those that end between two looks lose what
/// they did since the earlier one.
#[derive(Default)]
pub struct Turns {
    threads: BTreeMap<u32, Turn>,
    count: u64,
    waited: Duration,
}

/// Cumulative, of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Turn {
    waited_ns: u64,
    count: u64,
}

impl Turns {
    /// (turns, time waited for a processor) of all threads since the first look; None where they cannot be read.
    pub fn look(&mut self, pid: u32, threads: u32) -> Option<(u64, Duration)> {
        if threads > MOST_THREADS {
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
            // A thread that ended meanwhile has no text.
            if let (Some(thread), Some(turn)) = (thread, text.and_then(|text| parse(&text))) {
                now.insert(thread, turn);
            }
        }
        // A kernel that does not count writes zeros.
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
                // The number was given to a new thread.
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

/// `36027213 21201285 109`: nanoseconds on a processor, nanoseconds waiting for one, turns
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
    fn only_what_came_after_the_first_look_counts() {
        let mut all = Turns::default();
        all.add(turns(&[(1, 100), (2, 50)]));
        assert_eq!(all.count, 0);
        all.add(turns(&[(1, 103), (2, 50)]));
        assert_eq!((all.count, all.waited), (3, Duration::from_micros(3)));
    }

    #[test]
    fn threads_that_come_count_whole_and_those_that_go_take_nothing_back() {
        let mut all = Turns::default();
        all.add(turns(&[(1, 100), (2, 50)]));
        all.add(turns(&[(1, 100), (3, 7)]));
        assert_eq!(all.count, 7);
        all.add(turns(&[(1, 100), (3, 2)]));
        assert_eq!(all.count, 9, "thread 3 is another one by now");
    }

    #[test]
    fn a_line_is_read_as_the_kernel_writes_it() {
        let expected = Turn {
            waited_ns: 21_201_285,
            count: 109,
        };
        assert_eq!(parse("36027213 21201285 109\n"), Some(expected));
        assert_eq!(parse("36027213 21201285"), None);
    }

    #[test]
    fn a_process_of_too_many_threads_or_none_is_absent() {
        assert_eq!(
            Turns::default().look(std::process::id(), MOST_THREADS + 1),
            None
        );
        assert_eq!(Turns::default().look(u32::MAX, 1), None);
    }

    #[test]
    fn a_sleep_is_a_turn_of_this_very_process() {
        let (mut turns, pid) = (Turns::default(), std::process::id());
        if turns.look(pid, 1).is_none() {
            return; // a kernel that does not count
        }
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(turns.look(pid, 1).unwrap().0 >= 10);
    }
}
