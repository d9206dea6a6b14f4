//! The part of an experiment that goes into the record.

use super::{Experiment, RoundKind};
use record::{Factor, Question, WorkloadNote};

/// `trials` is the size of the whole matrix (all blocks, this part); the workload describes itself.
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
        looks: experiment.protocol.looks.clone(),
        workload,
        claims: experiment.claims.clone(),
        trials,
    }
}

/// The factors of the file. A searched rate is a factor whose levels are not known in advance.
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
    if experiment.search().is_some() {
        factors.push(Factor {
            name: "rate".to_string(),
            levels: Vec::new(),
        });
    }
    factors
}

impl RoundKind {
    /// The name in the file and in the record.
    pub fn name(self) -> &'static str {
        match self {
            RoundKind::Cold => "cold",
            RoundKind::Hot => "hot",
        }
    }
}
