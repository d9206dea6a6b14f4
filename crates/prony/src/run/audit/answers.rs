//! Rule 7: checks every answer, against the reference if there is one, otherwise across servers and rounds.
//!
//! Purpose: a verdict for each query of a trial, and a flag for each wrong answer. Outside this module: the canonical form of an
//! answer, which the workload defines.

use crate::lock;
use record::visible::shortened;
use record::{Answer, Flag, FlagKind, Trial, answer_hash};
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// What is kept of an answer, to show where another one differs.
const SHOWN_BYTES: usize = 64 << 10;
/// A longer row is cut in a message.
const ROW_CHARS: usize = 200;

/// Why two right answers may differ.
const OPEN: &str = "LIMIT without a unique ORDER BY, now(), rand(), a collation or sql_mode that differs, GROUP_CONCAT without ORDER BY, decimals that a server rounds otherwise";

/// The first rows of the answers of this run, by hash.
#[derive(Debug, Default)]
pub(crate) struct Samples(Mutex<HashMap<String, Vec<String>>>);

impl Samples {
    /// Keeps the first rows of an answer, unless they are kept.
    pub(crate) fn keep(&self, hash: &str, answer: &workload::answers::Answer) {
        let mut kept = lock(&self.0);
        if !kept.contains_key(hash) {
            kept.insert(hash.to_string(), answer.first_rows(SHOWN_BYTES));
        }
    }

    /// Forgets the answers that no later one is compared with: a query with now() has another one each time.
    fn keep_only(&self, compared: &HashSet<&str>) {
        lock(&self.0).retain(|hash, _| compared.contains(hash.as_str()));
    }

    /// `row 3 is (7, b), there (7, c)`; None where the kept rows are the same, and where an answer is not of this run.
    fn difference(&self, hash: &str, other: &str) -> Option<String> {
        let kept = lock(&self.0);
        let (own, others) = (kept.get(hash)?, kept.get(other)?);
        let row = |rows: &[String], place: usize| match rows.get(place) {
            Some(row) => format!("({})", shortened(row, ROW_CHARS)),
            None => "missing".to_string(),
        };
        let places = 0..own.len().max(others.len());
        let mut differ = places.filter(|place| own.get(*place) != others.get(*place));
        let first = differ.next()?;
        let (own, other) = (row(own, first), row(others, first));
        Some(format!("row {} is {own}, there {other}", first + 1))
    }
}

/// The first answer to each query, and where it came from.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    seen: HashMap<(String, String), Seen>,
}

#[derive(Debug)]
struct Seen {
    hash: String,
    place: String,
    /// How many times this answer was seen.
    times: u32,
}

impl Answers {
    /// Compares the trial's answers with earlier ones, and remembers them. `dataset` names the data: answers from different data
    /// are not compared. Returns a flag for each wrong answer.
    pub(crate) fn check(
        &mut self,
        dataset: &str,
        trial: &mut Trial,
        samples: &Samples,
    ) -> Vec<Flag> {
        let mut flags = Vec::new();
        for round in &mut trial.rounds {
            for query in round
                .queries
                .iter_mut()
                .filter(|query| query.error.is_none())
            {
                let place = format!(
                    "{}, block {}, {} {}{}",
                    trial.key.server_name(),
                    trial.key.block + 1,
                    round.name,
                    round.index,
                    client_suffix(query.client)
                );
                if query.answer == Answer::Wrong {
                    continue; // the comparison with the reference has flagged it already
                }
                let seen = self
                    .seen
                    .entry((dataset.to_string(), query.name.clone()))
                    .or_insert_with(|| Seen {
                        hash: query.answer_hash.clone(),
                        place: place.clone(),
                        times: 0,
                    });
                let is_same = answer_hash::same(&seen.hash, &query.answer_hash);
                if is_same == Some(true) {
                    seen.times += 1;
                } else if is_same == Some(false) {
                    query.answer = Answer::Wrong;
                    let differs = samples.difference(&query.answer_hash, &seen.hash);
                    let differs = differs.map_or(String::new(), |differs| format!("; {differs}"));
                    flags.push(Flag {
                        kind: FlagKind::WrongAnswer,
                        text: format!(
                            "{}: {place} gave a different answer ({} rows) than {}{differs}. One of the two is wrong, unless the query leaves its answer open: {OPEN}",
                            query.name, query.rows, seen.place
                        ),
                    });
                }
            }
        }
        samples.keep_only(&self.seen.values().map(|seen| seen.hash.as_str()).collect());
        self.confirm(dataset, trial);
        flags
    }

    /// Marks answers as checked that were seen at least twice.
    fn confirm(&self, dataset: &str, trial: &mut Trial) {
        for query in trial.rounds.iter_mut().flat_map(|round| &mut round.queries) {
            let seen = self.seen.get(&(dataset.to_string(), query.name.clone()));
            let has_answer = query.error.is_none() && query.answer == Answer::Unchecked;
            if has_answer && seen.is_some_and(|seen| seen.times > 1) {
                query.answer = Answer::Ok;
            }
        }
    }
}

/// Names a client other than the first.
fn client_suffix(client: u32) -> String {
    match client {
        1 => String::new(),
        _ => format!(", client {client}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::measure::rounds::tests::trial_with_answers;
    use server::TakeAnswer;

    #[test]
    fn an_answer_that_differs_from_another_servers_is_wrong() {
        let mut answers = Answers::default();
        assert!(
            answers
                .check(
                    "ssb",
                    &mut trial_with_answers("5.5", &["a", "a"]),
                    &Samples::default()
                )
                .is_empty()
        );
        let mut other = trial_with_answers("5.6", &["b"]);
        let samples = Samples::default();
        let operation = workload::Operation::new("Q1.1", "select 1");
        for (hash, last) in [("a", "7"), ("b", "8")] {
            let mut answer = workload::answers::Answer::new(&operation);
            answer.row(&[Some(b"1"), Some(b"x")]);
            answer.row(&[Some(b"2"), Some(last.as_bytes())]);
            samples.keep(hash, &answer);
        }
        let flags = answers.check("ssb", &mut other, &samples);
        assert_eq!(other.rounds[0].queries[0].answer, Answer::Wrong);
        assert!(
            flags[0]
                .text
                .contains("5.6, block 1, hot 1 gave a different answer"),
            "{}",
            flags[0].text
        );
        let first = "row 2 is (2, 8), there (2, 7)";
        assert!(flags[0].text.contains(first), "{}", flags[0].text);
        let kept = samples.0.into_inner().unwrap();
        let kept: Vec<&String> = kept.keys().collect();
        assert_eq!(kept, ["a"], "the first answer");
    }

    #[test]
    fn a_single_answer_is_unchecked_and_two_equal_answers_are_ok() {
        let mut alone = trial_with_answers("5.5", &["a"]);
        Answers::default().check("ssb", &mut alone, &Samples::default());
        assert_eq!(alone.rounds[0].queries[0].answer, Answer::Unchecked);
        let mut twice = trial_with_answers("5.5", &["a", "a"]);
        Answers::default().check("ssb", &mut twice, &Samples::default());
        assert!(
            twice
                .rounds
                .iter()
                .all(|round| round.queries[0].answer == Answer::Ok)
        );
    }

    #[test]
    fn a_query_that_was_stopped_has_no_answer_to_confirm() {
        let mut trial = trial_with_answers("5.5", &["a", "a", ""]);
        trial.rounds[2].queries[0].error = Some(record::QueryError::TimedOut { limit_s: 1.0 });
        Answers::default().check("ssb", &mut trial, &Samples::default());
        let answer = |round: usize| trial.rounds[round].queries[0].answer;
        assert_eq!((answer(1), answer(2)), (Answer::Ok, Answer::Unchecked));
    }

    #[test]
    fn answers_from_different_data_are_not_compared() {
        let mut answers = Answers::default();
        let samples = Samples::default();
        answers.check("scale 1", &mut trial_with_answers("5.5", &["a"]), &samples);
        assert!(
            answers
                .check("scale 2", &mut trial_with_answers("5.5", &["b"]), &samples)
                .is_empty()
        );
    }
}
