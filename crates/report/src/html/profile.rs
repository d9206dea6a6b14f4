//! In which stage the profiled queries spent their time (SHOW PROFILE).
//!
//! Goal: stages by row, cold and hot apart. Non-goal: servers without SHOW PROFILE; their columns are not there.

use super::rows::{Row, Rows};
use maud::{Markup, html};
use record::{Query, Round};

/// Stages that took less than this share of every column are left out.
const SHARE_MIN: f64 = 0.001;

/// Seconds by stage, the mean over the rounds of one name of one row.
struct Column {
    name: String,
    stages: Vec<(String, f64)>,
}

pub fn section(rows: &Rows) -> Markup {
    let queries = profiled(rows);
    html! {
        @if !queries.is_empty() {
            section #profile {
                h2 { "Where a query spent its time" }
                p.quiet { "Seconds by the server's own stages (SHOW PROFILE), the mean over rounds and blocks." }
                @for query in &queries { (table(query, &columns(rows, query))) }
            }
        }
    }
}

fn profiled(rows: &Rows) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, query) in rows.list.iter().flat_map(all) {
        if !query.profile.is_empty() && !names.contains(&query.name) {
            names.push(query.name.clone());
        }
    }
    names
}

fn all<'a>(row: &'a Row<'a>) -> impl Iterator<Item = (&'a Round, &'a Query)> {
    let rounds = row.trials.iter().flat_map(|trial| &trial.rounds);
    rounds.flat_map(|round| round.queries.iter().map(move |query| (round, query)))
}

fn columns(rows: &Rows, query: &str) -> Vec<Column> {
    let of = |row: &Row, round: &str| {
        let profiles: Vec<&Vec<(String, f64)>> = all(row)
            .filter(|(its, one)| its.name == round && one.name == query && !one.profile.is_empty())
            .map(|(_, one)| &one.profile)
            .collect();
        (!profiles.is_empty()).then(|| Column {
            name: format!("{}, {round}", row.name),
            stages: mean(&profiles),
        })
    };
    let rows = rows.list.iter();
    rows.flat_map(|row| {
        ["cold", "hot"]
            .into_iter()
            .filter_map(move |round| of(row, round))
    })
    .collect()
}

/// A stage that is missing in one of the profiles took no time there.
fn mean(profiles: &[&Vec<(String, f64)>]) -> Vec<(String, f64)> {
    let mut total: Vec<(String, f64)> = Vec::new();
    for (stage, elapsed_s) in profiles.iter().copied().flatten() {
        match total.iter_mut().find(|(known, _)| known == stage) {
            Some((_, sum_s)) => *sum_s += elapsed_s,
            None => total.push((stage.clone(), *elapsed_s)),
        }
    }
    for (_, sum_s) in &mut total {
        *sum_s /= profiles.len() as f64;
    }
    total
}

fn table(query: &str, columns: &[Column]) -> Markup {
    let value = |column: &Column, stage: &str| {
        let found = column.stages.iter().find(|(name, _)| name == stage);
        found.map_or(0.0, |(_, elapsed_s)| *elapsed_s)
    };
    let matters = |stage: &str| {
        columns.iter().any(|column| {
            let total_s: f64 = column.stages.iter().map(|(_, elapsed_s)| elapsed_s).sum();
            value(column, stage) >= total_s * SHARE_MIN
        })
    };
    let mut stages: Vec<&str> = Vec::new();
    for (stage, _) in columns.iter().flat_map(|column| &column.stages) {
        if !stages.contains(&stage.as_str()) && matters(stage) {
            stages.push(stage);
        }
    }
    html! {
        h3 { (query) }
        div.scroll tabindex="0" { table {
            thead { tr { th scope="col" { "Stage" } @for column in columns { th.n scope="col" { (column.name) } } } }
            tbody { @for stage in stages { tr {
                th scope="row" { (stage) }
                @for column in columns { td.n { (format!("{:.3}", value(column, stage))) } }
            } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_that_only_one_round_had_counts_as_no_time_in_the_other() {
        let one = vec![("init".to_string(), 0.2), ("Sending data".to_string(), 1.0)];
        let two = vec![("Sending data".to_string(), 3.0)];
        let mean = mean(&[&one, &two]);
        assert_eq!(
            mean,
            [("init".to_string(), 0.1), ("Sending data".to_string(), 2.0)]
        );
    }
}
