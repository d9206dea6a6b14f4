//! Rule 7: checks every answer, against the reference if there is one, otherwise across servers and rounds.
//!
//! Purpose: a verdict for each query of a trial, and a flag for each wrong answer. Outside this module: the canonical form of an
//! answer, which the workload defines.

use record::{Answer, Flag, FlagKind, Trial, answer_hash};
use std::collections::HashMap;

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
    pub(crate) fn check(&mut self, dataset: &str, trial: &mut Trial) -> Vec<Flag> {
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
                    flags.push(Flag {
                        kind: FlagKind::WrongAnswer,
                        text: format!(
                            "{}: {place} gave a different answer ({} rows) than {}: one of the two is wrong, unless the query leaves its answer open (LIMIT without a unique ORDER BY, now(), rand())",
                            query.name, query.rows, seen.place
                        ),
                    });
                }
            }
        }
        self.confirm(dataset, trial);
        flags
    }

    /// Marks answers as checked that were seen at least twice.
    fn confirm(&self, dataset: &str, trial: &mut Trial) {
        for query in trial.rounds.iter_mut().flat_map(|round| &mut round.queries) {
            let seen = self.seen.get(&(dataset.to_string(), query.name.clone()));
            if query.answer == Answer::Unchecked && seen.is_some_and(|seen| seen.times > 1) {
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

    #[test]
    fn an_answer_that_differs_from_another_servers_is_wrong() {
        let mut answers = Answers::default();
        assert!(
            answers
                .check("ssb", &mut trial_with_answers("5.5", &["a", "a"]))
                .is_empty()
        );
        let mut other = trial_with_answers("5.6", &["b"]);
        let flags = answers.check("ssb", &mut other);
        assert_eq!(other.rounds[0].queries[0].answer, Answer::Wrong);
        assert!(
            flags[0]
                .text
                .contains("5.6, block 1, hot 1 gave a different answer"),
            "{}",
            flags[0].text
        );
    }

    #[test]
    fn a_single_answer_is_unchecked_and_two_equal_answers_are_ok() {
        let mut alone = trial_with_answers("5.5", &["a"]);
        Answers::default().check("ssb", &mut alone);
        assert_eq!(alone.rounds[0].queries[0].answer, Answer::Unchecked);
        let mut twice = trial_with_answers("5.5", &["a", "a"]);
        Answers::default().check("ssb", &mut twice);
        assert!(
            twice
                .rounds
                .iter()
                .all(|round| round.queries[0].answer == Answer::Ok)
        );
    }

    #[test]
    fn answers_from_different_data_are_not_compared() {
        let mut answers = Answers::default();
        answers.check("scale 1", &mut trial_with_answers("5.5", &["a"]));
        assert!(
            answers
                .check("scale 2", &mut trial_with_answers("5.5", &["b"]))
                .is_empty()
        );
    }
}
