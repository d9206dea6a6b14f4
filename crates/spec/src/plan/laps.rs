//! Who runs when, and for how long: slices of random lengths in balanced orders.
//!
//! A lap gives each server one slice, all of one length. The lengths are drawn anew, so that no timer of a server stays in step with
//! them. Each second lap has the order of the one before in reverse, so that a steady drift cancels, and every server follows each
//! of its neighbours as often as it goes before it.

use super::order;
use rand::Rng;
use rand_pcg::Pcg32;
use std::time::Duration;

/// Random streams of their own, unlike those of `order`.
const STREAM: u64 = 1 << 62;

/// A slice has so many operations of a client one after another: the first one and what runs after its end are two of them, and at most 5 %
/// of the time should be there (`stats::short_slices`).
const OPERATIONS: u32 = 50;

/// The laps of a group.
pub struct Laps {
    random: Pcg32,
    middle: Duration,
    /// Until the first operations are known, if slices may become longer: how long at most.
    longest: Option<Duration>,
    /// The order of the next lap, if it is the reverse of the one before.
    reversed: Option<Vec<usize>>,
}

/// One lap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lap {
    /// Of the servers by their numbers.
    pub order: Vec<usize>,
    pub length: Duration,
}

/// What one slice of a server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Of(Duration),
    /// Until the server has all its time.
    Rest,
}

impl Laps {
    /// Those of a group in a block. `middle` is the middle length of a slice.
    pub fn new(middle: Duration, block: u32, seed: u64) -> Laps {
        Laps {
            random: Pcg32::new(seed, STREAM | u64::from(block)),
            middle,
            longest: None,
            reversed: None,
        }
    }

    /// Slices that become longer if operations need it, up to `longest`; None: fixed ones.
    pub fn up_to(self, longest: Option<Duration>) -> Laps {
        Laps { longest, ..self }
    }

    /// The mean latency of operations on the slowest server, as its first slice showed it. What later slices show changes nothing, since a
    /// stall is no reason for longer ones. Lengths are doubled, so that blocks and runs have the same.
    pub fn learn(&mut self, operation: Duration) {
        let Some(longest) = self.longest.take() else {
            return;
        };
        while self.middle < operation * OPERATIONS && self.middle * 2 <= longest {
            self.middle *= 2;
        }
    }

    /// The middle length of a slice.
    pub fn middle(&self) -> Duration {
        self.middle
    }

    /// The next lap of so many servers.
    pub fn next(&mut self, servers: usize) -> Lap {
        let length = self.middle.mul_f64(0.5 + self.share());
        let order = self.reversed.take().unwrap_or_else(|| {
            let order = order::shuffled(servers, &mut self.random);
            self.reversed = Some(order.iter().rev().copied().collect());
            order
        });
        Lap { order, length }
    }

    /// The slice of a server that lacks this much of its time: no rest is left that is shorter than the shortest slice.
    pub fn slice(&self, lap: &Lap, left: Duration) -> Length {
        match left < lap.length + self.middle / 2 {
            true => Length::Rest,
            false => Length::Of(lap.length),
        }
    }

    /// From 0 to below 1.
    fn share(&mut self) -> f64 {
        // As many bits as fit.
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn laps(seed: u64, count: usize, servers: usize) -> Vec<Lap> {
        let mut laps = Laps::new(SECOND, 2, seed);
        (0..count).map(|_| laps.next(servers)).collect()
    }

    #[test]
    fn each_second_lap_reverses_the_order_of_the_one_before() {
        for pair in laps(7, 40, 3).chunks(2) {
            let reversed: Vec<usize> = pair[1].order.iter().rev().copied().collect();
            assert_eq!(pair[0].order, reversed);
        }
        let firsts = laps(7, 40, 3);
        assert!(firsts.iter().any(|lap| lap.order != firsts[0].order));
    }

    #[test]
    fn lengths_are_drawn_between_half_and_one_and_a_half() {
        let laps = laps(1, 400, 2);
        let lengths: Vec<f64> = laps.iter().map(|lap| lap.length.as_secs_f64()).collect();
        assert!(lengths.iter().all(|length| (0.5..1.5).contains(length)));
        let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
    }

    #[test]
    fn slices_become_longer_once_where_operations_need_it_up_to_a_limit() {
        let middle_ms = |longest_s: Option<u64>, operations_ms: &[u64]| {
            let start = Laps::new(SECOND / 4, 0, 1);
            let mut laps = start.up_to(longest_s.map(Duration::from_secs));
            let operations = operations_ms.iter().copied().map(Duration::from_millis);
            operations.for_each(|operation| laps.learn(operation));
            laps.middle().as_millis()
        };
        assert_eq!(middle_ms(Some(5), &[5]), 250);
        assert_eq!(middle_ms(Some(5), &[12]), 1_000);
        assert_eq!(middle_ms(Some(5), &[500]), 4_000);
        assert_eq!(middle_ms(Some(5), &[5, 500]), 250, "a stall later");
        assert_eq!(middle_ms(None, &[500]), 250, "a fixed length");
    }

    #[test]
    fn the_last_slice_takes_the_rest_that_would_be_too_short_for_one_of_its_own() {
        let laps = Laps::new(SECOND, 2, 1);
        let lap = Lap {
            order: vec![0],
            length: SECOND,
        };
        let slice = |left_ms| laps.slice(&lap, Duration::from_millis(left_ms));
        assert_eq!(slice(1_499), Length::Rest);
        assert_eq!(slice(1_500), Length::Of(SECOND));
        assert_eq!(slice(0), Length::Rest);
    }
}
