//! What two compared cells have in common: `Hot, `, `At 8 clients, `, `Hot, own plans: `.

use crate::format::capitalised;
use crate::names;
use record::{Cell, LoadFactor, Question, Run};

/// Its parts in words: round, query, levels.
pub(crate) struct ComparedPlace {
    parts: Vec<String>,
    /// Whether it is a number of clients, workers or requests alone.
    is_load: bool,
}

impl ComparedPlace {
    pub(crate) fn common(run: &Run, of: &Cell, to: &Cell) -> ComparedPlace {
        let round = of.round.as_ref().filter(|_| of.round == to.round);
        let round = round.map(ToString::to_string);
        let query = of.query.clone().filter(|_| of.query == to.query);
        let shared = of.levels.iter().filter(|level| to.levels.contains(level));
        let shared: Vec<(String, String)> = shared
            .filter_map(|(factor, levels)| match levels.as_slice() {
                [level] if factor == "server" => Some((factor.clone(), names::server(run, level))),
                [level] => Some((factor.clone(), level.clone())),
                _ => None,
            })
            .collect();
        ComparedPlace::of(&run.question, round.into_iter().chain(query), &shared)
    }

    /// Rounds and queries by their names, then the levels of factors that vary.
    pub(crate) fn of(
        question: &Question,
        named: impl Iterator<Item = String>,
        levels: &[(String, String)],
    ) -> ComparedPlace {
        let varying = levels.iter().filter(|(factor, _)| match factor.as_str() {
            "server" => question.servers.len() > 1,
            factor => names::varies(question, factor),
        });
        let varying: Vec<_> = varying.collect();
        let words = varying
            .iter()
            .map(|(factor, level)| names::level_alone(factor, level));
        let parts: Vec<String> = named.chain(words).collect();
        ComparedPlace {
            is_load: parts.len() == 1
                && varying
                    .iter()
                    .any(|(factor, _)| LoadFactor::named(factor).is_some()),
            parts,
        }
    }

    /// The start of a sentence about `subject`.
    pub(crate) fn before(&self, subject: &str) -> String {
        match self.parts.as_slice() {
            [] if subject.starts_with("the ") => capitalised(subject),
            [] => subject.to_string(),
            [one] if self.is_load => format!("At {one}, {subject}"),
            [one] => format!("{}, {subject}", capitalised(one)),
            parts => format!("{}: {subject}", capitalised(&parts.join(", "))),
        }
    }

    /// The part in which it differs from another one, if it is a single one.
    pub(crate) fn apart_from(&self, other: &ComparedPlace) -> Option<&str> {
        let mut own = self.parts.iter().filter(|part| !other.parts.contains(part));
        let is_alike = self.parts.len() == other.parts.len();
        match (own.next(), own.next()) {
            (Some(one), None) if is_alike => Some(one),
            _ => None,
        }
    }
}
