//! Effective settings that differ between rows.
//!
//! Goal: what the servers themselves report, so that a difference nobody asked for is seen. Settings that only name an
//! instance (folders, ports, identities) differ always and are left out.

use super::rows::{Row, Rows};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Settings whose names end so are of an instance or of a build, not of the experiment.
const OF_THE_INSTANCE: [&str; 12] = [
    "dir",
    "_path",
    "_file",
    "socket",
    "port",
    "hostname",
    "_uuid",
    "_id",
    "_basename",
    "_index",
    "_log",
    "_error",
];
/// And these, whole: they move with each connection or say what the environment says.
const OF_THE_CONNECTION: [&str; 10] = [
    "timestamp",
    "rand_seed1",
    "rand_seed2",
    "last_insert_id",
    "insert_id",
    "identity",
    "version",
    "version_comment",
    "version_compile_machine",
    "version_source_revision",
];

struct Differing<'a> {
    name: &'a str,
    /// By row; none where the server has no such setting.
    values: Vec<Option<&'a str>>,
}

pub fn section(rows: &Rows) -> Markup {
    let shown: Vec<&Row> = rows
        .list
        .iter()
        .filter(|row| row.trials.iter().any(|trial| !trial.settings.is_empty()))
        .collect();
    let all = differing(&shown);
    let (everywhere, absent_somewhere): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|d| d.values.iter().all(Option::is_some));
    html! {
        @if shown.len() > 1 {
            section #settings {
                h2 { "Effective settings that differ" }
                @if everywhere.is_empty() { p { "No setting that all servers have differs between the rows." } }
                @else { (table(&shown, &everywhere)) }
                @if !absent_somewhere.is_empty() {
                    details {
                        summary { "Settings that not every server has: " (absent_somewhere.len()) }
                        (table(&shown, &absent_somewhere))
                    }
                }
            }
        }
    }
}

fn table(rows: &[&Row], settings: &[Differing]) -> Markup {
    html! {
        div.scroll.tall tabindex="0" { table {
            thead { tr { th scope="col" { "Setting" } @for row in rows { th scope="col" { (row.name) } } } }
            tbody { @for setting in settings {
                tr {
                    th scope="row" { code { (setting.name) } }
                    @for value in &setting.values { td.value { @match value { Some(value) => (value), None => span.quiet { "absent" } } } }
                }
            } }
        } }
    }
}

fn differing<'a>(rows: &[&'a Row]) -> Vec<Differing<'a>> {
    let names: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row.trials[0].settings.keys())
        .map(String::as_str)
        .filter(|name| of_the_experiment(name))
        .collect();
    let of = |name| {
        rows.iter()
            .map(|row| row.trials[0].settings.get(name).map(String::as_str))
            .collect::<Vec<_>>()
    };
    let all = names.into_iter().map(|name| Differing {
        name,
        values: of(name),
    });
    all.filter(|setting| {
        setting
            .values
            .iter()
            .any(|value| *value != setting.values[0])
    })
    .collect()
}

fn of_the_experiment(name: &str) -> bool {
    !OF_THE_CONNECTION.contains(&name) && !OF_THE_INSTANCE.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::of_the_experiment;

    #[test]
    fn folders_and_ports_are_not_differences() {
        assert!(!of_the_experiment("datadir"));
        assert!(!of_the_experiment("pid_file"));
        assert!(!of_the_experiment("port"));
        assert!(of_the_experiment("innodb_old_blocks_time"));
        assert!(of_the_experiment("innodb_log_file_size"));
    }
}
