//! Any trial is read back as it was written.

mod common;

use common::{place, run};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use record::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z_]{1,8}", "\\PC{0,12}", any::<String>()]
}

fn seconds() -> impl Strategy<Value = f64> {
    prop_oneof![
        0.0..1e6,
        any::<f64>().prop_filter("finite", |s| s.is_finite())
    ]
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
        error: rest.5,
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

fn trial() -> impl Strategy<Value = Trial> {
    let key = (any::<u32>(), text(), btree_map(text(), text(), 0..3));
    let key = key.prop_map(|(block, server, levels)| TrialKey {
        block,
        server,
        levels: levels.into_iter().rev().collect(),
    });
    let state = prop_oneof![
        Just(TrialState::Done),
        Just(TrialState::Invalid),
        Just(TrialState::Failed)
    ];
    let flags = vec(
        (text(), text()).prop_map(|(kind, text)| Flag { kind, text }),
        0..3,
    );
    let events = vec(
        (any::<i64>(), text(), text()).prop_map(|(at_ns, kind, text)| EventNote {
            at_ns,
            ended_ns: None,
            kind,
            text,
        }),
        0..3,
    );
    let plans = btree_map("[0-9a-f]{4}", text(), 0..3);
    let begin = (key, state, flags, any::<(i64, i64)>(), vec(seconds(), 0..3));
    let end = (
        vec(round(), 0..3),
        btree_map(text(), text(), 0..4),
        plans,
        events,
        any::<u64>(),
    );
    (begin, end).prop_map(
        |((key, state, flags, times, start_s), (rounds, settings, plans, events, data_bytes))| {
            Trial {
                load: None,
                key,
                state,
                flags,
                started_ns: times.0,
                ended_ns: times.1,
                start_s,
                rounds,
                settings,
                plans,
                events,
                data_bytes,
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
        prop_assert_eq!(&store.trials_whole().unwrap(), &[trial]);
    }
}
