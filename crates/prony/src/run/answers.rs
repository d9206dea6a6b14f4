//! Rule 7: every answer is checked, against the reference where there is one, else across servers and rounds.
//!
//! Goal: a verdict for each query of a trial, and one sentence for each wrong one. Non-goal: the canonical form of an
//! answer, which is the workload's.

use record::{Answer, Flag, FlagKind, Trial};
use std::collections::HashMap;

/// The first answer that was seen to each question, with where it came from.
#[derive(Debug, Default)]
pub struct Answers {
    seen: HashMap<(String, String), Seen>,
}

#[derive(Debug)]
struct Seen {
    hash: String,
    place: String,
    /// How often it was given.
    times: u32,
}

impl Answers {
    /// Judges the queries that had no reference (`Unchecked`), and takes them in as something to compare with.
    /// `dataset` names the data: answers to different data are not compared. Returns a flag for each wrong answer.
    pub fn check(&mut self, dataset: &str, trial: &mut Trial) -> Vec<Flag> {
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
                    whose(query.client)
                );
                if query.answer == Answer::Wrong {
                    continue; // the reference has spoken, and the workload has said what differs
                }
                let seen = self
                    .seen
                    .entry((dataset.to_string(), query.name.clone()))
                    .or_insert_with(|| Seen {
                        hash: query.answer_hash.clone(),
                        place: place.clone(),
                        times: 0,
                    });
                if seen.hash == query.answer_hash {
                    seen.times += 1;
                } else {
                    query.answer = Answer::Wrong;
                    flags.push(Flag {
                        kind: FlagKind::WrongAnswer,
                        text: format!(
                            "{}: {place} gave another answer ({} rows) than {}: one of the two is wrong",
                            query.name, query.rows, seen.place
                        ),
                    });
                }
            }
        }
        self.confirm(dataset, trial);
        flags
    }

    /// An answer that was given at least twice, alike, counts as checked.
    fn confirm(&self, dataset: &str, trial: &mut Trial) {
        for query in trial.rounds.iter_mut().flat_map(|round| &mut round.queries) {
            let seen = self.seen.get(&(dataset.to_string(), query.name.clone()));
            if query.answer == Answer::Unchecked && seen.is_some_and(|seen| seen.times > 1) {
                query.answer = Answer::Ok;
            }
        }
    }
}

/// Nothing for the first client, who may be the only one.
fn whose(client: u32) -> String {
    match client {
        1 => String::new(),
        _ => format!(", client {client}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::rounds::tests::trial_with_answers;

    #[test]
    fn an_answer_that_differs_from_the_other_server_is_wrong() {
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
                .contains("5.6, block 1, hot 1 gave another answer"),
            "{}",
            flags[0].text
        );
    }

    #[test]
    fn one_answer_alone_is_unchecked_and_two_alike_are_ok() {
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
    fn answers_to_other_data_are_not_compared() {
        let mut answers = Answers::default();
        answers.check("scale 1", &mut trial_with_answers("5.5", &["a"]));
        assert!(
            answers
                .check("scale 2", &mut trial_with_answers("5.5", &["b"]))
                .is_empty()
        );
    }
}
