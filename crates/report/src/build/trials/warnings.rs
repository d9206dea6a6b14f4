//! The flags of all trials, grouped.

use crate::build::Context;
use crate::document::{Block, Cell, Column, ColumnContent, Forms, Most, Section, Table};
use crate::{format, names};
use record::{Flag, FlagKind};
use stats::by_key;
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
pub(crate) fn is_answer(flag: &Flag) -> bool {
    flag.kind == FlagKind::Search
}

/// Each warning once, the most frequent first.
pub(crate) fn section(context: &Context) -> Option<Section> {
    let found = by_key(context.trials.iter().flat_map(|trial| {
        let flags = trial.flags.iter().filter(|flag| !is_answer(flag));
        flags.map(move |flag| (flag, names::trial(context.run, &trial.key)))
    }));
    let found = found.into_iter();
    let mut found: Vec<Warning> = found
        .map(|(flag, trials)| Warning { flag, trials })
        .collect();
    found.sort_by_key(|warning| std::cmp::Reverse(warning.trials.len()));
    let columns = Column::list(&[
        (ColumnContent::Code, &["kind"]),
        (ColumnContent::Words, &["what", "where"]),
    ]);
    let rows = lines(&found, context.trials.len());
    let table = Table::new("", columns, rows).most(Most::in_terminal(MOST));
    let nodes = if found.is_empty() {
        Vec::new()
    } else {
        vec![
            Block::text(in_short(&found))
                .shown(Forms::TERMINAL)
                .on_first_screen(),
            Block::table(table).everywhere(),
        ]
    };
    Section::unless_empty("warnings", "Warnings", nodes)
}

/// `lukewarm (2 trials), setting_adjusted (15)`: each kind with its number of trials.
fn in_short(found: &[Warning]) -> String {
    let kinds = by_key(found.iter().flat_map(|warning| {
        let kind = warning.flag.kind.as_str();
        warning.trials.iter().map(move |trial| (kind, trial))
    }));
    let kinds = kinds.into_iter().enumerate();
    let kinds = kinds.map(|(place, (kind, trials))| {
        let trials = BTreeSet::from_iter(trials).len();
        match place {
            0 => format!("{kind} ({})", format::plural(trials, "trial")),
            _ => format!("{kind} ({trials})"),
        }
    });
    kinds.collect::<Vec<_>>().join(", ")
}

/// How many trials may have a text of their own about one kind before they share a line.
const OWN_TEXTS_MAX: usize = 3;

/// A line for each text. Texts that name the figures of one trial, as `cpu_steal` does, share one where there are many.
fn lines(found: &[Warning], all: usize) -> Vec<Vec<Cell>> {
    let of_one_trial = |kind: &FlagKind| -> Vec<&Warning> {
        let is_one = |one: &&Warning| one.flag.kind == *kind && one.trials.len() == 1;
        found.iter().filter(is_one).collect()
    };
    let mut shared: Vec<&FlagKind> = Vec::new();
    let mut lines = Vec::new();
    for warning in found {
        let kind = &warning.flag.kind;
        let alike = of_one_trial(kind);
        if warning.trials.len() > 1 || alike.len() <= OWN_TEXTS_MAX {
            lines.push(line(warning, all));
        } else if !shared.contains(&kind) {
            shared.push(kind);
            lines.push(shared_line(&alike));
        }
    }
    lines
}

/// `every trial`, `5.6 · small pool, block 2`, or the first and how many more.
fn line(warning: &Warning, all: usize) -> Vec<Cell> {
    let trials = Cell::first_of(&warning.trials);
    let place = match warning.trials.len() {
        many if many > 1 && many == all => Cell {
            text: "every trial".to_string(),
            ..trials
        },
        _ => trials,
    };
    vec![
        Cell::text(warning.flag.kind.as_str()),
        Cell::text(&warning.flag.text),
        place,
    ]
}

/// The text of the first trial, which is true of it alone; those of all are in the fold.
fn shared_line(alike: &[&Warning]) -> Vec<Cell> {
    let trials: Vec<&str> = alike.iter().map(|one| one.trials[0].as_str()).collect();
    let texts = alike.iter().zip(&trials);
    let texts: Vec<String> = texts
        .map(|(one, trial)| format!("{trial}: {}", one.flag.text))
        .collect();
    let flag = alike[0].flag;
    vec![
        Cell::text(flag.kind.as_str()),
        Cell::text(format!(
            "{}; the others have figures of their own",
            flag.text
        )),
        Cell {
            folded: Some(texts.join("; ")),
            ..Cell::first_of(&trials)
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::{OWN_TEXTS_MAX, Warning, lines};
    use record::{Flag, FlagKind};

    fn stolen(trials: usize) -> Vec<Flag> {
        let flag = |trial| Flag {
            kind: FlagKind::CpuSteal,
            text: format!("steal of {trial} %"),
        };
        (1..=trials).map(flag).collect()
    }

    fn of_each(flags: &[Flag]) -> Vec<Warning<'_>> {
        let warning = |(place, flag)| Warning {
            flag,
            trials: vec![format!("block {}", place + 1)],
        };
        flags.iter().enumerate().map(warning).collect()
    }

    fn shown(flags: &[Flag]) -> Vec<Vec<String>> {
        let texts = |line: Vec<super::Cell>| {
            let text = |cell: super::Cell| cell.folded.unwrap_or(cell.text);
            line.into_iter().map(text).collect()
        };
        lines(&of_each(flags), 100).into_iter().map(texts).collect()
    }

    #[test]
    fn many_texts_of_single_trials_share_a_line_that_keeps_them_in_its_fold() {
        let shown = shown(&stolen(OWN_TEXTS_MAX + 1));
        let fold = "block 1: steal of 1 %; block 2: steal of 2 %; block 3: steal of 3 %; block 4: steal of 4 %";
        let text = "steal of 1 %; the others have figures of their own";
        assert_eq!(shown, [["cpu_steal", text, fold]]);
    }

    #[test]
    fn figures_of_one_trial_are_not_said_of_every_trial() {
        let flags = stolen(OWN_TEXTS_MAX + 1);
        let lines = lines(&of_each(&flags), flags.len());
        assert_eq!(lines[0][2].text, "block 1 and 3 more");
    }

    #[test]
    fn a_few_texts_of_single_trials_have_a_line_each() {
        assert_eq!(shown(&stolen(OWN_TEXTS_MAX)).len(), OWN_TEXTS_MAX);
    }
}
