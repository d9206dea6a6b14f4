//! What the rows of a meeting mean: who is there, who is missing, and who does not belong to the run.
//!
//! Purpose: pure decisions over the rows of one look at the table. Outside this module: reading and writing them (`table`), waiting.

use super::table::Row;
use std::collections::BTreeMap;

/// The result of one look.
#[derive(Debug, PartialEq)]
pub(super) enum Look {
    /// All shards, in the order of their numbers.
    Met(Vec<Row>),
    /// The names of those that have not come so far.
    Waiting(Vec<String>),
    /// Why these processes cannot be one run, or why it ends.
    Refused(String),
}

/// Before the run: looks for one process of each number with the same experiment. `own` is this process's row.
pub(super) fn gathering(own: &Row, rows: &[Row]) -> Look {
    let others = rows.iter().filter(|row| row.token != own.token);
    let (there, away): (Vec<&Row>, Vec<&Row>) = others.partition(|row| row.takes_part());
    if let Some(text) = conflict(own, &there) {
        return Look::Refused(text);
    }
    // A row that was written before this process came is of an earlier run.
    let gave_up = |row: &&&Row| {
        !row.gone.is_empty()
            && row.seen_us >= own.seen_us
            && (row.of, &row.experiment) == (own.of, &own.experiment)
    };
    if let Some(row) = there.iter().chain(&away).find(gave_up) {
        return Look::Refused(given_up(row));
    }
    let mut met: BTreeMap<u32, &Row> = there.iter().map(|row| (row.number, *row)).collect();
    met.insert(own.number, own);
    let missing = (1..=own.of).filter(|number| !met.contains_key(number));
    let missing: Vec<String> = missing
        .map(|number| format!("shard {number}/{}", own.of))
        .collect();
    if missing.is_empty() {
        Look::Met(met.into_values().cloned().collect())
    } else {
        Look::Waiting(missing)
    }
}

/// Why the processes that are there cannot be shards of one run.
fn conflict(own: &Row, there: &[&Row]) -> Option<String> {
    let all = || there.iter().copied().chain([own]);
    let mut numbers: BTreeMap<u32, &Row> = BTreeMap::new();
    for row in all() {
        let of_another_size = (row.of != own.of).then_some(own);
        let same_number = numbers.insert(row.number, row);
        if let Some(other) = of_another_size.or(same_number) {
            return Some(two_runs(other, row));
        }
    }
    let first = numbers.get(&1);
    let party =
        |row: &Row| !row.party.is_empty() && first.map(|first| &first.token) != Some(&row.party);
    if let Some(row) = all().find(|row| party(row)) {
        return Some(format!(
            "another run is measuring with this server: {}{}; wait until it ends, or name another server",
            row.name(),
            of_run(row)
        ));
    }
    let reference = first.copied().unwrap_or(own);
    let other = all().find(|row| row.experiment != reference.experiment)?;
    Some(format!(
        "{} has another experiment, command line or release of prony (hash {}) than {} (hash {}); start all shards with the same file and options",
        other.name(),
        other.experiment,
        reference.name(),
        reference.experiment
    ))
}

fn two_runs(one: &Row, other: &Row) -> String {
    format!(
        "two runs meet on this server: {}{} and {}{}; start one after the other, or name another server",
        one.name(),
        of_run(one),
        other.name(),
        of_run(other)
    )
}

fn of_run(row: &Row) -> String {
    if row.run.is_empty() {
        String::new()
    } else {
        format!(" of run {}", row.run)
    }
}

fn given_up(row: &Row) -> String {
    format!("{} has given up: {}", row.name(), row.gone)
}

/// During the run: whether all members for whom `is_due` holds have reached what `has_come` checks.
pub(super) fn members(
    members: &[Row],
    rows: &[Row],
    is_due: impl Fn(&Row) -> bool,
    has_come: impl Fn(&Row) -> bool,
) -> Look {
    let now = |member: &Row| rows.iter().find(|row| row.token == member.token);
    let mut met = Vec::new();
    let mut missing = Vec::new();
    for member in members {
        let Some(row) = now(member) else {
            missing.push(format!("{}, whose row is gone,", member.name()));
            continue;
        };
        if is_due(row) && !has_come(row) {
            if !row.gone.is_empty() {
                return Look::Refused(given_up(row));
            }
            missing.push(row.name());
        }
        met.push(row.clone());
    }
    if missing.is_empty() {
        Look::Met(met)
    } else {
        Look::Waiting(missing)
    }
}

/// Whether some member has not come and is not there any more.
pub(super) fn has_lost_one(members: &[Row], rows: &[Row], has_come: impl Fn(&Row) -> bool) -> bool {
    members.iter().any(|member| {
        let row = rows.iter().find(|row| row.token == member.token);
        row.is_none_or(|row| !row.is_there && !has_come(row))
    })
}

/// Processes that wait for this run's server and do not belong to it.
pub(super) fn strangers<'r>(members: &[Row], rows: &'r [Row], since_us: i64) -> Option<&'r Row> {
    rows.iter().find(|row| {
        let is_member = members.iter().any(|member| member.token == row.token);
        !is_member && row.seen_us > since_us && !row.gone.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(number: u32, of: u32, token: &str) -> Row {
        Row {
            token: token.into(),
            number,
            of,
            machine: "host".into(),
            process: 10 + number,
            experiment: "e1".into(),
            seen_us: 100,
            is_there: true,
            ..Row::default()
        }
    }

    fn refused(look: Look) -> String {
        match look {
            Look::Refused(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_numbers_once_are_a_run_and_missing_ones_are_named() {
        let own = shard(2, 3, "b");
        let rows = [shard(3, 3, "c"), own.clone()];
        assert_eq!(
            gathering(&own, &rows),
            Look::Waiting(vec!["shard 1/3".into()])
        );
        let rows = [shard(3, 3, "c"), own.clone(), shard(1, 3, "a")];
        let Look::Met(met) = gathering(&own, &rows) else {
            panic!("not met")
        };
        assert_eq!(
            met.iter().map(|row| row.number).collect::<Vec<_>>(),
            [1, 2, 3]
        );
    }

    #[test]
    fn the_rows_of_an_earlier_run_that_was_killed_do_not_count() {
        let own = shard(1, 2, "a");
        let dead = Row {
            is_there: false,
            ..shard(1, 2, "old")
        };
        assert_eq!(
            gathering(&own, &[dead]),
            Look::Waiting(vec!["shard 2/2".into()])
        );
    }

    #[test]
    fn a_shard_that_is_about_to_end_is_no_second_run() {
        let own = shard(1, 2, "a");
        let ends = Row {
            gone: "no space".into(),
            seen_us: 99,
            ..shard(1, 3, "old")
        };
        let done = Row {
            step: super::super::table::DONE,
            ..shard(1, 2, "older")
        };
        assert_eq!(
            gathering(&own, &[ends, done]),
            Look::Waiting(vec!["shard 2/2".into()])
        );
    }

    #[test]
    fn two_processes_of_one_number_are_two_runs() {
        let own = shard(1, 2, "a");
        let says = refused(gathering(&own, &[shard(2, 2, "b"), shard(2, 2, "c")]));
        assert!(
            says.starts_with(
                "two runs meet on this server: shard 2/2 (host, process 12) and shard 2/2"
            ),
            "{says}"
        );
        let says = refused(gathering(&own, &[shard(2, 3, "b")]));
        assert!(
            says.contains("two runs meet") && says.contains("shard 2/3"),
            "{says}"
        );
    }

    #[test]
    fn a_shard_of_another_experiment_is_refused_by_name() {
        let own = shard(2, 3, "b");
        let other = Row {
            experiment: "e2".into(),
            ..shard(3, 3, "c")
        };
        let says = refused(gathering(&own, &[shard(1, 3, "a"), other]));
        assert!(
            says.starts_with("shard 3/3 (host, process 13) has another experiment"),
            "{says}"
        );
        assert!(
            says.contains("hash e2") && says.contains("than shard 1/3"),
            "{says}"
        );
    }

    #[test]
    fn a_run_that_is_measuring_is_named_to_one_that_comes_later() {
        let own = shard(2, 2, "b");
        let busy = Row {
            party: "x".into(),
            run: "t-1".into(),
            ..shard(1, 2, "x")
        };
        let says = refused(gathering(
            &own,
            &[Row {
                party: "z".into(),
                ..busy.clone()
            }],
        ));
        assert!(
            says.contains("another run is measuring") && says.contains("of run t-1"),
            "{says}"
        );
        // A fast shard of the own run has met already.
        assert!(matches!(gathering(&own, &[busy]), Look::Met(_)));
    }

    #[test]
    fn a_shard_that_has_given_up_since_then_ends_the_wait() {
        let own = shard(1, 2, "a");
        let gone = |seen_us| Row {
            gone: "no space".into(),
            is_there: false,
            seen_us,
            ..shard(2, 2, "b")
        };
        let says = refused(gathering(&own, &[gone(101)]));
        assert_eq!(says, "shard 2/2 (host, process 12) has given up: no space");
        assert!(matches!(gathering(&own, &[gone(99)]), Look::Waiting(_)));
    }

    #[test]
    fn members_are_awaited_until_each_has_come() {
        let party = [shard(1, 2, "a"), shard(2, 2, "b")];
        let at = |step: u64| {
            [
                Row {
                    step,
                    ..shard(1, 2, "a")
                },
                Row {
                    step: 3,
                    ..shard(2, 2, "b")
                },
            ]
        };
        let look = |rows: &[Row]| members(&party, rows, |_| true, |row| row.step >= 3);
        assert_eq!(
            look(&at(2)),
            Look::Waiting(vec!["shard 1/2 (host, process 11)".into()])
        );
        assert!(matches!(look(&at(3)), Look::Met(met) if met.len() == 2));
        let mut gone = at(2);
        gone[0].gone = "killed".into();
        assert!(refused(look(&gone)).ends_with("has given up: killed"));
        assert!(matches!(look(&at(3)[1..]), Look::Waiting(_)));
    }

    #[test]
    fn a_member_without_its_lock_that_has_not_come_is_lost() {
        let party = [shard(1, 2, "a"), shard(2, 2, "b")];
        let mut rows = party.clone();
        assert!(!has_lost_one(&party, &rows, |row| row.step >= 3));
        rows[1].is_there = false;
        assert!(has_lost_one(&party, &rows, |row| row.step >= 3));
        rows[1].step = 3;
        assert!(!has_lost_one(&party, &rows, |row| row.step >= 3));
    }
}
