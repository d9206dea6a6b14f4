//! The policy after an error.
//!
//! Purpose: the same rules for deadlocks, lock wait timeouts, duplicate keys and lost connections in every operation.
//! Boundaries: crate `load` reconnects and counts.

use crate::keys::count;
use spec::Section;
use wire::WireError;

/// Retryable errors: deadlock (1213), lock wait timeout (1205), a row that changed since the snapshot (1020; MariaDB 11.6 and
/// later by default).
const TRANSIENT: [u16; 3] = [1213, 1205, 1020];
/// Duplicate key.
pub(crate) const DUPLICATE: u16 = 1062;

const RETRIES: i64 = 10;
const RETRIES_MAX: i64 = 10_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The maximum number of retries of an operation, with the same values; 0: none.
    pub retries_max: u16,
    /// Server errors to retry besides deadlocks and lock wait timeouts.
    pub also: Vec<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Repeat(u16),
    Fail(u16),
    Lost(u16),
}

impl Policy {
    /// `on_deadlock` and `retries_max` of a workload's section.
    pub fn read(section: &Section) -> Policy {
        let retries_max = count(section, "retries_max", RETRIES_MAX, RETRIES) as u16;
        let choices = [("retry", retries_max), ("fail", 0)];
        let on_deadlock = section.get("on_deadlock");
        Policy {
            retries_max: on_deadlock
                .and_then(|node| node.choice(&choices))
                .unwrap_or(retries_max),
            also: Vec::new(),
        }
    }

    /// The outcome of an operation that ended with an error.
    pub fn judge(&self, error: &WireError) -> Verdict {
        let code = error.code();
        if error.is_lost() {
            Verdict::Lost(code)
        } else if TRANSIENT.contains(&code) || self.also.contains(&code) {
            Verdict::Repeat(code)
        } else {
            Verdict::Fail(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::assert_mistake_at;

    fn read(section: &Section) -> Option<u16> {
        Some(Policy::read(section).retries_max)
    }

    #[test]
    fn a_deadlock_is_retried_ten_times_by_default() {
        for (section, retries_max) in [
            ("", 10),
            ("on_deadlock = \"retry\"\nretries_max = 5", 5),
            ("on_deadlock = \"fail\"\nretries_max = 5", 0),
        ] {
            assert_eq!(spec::read_text(section, read).unwrap(), retries_max);
        }
    }

    #[test]
    fn a_mistake_names_its_key() {
        for (section, key) in [
            ("on_deadlock = \"ignore\"", "on_deadlock"),
            ("on_deadlock = 1", "on_deadlock"),
            ("retries_max = 0", "retries_max"),
            ("retries_max = 10001", "retries_max"),
        ] {
            assert_mistake_at(section, key, read);
        }
    }

    fn judge(code: u16) -> Verdict {
        judge_with(code, "HY000")
    }

    fn judge_with(code: u16, state: &str) -> Verdict {
        let policy = Policy {
            retries_max: 3,
            also: vec![DUPLICATE],
        };
        policy.judge(&WireError::Server {
            code,
            state: state.into(),
            message: String::new(),
        })
    }

    #[test]
    fn deadlocks_lock_waits_and_named_codes_are_repeated() {
        for code in [1213, 1205, 1020, 1062] {
            assert_eq!(judge(code), Verdict::Repeat(code));
        }
    }

    #[test]
    fn any_other_answer_fails_the_operation() {
        assert_eq!(judge(1146), Verdict::Fail(1146));
    }

    #[test]
    fn a_broken_connection_and_a_server_that_goes_are_lost() {
        assert_eq!(judge_with(1053, "08S01"), Verdict::Lost(1053));
        let broken = WireError::Io(std::io::ErrorKind::UnexpectedEof.into());
        assert_eq!(
            Policy {
                retries_max: 3,
                also: vec![]
            }
            .judge(&broken),
            Verdict::Lost(2013)
        );
    }
}
