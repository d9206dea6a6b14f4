//! In which stage the profiled queries spent their time (SHOW PROFILE). Servers without it have no columns here.

use crate::build::rows::{Row, Rows};
use crate::document::{Block, Cell, Column, ColumnContent, Node, Section, Table};
use record::{Query, Round};
use stats::{by_key, each_once};

/// Stages that took less than this share of every column are left out.
const SHARE_MIN: f64 = 0.001;

/// Seconds by stage, the mean over the rounds of one name of one row.
struct Profile {
    name: String,
    stages: Vec<(String, f64)>,
}

impl Profile {
    fn of_stage(&self, stage: &str) -> f64 {
        let found = self.stages.iter().find(|(name, _)| name == stage);
        found.map_or(0.0, |(_, elapsed_s)| *elapsed_s)
    }

    fn total_s(&self) -> f64 {
        self.stages.iter().map(|(_, elapsed_s)| elapsed_s).sum()
    }
}

pub(crate) fn section(rows: &Rows) -> Option<Section> {
    let queries = rows.list.iter().flat_map(all).map(|(_, query)| query);
    let profiled = queries.filter(|query| !query.profile.is_empty());
    let queries = each_once(profiled.map(|query| query.name.as_str()));
    let tables = queries
        .iter()
        .map(|query| table(query, &profiles(rows, query)));
    let mut nodes: Vec<Node> = tables.map(|table| Block::table(table).page()).collect();
    if !nodes.is_empty() {
        let about = "Seconds by the server's own stages (SHOW PROFILE): the arithmetic mean over rounds and blocks, so that stages add up.";
        nodes.insert(0, Block::remark(about).page());
    }
    Section::unless_empty("profile", "Time of a query by stage", nodes)
}

fn all<'a>(row: &'a Row<'a>) -> impl Iterator<Item = (&'a Round, &'a Query)> {
    let rounds = row.trials.iter().flat_map(|trial| &trial.rounds);
    rounds.flat_map(|round| round.queries.iter().map(move |query| (round, query)))
}

fn profiles(rows: &Rows, query: &str) -> Vec<Profile> {
    let of = |row: &Row, round: &str| {
        let profiles: Vec<&Vec<(String, f64)>> = all(row)
            .filter(|(its, one)| its.name == round && one.name == query && !one.profile.is_empty())
            .map(|(_, one)| &one.profile)
            .collect();
        (!profiles.is_empty()).then(|| Profile {
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
    let stages = profiles.iter().copied().flatten();
    let stages = by_key(stages.map(|(stage, elapsed_s)| (stage, *elapsed_s))).into_iter();
    let mean = |all_s: Vec<f64>| all_s.iter().sum::<f64>() / profiles.len() as f64;
    stages
        .map(|(stage, all_s)| (stage.clone(), mean(all_s)))
        .collect()
}

fn table(query: &str, profiles: &[Profile]) -> Table {
    let matters = |stage: &str| {
        let mut profiles = profiles.iter();
        profiles.any(|profile| profile.of_stage(stage) >= profile.total_s() * SHARE_MIN)
    };
    let stages = profiles.iter().flat_map(|profile| &profile.stages);
    let stages = stages.map(|(stage, _)| stage.as_str());
    let stages = each_once(stages.filter(|stage| matters(stage)));
    let names = profiles.iter().map(|profile| profile.name.as_str());
    let rows = stages.iter().map(|stage| {
        let seconds = profiles
            .iter()
            .map(|profile| format!("{:.3}", profile.of_stage(stage)));
        std::iter::once(stage.to_string())
            .chain(seconds)
            .map(Cell::text)
            .collect()
    });
    let mut columns = Column::of(ColumnContent::Label, ["stage"]);
    columns.extend(Column::of(ColumnContent::Figure, names));
    Table::new(query, columns, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_missing_in_one_profile_counts_as_zero() {
        let one = vec![("init".to_string(), 0.2), ("Sending data".to_string(), 1.0)];
        let two = vec![("Sending data".to_string(), 3.0)];
        let mean = mean(&[&one, &two]);
        assert_eq!(
            mean,
            [("init".to_string(), 0.1), ("Sending data".to_string(), 2.0)]
        );
    }
}
