//! Any trial is read back as it was written.

use crate::common::{place, run};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use record::*;
use store::Store;

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z_]{1,8}", "\\PC{0,12}", any::<String>()]
}

/// Of any size that is measured: with larger ones the sums and quotients of a summary would be no numbers.
fn seconds() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..1e6, -1e15..1e15]
}

fn counters() -> impl Strategy<Value = Counters> {
    btree_map("[A-D]{1,2}", prop_oneof![Just(0), any::<i64>()], 0..6)
}

fn coldness() -> impl Strategy<Value = Coldness> {
    let numbers = option::of(any::<u64>());
    let bytes = (numbers.clone(), numbers.clone(), numbers.clone(), numbers);
    (any::<(bool, bool)>(), text(), bytes, option::of(text())).prop_map(
        |(yes, eviction, bytes, reason)| Coldness {
            proved: yes.0,
            server_restarted: yes.1,
            eviction,
            pool_pages: bytes.0,
            resident_bytes: bytes.1,
            file_bytes: bytes.2,
            passes: bytes.3.map(|_| 1),
            device_read_bytes: bytes.3,
            reason,
        },
    )
}

fn query() -> impl Strategy<Value = Query> {
    let answer = prop_oneof![
        Just(Answer::Ok),
        Just(Answer::Wrong),
        Just(Answer::Unchecked)
    ];
    let rest = (
        answer,
        text(),
        option::of("[0-9a-f]{4}"),
        counters(),
        vec((text(), seconds()), 0..3),
        option::of(text()),
        1..=u32::MAX,
    );
    (text(), any::<(u64, u64)>(), rest).prop_map(|(name, (elapsed_ns, rows), rest)| Query {
        name,
        elapsed_ns,
        rows,
        answer: rest.0,
        answer_hash: rest.1,
        plan_hash: rest.2,
        counters: rest.3,
        profile: rest.4,
        error: rest.5.map(QueryError::from),
        client: rest.6,
    })
}

fn round() -> impl Strategy<Value = Round> {
    let begin = (text(), any::<u32>(), any::<(i64, i64)>(), seconds());
    (
        begin,
        option::of(coldness()),
        vec(query(), 0..3),
        counters(),
    )
        .prop_map(
            |((name, index, (started_ns, ended_ns), elapsed_s), coldness, queries, counters)| {
                Round {
                    name,
                    index,
                    started_ns,
                    ended_ns,
                    elapsed_s,
                    coldness,
                    queries,
                    counters,
                }
            },
        )
}

fn mode() -> impl Strategy<Value = Mode> {
    let closed =
        (any::<u32>(), seconds()).prop_map(|(clients, think_s)| Mode::Closed { clients, think_s });
    let open = (seconds(), text(), any::<u32>(), any::<u64>(), text()).prop_map(
        |(rate, arrivals, workers, queue, when_full)| Mode::Open {
            rate,
            arrivals: arrivals.into(),
            workers,
            queue,
            when_full,
            range: Some(RateRange {
                min: rate / 2.0,
                max: 2.0 * rate,
            }),
        },
    );
    prop_oneof![closed, open]
}

fn engine() -> impl Strategy<Value = EngineNote> {
    let late = || option::of(seconds());
    let cpu = (seconds(), seconds(), seconds(), seconds());
    let rest = (any::<u32>(), option::of(text()), option::of(seconds()));
    (text(), any::<u32>(), cpu, (late(), late(), late()), rest).prop_map(
        |(backend, reactors, cpu, late, rest)| EngineNote {
            backend,
            reactors,
            cpu_user_s: cpu.0,
            cpu_system_s: cpu.1,
            cores: cpu.2,
            open_s: cpu.3,
            lateness_us_p50: late.0,
            lateness_us_p99: late.1,
            lateness_us_max: late.2,
            ended_early: rest.0,
            stopped: rest.1,
            until_s: rest.2,
            unfinished: vec![Unfinished {
                operation: "a".into(),
                done: 1,
                not_done: 2,
            }],
            effects: vec![EffectNote {
                operation: "a".into(),
                done: 1,
                changed_nothing: 2,
                found_nothing: 3,
                warned: 4,
            }],
            rows: vec![RowsNote {
                operation: "a".into(),
                done: 1,
                changed: 2,
                found: 3,
            }],
            shards: vec![ShardStart {
                number: 1,
                of: 2,
                clock_offset_s: -3_600.000_001,
                round_trip_s: 0.000_2,
                start_ns: 7,
                late_s: 0.001,
            }],
            stalls: vec![EngineStall {
                second: 3,
                stood_s: 0.25,
                longest_s: 1.5,
            }],
            slices: Some(Slices {
                length_s: 1.0,
                count: 20,
                servers: 3,
                spanned_s: 63.5,
                finishing_s_max: 0.02,
                edges_share: Some(0.04),
                first_s_mean: None,
                first_s_max: Some(0.07),
                operation_s_mean: Some(0.003),
                written_between_bytes: Some(7),
            }),
        },
    )
}

fn histogram_note() -> impl Strategy<Value = HistogramNote> {
    let kind = prop_oneof![
        Just(LatencyKind::Response),
        Just(LatencyKind::Wait),
        Just(LatencyKind::Service)
    ];
    let values = vec(0..4_000_000_000_000u64, 0..20);
    let place = (option::of(text()), kind, any::<(u32, u32)>());
    (place, values).prop_map(|((operation, kind, (every_s, start_s)), values)| {
        let mut nanoseconds = hdrhistogram::Histogram::<u64>::new(3).unwrap();
        values.into_iter().for_each(|value| nanoseconds += value);
        HistogramNote {
            operation,
            kind,
            every_s,
            start_s,
            nanoseconds: nanoseconds.into(),
        }
    })
}

fn error_count() -> impl Strategy<Value = ErrorCount> {
    let kind = prop_oneof![
        Just(ErrorKind::Failed),
        Just(ErrorKind::Lost),
        Just(ErrorKind::Unknown),
        Just(ErrorKind::Retried)
    ];
    let whose = (option::of(kind), option::of(text()));
    (any::<(u32, u16, u64)>(), whose).prop_map(|((second, code, count), (kind, operation))| {
        ErrorCount {
            second,
            kind,
            operation,
            code,
            count,
        }
    })
}

fn standard() -> impl Strategy<Value = Standard> {
    let requirement = (text(), option::of(seconds()), any::<bool>(), seconds());
    let requirement =
        requirement.prop_map(
            |(operation, minimum_share, is_in_mix, p90_limit_s)| Requirement {
                operation,
                minimum_share,
                is_in_mix,
                p90_limit_s,
            },
        );
    (text(), text(), vec(requirement, 0..3)).prop_map(|(counted, per_minute, requirements)| {
        Standard {
            counted,
            per_minute,
            requirements,
        }
    })
}

/// Its summary is what the store adds.
fn loaded() -> impl Strategy<Value = Loaded> {
    let warmup = prop_oneof![Just(Warmup::Find), seconds().prop_map(Warmup::Seconds)];
    let open = (any::<[u64; 4]>(), seconds()).prop_map(|(counts, held_s)| OpenNote {
        arrived: counts[0],
        started: counts[1],
        queued_at_end: counts[2],
        dropped: counts[3],
        held_s,
    });
    let name = prop_oneof![
        Just("throughput".to_string()),
        Just("queued".to_string()),
        text()
    ];
    let series = btree_map(name, vec(option::of(seconds()), 0..40), 0..4);
    // A node without a series leaves no row.
    let of_a_node = btree_map(text(), vec(option::of(seconds()), 0..5), 1..3);
    let series = (series, btree_map(2u32..9, of_a_node, 0..3));
    let begin = (mode(), warmup, any::<i64>(), 0.0..60.0, vec(text(), 0..3));
    let end = (
        counters(),
        engine(),
        option::of(open),
        option::of(standard()),
    );
    let kept = (
        vec(histogram_note(), 0..4),
        series,
        vec(error_count(), 0..4),
    );
    (begin, kept, end).prop_map(
        |(begin, (histograms, (series, node_series), errors), end)| {
            let standard = end.3;
            let mut load = Loaded {
                mode: begin.0,
                warmup: begin.1,
                started_ns: begin.2,
                elapsed_s: begin.3,
                operations: begin.4,
                standard,
                histograms,
                series,
                node_series,
                errors,
                counters: end.0,
                engine: end.1,
                open: end.2,
                summary: None,
            };
            load.summary = Some(stats::summarise(&load));
            load
        },
    )
}

fn dataset() -> impl Strategy<Value = DatasetNote> {
    let bytes = (any::<u64>(), any::<u64>(), option::of(any::<u64>()));
    let times = (option::of(seconds()), btree_map(text(), seconds(), 0..3));
    (vec(text(), 3), bytes, times).prop_map(
        |(texts, (rows, data_bytes, index_bytes), (load_s, index_s))| DatasetNote {
            fingerprint: texts[0].clone(),
            server: texts[1].clone(),
            rows,
            rows_estimated: rows % 2 == 0,
            moved: load_s,
            data_bytes,
            index_bytes,
            load_s,
            index_s,
            method: texts[2].clone(),
            definitions: texts.first().cloned(),
            objects: texts.first().cloned(),
            file_system: texts.first().cloned(),
            collations: texts.clone(),
            events: texts,
        },
    )
}

fn audit() -> impl Strategy<Value = AuditNote> {
    let input = (text(), seconds(), seconds(), any::<u32>());
    let input = input.prop_map(|(name, observed, low, samples)| InputCheck {
        name,
        observed,
        low,
        high: low + 1.0,
        samples: samples.into(),
        is_advisory: false,
    });
    let texts = (
        vec(text(), 0..3),
        vec(text(), 0..3),
        vec(input, 0..3),
        option::of(text()),
    );
    (any::<[u32; 8]>(), option::of(seconds()), texts).prop_map(
        |(counts, loss_window_s, (findings, violations, inputs, inputs_unchecked))| {
            let [
                acknowledged,
                refused,
                unknown,
                unknown_kept,
                lost,
                ghosts,
                partly_applied,
                seen_but_lost,
            ] = counts.map(u64::from);
            AuditNote {
                acknowledged,
                refused,
                unknown,
                unknown_kept,
                lost,
                ghosts,
                partly_applied,
                seen_but_lost,
                loss_window_s,
                findings,
                violations,
                inputs,
                inputs_unchecked,
            }
        },
    )
}

fn trial() -> impl Strategy<Value = Trial> {
    let key = (
        any::<u32>(),
        option::of(text()),
        btree_map(text(), text(), 0..3),
    );
    let key = key.prop_map(|(block, server, levels)| TrialKey {
        block,
        server,
        levels: levels.into_iter().rev().collect(),
        role: record::Role::Measured,
    });
    let state = prop_oneof![
        Just(TrialState::Done),
        Just(TrialState::Invalid),
        Just(TrialState::Failed)
    ];
    let flags = vec(
        (text(), text()).prop_map(|(kind, text)| Flag {
            kind: kind.into(),
            text,
        }),
        0..3,
    );
    let events = vec(
        (
            any::<i64>(),
            option::of(any::<i64>()),
            text(),
            text(),
            option::of(any::<u32>()),
            btree_map(text(), seconds(), 0..3),
        )
            .prop_map(|(at_ns, ended_ns, kind, text, node, numbers)| EventNote {
                at_ns,
                ended_ns,
                kind,
                node,
                numbers,
                text,
            }),
        0..3,
    );
    let plans = btree_map("[0-9a-f]{4}", text(), 0..3);
    let limit = (text(), seconds(), seconds()).prop_map(|(name, asked, measured)| LimitNote {
        name,
        asked,
        measured,
    });
    let limits = vec(limit, 0..3);
    let kind = prop_oneof![Just(FormKind::Json), Just(FormKind::Analyze)];
    let form = (text(), "[0-9a-f]{4}", kind, text());
    let forms = vec(
        form.prop_map(|(query, plan, kind, text)| PlanForm {
            query,
            plan,
            kind,
            text,
        }),
        0..3,
    );
    let begin = (key, state, flags, any::<(i64, i64)>(), vec(seconds(), 0..3));
    let end = (
        vec(round(), 0..3),
        (
            btree_map(text(), text(), 0..4),
            btree_map(2u32..9, btree_map(text(), text(), 1..3), 0..3),
        ),
        (plans, forms),
        (events, limits),
        any::<u64>(),
        (option::of(loaded()), option::of(audit())),
        option::of(dataset()),
    );
    (begin, end).prop_map(
        |(
            (key, state, flags, times, start_s),
            (
                rounds,
                (settings, node_settings),
                (plans, plan_forms),
                (events, limits),
                data_bytes,
                (load, audit),
                dataset,
            ),
        )| {
            Trial {
                load: load.map(Box::new),
                key,
                state,
                flags,
                started_ns: times.0,
                ended_ns: times.1,
                start_s,
                rounds,
                settings,
                node_settings,
                plans,
                plan_forms,
                events,
                limits,
                data_bytes,
                dataset,
                audit,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_trial_is_read_back_as_it_was_written(trial in trial()) {
        let (_folder, path) = place();
        let mut store = Store::create(&path, &run()).unwrap();
        store.save(&trial).unwrap();
        prop_assert_eq!(&store.trials_whole().unwrap(), std::slice::from_ref(&trial));
        let summary = |trials: &[Trial]| trials[0].load.as_ref().map(|load| load.summary.clone());
        prop_assert_eq!(summary(&store.trials().unwrap()), summary(&[trial]));
    }
}
