//! Settings that somebody changes on a server that prony does not configure.
//!
//! Purpose: a mean is of one configuration, and the recorded one is that of the whole trial. Outside this module: settings of the file that
//! such a server does not have (`prepare::unapplied`).

use explain::is_of_an_instance;
use record::{Flag, FlagKind};
use std::collections::BTreeMap;

/// InnoDB changes it itself, with `innodb_adaptive_max_sleep_delay`.
const ADAPTED: &str = "innodb_thread_sleep_delay";

/// The flag of a trial whose server had the settings `before` then, as in `in block 1`.
pub(crate) fn flag(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
    then: &str,
) -> Option<Flag> {
    let changed = now.iter().filter_map(|(name, now)| {
        let before = before.get(name)?;
        let is_other = before != now && !is_of_an_instance(name) && name != ADAPTED;
        is_other.then(|| format!("{name} was {before} {then} and is {now}"))
    });
    let changed: Vec<String> = changed.collect();
    (!changed.is_empty()).then(|| Flag {
        kind: FlagKind::SettingChanged,
        text: format!(
            "somebody changed settings of the server: {}; measure again while they stay as they are",
            changed.join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(name: &str, before: &str, now: &str) -> Option<String> {
        let settings = |value: &str| BTreeMap::from([(name.to_string(), value.to_string())]);
        let flag = flag(&settings(before), &settings(now), "in block 1");
        flag.map(|flag| flag.text)
    }

    #[test]
    fn a_setting_that_somebody_changed_is_named_with_both_values() {
        let says = changed("sync_binlog", "1", "0").unwrap();
        let names = "settings of the server: sync_binlog was 1 in block 1 and is 0; measure";
        assert!(says.contains(names), "{says}");
        assert_eq!(changed("sync_binlog", "1", "1"), None);
    }

    #[test]
    fn what_a_server_moves_itself_is_no_setting() {
        for name in ["gtid_executed", "gtid_binlog_state", ADAPTED] {
            assert_eq!(changed(name, "7", "8"), None, "{name}");
        }
    }
}
