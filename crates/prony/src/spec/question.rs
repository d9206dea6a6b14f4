//! What of an experiment goes into the record.

use super::experiment::{Experiment, LoadSpec, RoundKind};
use record::{Factor, Question, WorkloadNote};

/// `trials` is the size of the whole matrix (all blocks, this shard); the workload describes itself.
pub fn question(experiment: &Experiment, trials: u64, workload: WorkloadNote) -> Question {
    Question {
        name: experiment.name.clone(),
        title: experiment.title.clone(),
        question: experiment.question.clone(),
        published: experiment.published.clone(),
        servers: experiment
            .servers
            .iter()
            .map(|server| server.name.clone())
            .collect(),
        factors: factors(experiment),
        rounds: experiment
            .protocol
            .rounds
            .iter()
            .map(|round| round.name().to_string())
            .collect(),
        blocks: experiment.protocol.blocks,
        workload,
        claims: experiment.claims.clone(),
        trials,
    }
}

/// The file's factors, and `clients` where it has several levels.
fn factors(experiment: &Experiment) -> Vec<Factor> {
    let mut factors: Vec<Factor> = experiment
        .factors
        .iter()
        .map(|factor| Factor {
            name: factor.name.clone(),
            levels: factor
                .levels
                .iter()
                .map(|level| level.name.clone())
                .collect(),
        })
        .collect();
    let LoadSpec::Closed { clients } = &experiment.load;
    if clients.len() > 1 {
        factors.push(Factor {
            name: "clients".to_string(),
            levels: clients.iter().map(u32::to_string).collect(),
        });
    }
    factors
}

impl RoundKind {
    /// As it is written in the file and in the record.
    pub fn name(self) -> &'static str {
        match self {
            RoundKind::Cold => "cold",
            RoundKind::Hot => "hot",
        }
    }
}
