//! The effect of an event: throughput and latency before, during and after it.

use super::measured::throughput;
use super::percentiles::of_notes;
use super::summary::summary;
use crate::inference::estimate::mean;
use record::Percentiles;
use record::load::{HistogramNote, LatencyKind, Loaded};
use record::trial::{EventNote, Trial};

#[derive(Clone, Debug, PartialEq)]
pub struct Around {
    /// The seconds just before it without another event.
    pub before: Span,
    /// Every second of the event; to the end of the load if the event has no end.
    pub during: Span,
    /// The seconds just after it without another event.
    pub after: Span,
}

/// Seconds of a trial, `from_s..until_s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub from_s: u32,
    pub until_s: u32,
    /// Throughput (operations/s); none without a second.
    pub throughput: Option<f64>,
    /// Of all operations that ended in it.
    pub response: Option<Percentiles>,
}

/// Of a whole trial (`Store::trials_whole`), within its measured part. None where the trial has no timed load, or the
/// event lies outside of the measured part.
pub fn around(trial: &Trial, event: &EventNote) -> Option<Around> {
    let load = trial.load.as_deref()?;
    let steady = &summary(load).steady;
    let second = |at_ns: i64| (at_ns - load.started_ns) as f64 / 1e9;
    // The seconds of an event, from the first to the one after the last.
    let span_of = |event: &EventNote| {
        let (begun, ended) = (second(event.at_ns).floor(), event.over_ns(&trial.events));
        let ended = ended.map_or(f64::INFINITY, |at_ns| second(at_ns).ceil());
        (begun, ended.max(begun + 1.0))
    };
    let (begun, ended) = span_of(event);
    let (first, last) = (f64::from(steady.from_s), f64::from(steady.until_s));
    if begun >= last || ended <= first {
        return None;
    }
    let from = begun.max(first) as u32;
    let until = (ended.min(last) as u32).max(from + 1);
    let others: Vec<(f64, f64)> = (trial.events.iter())
        .filter(|other| *other != event)
        .map(span_of)
        .collect();
    let is_free = |second: &u32| {
        let second = f64::from(*second);
        let mut others = others.iter();
        others.all(|(begun, ended)| second < *begun || second >= *ended)
    };
    let before = (steady.from_s..from).rev().take_while(is_free).last();
    let after = (until..steady.until_s).take_while(is_free).last();
    Some(Around {
        before: span(load, before.unwrap_or(from), from),
        during: span(load, from, until),
        after: span(load, until, after.map_or(until, |last| last + 1)),
    })
}

fn span(load: &Loaded, from_s: u32, until_s: u32) -> Span {
    let throughput = throughput(load);
    let upto = |second: u32| (second as usize).min(throughput.len());
    let values = &throughput[upto(from_s)..upto(until_s)];
    let is_in_span = |note: &&HistogramNote| {
        note.operation.is_none()
            && note.kind == LatencyKind::Response
            && note.every_s == 1
            && (from_s..until_s).contains(&note.start_s)
    };
    let each_second: Vec<&HistogramNote> = load.histograms.iter().filter(is_in_span).collect();
    Span {
        from_s,
        until_s,
        throughput: mean(values),
        response: of_notes(&each_second, |_| 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, trial, with_response};

    fn event(at_s: f64, ended_s: Option<f64>) -> EventNote {
        let ns = |s: f64| 1_000_000_000_000 + (s * 1e9) as i64;
        EventNote {
            at_ns: ns(at_s),
            ended_ns: ended_s.map(ns),
            kind: "sql".into(),
            node: None,
            numbers: Default::default(),
            text: "drop table large".into(),
        }
    }

    /// A minute, slower and with longer responses from second 20 to 29.
    fn disturbed() -> Trial {
        let during = |s: u32| (20..30).contains(&s);
        let load = closed(move |s| if during(s as u32) { 1000.0 } else { 2000.0 }, 60);
        let response = move |s| match during(s) {
            true => vec![50_000_000; 1000],
            false => vec![2_000_000; 2000],
        };
        trial(0, &[], with_response(load, 60, response))
    }

    #[test]
    fn the_three_spans_of_an_event_have_their_own_figures() {
        let found = around(&disturbed(), &event(20.3, Some(29.9))).unwrap();
        let spans = [&found.before, &found.during, &found.after];
        assert_eq!(
            spans.map(|s| (s.from_s, s.until_s)),
            [(0, 20), (20, 30), (30, 60)]
        );
        assert_eq!(
            spans.map(|s| s.throughput),
            [Some(2000.0), Some(1000.0), Some(2000.0)]
        );
        let p99 = spans.map(|s| s.response.as_ref().unwrap().p99_ms.unwrap().round());
        assert_eq!(p99, [2.0, 50.0, 2.0]);
    }

    fn places(spans: [&Span; 2]) -> [(u32, u32); 2] {
        spans.map(|span| (span.from_s, span.until_s))
    }

    #[test]
    fn the_seconds_of_other_events_are_neither_before_nor_after() {
        let mut trial = disturbed();
        let (made, dropped) = (event(0.0, Some(8.4)), event(20.3, Some(29.9)));
        trial.events = vec![made, dropped.clone(), event(41.7, Some(41.9))];
        let found = around(&trial, &dropped).unwrap();
        assert_eq!(places([&found.before, &found.after]), [(9, 20), (30, 41)]);
    }

    #[test]
    fn an_event_amid_another_one_has_nothing_before_and_after() {
        let mut trial = disturbed();
        trial.events = vec![event(12.0, Some(50.0)), event(20.3, Some(29.9))];
        let found = around(&trial, &trial.events[1]).unwrap();
        assert_eq!(places([&found.before, &found.after]), [(20, 20), (30, 30)]);
        assert_eq!(found.before.throughput, None);
    }

    #[test]
    fn an_event_within_a_second_takes_that_second() {
        let found = around(&disturbed(), &event(25.2, Some(25.3))).unwrap();
        assert_eq!((found.during.from_s, found.during.until_s), (25, 26));
    }

    #[test]
    fn an_event_that_takes_a_node_away_lasts_until_the_next_commit() {
        let mut killed = event(20.25, Some(20.375));
        killed.numbers.insert("commit_s".into(), 9.5);
        let found = around(&disturbed(), &killed).unwrap();
        assert_eq!((found.during.from_s, found.during.until_s), (20, 30));
        assert_eq!(found.after.throughput, Some(2000.0));
    }

    #[test]
    fn an_event_without_an_end_lasts_to_the_end() {
        let found = around(&disturbed(), &event(25.0, None)).unwrap();
        assert_eq!((found.during.until_s, found.after.throughput), (60, None));
    }

    #[test]
    fn an_event_outside_of_the_measured_part_has_no_spans() {
        let mut trial = disturbed();
        trial.load.as_mut().unwrap().warmup = record::load::Warmup::Seconds(10.0);
        assert_eq!(around(&trial, &event(3.0, Some(5.0))), None);
        assert_eq!(around(&trial, &event(70.0, Some(71.0))), None);
        assert_eq!(
            around(&trial, &event(3.0, Some(15.0)))
                .unwrap()
                .before
                .throughput,
            None
        );
    }
}
