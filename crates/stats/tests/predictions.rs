//! The queue model beside measured responses whose figures are known.

use crate::common::{run, timed};
use hdrhistogram::Histogram;
use record::*;
use stats::{Prediction, predictions};
use std::collections::BTreeMap;

/// A minute of equal gaps for eight workers, each operation served and answered in so many milliseconds. Nobody waits as long
/// as the workers have time left.
fn answered(block: u32, rate: u64, service_ms: u64, response_ms: u64) -> Trial {
    let mut trial = timed(block);
    let load = trial.load.as_mut().unwrap();
    load.mode = Mode::Open {
        rate: rate as f64,
        arrivals: Arrivals::Uniform,
        workers: 8,
        queue: 10_000,
        when_full: "stop".into(),
        range: None,
    };
    load.open = Some(OpenNote {
        arrived: rate * 60,
        started: rate * 60,
        queued_at_end: 0,
        dropped: 0,
        held_s: 0.0,
    });
    load.series = BTreeMap::from([
        ("throughput".into(), vec![Some(rate as f64); 60]),
        ("queued".into(), vec![Some(0.0); 60]),
    ]);
    for note in &mut load.histograms {
        let ms = match note.kind {
            LatencyKind::Service => service_ms,
            _ => response_ms,
        };
        let mut nanoseconds = Histogram::<u64>::new(3).unwrap();
        let count = rate * u64::from(note.every_s);
        nanoseconds.record_n(ms * 1_000_000, count).unwrap();
        note.nanoseconds = nanoseconds.into();
    }
    trial
}

fn predicted(trials: &[Trial]) -> Prediction {
    predictions(&run().question, trials, 7).remove(0)
}

fn close(found: f64, known: f64) {
    assert!((found / known - 1.0).abs() < 0.02, "{found}, known {known}");
}

#[test]
fn each_block_is_predicted_from_its_own_rate_and_service_times() {
    // Both blocks take twice as long as their service; the service of both together is neither 1 ms nor 4 ms.
    let found = predicted(&[answered(0, 100, 1, 2), answered(1, 400, 4, 8)]);
    let utilisations = found.blocks.iter().map(|block| block.predicted.as_ref());
    let utilisations: Vec<f64> = utilisations.map(|p| p.unwrap().utilisation).collect();
    close(utilisations[0], 0.0125);
    close(utilisations[1], 0.2);
    close(found.utilisation().unwrap(), 0.10625);
    close(found.simulated_ms(|r| r.p50_ms).unwrap().mean, 2.0);
    close(found.formula_ms().unwrap().mean, 2.0);
    let (ratio, ci) = found.ratio(|r| r.p50_ms).unwrap();
    close(ratio, 2.0);
    let (low, high) = ci.unwrap();
    close(low, 2.0);
    close(high, 2.0);
}

#[test]
fn one_block_has_a_ratio_and_no_interval() {
    let (ratio, ci) = predicted(&[answered(0, 100, 1, 3)])
        .ratio(|response| Some(response.mean_ms))
        .unwrap();
    close(ratio, 3.0);
    assert_eq!(ci, None);
}

#[test]
fn the_model_is_uncertain_close_to_saturation() {
    assert!(!predicted(&[answered(0, 90, 80, 80)]).is_uncertain());
    let close_to_full = answered(1, 96, 80, 80);
    assert!(predicted(&[answered(0, 90, 80, 80), close_to_full]).is_uncertain());
}

#[test]
fn one_overloaded_block_removes_the_prediction_of_its_row() {
    let found = predicted(&[answered(0, 90, 80, 80), answered(1, 110, 80, 80)]);
    assert_eq!(found.growing(), 1);
    assert_eq!(found.simulated_ms(|r| r.p50_ms), None);
    assert_eq!(found.ratio(|r| r.p50_ms), None);
    assert!(found.measured_ms(|r| r.p50_ms).is_some());
}

#[test]
fn a_schedule_without_a_model_keeps_its_measured_latency() {
    let mut trial = answered(0, 100, 1, 2);
    if let Mode::Open { arrivals, .. } = &mut trial.load.as_mut().unwrap().mode {
        *arrivals = Arrivals::Bursts;
    }
    let found = predicted(&[trial]);
    assert!(found.no_model().unwrap().starts_with("no model for bursts"));
    assert_eq!(found.utilisation(), None);
    close(found.measured_ms(|r| r.p50_ms).unwrap().mean, 2.0);
}
