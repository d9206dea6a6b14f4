//! A share of a load that several processes run together.
//!
//! Goal: the shares together are exactly the whole load: every client, every place of the queue and every operation number belongs to
//! one of them. Non-goal: starting them together (`drive::Watch::ready`).

/// Spreads the seeds of shares: 2^64 times the fractional part of the square root of 2.
const SPREAD: u64 = 0x6A09_E667_F3BC_C909;

/// One of `of` equal parts of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    index: u32,
    of: u32,
    pub(crate) groups: Option<u32>,
}

impl Share {
    /// The whole load.
    pub const WHOLE: Share = Share {
        index: 0,
        of: 1,
        groups: None,
    };

    /// Share `index`, from 0, of `of`. With `groups`, the clients whose numbers leave the same remainder by it stay together: those of
    /// one warehouse of TPC-C.
    ///
    /// # Panics
    /// If there is no such share, or no group.
    pub fn new(index: u32, of: u32, groups: Option<u32>) -> Share {
        assert!(index < of && groups != Some(0), "share {index} of {of}");
        Share { index, of, groups }
    }

    pub fn index(&self) -> u32 {
        self.index
    }

    pub fn of(&self) -> u32 {
        self.of
    }

    pub fn is_whole(&self) -> bool {
        self.of == 1
    }

    /// Its part of `total`. The remainder goes to the first shares.
    pub fn part(&self, total: u64) -> u64 {
        let (each, rest) = (total / u64::from(self.of), total % u64::from(self.of));
        each + u64::from(u64::from(self.index) < rest)
    }

    /// Its workers in the background, of those that the whole load would have; at least one if there are any.
    pub(crate) fn background(&self, workers: u32) -> u32 {
        (self.part(workers.into()) as u32).max(u32::from(workers > 0))
    }

    /// The numbers of its clients among `total`, ascending. Clients, or their groups, are dealt to the shares in turn.
    pub fn clients(&self, total: u32) -> Vec<u32> {
        let dealt = |client: u32| self.groups.map_or(client, |groups| client % groups);
        let is_own = |client: &u32| dealt(*client) % self.of == self.index;
        (0..total).filter(is_own).collect()
    }

    /// The number of this share's operation `number` among those of all shares.
    #[inline]
    pub fn number(&self, number: u64) -> u64 {
        number * u64::from(self.of) + u64::from(self.index)
    }

    /// The share's seed for what is random. The seed of a whole load stays as it is.
    pub(crate) fn seed(&self, seed: u64) -> u64 {
        if self.is_whole() {
            seed
        } else {
            seed.wrapping_add((u64::from(self.index) + 1).wrapping_mul(SPREAD))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::{Arrivals, Schedule};
    use crate::drive::{Load, Open};
    use crate::pacer::WhenFull;
    use proptest::prelude::*;

    fn shares(of: u32, groups: Option<u32>) -> Vec<Share> {
        let share = |index| Share::new(index, of, groups);
        (0..of).map(share).collect()
    }

    /// The arrivals of all shares before `end_ns`, in order.
    fn together(arrivals: &Arrivals, of: u32, end_ns: u64) -> Vec<u64> {
        let of_share = |share: &Share| {
            let schedule = Schedule::of_share(arrivals, 7, share);
            schedule.take_while(|at| *at < end_ns).collect::<Vec<_>>()
        };
        let mut all: Vec<u64> = shares(of, None).iter().flat_map(of_share).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn terminals_of_a_warehouse_stay_together() {
        let owners = shares(3, Some(4))
            .iter()
            .map(|share| share.clients(40))
            .collect::<Vec<_>>();
        let warehouses = |clients: &Vec<u32>| {
            let mut all: Vec<u32> = clients.iter().map(|client| client % 4).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        assert_eq!(
            owners.iter().map(warehouses).collect::<Vec<_>>(),
            [vec![0, 3], vec![1], vec![2]]
        );
        assert_eq!(
            owners.iter().map(Vec::len).collect::<Vec<_>>(),
            [20, 10, 10]
        );
    }

    #[test]
    fn more_shards_than_clients_workers_or_warehouses_are_refused() {
        let says = |share: Share, load: &Load| share.check(load).unwrap_err();
        let three = Load::closed(3);
        let text = says(Share::new(0, 4, None), &three);
        assert!(
            text.starts_with("3 clients cannot be divided among 4 shards"),
            "{text}"
        );
        let text = says(Share::new(0, 4, Some(2)), &Load::closed(100));
        assert!(text.starts_with("2 warehouses"), "{text}");
        let open = |workers, queue| {
            Load::Open(Open {
                arrivals: Arrivals::Poisson { rate: 1.0 },
                workers,
                queue,
                when_full: WhenFull::Stop,
            })
        };
        assert!(says(Share::new(0, 4, None), &open(3, 9)).starts_with("3 workers"));
        assert!(says(Share::new(0, 4, None), &open(9, 3)).starts_with("3 places in the queue"));
        assert!(Share::new(0, 4, None).check(&open(9, 9)).is_ok());
        assert!(Share::WHOLE.check(&open(1, 0)).is_ok());
    }

    #[test]
    fn random_arrivals_of_the_shares_have_the_rate_of_the_whole() {
        let arrivals = Arrivals::Poisson { rate: 1000.0 };
        let all = together(&arrivals, 4, 60_000_000_000);
        // Four standard deviations of a Poisson count of 60,000.
        assert!((all.len() as f64 - 60_000.0).abs() < 980.0, "{}", all.len());
        let mut gaps: Vec<u64> = all.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        let median_s = gaps[gaps.len() / 2] as f64 / 1e9;
        assert!((median_s * 1000.0 - 2f64.ln()).abs() < 0.02, "{median_s}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_shares_of_a_count_add_up_and_differ_by_one_at_most(total: u32, of in 1u32..100) {
            let parts: Vec<u64> = shares(of, None).iter().map(|share| share.part(total.into())).collect();
            prop_assert_eq!(parts.iter().sum::<u64>(), u64::from(total));
            prop_assert!(parts.is_sorted_by(|one, next| one >= next) && parts[0] - parts[parts.len() - 1] <= 1);
        }

        #[test]
        fn every_client_belongs_to_one_share(total in 0u32..300, of in 1u32..20, groups in proptest::option::of(1u32..40)) {
            let mut all: Vec<u32> = shares(of, groups).iter().flat_map(|share| share.clients(total)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..total).collect::<Vec<_>>());
            if groups.is_none() {
                for share in shares(of, None) {
                    prop_assert_eq!(share.clients(total).len() as u64, share.part(total.into()));
                }
            }
        }

        #[test]
        fn every_operation_number_belongs_to_one_share(of in 1u32..20, count in 0u64..50) {
            let mut all: Vec<u64> = shares(of, None).iter().flat_map(|share| (0..count).map(|n| share.number(n))).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count * u64::from(of)).collect::<Vec<_>>());
        }

        #[test]
        fn equal_gaps_interleave_to_the_whole_schedule(rate in 1.0f64..5000.0, of in 1u32..9) {
            let arrivals = Arrivals::Uniform { rate };
            let whole: Vec<u64> = Schedule::new(&arrivals, 1).take_while(|at| *at < 1_000_000_000).collect();
            prop_assert_eq!(together(&arrivals, of, 1_000_000_000), whole);
        }

        #[test]
        fn a_trace_is_dealt_to_the_shares_in_turn(gaps in proptest::collection::vec(0u64..1000, 1..60), of in 1u32..9) {
            let at_ns: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
            let arrivals = Arrivals::Trace { at_ns: at_ns.clone().into() };
            prop_assert_eq!(together(&arrivals, of, u64::MAX), at_ns);
        }
    }
}
