//! Rounds of several clients, compared with one client's.

use super::table::rows;
use crate::inference::estimate::Estimate;
use crate::inference::ratio::LogMean;
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

/// Queries per hour by block.
type Rates = BTreeMap<u32, f64>;

/// One for each row without its number of clients and each name of a round, in the order of `table`; empty where no trial had
/// several clients.
pub fn round_scaling(question: &Question, trials: &[Trial]) -> Vec<RoundScaling> {
    let mut all: Vec<(RoundScaling, BTreeMap<u32, Rates>)> = Vec::new();
    for ((server, levels), trials) in rows(question, trials) {
        let Some(clients) = trials.iter().find_map(|trial| clients(trial)) else {
            continue;
        };
        let others = levels.iter().filter(|(name, _)| name != "clients").cloned();
        let others: Vec<_> = others.collect();
        for round in question.round_names() {
            let rates = rates(&trials, round);
            let known = all.iter_mut().find(|(one, _)| {
                (one.server.as_deref(), &one.levels, one.round.as_str()) == (server, &others, round)
            });
            match known {
                Some((_, points)) => drop(points.insert(clients, rates)),
                None => all.push((
                    RoundScaling {
                        server: server.map(String::from),
                        levels: others.clone(),
                        round: round.to_string(),
                        points: Vec::new(),
                    },
                    BTreeMap::from([(clients, rates)]),
                )),
            }
        }
    }
    let several = |(_, points): &(RoundScaling, BTreeMap<u32, Rates>)| {
        points.keys().any(|clients| *clients > 1)
    };
    all.into_iter()
        .filter(several)
        .map(|(scaling, points)| RoundScaling {
            points: compared(&points),
            ..scaling
        })
        .collect()
}

fn clients(trial: &Trial) -> Option<u32> {
    Some(trial.rounds.first()?.clients())
}

/// All queries of the trial's rounds of this name over all their time. Empty where one of them has no rate: a block that ran
/// into the limit is the slowest one, and a mean without it is biased (survivorship).
fn rates(trials: &[&Trial], round: &str) -> Rates {
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
    let rates: Option<Rates> = done.filter(has_it).map(rate).collect();
    rates.unwrap_or_default()
}

fn compared(points: &BTreeMap<u32, Rates>) -> Vec<RoundPoint> {
    let one = points.get(&1);
    let point = |(clients, rates): (&u32, &Rates)| {
        let pairs = rates
            .iter()
            .filter_map(|(block, rate)| Some((*rate, *one?.get(block)?)));
        let (of, to): (Vec<f64>, Vec<f64>) = pairs.unzip();
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
