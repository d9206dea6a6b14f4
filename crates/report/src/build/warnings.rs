//! The flags of all trials, grouped.

use super::Context;
use crate::document::{Block, Cell, Column, Forms, Kind, Most, Section, Table};
use crate::{format, names};
use record::{Flag, FlagKind};
use std::collections::BTreeSet;

/// Warnings in the terminal.
const MOST: usize = 10;

/// A flag that one or more trials carry.
struct Warning<'t> {
    flag: &'t Flag,
    /// Names of the trials, in the order in which they ended.
    trials: Vec<String>,
}

/// Whether a flag is the result of a search, which is not a warning.
pub(super) fn is_answer(flag: &Flag) -> bool {
    flag.kind == FlagKind::Search
}

/// Each warning once, the most frequent first.
pub(super) fn section(context: &Context) -> Option<Section> {
    let mut found: Vec<Warning> = Vec::new();
    for trial in context.trials {
        for flag in trial.flags.iter().filter(|flag| !is_answer(flag)) {
            let name = names::trial(context.run, &trial.key);
            match found.iter_mut().find(|seen| seen.flag == flag) {
                Some(seen) => seen.trials.push(name),
                None => found.push(Warning {
                    flag,
                    trials: vec![name],
                }),
            }
        }
    }
    found.sort_by_key(|warning| std::cmp::Reverse(warning.trials.len()));
    let columns = Column::list(&[(Kind::Code, &["kind"]), (Kind::Words, &["what", "where"])]);
    let rows = found.iter().map(|one| cells(one, context.trials.len()));
    let table = Table::new("", columns, rows).most(Most::in_terminal(MOST));
    let nodes = match found.is_empty() {
        true => Vec::new(),
        false => vec![
            Block::text(in_short(&found))
                .shown(Forms::TERMINAL)
                .on_first_screen(),
            Block::table(table).everywhere(),
        ],
    };
    Section::of("warnings", "Warnings", nodes)
}

/// `lukewarm (2 trials), setting_adjusted (15)`: each kind with its number of trials.
fn in_short(found: &[Warning]) -> String {
    let mut kinds: Vec<(&str, BTreeSet<&str>)> = Vec::new();
    for warning in found {
        let kind = warning.flag.kind.as_str();
        let trials = warning.trials.iter().map(String::as_str);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, seen)) => seen.extend(trials),
            None => kinds.push((kind, trials.collect())),
        }
    }
    let kinds = kinds
        .iter()
        .enumerate()
        .map(|(place, (kind, trials))| match place {
            0 => format!("{kind} ({})", format::plural(trials.len(), "trial")),
            _ => format!("{kind} ({})", trials.len()),
        });
    kinds.collect::<Vec<_>>().join(", ")
}

fn cells(warning: &Warning, all: usize) -> Vec<Cell> {
    // `every trial`, `5.6 · small pool, block 2`, or the first and how many more.
    let place = match warning.trials.as_slice() {
        [one] => one.clone(),
        some if some.len() == all => "every trial".to_string(),
        [first, more @ ..] => format!("{first} and {} more", more.len()),
        [] => String::new(),
    };
    let folded = (warning.trials.len() > 1).then(|| warning.trials.join("; "));
    vec![
        Cell::text(warning.flag.kind.as_str()),
        Cell::text(&warning.flag.text),
        Cell {
            folded,
            ..Cell::text(place)
        },
    ]
}
