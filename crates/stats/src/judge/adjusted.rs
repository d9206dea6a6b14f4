//! Settings that the server of one side adjusted, without being another measurement: it rounds a size to blocks of its own.

use crate::values::cells::valid;
use record::{Flag, FlagKind, Trial};

/// Limits that cost nothing where they are high. Where they are too low, connections are refused.
const LIMITS: [&str; 2] = ["max_connections", "open_files_limit"];
/// Servers round a size by less than this share.
const ROUNDING: f64 = 0.05;

/// Whether the flag is about such a limit, or a setting of which the other side uses about the same value.
pub(crate) fn is_harmless(trial: &Trial, flag: &Flag, other: &[&Trial]) -> bool {
    if flag.kind != FlagKind::SettingAdjusted {
        return false;
    }
    let (name, said) = flag.text.split_once(':').unwrap_or_default();
    let shown = trial.settings.get(name);
    // A flag may be about what the server shows as requested.
    let shown = shown.filter(|value| said.ends_with(&format!(" {value}")));
    let own = shown.and_then(|value| value.parse::<f64>().ok());
    let is_near = |own: f64, other: &Trial| {
        let value = other.settings.get(name);
        let value = value.and_then(|value| value.parse::<f64>().ok());
        value.is_some_and(|value| (own - value).abs() <= ROUNDING * value.abs())
    };
    LIMITS.contains(&name) || own.is_some_and(|own| valid(other).all(|trial| is_near(own, trial)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::TrialKey;

    fn with(name: &str, value: &str) -> Trial {
        let mut trial = Trial::unmeasured(TrialKey::default(), 0);
        trial.settings.insert(name.into(), value.into());
        trial
    }

    #[test]
    fn a_size_that_one_server_rounds_is_the_same_unless_the_other_has_far_less() {
        let pool = "innodb_buffer_pool_size";
        let rounded = |to: &str, other: &Trial| {
            let mut trial = with(pool, to);
            trial.flag(
                FlagKind::SettingAdjusted,
                format!("{pool}: requested 1000M, the server uses {to}"),
            );
            is_harmless(&trial, &trial.flags[0], &[other])
        };
        let exact = with(pool, "1048576000");
        assert!(rounded("1073741824", &exact));
        assert!(!rounded("2147483648", &exact));
        assert!(!rounded("1073741824", &with("key_buffer_size", "1")));
    }

    #[test]
    fn a_limit_is_harmless_and_what_settings_do_not_show_is_not() {
        let says = |name: &str, value: &str, text: &str| {
            let mut trial = with(name, value);
            trial.flag(FlagKind::SettingAdjusted, text);
            is_harmless(&trial, &trial.flags[0], &[&with(name, value)])
        };
        let limit = "open_files_limit: requested 65535, the server uses 1048576";
        assert!(says("open_files_limit", "1048576", limit));
        let method = "innodb_flush_method: requested O_DIRECT, the server uses the page cache";
        assert!(!says("innodb_flush_method", "O_DIRECT", method));
        let event = "a \"set\" event requested innodb_io_capacity = 9, and the server uses 2000";
        assert!(!says("innodb_io_capacity", "2000", event));
    }
}
