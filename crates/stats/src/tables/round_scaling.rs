//! Rounds of several clients, compared with one client's.

use super::series_of::{ByBlock, paired, without};
use super::table::rows;
use crate::inference::estimate::Estimate;
use crate::inference::ratio::LogMean;
use crate::values::cells::by_key;
use record::run::Question;
use record::trial::{Trial, TrialState};
use std::collections::BTreeMap;

/// The rounds of one name by clients.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundScaling {
    pub server: Option<String>,
    /// Without the factor `clients`.
    pub levels: Vec<(String, String)>,
    /// `cold`, `hot`
    pub round: String,
    /// Ascending.
    pub points: Vec<RoundPoint>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RoundPoint {
    pub clients: u32,
    /// Of all clients together; none where nothing counts.
    pub queries_per_hour: Option<Estimate>,
    /// That over the same of one client, paired by block, with its interval over blocks (none with fewer than two). None where
    /// one client was not measured.
    pub factor: Option<(f64, Option<(f64, f64)>)>,
}

/// One for each row without its number of clients and each name of a round, in the order of `table`; empty where no trial had
/// several clients.
pub fn round_scaling(question: &Question, trials: &[Trial]) -> Vec<RoundScaling> {
    let mut points = Vec::new();
    for ((server, levels), trials) in rows(question, trials) {
        let Some(clients) = trials.iter().find_map(|trial| clients(trial)) else {
            continue;
        };
        for round in question.round_names() {
            let key = (server, without(levels, "clients"), round);
            points.push((key, (clients, rates(&trials, round))));
        }
    }
    by_key(points)
        .into_iter()
        .map(|((server, levels, round), points)| RoundScaling {
            server: server.map(String::from),
            levels,
            round: round.to_string(),
            points: compared(&BTreeMap::from_iter(points)),
        })
        .filter(|scaling| scaling.points.iter().any(|point| point.clients > 1))
        .collect()
}

fn clients(trial: &Trial) -> Option<u32> {
    Some(trial.rounds.first()?.clients())
}

/// Queries per hour: all queries of the trial's rounds of this name over all their time. Empty where one of them has no rate: a block that ran
/// into the limit is the slowest one, and a mean without it is biased (survivorship).
fn rates(trials: &[&Trial], round: &str) -> ByBlock {
    let rate = |trial: &&Trial| {
        let rounds = trial.rounds.iter().filter(|one| one.is_called(round));
        let each: Vec<(f64, f64)> = rounds
            .map(|one| Some((one.elapsed_s, one.queries_per_hour()?)))
            .collect::<Option<_>>()?;
        let elapsed_s: f64 = each.iter().map(|(elapsed_s, _)| elapsed_s).sum();
        let queries: f64 = each.iter().map(|(elapsed_s, rate)| elapsed_s * rate).sum();
        (elapsed_s > 0.0).then(|| (trial.key.block, queries / elapsed_s))
    };
    let done = trials
        .iter()
        .filter(|trial| trial.state == TrialState::Done);
    let has_it = |trial: &&&Trial| trial.rounds.iter().any(|one| one.is_called(round));
    let rates: Option<ByBlock> = done.filter(has_it).map(rate).collect();
    rates.unwrap_or_default()
}

fn compared(points: &BTreeMap<u32, ByBlock>) -> Vec<RoundPoint> {
    let one = points.get(&1).cloned().unwrap_or_default();
    let point = |(clients, rates): (&u32, &ByBlock)| {
        let (of, to) = paired(rates, &one);
        let values: Vec<f64> = rates.values().copied().collect();
        let ratio = LogMean::of_ratios(&of, &to);
        RoundPoint {
            clients: *clients,
            queries_per_hour: Estimate::of(&values),
            factor: ratio.map(|ratio| (ratio.geometric(), ratio.ci())),
        }
    };
    points.iter().map(point).collect()
}
