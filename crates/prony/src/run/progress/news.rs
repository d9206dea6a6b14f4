//! The lines that a run prints about finished trials.

use record::{LatencyKind, Percentile, Trial, TrialKey};
use spec::Experiment;
use spec::plan::estimate::seconds_text;
use std::collections::HashSet;

/// The warnings that were printed in full. After that, only their kinds are.
#[derive(Default)]
pub(crate) struct Said(HashSet<String>);

/// A trial and its place in the run: `[3/12] block 1, server=5.6, clients=8`, with the factors in which trials differ.
pub(crate) fn name(experiment: &Experiment, key: &TrialKey, place: usize, trials: usize) -> String {
    let varies = |name: &str| {
        let mut factors = experiment.factors.iter();
        let known = factors.find(|factor| factor.name == name);
        // The rates of a search are not in the file.
        known.is_none_or(|factor| factor.levels.len() > 1)
    };
    let server = key.server.as_ref().filter(|_| experiment.servers.len() > 1);
    let server = server.map(|server| format!("server={server}"));
    let levels = key.levels.iter().filter(|(factor, _)| varies(factor));
    let levels = levels.map(|(factor, level)| format!("{factor}={level}"));
    let parts = std::iter::once(format!("block {}", key.block + 1));
    let parts: Vec<String> = parts.chain(server).chain(levels).collect();
    let control = if key.is_control() { " (control)" } else { "" };
    format!("[{place}/{trials}] {}{control}", parts.join(", "))
}

/// The line of a finished trial: `[3/12] block 1, variant=small pool: cold 12.3 s, hot 4.5 s; 2 min left`.
pub(crate) fn line(name: &str, trial: &Trial, left_s: Option<f64>, said: &mut Said) -> String {
    let mut line = format!("{name}: {}", figures(trial));
    if let Some(left_s) = left_s.filter(|left_s| *left_s > 0.0) {
        line.push_str(&format!("; {} left", seconds_text(left_s)));
    }
    let mut again = Vec::new();
    for flag in &trial.flags {
        let warning = format!("{}: {}", flag.kind, flag.text.replace('\n', "\n      "));
        if said.0.insert(warning.clone()) {
            line.push_str(&format!("\n    {warning}"))
        } else {
            again.push(flag.kind.to_string())
        }
    }
    if !again.is_empty() {
        line.push_str(&format!("\n    as before: {}", again.join(", ")));
    }
    line
}

/// The figures of a trial: `cold 12.3 s, hot 4.5 s` or `12345.6 ops/s, p99 3.21 ms`.
fn figures(trial: &Trial) -> String {
    let Some(load) = &trial.load else {
        let rounds = trial.rounds.iter();
        let mark = |round: &record::Round| if round.timed_out() { "> " } else { "" };
        let rounds =
            rounds.map(|round| format!("{} {}{:.2} s", round.name, mark(round), round.elapsed_s));
        return rounds.collect::<Vec<_>>().join(", ");
    };
    let summary = stats::summary(load);
    let unstable = summary.offered.as_ref();
    let unstable = unstable.and_then(|offered| offered.unstable.clone());
    let response = summary.latency.of(LatencyKind::Response);
    let service = summary.latency.of(LatencyKind::Service);
    let p99 = response.or(service).and_then(|one| {
        let mark = if one.is_uncertain(Percentile::P99) {
            "~"
        } else {
            ""
        };
        Some((mark, one.at(Percentile::P99)?))
    });
    let offered = load.mode.rate();
    let offered = offered.map(|rate| format!("{rate:.0}/s offered"));
    let parts = [
        offered,
        summary.throughput.map(|rate| format!("{rate:.1} ops/s")),
        p99.map(|(mark, p99_ms)| format!("p99 {mark}{p99_ms:.2} ms")),
        (summary.errors > 0).then(|| format!("{} errors", summary.errors)),
        unstable,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::FlagKind;

    #[test]
    fn a_warning_that_was_printed_is_only_named_afterwards() {
        let mut trial = crate::run::measure::trial::blank();
        trial.flag(FlagKind::LoopVolume, "a file");
        let mut said = Said::default();
        let first = line("[1/2]", &trial, None, &mut said);
        trial.flag(FlagKind::VolatileVolume, "not a disk");
        let second = line("[2/2]", &trial, None, &mut said);
        assert!(first.ends_with("\n    loop_volume: a file"), "{first}");
        let named = "\n    volatile_volume: not a disk\n    as before: loop_volume";
        assert!(second.ends_with(named), "{second}");
    }
}
