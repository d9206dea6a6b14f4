//! Backoff between attempts to open a session.

const FIRST_NS: u64 = 10_000_000;
const LONGEST_NS: u64 = 1_000_000_000;
/// Doublings from the first pause to the longest.
const DOUBLINGS: u32 = 7;
/// 2^64 times the fractional part of the golden ratio. Its multiples are evenly spread for any number of clients.
pub(super) const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Exponential backoff from 10 ms to 1 s, each pause shortened by up to half. The jitter depends on the client's number, so that
/// clients that lose the server at the same time do not reconnect at the same time.
#[derive(Debug)]
pub(super) struct Backoff {
    client: u32,
    attempts: u32,
}

impl Backoff {
    pub(super) fn new(client: u32) -> Backoff {
        Backoff {
            client,
            attempts: 0,
        }
    }

    /// The pause before the next attempt.
    pub(super) fn next_ns(&mut self) -> u64 {
        let doubled = FIRST_NS << self.attempts.min(DOUBLINGS);
        let pause_ns = doubled.min(LONGEST_NS);
        let turn = u64::from(self.client) + u64::from(self.attempts) + 1;
        let part = turn.wrapping_mul(SPREAD) >> 32;
        self.attempts = self.attempts.saturating_add(1);
        pause_ns - ((pause_ns / 2 * part) >> 32)
    }

    /// The number of pauses so far.
    pub(super) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Starts again with the first pause.
    pub(super) fn reset(&mut self) {
        self.attempts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(client: u32, attempts: usize) -> Vec<u64> {
        let mut backoff = Backoff::new(client);
        (0..attempts).map(|_| backoff.next_ns()).collect()
    }

    #[test]
    fn pauses_double_up_to_a_second_with_at_most_half_jitter() {
        for client in 0..300 {
            for (attempt, pause_ns) in pauses(client, 100).into_iter().enumerate() {
                let whole_ns = (FIRST_NS << attempt.min(30)).min(LONGEST_NS);
                let allowed = whole_ns / 2..=whole_ns;
                assert!(allowed.contains(&pause_ns), "{client} {attempt} {pause_ns}");
            }
        }
    }

    #[test]
    fn clients_that_lose_a_server_together_reconnect_spread_over_half_a_second() {
        let mut tenth: Vec<u64> = (0..256).map(|client| pauses(client, 10)[9]).collect();
        tenth.sort_unstable();
        let largest_gap = tenth.windows(2).map(|pair| pair[1] - pair[0]).max();
        // Evenly spread, 256 clients are 2 ms apart.
        assert!(largest_gap < Some(5_000_000), "{largest_gap:?}");
        assert!(tenth[255] - tenth[0] > 480_000_000);
    }

    #[test]
    fn after_a_reset_the_first_pause_comes_again() {
        let mut backoff = Backoff::new(3);
        let first_ns = backoff.next_ns();
        backoff.next_ns();
        assert_eq!(backoff.attempts(), 2);
        backoff.reset();
        assert_eq!((backoff.attempts(), backoff.next_ns()), (0, first_ns));
    }
}
