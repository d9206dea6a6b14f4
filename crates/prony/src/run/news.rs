//! The lines that a run prints about finished trials.

use record::{Kind, Percentile, Trial, stats};

/// The line of a finished trial: `[3/12] block 1: 5.6 small pool: cold 12.3 s, hot 4.5 s`.
pub(super) fn line(trial: &Trial, place: usize, trials: usize) -> String {
    let mut line = format!(
        "[{place}/{trials}] block {}: {}: {}",
        trial.key.block + 1,
        trial.key.label(),
        figures(trial)
    );
    for flag in &trial.flags {
        line.push_str(&format!(
            "\n    {}: {}",
            flag.kind,
            flag.text.replace('\n', "\n      ")
        ));
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
    let response = summary.latency.of(Kind::Response);
    let service = summary.latency.of(Kind::Service);
    let p99 = response.or(service).and_then(|one| {
        let mark = if one.is_uncertain(Percentile::P99) {
            "~"
        } else {
            ""
        };
        Some((mark, one.at(Percentile::P99)?))
    });
    let parts = [
        summary.throughput.map(|rate| format!("{rate:.1} ops/s")),
        p99.map(|(mark, p99_ms)| format!("p99 {mark}{p99_ms:.2} ms")),
        (summary.errors > 0).then(|| format!("{} errors", summary.errors)),
        unstable,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
