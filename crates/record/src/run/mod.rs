//! One run: its question and its environment.

pub mod environment;
pub(crate) mod looks;
pub(crate) mod sharing;

use crate::claim::{Claim, Judged};
use crate::text::number::plural;
use environment::Environment;
use looks::Looks;
use serde::{Deserialize, Serialize};
use sharing::Sharing;

/// One execution of an experiment; the first row of `run.sqlite`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The folder's name: experiment, then the time it began, then a suffix where two began at once.
    pub id: String,
    /// The experiment file, verbatim.
    pub experiment_toml: String,
    /// Changes on the command line, as arguments (`["--scale", "0.1"]`), without passwords.
    pub overrides: Vec<String>,
    pub question: Question,
    pub seed: u64,
    /// `2/4` where only a part of the matrix was requested.
    #[serde(alias = "shard")]
    pub part: Option<String>,
    /// None if the run offered the whole load of its trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
    pub started_ns: i64,
    pub environment: Environment,
    /// None for a whole record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slim: Option<Slim>,
}

/// What a slim record has in the place of the series and histograms of the whole one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slim {
    /// The prony that made it.
    pub prony_version: String,
    /// The version of the rules that made the summaries of its loads. They cannot be made again.
    pub rules: u32,
    /// The verdicts of the whole record, in the order of the question's claims.
    pub verdicts: Vec<Judged>,
}

impl Slim {
    /// `slim record, figures by rules 7`
    pub fn text(&self) -> String {
        format!("slim record, figures by rules {}", self.rules)
    }
}

/// The checked experiment, as far as a reader of the results needs it. Everything is in the file's order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The file's stem: `old-blocks-time`.
    pub name: String,
    pub title: String,
    pub question: String,
    /// The published block it reproduces: `P1`.
    pub published: Option<String>,
    /// The names of the servers.
    pub servers: Vec<String>,
    /// All other factors, `variant` among them.
    pub factors: Vec<Factor>,
    /// Names of the rounds of a trial, in order, as requested: `["cold", "hot", "hot"]`.
    pub rounds: Vec<String>,
    /// The largest number of blocks of a cell.
    pub blocks: u32,
    /// When the claims are judged; none for a fixed number of blocks, judged once.
    #[serde(default)]
    pub looks: Option<Looks>,
    pub workload: WorkloadNote,
    pub claims: Vec<Claim>,
    /// Number of trials of the whole matrix (all blocks, this part).
    pub trials: u64,
}

impl Question {
    /// When the claims are judged.
    pub fn looks(&self) -> Looks {
        let fixed = || Looks::fixed(self.blocks);
        self.looks.clone().unwrap_or_else(fixed)
    }

    /// Whether it searches for a rate: a factor then has no known levels, and `trials` is the number of searches.
    pub fn is_search(&self) -> bool {
        self.factors.iter().any(|factor| factor.levels.is_empty())
    }

    /// `9 of 12 trials`; `7 trials` of a search, which does not know beforehand how many it takes.
    pub fn progress(&self, trials: u64) -> String {
        match !self.is_search() && trials <= self.trials {
            true => format!("{trials} of {}", plural(self.trials as usize, "trial")),
            false => plural(trials as usize, "trial"),
        }
    }

    /// `["cold", "hot"]`: each name once, in order.
    pub fn round_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in &self.rounds {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    pub name: String,
    pub levels: Vec<String>,
}

/// The workload's description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadNote {
    /// `ssb`.
    pub name: String,
    /// One line: `Star Schema Benchmark, scale 0.1`.
    pub summary: String,
    /// The operations in order: `Q1.1`, ...
    pub operations: Vec<String>,
}
