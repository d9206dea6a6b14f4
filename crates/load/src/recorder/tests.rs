use super::*;
use crate::seam::Outcome;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn ended(at_ns: u64, outcome: Outcome) -> Ended {
    Ended {
        operation: 0,
        scheduled_ns: at_ns - 30,
        started_ns: at_ns - 10,
        ended_ns: at_ns,
        counts_ns: at_ns,
        late_ns: None,
        is_retried: false,
        outcome,
    }
}

fn collected(recorder: &Recorder, second: u32) -> Sample {
    let mut sample = Sample::new(2, 2, RESPONSE_WAIT_SERVICE);
    recorder.collect(second, &mut sample);
    sample
}

#[test]
fn response_wait_and_service_times_are_separate() {
    let recorder = Recorder::new(2, 2, RESPONSE_WAIT_SERVICE);
    recorder.record(&ended(100, Outcome::Done));
    let sample = collected(&recorder, 0);
    let values: Vec<(u16, LatencyKind, u64)> = sample
        .each()
        .map(|(operation, kind, counts)| (operation, kind, counts.histogram().max()))
        .collect();
    let expected = [
        (0, LatencyKind::Response, 30),
        (0, LatencyKind::Wait, 20),
        (0, LatencyKind::Service, 10),
    ];
    assert_eq!(values, expected);
    assert_eq!(sample.all_operations().histogram().max(), 30);
}

#[test]
fn what_failed_has_a_histogram_of_its_own_and_what_was_lost_is_with_the_others() {
    let recorder = Recorder::new(2, 2, RESPONSE_WAIT_SERVICE);
    recorder.record(&ended(100, Outcome::Failed(1366)));
    recorder.record(&ended(100, Outcome::Lost(2013)));
    recorder.record(&ended(100, Outcome::Unknown(2013)));
    let sample = collected(&recorder, 0);
    let counts: Vec<(LatencyKind, u64)> = sample
        .each()
        .map(|(_, kind, counts)| (kind, counts.histogram().len()))
        .collect();
    let expected = [
        (LatencyKind::Response, 2),
        (LatencyKind::Wait, 2),
        (LatencyKind::Service, 2),
        (LatencyKind::Failed, 1),
    ];
    assert_eq!(counts, expected);
    assert_eq!(sample.all_operations().histogram().len(), 2);
}

#[test]
fn an_operation_counts_in_the_second_in_which_it_ended() {
    let recorder = Recorder::new(2, 2, RESPONSE_WAIT_SERVICE);
    for at_ns in [SECOND_NS - 1, SECOND_NS, 2 * SECOND_NS - 1, 4 * SECOND_NS] {
        recorder.record(&ended(at_ns, Outcome::Done));
    }
    let done: Vec<u64> = (0..5)
        .map(|second| collected(&recorder, second).tally().done())
        .collect();
    assert_eq!(done, [1, 2, 0, 0, 1]);
}

#[test]
fn a_second_without_operations_is_collected_as_zeros() {
    let recorder = Recorder::new(2, 2, RESPONSE_WAIT_SERVICE);
    for second in 0..3 {
        assert_eq!(collected(&recorder, second).tally().ended(), 0);
    }
    assert_eq!(recorder.last_uncollected(), None);
    recorder.record(&ended(3 * SECOND_NS + 5, Outcome::Done));
    assert_eq!(recorder.last_uncollected(), Some(3));
}

#[test]
fn an_operation_recorded_after_its_second_was_collected_counts_in_the_next() {
    let recorder = Recorder::new(2, 2, RESPONSE_WAIT_SERVICE);
    collected(&recorder, 0);
    recorder.record(&ended(SECOND_NS - 1, Outcome::Done));
    assert_eq!(collected(&recorder, 1).tally().done(), 1);
}

#[test]
fn errors_and_retries_are_counted_by_ending_and_code() {
    let recorder = Recorder::new(2, 2, RESPONSE_WAIT_SERVICE);
    let outcomes = [
        Outcome::Done,
        Outcome::Failed(1213),
        Outcome::Lost(2013),
        Outcome::Unknown(2013),
    ];
    for outcome in outcomes {
        for code in [1213, 1205] {
            recorder.retry(0, code, 90);
        }
        recorder.record(&Ended {
            is_retried: true,
            ..ended(100, outcome)
        });
    }
    let sample = collected(&recorder, 0);
    let tally = sample.tally();
    assert_eq!((tally.done(), tally.not_done()), (1, 3));
    assert_eq!(Ending::ALL.map(|ending| tally[ending]), [0, 1, 1, 1, 1]);
    let expected = [
        (Ending::Retried, 1213, 4),
        (Ending::Retried, 1205, 4),
        (Ending::Failed, 1213, 1),
        (Ending::Lost, 2013, 1),
        (Ending::Unknown, 2013, 1),
    ];
    let mut errors: Vec<_> = sample
        .errors()
        .iter()
        .map(|(fault, count)| (fault.ending, fault.code, *count))
        .collect();
    errors.sort_by_key(|(ending, code, _)| (*ending, std::cmp::Reverse(*code)));
    assert_eq!(errors, expected);
    assert_eq!(recorder.totals().tallies, [tally, Tally::default()]);
}

#[test]
fn an_error_before_a_retry_counts_in_its_own_second() {
    let recorder = Recorder::new(2, 2, RESPONSE_WAIT_SERVICE);
    recorder.retry(0, 1213, SECOND_NS - 1);
    recorder.record(&ended(SECOND_NS, Outcome::Done));
    let seconds = [0, 1].map(|second| collected(&recorder, second));
    let fault = Fault {
        operation: 0,
        ending: Ending::Retried,
        code: 1213,
    };
    assert_eq!(seconds[0].errors(), [(fault, 1)]);
    assert_eq!(
        (seconds[1].errors(), seconds[1].tally().done()),
        (&[][..], 1)
    );
}

#[test]
fn lateness_counts_only_operations_that_a_worker_waited_for() {
    let recorder = Recorder::new(2, 2, RESPONSE_WAIT_SERVICE);
    for late_ns in [None, Some(70)] {
        recorder.record(&Ended {
            late_ns,
            ..ended(100, Outcome::Done)
        });
    }
    let lateness = recorder.totals().lateness.histogram();
    assert_eq!((lateness.len(), lateness.max()), (1, 70));
}

proptest! {
    // Each case merges several megabytes.
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn merged_reactors_equal_one_reactor(
        operations in proptest::collection::vec(
            (0..3usize, 0..2u16, 0..5_000_000_000u64, 0..10_000_000u64, 0..10_000_000u64, 0..4u16), 0..200
        )
    ) {
        let mut operations = operations;
        operations.sort_by_key(|operation| operation.2);
        let reactors = [(); 3].map(|()| Recorder::new(2, 2, RESPONSE_WAIT_SERVICE));
        let alone = Recorder::new(2, 2, RESPONSE_WAIT_SERVICE);
        for (reactor, operation, scheduled_ns, wait_ns, service_ns, code) in operations {
            let started_ns = scheduled_ns + wait_ns;
            let outcome = if code == 0 { Outcome::Done } else { Outcome::Failed(code) };
            // In ascending order of end times, as on a reactor.
            let ended_ns = scheduled_ns + 20_000_000;
            let started_ns = started_ns.min(ended_ns - service_ns);
            let ended = Ended { operation, scheduled_ns, started_ns, ..self::ended(ended_ns, outcome) };
            reactors[reactor].record(&ended);
            alone.record(&ended);
        }
        for second in 0..6 {
            let mut merged = Sample::new(2, 2, RESPONSE_WAIT_SERVICE);
            reactors.iter().for_each(|reactor| reactor.collect(second, &mut merged));
            let expected = collected(&alone, second);
            prop_assert_eq!(merged.tallies(), expected.tallies());
            let by_code = |sample: &Sample| sample.errors().iter().copied().collect::<BTreeMap<_, _>>();
            prop_assert_eq!(by_code(&merged), by_code(&expected));
            let each = |sample: &Sample| {
                sample.each().map(|(operation, kind, counts)| (operation, kind, counts.histogram())).collect::<Vec<_>>()
            };
            prop_assert_eq!(each(&merged), each(&expected));
        }
    }
}

#[test]
fn an_operation_of_the_warm_up_that_ends_after_it_is_counted_apart() {
    let recorder = Recorder::new(2, 2, RESPONSE_WAIT_SERVICE).measured_from(SECOND_NS);
    for at_ns in [SECOND_NS - 1, SECOND_NS, SECOND_NS + 20, SECOND_NS + 40] {
        recorder.record(&ended(at_ns, Outcome::Lost(7)));
    }
    assert_eq!(collected(&recorder, 0).tally().ended(), 1);
    let measured = collected(&recorder, 1);
    assert_eq!((measured.tally().ended(), measured.errors()[0].1), (1, 1));
    assert_eq!(measured.all_operations().histogram().len(), 1);
    let carried = measured.carried();
    assert_eq!((carried.tallies[0].ended(), carried.errors[0].1), (2, 2));
    assert_eq!(recorder.totals().tallies[0].ended(), 4);
}
