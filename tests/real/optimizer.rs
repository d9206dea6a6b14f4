//! Tests that the tables of docs/OPTIMIZER.md agree with the servers.
//!
//! Tiers: default, all.

use crate::support::fresh::Fresh;
use observe::variables;
use server::Node;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = include_str!("../../docs/OPTIMIZER.md");
const ABSENT: &str = "-";

/// Names and values of one column of the page's table whose first column has this heading.
fn column(head: &str, column: usize) -> BTreeMap<String, String> {
    let start = format!("| {head} |");
    let lines = PAGE.lines().skip_while(|line| !line.starts_with(&start));
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let name = cells[0].trim_matches('`').to_string();
        (name, cells[column].to_string())
    })
    .collect()
}

/// The server's default variables.
fn defaults(fresh: &Fresh) -> BTreeMap<String, String> {
    let server = fresh.started(&[]);
    let variables = variables::effective(&mut server.connect().unwrap()).unwrap();
    server.stop().unwrap();
    variables
}

fn agrees(build: &'static str, number: usize) {
    let Some(fresh) = Fresh::of(build) else {
        return;
    };
    let variables = defaults(&fresh);
    let flags: BTreeMap<String, String> = variables["optimizer_switch"]
        .split(',')
        .filter_map(|part| part.split_once('='))
        .map(|(flag, state)| (flag.to_string(), state.to_string()))
        .collect();
    let on_page = |head: &str, known: &BTreeMap<String, String>| {
        for (name, value) in column(head, number) {
            let actual = known.get(&name).map_or(ABSENT, String::as_str);
            assert_eq!(value, actual, "{build}: {name}");
        }
    };
    on_page("flag", &flags);
    on_page("variable", &variables);
    let listed: BTreeSet<String> = column("flag", number).into_keys().collect();
    let missing: Vec<&String> = flags
        .keys()
        .filter(|flag| !listed.contains(*flag))
        .collect();
    assert_eq!(missing, [""; 0], "{build}: not on the page");
    // The flags known before a start are those of the running server.
    let known = fresh.distribution.known_settings(&fresh.leases).unwrap();
    let known: Vec<&str> = known.switches().collect();
    let running: Vec<&str> = flags.keys().map(String::as_str).collect();
    assert_eq!(known, running, "{build}");
}

macro_rules! the_page_agrees {
    ($($(#[$attribute:meta])* $name:ident => $build:literal, $column:literal;)*) => { $(
        #[test]
        $(#[$attribute])*
        fn $name() {
            agrees($build, $column);
        }
    )* }
}

the_page_agrees! {
    #[cfg(tier_all)]
    the_page_agrees_with_mysql_5_5 => "mysql@5.5.34", 1;
    the_page_agrees_with_mysql_5_6 => "mysql@5.6.14", 2;
    #[cfg(tier_all)]
    the_page_agrees_with_mysql_8_0 => "mysql@8.0.33", 3;
    #[cfg(tier_all)]
    the_page_agrees_with_mysql_9_7 => "mysql@9.7", 4;
    the_page_agrees_with_mariadb => "mariadb", 5;
    #[cfg(tier_all)]
    the_page_agrees_with_mariadb_11_4 => "mariadb@11.4.5", 6;
    #[cfg(tier_all)]
    the_page_agrees_with_mariadb_11_8 => "mariadb@11.8", 7;
}

#[test]
fn the_page_has_both_tables() {
    assert!(column("flag", 1).len() > 40);
    assert!(column("variable", 1).len() > 15);
}
