//! The part of an experiment that goes into the record.

use super::{Experiment, RoundKind};
use record::{Factor, Question, WorkloadNote};

/// `trials` is the size of the whole matrix (all blocks, this part); the workload describes itself.
pub fn question(experiment: &Experiment, trials: u64, workload: WorkloadNote) -> Question {
    let servers = experiment.servers.iter().map(|one| one.name.clone());
    let rounds = experiment.protocol.rounds.iter();
    Question {
        name: experiment.name.clone(),
        title: experiment.title.clone(),
        question: experiment.question.clone(),
        published: experiment.published.clone(),
        servers: servers.collect(),
        factors: factors(experiment),
        rounds: rounds.map(|round| round.name().to_string()).collect(),
        blocks: experiment.protocol.blocks,
        looks: experiment.protocol.looks.clone(),
        workload,
        claims: experiment.claims.clone(),
        trials,
    }
}

/// The factors of the file. A searched rate is a factor whose levels are not known in advance.
fn factors(experiment: &Experiment) -> Vec<Factor> {
    let named = experiment.factors.iter().map(|factor| Factor {
        name: factor.name.clone(),
        levels: (factor.levels.iter().map(|level| level.name.clone())).collect(),
    });
    let searched = experiment.search().map(|_| Factor {
        name: "rate".to_string(),
        levels: Vec::new(),
    });
    named.chain(searched).collect()
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
