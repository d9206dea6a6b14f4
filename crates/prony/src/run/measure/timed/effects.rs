//! Operations that were done and had no effect, or caused warnings, and commits that did not wait for a replica.
//!
//! Purpose: work that changes nothing, or less than it should, is named, not counted in silence. Outside this module: reading the replies (`workload`).

use load::{Effects, Tally};
use record::{Counters, EffectNote, Flag, FlagKind, RowsNote, grouped, percent};

/// Above this share of the operations of one name, the trial is flagged.
const NAMED_SHARE: f64 = 0.01;

/// The counts of the operations of which the replies said something.
pub(super) fn noted(
    operations: &[String],
    tallies: &[Tally],
    effects: &[Effects],
) -> Vec<EffectNote> {
    let each = operations.iter().zip(tallies).zip(effects);
    let spoken = each.filter(|(_, one)| one.changed_nothing + one.found_nothing + one.warned > 0);
    spoken
        .map(|((operation, tally), effects)| EffectNote {
            operation: operation.clone(),
            done: tally.done(),
            changed_nothing: effects.changed_nothing,
            found_nothing: effects.found_nothing,
            warned: effects.warned,
        })
        .collect()
}

/// The rows that operations changed and found, of those that did either.
pub(super) fn rows(operations: &[String], tallies: &[Tally], effects: &[Effects]) -> Vec<RowsNote> {
    let each = operations.iter().zip(tallies).zip(effects);
    let with_rows = each.filter(|(_, one)| one.rows_changed + one.rows_found > 0);
    with_rows
        .map(|((operation, tally), effects)| RowsNote {
            operation: operation.clone(),
            done: tally.done(),
            changed: effects.rows_changed,
            found: effects.rows_found,
        })
        .collect()
}

/// A kind of flag with how to count its operations and what they did.
type EffectFlag = (FlagKind, fn(&EffectNote) -> u64, &'static str);

/// A flag for each kind of which an operation has more than 1 %.
pub(super) fn flags(effects: &[EffectNote]) -> Vec<Flag> {
    let kinds: [EffectFlag; 3] = [
        (
            FlagKind::NoEffect,
            |one| one.changed_nothing,
            "changed no row",
        ),
        (FlagKind::NoEffect, |one| one.found_nothing, "found no row"),
        (
            FlagKind::OperationsWarned,
            |one| one.warned,
            "caused warnings",
        ),
    ];
    let flag = |(kind, count, did): EffectFlag| {
        let named = effects.iter().filter_map(|one| words(one, count(one)));
        let named: Vec<String> = named.collect();
        (!named.is_empty()).then(|| Flag {
            kind,
            text: format!("{did}: {}", named.join(", ")),
        })
    };
    kinds.into_iter().filter_map(flag).collect()
}

/// Commits that no replica acknowledged, by the names of different servers.
const UNACKNOWLEDGED: [&str; 2] = ["Rpl_semi_sync_master_no_tx", "Rpl_semi_sync_source_no_tx"];

/// A flag if a server that replicates semi-synchronously did not wait for a replica: it gives that up when none answers in time.
pub(super) fn unacknowledged(is_semi_sync: bool, counters: &Counters) -> Option<Flag> {
    let counts = UNACKNOWLEDGED.iter().filter_map(|name| counters.get(*name));
    let commits: i64 = counts.sum();
    (is_semi_sync && commits > 0).then(|| Flag {
        kind: FlagKind::SettingAdjusted,
        text: format!(
            "semi_sync: requested true, but no replica acknowledged {} of the commits: the server waits for one no longer than its timeout, and then commits without any until one has caught up",
            grouped(commits as u64)
        ),
    })
}

/// `transfer 12 of 340 (3.5 %)`
fn words(one: &EffectNote, count: u64) -> Option<String> {
    let share = count as f64 / one.done.max(1) as f64;
    (share > NAMED_SHARE).then(|| {
        let (name, count, done) = (&one.operation, grouped(count), grouped(one.done));
        format!("{name} {count} of {done} ({})", percent(share))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Ending;

    /// The flags of 1,000 operations `a` and as many `b`, of which `a` has these effects.
    fn flagged(changed_nothing: u64, found_nothing: u64, warned: u64) -> Vec<String> {
        let mut tally = Tally::default();
        tally[Ending::Done] = 1_000;
        let of_a = Effects {
            changed_nothing,
            found_nothing,
            warned,
            ..Effects::default()
        };
        let operations = ["a".to_string(), "b".to_string()];
        let noted = noted(&operations, &[tally; 2], &[of_a, Effects::default()]);
        assert_eq!(noted.len(), usize::from(of_a != Effects::default()));
        let text = |flag: Flag| format!("{} {}", flag.kind.as_str(), flag.text);
        flags(&noted).into_iter().map(text).collect()
    }

    #[test]
    fn more_than_one_percent_without_effect_or_with_warnings_is_flagged() {
        assert_eq!(
            flagged(1_000, 11, 500),
            [
                "no_effect changed no row: a 1,000 of 1,000 (100 %)",
                "no_effect found no row: a 11 of 1,000 (1.1 %)",
                "operations_warned caused warnings: a 500 of 1,000 (50 %)"
            ]
        );
    }

    #[test]
    fn rows_are_recorded_of_operations_that_changed_or_found_some() {
        let mut tally = Tally::default();
        tally[Ending::Done] = 10;
        let of_a = Effects {
            rows_found: 40,
            ..Effects::default()
        };
        let operations = ["a".to_string(), "b".to_string()];
        let noted = rows(&operations, &[tally; 2], &[of_a, Effects::default()]);
        let expected = RowsNote {
            operation: "a".into(),
            done: 10,
            changed: 0,
            found: 40,
        };
        assert_eq!(noted, [expected]);
    }

    #[test]
    fn commits_without_a_replica_are_flagged_where_they_should_wait_for_one() {
        let counters = |commits| Counters::from([(UNACKNOWLEDGED[1].to_string(), commits)]);
        let flag = unacknowledged(true, &counters(1_200)).unwrap();
        assert!(flag.text.contains("acknowledged 1,200 of"), "{flag:?}");
        assert_eq!(unacknowledged(true, &counters(0)), None);
        assert_eq!(unacknowledged(false, &counters(1_200)), None);
        assert_eq!(unacknowledged(true, &Counters::new()), None);
    }

    #[test]
    fn up_to_one_percent_is_only_recorded() {
        assert!(flagged(10, 10, 10).is_empty());
        assert!(flagged(0, 0, 0).is_empty());
    }
}
