//! How loads and rounds were divided, where servers took turns.

use crate::document::Document;
use crate::format;
use record::{Judged, Slices, Trial, TrialState, Value, Verdict};
use stats::{Budget, SliceFigures};

/// `Measured in slices of about 1 s (12 of 14 trials): ...`; None where no trial was.
pub(super) fn sentence<'t>(trials: impl Iterator<Item = &'t Trial>) -> Option<String> {
    let has_figures = |trial: &&Trial| trial.load.is_some() || !trial.rounds.is_empty();
    let measured: Vec<&Trial> = trials.filter(has_figures).collect();
    let count = |is: fn(&Trial) -> bool| measured.iter().filter(|trial| is(trial)).count();
    let in_turns = count(Trial::took_turns);
    let (some, others) = match (in_turns, measured.len()) {
        (0, _) => return None,
        (some, whole) if some < whole => (
            format!(" ({some} of {whole} trials)"),
            " The other trials ran one after another.",
        ),
        _ => (String::new(), ""),
    };
    let sharing = count(Trial::shares_server);
    let shared = if sharing > 0 { SHARED } else { "" };
    // A cell that no other joined.
    let alone = count(|trial| {
        !trial.shares_server() && trial.slices().is_some_and(|slices| slices.servers == 1)
    });
    let all_share = sharing > 0 && sharing + alone == in_turns;
    let stopped = match all_share {
        true => "",
        false => ", and the others were stopped meanwhile",
    };
    let sliced: Vec<&Slices> = measured.iter().filter_map(|trial| trial.slices()).collect();
    let most = sliced.iter().map(|slices| slices.servers).max();
    let lengths = sliced.iter().map(|slices| slices.length_s);
    let length = format::range(lengths, |length_s| length_s.to_string());
    Some(match (length, most) {
        (Some(length), Some(most)) => {
            let who = match all_share {
                true => "the cells of a group".to_string(),
                false => format!("up to {}", format::plural(most as usize, "server")),
            };
            format!(
                "Measured in slices of about {length} s{some}: {who} took turns within the same seconds{stopped}.{shared} \
                 A throughput is operations by the time in which clients were busy, and every operation counts with its whole latency. \
                 Cells of different groups did not share their seconds.{others}{}",
                pauses(&sliced, all_share),
            )
        }
        _ => {
            let who = if all_share { "cells" } else { "servers" };
            format!(
                "Measured query by query in turn{some}: the {who} of a group ran one query after another{stopped}.{shared} \
                 The time of a query is that of the query alone. Cells of different groups were measured one after another.{others}"
            )
        }
    })
}

/// Where cells took turns on one server.
const SHARED: &str = " Cells that differ only in what each session sets took turns on one server: one start and one buffer pool for all, \
                      connections of their own, and no statement from the others during a turn.";

/// Another length of trials is named where it costs at most this share.
const CHEAPER: f64 = 0.95;

/// What to buy next where a throughput is undecided and the run shows its noise. None otherwise.
///
/// `The ratio of two servers that take turns varies by 2.1 % from block to block (standard deviation): 1.5 % from start to start, 1.4 % within
/// 20 s. What is undecided about throughput needs about 31 blocks of 20 s, 24 min in all. 18 blocks of 45 s find the same in 20 min.`
pub(super) fn next(document: &Document, trials: &[Trial]) -> Option<String> {
    let (undecided, claims) = undecided(document);
    let blocks = undecided?;
    let controls = document.controls.iter().map(|control| control.trial);
    let all: Vec<&Trial> = trials.iter().chain(controls).collect();
    let figures = SliceFigures::of(all.iter().copied())?;
    let noise = figures.noise()?;
    // One that failed may have ended early.
    let is_whole = |trial: &&&Trial| trial.state == TrialState::Done && trial.slices().is_some();
    let first = all.iter().find(is_whole)?;
    let load = first.load.as_ref()?;
    let time_s = f64::from(stats::summary(load).steady.seconds());
    let warmup_s = load.warmup.known_s();
    let of_block = all
        .iter()
        .filter(|trial| trial.key.block == first.key.block);
    let budget = Budget {
        within_s: f64::INFINITY,
        trials: of_block.count() as u32,
        start_s: figures.start_s + warmup_s,
        second_s: figures.second_s,
        // The least that it proposes, unless the trials were shorter.
        time_s: time_s.min(f64::from(Slices::planned_s_min(warmup_s > 0.0))),
        chooses_time: true,
        blocks: 3,
        chooses_blocks: true,
        claims,
    };
    let cheapest = budget.cheapest(&noise, budget.finds(&noise, time_s, blocks)?)?;
    let costs_s = budget.costs_s(blocks, time_s);
    let cheapest_s = budget.costs_s(cheapest.blocks, cheapest.time_s);
    let other = match cheapest_s < CHEAPER * costs_s {
        true => format!(
            "{} blocks of {} s find the same in {}",
            cheapest.blocks,
            cheapest.time_s,
            minutes(cheapest_s)
        ),
        false => "Trials of another length find it no sooner".to_string(),
    };
    let percent = |variance: f64| format!("{:.1} %", variance.sqrt() * 100.0);
    let cells = match all.iter().any(|trial| trial.shares_server()) {
        true => "cells",
        false => "servers",
    };
    Some(format!(
        "The ratio of two {cells} that take turns varies by {} from block to block (standard deviation): {} from start to start, {} within {time_s} s. \
         What is undecided about throughput needs about {blocks} blocks of {time_s} s, {} in all. {other}.",
        percent(noise.of_block(time_s)),
        percent(noise.starts),
        percent(noise.second / time_s),
        minutes(costs_s),
    ))
}

fn minutes(seconds: f64) -> String {
    format!("{} min", format::count((seconds / 60.0).ceil()))
}

/// How many blocks decide all that is undecided about a throughput, and how many tests share the error rate. The open direction of a claim
/// whose verdict is decided asks for none.
fn undecided(document: &Document) -> (Option<u32>, usize) {
    let claims = document.claims.iter().map(|claim| &claim.judged);
    let contrasts = document.contrasts.iter();
    let contrasts = contrasts.filter(|contrast| contrast.subject.decides);
    let judged = claims.chain(contrasts.map(|contrast| &contrast.judged));
    let tested = judged.filter_map(|judged| Some((judged, judged.claim.subject.value()?)));
    let tested: Vec<(&Judged, &Value)> = tested.collect();
    let is_open =
        |judged: &Judged| document.claims.is_empty() || judged.verdict == Verdict::Inconclusive;
    let of_throughput = tested
        .iter()
        .filter(|(judged, value)| **value == Value::Throughput && is_open(judged));
    let blocks = of_throughput.filter_map(|(judged, _)| judged.blocks_to_decide);
    (blocks.max(), tested.len())
}

/// What pauses did to the servers, in sentences.
fn pauses(sliced: &[&Slices], all_share: bool) -> String {
    let firsts = sliced.iter().filter_map(|slices| {
        let all_s = slices.operation_s_mean.filter(|all_s| *all_s > 0.0)?;
        Some(slices.first_s_mean? / all_s)
    });
    let edges = sliced.iter().filter_map(|slices| slices.edges_share);
    let written = sliced
        .iter()
        .filter_map(|slices| slices.written_between_bytes);
    let written = written.map(|bytes| bytes as f64);
    let first = format::range(firsts, format::ratio).map(|range| {
        format!(
            " The first operation of a client after a pause took {range} times the mean latency."
        )
    });
    let edges = format::range(edges, format::percent).map(|range| {
        format!(" {range} of the clients' time was at the edges of slices, in first operations or after the end.")
    });
    let written = format::range(written, |bytes| format::bytes(bytes as u64));
    let written = written.map(|range| match all_share {
        true => format!(" Between the slices of a cell, {range} were written to the whole disk that holds its data, also by other programs."),
        false => format!(" While a server was paused, {range} were written to the whole disk that holds its data: by the other servers, by the kernel for it, and by other programs."),
    });
    [first, edges, written].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(first_s_mean: Option<f64>, written: u64) -> Slices {
        Slices {
            length_s: 1.0,
            count: 20,
            servers: 2,
            spanned_s: 40.0,
            finishing_s_max: 0.01,
            edges_share: Some(0.02),
            first_s_mean,
            first_s_max: None,
            operation_s_mean: Some(0.002),
            written_between_bytes: Some(written),
        }
    }

    #[test]
    fn minutes_are_whole_with_commas_between_thousands() {
        assert_eq!(minutes(61.0), "2 min");
        assert_eq!(minutes(163_830.0), "2,731 min");
    }

    #[test]
    fn what_pauses_did_is_said_in_sentences() {
        let (a, b) = (slices(Some(0.003), 1 << 20), slices(Some(0.002), 3 << 20));
        assert_eq!(
            pauses(&[&a, &b], false),
            " The first operation of a client after a pause took 1.00 to 1.50 times the mean latency. \
             2 % of the clients' time was at the edges of slices, in first operations or after the end. \
             While a server was paused, 1.0 MiB to 3.0 MiB were written to the whole disk that holds its data: by the other servers, by the kernel for it, and by other programs."
        );
        let older = Slices {
            edges_share: None,
            written_between_bytes: None,
            ..slices(None, 0)
        };
        assert_eq!(pauses(&[&older], false), "");
    }
}
