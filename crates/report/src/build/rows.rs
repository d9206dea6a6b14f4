//! The rows of the matrix with what the sections need of each: its name, its figures, its trials.

use crate::document::Block;
use crate::names;
use explain::RowName;
use record::{Run, Trial, TrialState};
use stats::Row as Figures;

pub(crate) struct Rows<'a> {
    pub list: Vec<Row<'a>>,
    /// Factors in which rows differ.
    pub varying: Vec<&'a str>,
}

pub(crate) struct Row<'a> {
    pub figures: Figures,
    pub name: String,
    /// Its server with the version, if it has one.
    pub server: Option<String>,
    /// Every trial of the row, by block.
    pub all: Vec<&'a Trial>,
    /// The trials that count.
    pub trials: Vec<&'a Trial>,
}

impl<'a> Rows<'a> {
    pub(crate) fn of(run: &'a Run, trials: &'a [Trial]) -> Rows<'a> {
        let question = &run.question;
        let row = |figures: Figures| {
            let is_own = |trial: &&Trial| {
                trial.key.server == figures.server && trial.key.levels == figures.levels
            };
            let mut all: Vec<&Trial> = trials.iter().filter(is_own).collect();
            all.sort_by_key(|trial| trial.key.block);
            let counts = |trial: &&&Trial| trial.state == TrialState::Done;
            Row {
                name: names::row(run, figures.server.as_deref(), &figures.levels),
                server: figures
                    .server
                    .as_deref()
                    .map(|name| names::server(run, name)),
                trials: all.iter().filter(counts).copied().collect(),
                figures,
                all,
            }
        };
        let factors = question.factors.iter().map(|factor| factor.name.as_str());
        Rows {
            list: stats::table(question, trials)
                .into_iter()
                .map(row)
                .collect(),
            varying: factors
                .filter(|name| names::varies(question, name))
                .collect(),
        }
    }

    pub(crate) fn position(&self, (server, levels): &RowName) -> Option<usize> {
        self.list
            .iter()
            .position(|row| row.figures.server == *server && row.figures.levels == *levels)
    }

    /// The heads of the columns that name a row.
    pub(crate) fn label_heads(&self) -> Vec<&'a str> {
        let server = self.list.iter().find_map(Row::server_head);
        server
            .into_iter()
            .chain(self.varying.iter().copied())
            .collect()
    }
}

impl Row<'_> {
    /// The head of the column of servers; none for a target that is not a server.
    pub(crate) fn server_head(&self) -> Option<&'static str> {
        self.figures.server.as_ref().map(|_| "server")
    }

    /// Its server, if it has one, and its levels of these factors.
    pub(crate) fn labels(&self, factors: &[impl AsRef<str>]) -> Vec<String> {
        let levels = factors
            .iter()
            .map(|factor| self.level(factor.as_ref()).unwrap_or_default());
        let labels = self.server.as_deref().into_iter().chain(levels);
        labels.map(String::from).collect()
    }

    pub(crate) fn level(&self, factor: &str) -> Option<&str> {
        let mut levels = self.figures.levels.iter();
        let found = levels.find(|(name, _)| name == factor);
        found.map(|(_, level)| level.as_str())
    }
}

/// Why a trial of a row does not count; none if it does.
pub(crate) fn left_out(trial: &Trial) -> Option<String> {
    let state = match trial.state {
        TrialState::Done => return None,
        TrialState::Failed => "failed",
        TrialState::Invalid => "is invalid",
    };
    let why = trial.reason().unwrap_or("no reason is recorded");
    let block = trial.key.block + 1;
    Some(format!("block {block} {state} and is not counted: {why}"))
}

/// Footnotes, each text once.
#[derive(Default)]
pub(crate) struct Notes {
    pub texts: Vec<String>,
}

impl Notes {
    /// The number of the note with this text.
    pub(crate) fn number(&mut self, text: String) -> usize {
        let known = self.texts.iter().position(|seen| *seen == text);
        let place = known.unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        });
        place + 1
    }

    /// None without a note.
    pub(crate) fn block(self) -> Option<Block> {
        (!self.texts.is_empty()).then_some(Block::Notes(self.texts))
    }
}
