//! Queries whose hot rounds have no level: they are slower or faster in the last one than in the first.
//!
//! Purpose: the mean of such rounds depends on their number, which no interval over blocks shows. Boundaries: the seconds of a timed load
//! are judged in `load::steady`.
//!
//! A cell is a query in a row. Each of its trials gives one ratio: the last hot round over the first, so that what a start adds cancels.
//! Rounds of a trial share its start, so the test is over trials (t on logarithms). Three trials tell little about the noise of one cell,
//! so it borrows that of the other rows (`inference::moderated`). Queries of one trial share its disturbances, and so do cells that take
//! turns: these lend each other nothing.
//!
//! False alarms: all cells of a run are tested together, at a false discovery rate of 5 % (Benjamini and Hochberg). Where nothing drifts,
//! every discovery is false, so at most 5 % of such runs name a query, however many queries and rows they have. A drift must also be in
//! every trial and exceed 10 %, so runs with little noise name none. In 400 simulated runs of each of ten kinds (one to four rows of 13
//! queries, three and five trials, ratios that vary by 5 to 15 %, outliers, disturbances that all queries of a trial share), 0 to 5 % did.

use super::table::rows;
use crate::inference::benjamini::discoveries;
use crate::inference::estimate::mean;
use crate::inference::moderated::Noise;
use crate::inference::ratio::{CONFIDENCE, LogMean};
use crate::values::cells::{self, RowKey, valid};
use record::claim::RoundSelector;
use record::run::Question;
use record::trial::{Round, Trial};
use std::collections::BTreeSet;

/// Smaller changes are not named: the mean of two rounds is then within 5 % of either.
const SHARE: f64 = 0.1;

/// A query that is slower or faster in the last hot round than in the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    pub query: String,
    pub server: Option<String>,
    pub levels: Vec<(String, String)>,
    /// The numbers of the first and the last hot round.
    pub rounds: (u32, u32),
    /// The time in the last round over that in the first: the geometric mean over trials.
    pub ratio: f64,
    /// All of them change in this direction.
    pub trials: u32,
}

/// A query in a row.
struct Cell<'t> {
    row: RowKey<'t>,
    query: &'t str,
    rounds: (u32, u32),
    /// The last hot round over the first, of each trial.
    ratios: Vec<f64>,
    mean: LogMean,
}

/// The largest first. Empty for timed loads, for a single hot round, and where each row has one trial.
pub fn drifts(question: &Question, trials: &[Trial]) -> Vec<Drift> {
    let cells = all_cells(question, trials);
    let noise = noise(trials, &cells);
    let p_value = |cell: &Cell| {
        let mean = noise.map_or(cell.mean, |noise| noise.moderate(cell.mean, &[(0, 1.0)]));
        mean.p_other_than(1.0)
    };
    let p_values: Vec<f64> = cells.iter().map(p_value).collect();
    let found = cells.iter().zip(discoveries(&p_values, 1.0 - CONFIDENCE));
    let found = found.filter(|(cell, is_found)| *is_found && cell.is_one_way());
    let mut drifts: Vec<Drift> = found.map(|(cell, _)| cell.drift()).collect();
    let size = |drift: &Drift| drift.ratio.ln().abs();
    drifts.sort_by(|a, b| size(b).total_cmp(&size(a)));
    drifts
}

/// In the order of the table, and in the workload's order of queries.
fn all_cells<'t>(question: &'t Question, trials: &'t [Trial]) -> Vec<Cell<'t>> {
    let hot = RoundSelector::all("hot");
    let ends = |trial: &'t Trial| match cells::rounds(trial, Some(&hot)).as_slice() {
        [first, .., last] => Some((*first, *last)),
        _ => None,
    };
    let mut all = Vec::new();
    for (row, trials) in rows(question, trials) {
        let ends: Vec<(&Round, &Round)> = valid(&trials).filter_map(ends).collect();
        let queries = question.workload.operations.iter();
        all.extend(queries.filter_map(|query| Cell::of(row, query, &ends)));
    }
    all
}

/// What the cells lend each other; None where they took turns, or are too few.
fn noise(trials: &[Trial], cells: &[Cell]) -> Option<Noise> {
    if trials.iter().any(Trial::took_turns) {
        return None;
    }
    let rows: BTreeSet<RowKey> = cells.iter().map(|cell| cell.row).collect();
    let means: Vec<LogMean> = cells.iter().map(|cell| cell.mean).collect();
    Noise::within_trials(&means, rows.len())
}

impl<'t> Cell<'t> {
    /// `ends` are the first and the last hot round of each trial. None unless two trials have both times.
    fn of(row: RowKey<'t>, query: &'t str, ends: &[(&Round, &Round)]) -> Option<Cell<'t>> {
        let ratio =
            |(first, last): &(&Round, &Round)| Some(mean_ns(last, query)? / mean_ns(first, query)?);
        let ratios: Vec<f64> = ends.iter().filter_map(ratio).collect();
        let mean = LogMean::of(&ratios).filter(|mean| mean.count > 1)?;
        let (first, last) = ends.first()?;
        Some(Cell {
            row,
            query,
            rounds: (first.index, last.index),
            ratios,
            mean,
        })
    }

    /// Whether every trial changes in the same direction, and all together by more than [`SHARE`].
    fn is_one_way(&self) -> bool {
        let (ratio, most) = (self.mean.geometric(), 1.0 + SHARE);
        let is_slower = ratio > most && self.ratios.iter().all(|one| *one > 1.0);
        let is_faster = ratio < 1.0 / most && self.ratios.iter().all(|one| *one < 1.0);
        is_slower || is_faster
    }

    fn drift(&self) -> Drift {
        let (server, levels) = self.row;
        Drift {
            query: self.query.to_string(),
            server: server.map(String::from),
            levels: levels.to_vec(),
            rounds: self.rounds,
            ratio: self.mean.geometric(),
            trials: self.ratios.len() as u32,
        }
    }
}

/// The time of a query, the mean over the clients of the round; None where one got no answer.
fn mean_ns(round: &Round, query: &str) -> Option<f64> {
    let own = round.selected(Some(query));
    let times = own.map(|one| one.error.is_none().then_some(one.elapsed_ns as f64));
    mean(&times.collect::<Option<Vec<f64>>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::noisy;
    use record::FlagKind;
    use record::trial::{Answer, Counters, Query, TrialKey};

    const ROWS: [&str; 4] = ["a", "b", "c", "d"];
    const QUERIES: usize = 13;
    const ROUNDS: usize = 3;

    fn question() -> Question {
        let operations: Vec<String> = (0..QUERIES).map(|number| format!("Q{number}")).collect();
        let workload =
            serde_json::json!({ "name": "ssb", "summary": "s", "operations": operations });
        let json = serde_json::json!({
            "name": "n", "title": "t", "question": "q", "published": null, "servers": ROWS,
            "factors": [], "rounds": ["hot", "hot", "hot"], "blocks": 3,
            "workload": workload, "claims": [], "trials": 12
        });
        serde_json::from_value(json).unwrap()
    }

    /// A trial with these logarithms of seconds, by round and query.
    fn trial(server: &str, block: u32, logs: &[Vec<f64>]) -> Trial {
        let query = |(number, log): (usize, &f64)| Query {
            name: format!("Q{number}"),
            client: 1,
            elapsed_ns: (1e9 * log.exp()) as u64,
            rows: 1,
            answer: Answer::Ok,
            answer_hash: String::new(),
            plan_hash: None,
            counters: Counters::new(),
            profile: Vec::new(),
            error: None,
        };
        let round = |(place, logs): (usize, &Vec<f64>)| Round {
            name: "hot".into(),
            index: place as u32 + 1,
            started_ns: 0,
            ended_ns: 0,
            elapsed_s: 1.0,
            coldness: None,
            queries: logs.iter().enumerate().map(query).collect(),
            counters: Counters::new(),
        };
        let key = TrialKey {
            block,
            server: Some(server.into()),
            ..TrialKey::default()
        };
        Trial {
            rounds: logs.iter().enumerate().map(round).collect(),
            ..Trial::unmeasured(key, 0)
        }
    }

    /// Four rows. The time of a query varies by `own` from round to round, that of all queries of a round by `shared`; the factor is that
    /// of the last round to the first, by row, block and query.
    fn run(
        (seed, blocks): (u64, u32),
        (own, shared): (f64, f64),
        factor: impl Fn(&str, u32, usize) -> f64,
    ) -> Vec<Trial> {
        let of_trial = |place: usize, block: u32| {
            let row = ROWS[place];
            let seed = 1000 * seed + 10 * u64::from(block) + place as u64;
            let each = noisy(ROUNDS * QUERIES, seed, |_| 0.0, own);
            let all = noisy(ROUNDS, 1_000_000_000 + seed, |_| 0.0, shared);
            let log = |round: usize, query: usize| {
                let passed = round as f64 / (ROUNDS - 1) as f64;
                each[round * QUERIES + query] + all[round] + passed * factor(row, block, query).ln()
            };
            let of_round = |round| (0..QUERIES).map(|query| log(round, query)).collect();
            let logs: Vec<Vec<f64>> = (0..ROUNDS).map(of_round).collect();
            trial(row, block, &logs)
        };
        let of_block = |block| (0..ROWS.len()).map(move |place| (place, block));
        let places = (0..blocks).flat_map(of_block);
        places
            .map(|(place, block)| of_trial(place, block))
            .collect()
    }

    const QUIET: (f64, f64) = (0.02, 0.01);

    fn doubled(row: &str, query: usize) -> f64 {
        if (row, query) == ("b", 3) { 2.0 } else { 1.0 }
    }

    #[test]
    fn a_query_that_slows_down_in_one_row_is_found_in_three_blocks() {
        let trials = run((1, 3), QUIET, |row, _, query| doubled(row, query));
        let drifts = drifts(&question(), &trials);
        let [drift] = drifts.as_slice() else {
            panic!("{drifts:?}");
        };
        let place = (drift.query.as_str(), drift.server.as_deref());
        assert_eq!(place, ("Q3", Some("b")));
        assert_eq!((drift.rounds, drift.trials), ((1, 3), 3));
        assert!((drift.ratio - 2.0).abs() < 0.2, "{}", drift.ratio);
    }

    #[test]
    fn noise_alone_is_hardly_ever_a_drift() {
        for noise in [(0.1, 0.1), (0.05, 0.15)] {
            let is_wrong = |seed: &u64| {
                let trials = run((*seed, 3), noise, |_, _, _| 1.0);
                !drifts(&question(), &trials).is_empty()
            };
            let wrong = (0..100).filter(is_wrong).count();
            assert!(wrong <= 6, "{wrong} of 100 with {noise:?}");
        }
    }

    #[test]
    fn a_small_trend_and_one_that_a_trial_lacks_are_none() {
        let found = |trials: &[Trial]| drifts(&question(), trials).len();
        let still = (0.002, 0.001);
        assert_eq!(found(&run((2, 3), still, |_, _, _| 1.06)), 0);
        assert_eq!(found(&run((2, 3), still, |_, _, _| 1.2)), 4 * QUERIES);
        let lacked = |row: &str, block: u32, query: usize| match block {
            5 => 0.9,
            _ => doubled(row, query),
        };
        assert_eq!(found(&run((3, 12), still, lacked)), 0);
        let whole = |row: &str, _: u32, query: usize| doubled(row, query);
        assert_eq!(found(&run((3, 12), still, whole)), 1);
    }

    /// Q1.3 and Q3.4 of bench/results/p2/little-data: InnoDB builds its adaptive hash index.
    #[test]
    fn the_hot_rounds_of_a_kept_record_drift_on_one_engine() {
        let innodb = [
            [(0.0540, 0.0210), (0.1532, 0.2571)],
            [(0.0385, 0.0222), (0.1590, 0.2301)],
            [(0.0557, 0.0227), (0.1696, 0.2190)],
            [(0.0526, 0.0209), (0.1392, 0.2515)],
            [(0.0560, 0.0207), (0.1505, 0.2480)],
        ];
        let myisam = [
            [(0.0114, 0.0109), (0.1317, 0.1552)],
            [(0.0114, 0.0120), (0.1390, 0.1526)],
            [(0.0126, 0.0113), (0.1481, 0.1384)],
            [(0.0110, 0.0107), (0.1227, 0.1341)],
            [(0.0115, 0.0101), (0.1329, 0.1267)],
        ];
        let of_block = |server: &str, block: usize, times: [(f64, f64); 2]| {
            let first = times.map(|(first, _)| f64::ln(first)).to_vec();
            let last = times.map(|(_, last)| f64::ln(last)).to_vec();
            let mut trial = trial(server, block as u32, &[first, last]);
            trial.flag(FlagKind::TookTurns, "in turn");
            trial
        };
        let rows = [("b", innodb), ("a", myisam)].into_iter();
        let trials: Vec<Trial> = rows
            .flat_map(|(server, blocks)| {
                let blocks = blocks.into_iter().enumerate();
                blocks.map(move |(block, times)| of_block(server, block, times))
            })
            .collect();
        let drifts = drifts(&question(), &trials);
        let found: Vec<(&str, Option<&str>, String)> = (drifts.iter())
            .map(|one| {
                let ratio = format!("{:.2}", one.ratio);
                (one.query.as_str(), one.server.as_deref(), ratio)
            })
            .collect();
        let expected = [("Q0", "0.42"), ("Q1", "1.56")];
        let expected = expected.map(|(query, ratio)| (query, Some("b"), ratio.to_string()));
        assert_eq!(found, expected);
    }

    #[test]
    fn one_trial_one_hot_round_and_a_failed_query_show_nothing() {
        let found = |trials: &[Trial]| drifts(&question(), trials).len();
        let whole = |row: &str, _: u32, query: usize| doubled(row, query);
        assert_eq!(found(&run((4, 1), QUIET, whole)), 0);
        let mut trials = run((4, 3), QUIET, whole);
        assert_eq!(found(&trials), 1);
        for trial in trials.iter_mut().skip(ROWS.len()) {
            trial.rounds[ROUNDS - 1].queries[3].error = Some("ERROR 1317".into());
        }
        assert_eq!(found(&trials), 0);
        for trial in &mut trials {
            trial.rounds.truncate(1);
        }
        assert_eq!(found(&trials), 0);
    }
}
