//! Names of rows, trials, rounds and percentiles.
//!
//! Purpose: one spelling in every form of a report. The record counts blocks from 0, people from 1.

use crate::format;
use record::{LoadFactor, Question, Run, ServerIdentity, TrialKey};

/// A row of the matrix: `5.6 · small pool`. The separator is a dot because levels may hold commas. A factor with a single level
/// is left out.
pub(crate) fn row(run: &Run, server: Option<&str>, levels: &[(String, String)]) -> String {
    let server = server.map(|name| self::server(run, name));
    row_of(&run.question, server.as_deref(), levels)
}

/// A row of several runs, whose servers may differ in their versions.
pub(crate) fn row_of(
    question: &Question,
    server: Option<&str>,
    levels: &[(String, String)],
) -> String {
    let varying = levels.iter().filter(|(factor, _)| varies(question, factor));
    let levels = varying.map(|(factor, level)| self::level(factor, level));
    let words: Vec<String> = server.map(String::from).into_iter().chain(levels).collect();
    words.join(" · ")
}

/// A server with what was measured under its name: `mariadb 10.11.18`, `5.6 (SQLite 3.46.0), settings not applied`. A name whose
/// build has a fixed version stays as it is.
pub(crate) fn server(run: &Run, name: &str) -> String {
    let Some(identity) = run.environment.servers.get(name) else {
        return name.to_string();
    };
    let label = with_version(name, identity);
    if run.environment.unconfigured.contains(name) {
        format!("{label}, settings not applied")
    } else {
        label
    }
}

/// A server with its version in any case: `5.6 (MySQL 5.6.14)`. A server that was never started has none.
pub(crate) fn server_with_version(run: &Run, name: &str) -> String {
    let label = server(run, name);
    let Some(identity) = run.environment.servers.get(name) else {
        return label;
    };
    let version = numbers(&identity.version);
    if version.is_empty() || label.contains(version) {
        label
    } else {
        format!("{label} ({} {version})", product(identity))
    }
}

/// The version without what the build appends to it: `5.6.14`.
fn numbers(version: &str) -> &str {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.');
    &version[..end.unwrap_or(version.len())]
}

fn with_version(name: &str, identity: &ServerIdentity) -> String {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let version = numbers(&identity.version);
    let Some((series, patch)) = version.rsplit_once('.') else {
        return name.to_string();
    };
    let is_fixed = identity.build.contains(version);
    let series_only = || {
        name.strip_suffix(series)
            .filter(|rest| !rest.ends_with(is_number))
    };
    if !series.contains('.') || name.contains(version) || is_fixed && name.contains(series) {
        return name.to_string();
    }
    let product = product(identity);
    match (series_only().is_some(), product) {
        (true, _) => format!("{name}.{patch}"),
        (_, "SQLite") if name.eq_ignore_ascii_case(product) => format!("{product} {version}"),
        _ if name.to_lowercase().contains(&product.to_lowercase()) => format!("{name} {version}"),
        _ => format!("{name} ({product} {version})"),
    }
}

fn product(identity: &ServerIdentity) -> &'static str {
    let texts = [&identity.version, &identity.comment, &identity.build];
    let says = |word: &str| texts.iter().any(|text| text.to_lowercase().contains(word));
    match identity.build.as_str() {
        "sqlite" => "SQLite",
        _ if says("mariadb") => "MariaDB",
        _ => "MySQL",
    }
}

/// A level. Numbers of the load get their unit: `64 clients`, `200,000 requests/s`.
pub(crate) fn level(factor: &str, level: &str) -> String {
    match (LoadFactor::named(factor), level.parse::<f64>()) {
        (Some(one), Ok(1.0)) if one.is_count() => format!("1 {}", factor.trim_end_matches('s')),
        (Some(one), Ok(_)) => format!("{} {}", bare_level(factor, level), one.unit()),
        (Some(LoadFactor::Rate), Err(_)) if level == "max" => "maximum rate".to_string(),
        _ => level.to_string(),
    }
}

/// A level in a sentence, with its factor where it says nothing alone: `sync_wait 0`, `mrr off`.
pub(crate) fn level_alone(factor: &str, level: &str) -> String {
    let words = self::level(factor, level);
    let is_bare = level.parse::<f64>().is_ok() || ["on", "off"].contains(&level);
    if is_bare && words == level && factor != "server" {
        format!("{factor} {level}")
    } else {
        words
    }
}

/// A level below the name of its factor. Numbers of the load get commas between thousands.
pub(crate) fn bare_level(factor: &str, level: &str) -> String {
    match (LoadFactor::named(factor), level.parse::<f64>()) {
        (Some(_), Ok(number)) if number >= 1000.0 => format::operations(number),
        _ => level.to_string(),
    }
}

/// What begins a text about a row: `64 clients: `; empty for a row without a name.
pub(crate) fn before(row: &str) -> String {
    match row.is_empty() {
        true => String::new(),
        false => format!("{row}: "),
    }
}

/// Whether rows differ in this factor. A factor without levels is a rate that was searched for.
pub(crate) fn varies(question: &Question, factor: &str) -> bool {
    question
        .factors
        .iter()
        .find(|known| known.name == factor)
        .is_none_or(|known| known.levels.len() != 1)
}

pub(crate) fn trial(run: &Run, key: &TrialKey) -> String {
    let block = format!("block {}", key.block + 1);
    match row(run, key.server.as_deref(), &key.levels) {
        row if row.is_empty() => block,
        row => format!("{row}, {block}"),
    }
}

/// The first digits of a plan's hash, which are enough to distinguish plans.
pub(crate) fn plan(hash: &str) -> String {
    hash.chars().take(8).collect()
}

/// `cold`, or `hot 2` where the experiment has several rounds of the name.
pub(crate) fn round(question: &Question, name: &str, index: u32) -> String {
    let named = question.rounds.iter().filter(|known| *known == name);
    if named.count() > 1 || index > 1 {
        format!("{name} {index}")
    } else {
        name.to_string()
    }
}

/// The loop of a load: `open loop`.
pub(crate) fn load_loop(open: bool) -> &'static str {
    if open { "open loop" } else { "closed loop" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(name: &str, build: &str, version: &str) -> String {
        let identity = ServerIdentity {
            build: build.into(),
            version: version.into(),
            comment: String::new(),
            binary_sha256: String::new(),
        };
        with_version(name, &identity)
    }

    #[test]
    fn a_name_whose_build_may_change_shows_the_exact_version() {
        for (name, build, version, expected) in [
            ("mariadb", "mariadb", "10.11.18", "mariadb 10.11.18"),
            ("MariaDB 10.11", "mariadb", "10.11.18", "MariaDB 10.11.18"),
            ("mariadb@11.8", "mariadb@11.8", "11.8.6", "mariadb@11.8.6"),
            (
                "prod",
                "mysql://app@db",
                "8.0.36-log",
                "prod (MySQL 8.0.36)",
            ),
            ("5.6", "mariadb", "10.11.18", "5.6 (MariaDB 10.11.18)"),
            ("10.1", "mariadb", "10.11.18", "10.1 (MariaDB 10.11.18)"),
        ] {
            assert_eq!(label(name, build, version), expected);
        }
    }

    #[test]
    fn a_name_of_a_fixed_build_stays_as_it_is() {
        assert_eq!(label("5.6", "mysql@5.6.14", "5.6.14"), "5.6");
        assert_eq!(
            label("mysql@5.6.14", "mysql@5.6.14", "5.6.14"),
            "mysql@5.6.14"
        );
        assert_eq!(label("a", "fake", "0.0-fake"), "a");
    }

    #[test]
    fn a_level_that_says_nothing_alone_has_its_factor() {
        assert_eq!(level_alone("sync_wait", "0"), "sync_wait 0");
        assert_eq!(level_alone("mrr", "off"), "mrr off");
        assert_eq!(level_alone("pool", "small"), "small");
        assert_eq!(level_alone("clients", "8"), "8 clients");
        assert_eq!(level_alone("server", "5.6"), "5.6");
    }

    #[test]
    fn large_numbers_of_the_load_have_commas_and_settings_stay_as_they_are() {
        assert_eq!(level("rate", "200000"), "200,000 requests/s");
        assert_eq!(level("rate", "0.5"), "0.5 requests/s");
        assert_eq!(level("rate", "60% of max"), "60% of max");
        assert_eq!(level("clients", "1000"), "1,000 clients");
        assert_eq!(level("innodb_io_capacity", "20000"), "20000");
    }

    #[test]
    fn sqlite_is_named_also_where_it_replaces_another_server() {
        assert_eq!(label("sqlite", "sqlite", "3.46.0"), "SQLite 3.46.0");
        assert_eq!(label("5.6", "sqlite", "3.46.0"), "5.6 (SQLite 3.46.0)");
        assert_eq!(label("old", "sqlite", "3.46.0"), "old (SQLite 3.46.0)");
    }
}
