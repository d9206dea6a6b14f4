//! The engine's own stalls: seconds in which its threads did not run.
//!
//! Non-goals: noticing them (`io::pulse`), which figures they spoil (crate `record`).

use super::driven::OwnStall;
use super::threads::Ran;
use crate::io::Gap;
use crate::recorder::SECOND_NS;
use std::collections::BTreeMap;
use std::time::Duration;

/// The gaps of each thread.
#[derive(Debug)]
pub(super) struct Gaps(Vec<Vec<Gap>>);

impl Gaps {
    /// The gaps of the client threads if they know them, or else `watched`, those of the thread that supervises them.
    pub(super) fn of(ran: Vec<Ran>, watched: Vec<Gap>) -> Gaps {
        let known: Option<Vec<Vec<Gap>>> = ran.into_iter().map(|ran| ran.gaps).collect();
        Gaps(known.unwrap_or_else(|| vec![watched]))
    }

    /// On another clock.
    pub(super) fn mapped(&self, map: impl Fn(&[Gap]) -> Vec<Gap>) -> Gaps {
        Gaps(self.0.iter().map(|gaps| map(gaps)).collect())
    }

    /// The stalls between `zero_ns` and `end_ns` after it.
    pub(super) fn stalls(&self, zero_ns: u64, end_ns: u64) -> Vec<OwnStall> {
        let mut seconds: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let at = |at_ns: u64| at_ns.saturating_sub(zero_ns).min(end_ns);
        let clipped = |gap: &Gap| (at(gap.from_ns), at(gap.until_ns));
        let all = self.0.iter().flatten().map(clipped);
        for (from_ns, until_ns) in all.filter(|(from_ns, until_ns)| from_ns < until_ns) {
            for second in from_ns / SECOND_NS..until_ns.div_ceil(SECOND_NS) {
                let begins_ns = second * SECOND_NS;
                let part_ns = until_ns.min(begins_ns + SECOND_NS) - from_ns.max(begins_ns);
                let (stood_ns, longest_ns) = seconds.entry(second).or_default();
                *stood_ns += part_ns;
                *longest_ns = (until_ns - from_ns).max(*longest_ns);
            }
        }
        let threads = self.0.len() as u64;
        let stall = |(second, (stood_ns, longest_ns))| OwnStall {
            second: second as u32,
            stood: Duration::from_nanos(stood_ns / threads),
            longest: Duration::from_nanos(longest_ns),
        };
        seconds.into_iter().map(stall).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn gap(from_ms: u64, until_ms: u64) -> Gap {
        Gap {
            from_ns: from_ms * MS,
            until_ns: until_ms * MS,
        }
    }

    fn stalls(threads: Vec<Vec<Gap>>) -> Vec<(u32, u128, u128)> {
        let in_ms = |one: OwnStall| (one.second, one.stood.as_millis(), one.longest.as_millis());
        let stalls = Gaps(threads).stalls(5_000 * MS, 20_000 * MS);
        stalls.into_iter().map(in_ms).collect()
    }

    #[test]
    fn a_gap_is_divided_among_its_seconds() {
        let found = stalls(vec![vec![gap(12_600, 14_100)]]);
        assert_eq!(found, [(7, 400, 1_500), (8, 1_000, 1_500), (9, 100, 1_500)]);
    }

    #[test]
    fn the_threads_count_by_their_mean() {
        let found = stalls(vec![vec![gap(6_000, 6_300)], vec![]]);
        assert_eq!(found, [(1, 150, 300)]);
        let both = vec![vec![gap(6_000, 6_300)], vec![gap(6_000, 6_300)]];
        assert_eq!(stalls(both), [(1, 300, 300)]);
    }

    #[test]
    fn gaps_before_the_start_and_after_the_end_do_not_count() {
        let found = stalls(vec![vec![
            gap(0, 4_900),
            gap(24_900, 30_000),
            gap(31_000, 31_500),
        ]]);
        assert_eq!(found, [(19, 100, 100)]);
        assert_eq!(stalls(vec![vec![gap(4_000, 5_050)]]), [(0, 50, 50)]);
    }

    #[test]
    fn threads_that_block_in_calls_have_the_gaps_of_the_one_that_supervises_them() {
        let ran = |gaps| Ran {
            gaps,
            ..Ran::default()
        };
        let watched = vec![gap(6_000, 7_000)];
        let of = |gaps: Vec<Option<Vec<Gap>>>| {
            Gaps::of(gaps.into_iter().map(ran).collect(), watched.clone()).0
        };
        assert_eq!(of(vec![None, None]), std::slice::from_ref(&watched));
        assert_eq!(of(vec![Some(vec![])]), [vec![]]);
    }
}
