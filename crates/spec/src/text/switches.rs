//! The value of `optimizer_switch`: flags with on, off or default.
//!
//! Purpose: split it by flag, so that unknown flags are found before the server starts. docs/OPTIMIZER.md explains the flags.

use super::setting::{Setting, listed};

pub const NAME: &str = "optimizer_switch";

/// The flags of a value, as written; `default` alone is not a flag.
pub fn flags(value: &str) -> Vec<(&str, &str)> {
    let parts = value.split(',').filter_map(|part| part.split_once('='));
    parts
        .map(|(flag, state)| (flag.trim(), state.trim()))
        .collect()
}

/// The invalid parts of this setting, if it is `optimizer_switch`.
pub(crate) fn wrong_values(name: &str, setting: &Setting) -> Vec<String> {
    let (true, Setting::Literal(value)) = (listed(name) == NAME, setting) else {
        return Vec::new();
    };
    let is_right = |part: &&str| match part.split_once('=') {
        Some((flag, state)) => {
            let state = state.trim().to_ascii_lowercase();
            !flag.trim().is_empty() && ["on", "off", "default"].contains(&state.as_str())
        }
        None => part.trim().eq_ignore_ascii_case("default"),
    };
    let parts = value.split(',').filter(|part| !is_right(part));
    parts.map(|part| part.trim().to_string()).collect()
}

/// Returns a sentence for each flag that this server accepts but ignores.
///
/// MySQL's manual, "Switchable Optimizations": hash_join has an effect only in 8.0.18.
pub fn ignored(name: &str, setting: &Setting, version: &str, comment: &str) -> Vec<String> {
    let (true, Setting::Literal(value)) = (listed(name) == NAME, setting) else {
        return Vec::new();
    };
    let is_mysql = !version.contains("MariaDB") && !comment.contains("MariaDB");
    let numbers: Vec<u32> = version
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|part| part.parse().ok())
        .take(3)
        .collect();
    let is_hash_join = |(flag, _): &(&str, &str)| flag.eq_ignore_ascii_case("hash_join");
    let found = flags(value).into_iter().filter(is_hash_join);
    found
        .filter(|_| is_mysql && numbers.as_slice() >= &[8, 0, 19])
        .map(|(flag, state)| {
            format!("{flag}={state} has no effect on MySQL 8.0.19 and later, where block_nested_loop controls hash joins")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(value: &str) -> Vec<String> {
        wrong_values("optimizer-switch", &Setting::Literal(value.into()))
    }

    #[test]
    fn flags_are_read_with_their_states() {
        assert_eq!(
            flags("mrr=on, mrr_cost_based=off"),
            [("mrr", "on"), ("mrr_cost_based", "off")]
        );
        assert_eq!(flags("default"), []);
    }

    #[test]
    fn only_on_off_and_default_are_states() {
        assert_eq!(wrong("mrr=on,mrr_cost_based=OFF,semijoin=default"), [""; 0]);
        assert_eq!(wrong("default,mrr=on"), [""; 0]);
        assert_eq!(wrong("mrr=onn,mrr,=on"), ["mrr=onn", "mrr", "=on"]);
    }

    #[test]
    fn a_flag_without_effect_is_reported() {
        let notes = |version: &str, comment: &str| {
            let value = Setting::Literal("hash_join=off,mrr=on".into());
            ignored(NAME, &value, version, comment).len()
        };
        assert_eq!(notes("8.0.33", "MySQL Community Server"), 1);
        assert_eq!(notes("9.7.4", ""), 1);
        assert_eq!(notes("8.0.18", ""), 0);
        let loud = Setting::Literal("HASH_JOIN=off".into());
        assert_eq!(ignored(NAME, &loud, "8.0.33", "").len(), 1);
        let loose = "loose_optimizer_switch";
        assert_eq!(ignored(loose, &loud, "8.0.33", "").len(), 1);
        assert_eq!(notes("11.8.6-MariaDB", ""), 0);
        assert_eq!(notes("11.8.6", "11.8.6-MariaDB-deb12"), 0);
    }

    #[test]
    fn other_settings_have_no_flags() {
        let value = Setting::Literal("O_DIRECT".into());
        assert_eq!(wrong_values("innodb_flush_method", &value), [""; 0]);
    }
}
