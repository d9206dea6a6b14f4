//! The server's clock, by which shards on several machines start together and lay their series on each other.
//!
//! Purpose: the time of the server at an instant of this machine. Outside this module: what is done at that time.
//!
//! As in NTP (RFC 5905, 8), a question and its answer bound the time at which the server read its clock; the middle is wrong by at
//! most half of the round trip. Of several round trips the shortest is taken, because delays only add.

use server::{ServerError, Session};
use std::time::{Duration, Instant};

/// Microseconds since the Unix epoch on the server. The session's time zone has to be UTC, which has no hour twice.
pub(super) const NOW_US: &str = "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)";

/// The number of round trips.
const TRIPS: usize = 16;

/// The server's clock at one instant of this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    at: Instant,
    server_us: i64,
    pub round_trip: Duration,
}

impl Clock {
    /// Reads the server's clock several times and keeps the reading with the shortest round trip.
    pub(super) fn read(session: &mut Session) -> Result<Clock, ServerError> {
        let read = (0..TRIPS).map(|_| Clock::once(session));
        let read = read.collect::<Result<Vec<Clock>, ServerError>>()?;
        let best = read.into_iter().min_by_key(|one| one.round_trip);
        Ok(best.expect("several round trips"))
    }

    fn once(session: &mut Session) -> Result<Clock, ServerError> {
        let sent = Instant::now();
        let text = session.query(&format!("SELECT {NOW_US}"))?.first_text();
        let round_trip = sent.elapsed();
        let server_us = text.as_deref().and_then(|text| text.parse().ok());
        let server_us = server_us.ok_or_else(|| {
            ServerError::Unusable(format!(
                "the server's clock reads {}: shards need a server with microseconds in NOW(6)",
                text.unwrap_or_default()
            ))
        })?;
        Ok(Clock {
            at: sent + round_trip / 2,
            server_us,
            round_trip,
        })
    }

    /// The instant at which the server's clock shows this time.
    pub(super) fn instant(&self, server_us: i64) -> Instant {
        let since_us = server_us - self.server_us;
        let since = Duration::from_micros(since_us.unsigned_abs());
        if since_us >= 0 {
            self.at + since
        } else {
            self.at.checked_sub(since).unwrap_or(self.at)
        }
    }

    /// The server's clock minus this machine's, by which `host::at_ns` stamps the record (µs).
    pub(super) fn offset_us(&self) -> i64 {
        self.server_us - host::at_ns(self.at) / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::Reply;

    /// A server whose clock is this far ahead of the machine's (µs), and that answers after the given delays (ms) in turn.
    fn session(ahead_us: i64, delays_ms: &'static [u64]) -> Session {
        let mut trip = 0;
        Session::Scripted(Box::new(move |_| {
            let delay = Duration::from_millis(delays_ms[trip % delays_ms.len()]);
            trip += 1;
            std::thread::sleep(delay / 2);
            let now_us = host::now_ns() / 1000 + ahead_us;
            std::thread::sleep(delay / 2);
            let cell = Some(now_us.to_string().into_bytes());
            Ok(Reply {
                rows: vec![vec![cell]],
                ..Reply::default()
            })
        }))
    }

    #[test]
    fn an_hour_of_difference_is_measured_to_half_a_round_trip() {
        let hour_us = 3_600_000_000;
        for ahead_us in [hour_us, -hour_us, 0] {
            let clock = Clock::read(&mut session(ahead_us, &[2])).unwrap();
            let off_us = clock.offset_us() - ahead_us;
            let bound_us = clock.round_trip.as_micros() as i64 / 2 + 1;
            assert!(off_us.abs() <= bound_us, "{off_us} µs of {bound_us} µs");
        }
    }

    #[test]
    fn the_shortest_round_trip_counts() {
        let clock = Clock::read(&mut session(0, &[20, 20, 1, 20])).unwrap();
        assert!(clock.round_trip < Duration::from_millis(15), "{clock:?}");
    }

    #[test]
    fn a_time_of_the_server_becomes_an_instant_here() {
        let clock = Clock::read(&mut session(-5_000_000, &[0])).unwrap();
        let later = clock.instant(clock.server_us + 250_000);
        assert_eq!(later - clock.at, Duration::from_millis(250));
        let earlier = clock.instant(clock.server_us - 250_000);
        assert_eq!(clock.at - earlier, Duration::from_millis(250));
    }
}
