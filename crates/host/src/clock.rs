//! The wall clock, for timestamps in the record. Durations are measured with `Instant`.

use std::time::{SystemTime, UNIX_EPOCH};

/// The current time in nanoseconds since the Unix epoch.
pub fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    })
}
