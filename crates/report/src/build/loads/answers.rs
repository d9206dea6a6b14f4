//! Questions that the loads answer, in sentences: the best number of workers, the highest rate that a search found.

use crate::build::Context;
use crate::build::trials::warnings::is_answer;
use crate::{format, names};
use record::Trial;
use stats::BestWorkers;

/// One sentence for each row that has an answer, and for each search that ended.
pub(super) fn answers(context: &Context) -> Vec<String> {
    let best = stats::best_workers(&context.run.question, context.trials);
    let several = best.iter().filter(|best| best.points.len() > 1);
    let workers = several.map(|best| workers(context, best));
    let searched = context
        .trials
        .iter()
        .flat_map(|trial| searched(context, trial));
    workers.chain(searched).collect()
}

/// The last trial of a search has its result as a flag: `5.6, block 1: the maximum rate at which ...`.
fn searched(context: &Context, trial: &Trial) -> Vec<String> {
    let mut key = trial.key.clone();
    key.levels.retain(|(factor, _)| factor != "rate");
    let name = names::trial(context.run, &key);
    let found = trial.flags.iter().filter(|flag| is_answer(flag));
    found.map(|flag| format!("{name}: {}", flag.text)).collect()
}

/// `5.6 · 60% of max: p99 latency is lowest with 16 workers (15.7 ms); not certainly worse with 32 workers; unstable with 1, 2 workers`
fn workers(context: &Context, best: &BestWorkers) -> String {
    let row = names::row(context.run, best.server.as_deref(), &best.levels);
    let list = |numbers: &[u32]| {
        let written: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let word = if numbers == [1] { "worker" } else { "workers" };
        format!("{} {word}", written.join(", "))
    };
    let mut points = best.points.iter();
    let p99 = points.find(|(workers, _)| Some(*workers) == best.best);
    let mut text = match (best.best, p99.and_then(|(_, p99)| p99.as_ref())) {
        (Some(workers), Some(p99)) => format!(
            "{row}: p99 latency is lowest with {} ({}{} ms)",
            format::plural(workers as usize, "worker"),
            if best.uncertain.contains(&workers) {
                "~"
            } else {
                ""
            },
            format::with_interval(p99.mean, p99.ci, format::milliseconds)
        ),
        _ => format!("{row}: no number of workers has a p99 latency to compare"),
    };
    if !best.ties.is_empty() {
        text.push_str(&format!("; not certainly worse with {}", list(&best.ties)));
    }
    if !best.unstable.is_empty() {
        text.push_str(&format!("; unstable with {}", list(&best.unstable)));
    }
    text
}
