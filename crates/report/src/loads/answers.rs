//! Questions that the loads answer, in sentences: the best number of workers, the largest rate that was searched for.

use crate::{digest, format, names};
use record::stats::{self, BestWorkers};
use record::{Run, Trial};

/// One sentence for each row that has an answer, and for each search that ended.
pub fn answers(run: &Run, trials: &[Trial]) -> Vec<String> {
    let best = stats::best_workers(&run.question, trials);
    let several = best.iter().filter(|best| best.points.len() > 1);
    let workers = several.map(|best| workers(run, best));
    workers
        .chain(trials.iter().flat_map(|trial| searched(run, trial)))
        .collect()
}

/// `5.6, block 1: the highest rate at which ... is 412 a second; at 425 they are not`: the last trial of a search has it as
/// a flag.
fn searched(run: &Run, trial: &Trial) -> Vec<String> {
    let mut key = trial.key.clone();
    key.levels.retain(|(factor, _)| factor != "rate");
    let found = trial.flags.iter().filter(|flag| digest::is_answer(flag));
    found
        .map(|flag| format!("{}: {}", names::trial(&run.question, &key), flag.text))
        .collect()
}

/// `5.6 · 60% of max: 16 workers answer best (99 % within 15.7 ms); 32 are not certainly worse; unstable with 1, 2`
fn workers(run: &Run, best: &BestWorkers) -> String {
    let row = names::row(&run.question, best.server.as_deref(), &best.levels);
    let list = |numbers: &[u32]| {
        numbers
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let p99 = best
        .points
        .iter()
        .find(|(workers, _)| Some(*workers) == best.best);
    let mut text = match (best.best, p99.and_then(|(_, p99)| p99.as_ref())) {
        (Some(workers), Some(p99)) => format!(
            "{row}: {} best (99 % within {} ms)",
            match workers {
                1 => "1 worker answers".to_string(),
                _ => format!("{workers} workers answer"),
            },
            format::milliseconds(p99.mean)
        ),
        _ => format!("{row}: no number of workers has a 99th percentile to compare"),
    };
    if !best.ties.is_empty() {
        text.push_str(&format!("; not certainly worse: {}", list(&best.ties)));
    }
    if !best.unstable.is_empty() {
        text.push_str(&format!("; unstable: {}", list(&best.unstable)));
    }
    text
}
