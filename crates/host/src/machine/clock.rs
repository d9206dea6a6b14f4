//! Timestamps for the record. Durations are measured with `Instant`.
//!
//! Goal: the wall clock is read once per process; after that, timestamps follow the monotonic clock. So they are in order, and their
//! differences are durations, even if somebody sets the wall clock during a run.

use record::{Flag, FlagKind, Moment};
use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A smaller step changes nothing that a reader of the record compares.
const STEP_S: f64 = 1.0;

/// The wall clock at one instant.
struct Anchor {
    unix_ns: i64,
    at: Instant,
}

static ANCHOR: OnceLock<Anchor> = OnceLock::new();

/// The current time in nanoseconds since the Unix epoch, by the wall clock at the process's first call.
pub fn now_ns() -> i64 {
    at_ns(Instant::now())
}

/// The time stamp of an earlier or later instant.
pub fn at_ns(instant: Instant) -> i64 {
    let anchor = ANCHOR.get_or_init(|| Anchor {
        unix_ns: wall_ns(),
        at: Instant::now(),
    });
    let nanoseconds = |duration: std::time::Duration| duration.as_nanos() as i64;
    match instant.checked_duration_since(anchor.at) {
        Some(since) => anchor.unix_ns + nanoseconds(since),
        None => anchor.unix_ns - nanoseconds(anchor.at - instant),
    }
}

/// The seconds by which the wall clock was set forward since the process began; negative: back.
pub fn clock_step_s() -> f64 {
    (wall_ns() - now_ns()) as f64 / 1e9
}

/// A flag if the wall clock was set between two calls of [`clock_step_s`].
pub fn clock_stepped(before_s: f64, after_s: f64) -> Option<Flag> {
    let step_s = after_s - before_s;
    let how = match step_s < 0.0 {
        _ if step_s.abs() < STEP_S => return None,
        true => "back",
        false => "forward (or the machine was suspended)",
    };
    Some(Flag {
        kind: FlagKind::ClockStepped,
        text: format!(
            "the wall clock was set {how} by {:.0} s during the trial: the times in the server's log do not match those of the record; durations are not affected",
            step_s.abs()
        ),
    })
}

/// The date and the time of day on a clock of the machine's time zone (`TZ`, else /etc/localtime).
pub fn local_now() -> Moment {
    let unix_s = wall_ns() / 1_000_000_000;
    Moment::from_unix(unix_s + zone_offset_s(unix_s))
}

/// How far the time zone is ahead of UTC at a second.
fn zone_offset_s(unix_s: libc::time_t) -> i64 {
    // SAFETY: all fields of the structure are integers or pointers, for which zero is valid.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both references are valid for the call, which keeps neither. A null result leaves the offset at zero.
    unsafe { libc::localtime_r(&unix_s, &mut local) };
    local.tm_gmtoff
}

fn wall_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timestamps_differ_by_the_time_that_passed() {
        let began = Instant::now();
        let (earlier, later) = (at_ns(began), at_ns(began + Duration::from_secs(3)));
        assert_eq!(later - earlier, 3_000_000_000);
        assert!(clock_step_s().abs() < STEP_S);
    }

    #[test]
    fn local_time_is_that_of_date() {
        let date = || {
            let output = std::process::Command::new("date").arg("+%F %H:%M").output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        let (before, now, after) = (date(), local_now(), date());
        let now = format!("{} {}\n", now.date(), &now.time()[..5]);
        assert!(now == before || now == after, "{before} {now} {after}");
    }

    #[test]
    fn a_clock_that_was_set_back_is_flagged() {
        let flag = clock_stepped(0.2, -3599.8).unwrap();
        assert_eq!(flag.kind, FlagKind::ClockStepped);
        assert!(
            flag.text
                .starts_with("the wall clock was set back by 3600 s")
        );
        assert!(clock_stepped(-3600.0, -3600.4).is_none());
        assert!(clock_stepped(0.0, 60.0).unwrap().text.contains("forward"));
    }
}
