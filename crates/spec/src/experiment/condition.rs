//! `when = "checkpoint_age > 80%"`: a state of the server and a threshold.
//!
//! Purpose: reads the text with its place, and decides whether a value meets it. Boundaries: `record::State` names the states, the
//! sampler of a timed load reads them every second.

use crate::file::read::Node;
use crate::text::unit;
use record::State;
use std::fmt::{Display, Formatter};

const EXAMPLE: &str = "when = \"checkpoint_age > 80%\"";

/// A state that an event waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    pub state: State,
    pub side: Side,
    pub threshold: Threshold,
}

/// On which side of the threshold the value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Above,
    Below,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// In the unit of the state.
    Value(f64),
    /// In per cent of the state's limit.
    Percent(f64),
}

impl Condition {
    /// Whether the states of a second meet the condition; `get` returns the value of a state, if it is known.
    pub fn is_met(&self, get: impl Fn(State) -> Option<f64>) -> bool {
        let met = || {
            let value = get(self.state)?;
            let threshold = match self.threshold {
                Threshold::Value(threshold) => threshold,
                Threshold::Percent(percent) => get(self.state.limit()?)? * percent / 100.0,
            };
            Some(match self.side {
                Side::Above => value > threshold,
                Side::Below => value < threshold,
            })
        };
        met().unwrap_or(false)
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let side = match self.side {
            Side::Above => '>',
            Side::Below => '<',
        };
        write!(f, "{} {side} ", self.state.key())?;
        match self.threshold {
            Threshold::Value(value) => write!(f, "{value}"),
            Threshold::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// Reads a condition, or notes a mistake.
pub(crate) fn condition(node: &Node) -> Option<Condition> {
    let text = node.words(EXAMPLE)?;
    let sides = [('>', Side::Above), ('<', Side::Below)];
    let parts = sides.iter().find_map(|(sign, side)| {
        let (name, threshold) = text.split_once(*sign)?;
        Some((name.trim(), *side, threshold.trim()))
    });
    let Some((name, side, threshold)) = parts else {
        node.note(
            format!("\"{text}\" is not a condition: it needs a state, < or >, and a threshold"),
            "not a condition",
            format!("write {EXAMPLE}"),
        );
        return None;
    };
    let Some(state) = State::named(name) else {
        let known: Vec<String> = State::ALL.iter().map(|state| state.key()).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        node.notes.unknown(node.at(), "the state", name, &known);
        return None;
    };
    Some(Condition {
        state,
        side,
        threshold: read_threshold(node, state, threshold)?,
    })
}

fn read_threshold(node: &Node, state: State, text: &str) -> Option<Threshold> {
    let share = unit::share(text).map(|share| Threshold::Percent(unit::percent(share)));
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0);
    let size = || unit::size_bytes(text).ok().map(|bytes| bytes as f64);
    match (share, number.or_else(size)) {
        (Ok(_), _) if state.limit().is_none() => {
            node.note(
                format!(
                    "{} has no limit that a percentage could refer to",
                    state.key()
                ),
                "not a percentage",
                format!("write a number: when = \"{} > 1000\"", state.key()),
            );
            None
        }
        (Ok(percent), _) => Some(percent),
        (Err(_), Some(value)) => Some(Threshold::Value(value)),
        (Err(_), None) => {
            node.note(
                format!("\"{text}\" is not a threshold: write a number, a size or a percentage"),
                "not a threshold",
                format!("write {EXAMPLE}"),
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::read::read_text;

    fn read(text: &str) -> Result<Condition, String> {
        let read = read_text(&format!("when = '{text}'"), |section| {
            condition(&section.get("when")?)
        });
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn a_condition_has_a_state_a_side_and_a_threshold() {
        for (text, value, expected) in [
            ("checkpoint_age > 80%", 81.0, true),
            ("checkpoint_age > 80%", 80.0, false),
            ("checkpoint age > 50", 51.0, true),
            ("checkpoint_age<1K", 1023.0, true),
            ("checkpoint_age < 1K", 1024.0, false),
        ] {
            let get = |state: State| match state {
                State::CheckpointAge => Some(value),
                State::CheckpointAgeLimit => Some(100.0),
                _ => None,
            };
            assert_eq!(
                read(text).unwrap().is_met(get),
                expected,
                "{text} of {value}"
            );
        }
    }

    #[test]
    fn a_state_that_is_not_known_meets_no_condition() {
        for text in ["checkpoint_age > 80%", "dirty_pages < 10"] {
            assert!(!read(text).unwrap().is_met(|_| None), "{text}");
        }
    }

    #[test]
    fn a_condition_is_shown_as_it_is_written() {
        for text in ["checkpoint_age > 80%", "history_length < 1000"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_wrong_condition_names_what_is_allowed() {
        for (text, says) in [
            ("checkpoint_age", "not a condition"),
            ("checkpoint_agee > 1", "checkpoint_age"),
            ("history_length > 5%", "has no limit"),
            ("dirty_pages > many", "is not a threshold"),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.contains(says), "{text}: {found}");
        }
    }
}
