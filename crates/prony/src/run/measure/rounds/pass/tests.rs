//! Failures within a pass: each is flagged, and the rest of the pass continues.

use super::*;
use crate::run::watch::stopper;
use server::{Fake, Node, Reply, StartRequest};
use spec::Plans;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Far above the time of a fake answer, far below the time of the slow one.
const LIMIT: Duration = Duration::from_secs(2);

fn answer(sql: &str) -> Result<Reply, ServerError> {
    let refused = |code, message: &str| {
        Err(ServerError::Refused {
            code,
            message: message.into(),
        })
    };
    match sql {
        "slow" => std::thread::sleep(LIMIT * 2),
        "forced" => return refused(1176, "Key 'gone' doesn't exist in table 'lineitem'"),
        "misspelt" => return refused(1064, "You have an error in your SQL syntax"),
        _ => {}
    }
    Ok(Reply {
        columns: vec!["n".into()],
        rows: vec![vec![Some(b"1".to_vec())]],
        elapsed: Duration::from_millis(1),
        ..Reply::default()
    })
}

/// Runs queries with these names on a fake server.
fn passed(names: &[&str]) -> Passed {
    in_turns(names, None).unwrap()
}

/// The same, before each of which `turn` is called.
fn in_turns(names: &[&str], turn: Option<Turn>) -> Result<Passed, ServerError> {
    observed(names, turn, None)
}

/// The same, with counters.
fn observed(
    names: &[&str],
    turn: Option<Turn>,
    observer: Option<Observer>,
) -> Result<Passed, ServerError> {
    let server = Fake::new("fake", answer);
    server.start(&StartRequest::default()).unwrap();
    let session = server.connect().unwrap();
    let watch = Watch::new(stopper(&session, &server).unwrap(), session.cutter());
    let mut live = Live {
        session,
        watch,
        others: Vec::new(),
        observer,
        process: None,
    };
    let workload = workload::open("ssb", &"scale = 0.01".parse().unwrap()).unwrap();
    let operation = |name: &&str| Operation::new(*name, *name);
    let operations: Vec<Operation> = names.iter().map(operation).collect();
    let protocol = Protocol {
        query_timeout: Some(LIMIT),
        ..Protocol::default()
    };
    let observe = Observe {
        plans: Plans::Off,
        ..Observe::default()
    };
    Pass {
        queries: workload.queries().unwrap(),
        operations: &operations,
        protocol: &protocol,
        observe: &observe,
        known: Known::default(),
        samples: &Samples::default(),
        turn,
    }
    .run(&mut live)
}

fn flags(passed: &Passed) -> Vec<(&str, &str)> {
    let flags = passed.flags.iter();
    flags
        .map(|flag| (flag.kind.as_str(), flag.text.as_str()))
        .collect()
}

#[test]
fn a_round_continues_after_a_query_that_timed_out() {
    let passed = passed(&["fast", "slow", "fast too"]);
    assert_eq!(flags(&passed), [("query_timed_out", "slow: > 2 s")]);
    let limits: Vec<Option<f64>> = passed.queries.iter().map(Query::timed_out_s).collect();
    assert_eq!(limits, [None, Some(2.0), None]);
    assert_eq!(passed.queries[1].elapsed_ns, 2_000_000_000);
    assert_eq!(passed.queries[2].rows, 1);
}

#[test]
fn a_failed_query_is_flagged_with_the_servers_message() {
    let passed = passed(&["misspelt", "fast"]);
    let says = "misspelt: 1064 You have an error in your SQL syntax";
    assert_eq!(flags(&passed), [("query_failed", says)]);
    assert_eq!(passed.queries[1].error, None);
}

#[test]
fn a_missing_index_is_named_with_the_fix() {
    let passed = passed(&["forced", "fast"]);
    let [(kind, says)] = flags(&passed)[..] else {
        panic!("{:?}", passed.flags)
    };
    assert_eq!(kind, "query_failed");
    assert!(says.starts_with("forced: 1176 Key 'gone' doesn't exist"));
    assert!(says.contains("extra_index") && says.contains("force_index = false"));
    assert_eq!(passed.queries[1].rows, 1);
}

#[test]
fn a_wrong_answer_is_flagged_and_the_round_continues() {
    let passed = passed(&["Q1.1", "fast"]);
    assert_eq!(passed.flags[0].kind, FlagKind::WrongAnswer);
    assert!(
        passed.flags[0].text.starts_with("Q1.1: "),
        "{:?}",
        passed.flags
    );
    assert_eq!(passed.queries[0].answer, Answer::Wrong);
    assert_eq!(passed.queries[1].answer, Answer::Unchecked);
}

#[test]
fn a_query_during_which_prony_did_not_run_is_no_figure_of_the_server() {
    let ms = Duration::from_millis;
    let (kind, says) = own_stall(ms(1_500), ms(1_900)).unwrap();
    assert_eq!(kind, FlagKind::GeneratorStalled);
    assert!(
        says.starts_with("prony did not run for 1.50 s of 1.90 s"),
        "{says}"
    );
    assert_eq!(own_stall(ms(250), ms(2_500)), None, "10 % of it");
    assert_eq!(own_stall(Duration::ZERO, Duration::ZERO), None);
}

#[test]
fn each_query_waits_for_its_turn_and_an_error_ends_the_pass() {
    let turns = AtomicUsize::new(0);
    let turn = || {
        turns.fetch_add(1, Relaxed);
        Ok(())
    };
    let passed = in_turns(&["one", "two", "three"], Some(&turn)).unwrap();
    assert_eq!((passed.queries.len(), turns.load(Relaxed)), (3, 3));
    let last = || match turns.fetch_sub(1, Relaxed) {
        1 => Err(ServerError::Lost("interrupted".into())),
        _ => Ok(()),
    };
    let error = in_turns(&["one", "two", "three", "four"], Some(&last)).err();
    assert_eq!((error.is_some(), turns.load(Relaxed)), (true, 0));
}

/// Counters of a server on which somebody executes FLUSH STATUS before this reading, counted from 1.
fn flushed_before(flushed: u64) -> Observer {
    let mut readings = 0;
    let script = move |sql: &str| {
        if sql != "SHOW GLOBAL STATUS" {
            return Err(ServerError::Refused {
                code: 1109,
                message: "no such table".into(),
            });
        }
        readings += 1;
        let since_flush = match readings < flushed {
            true => readings,
            false => readings - flushed,
        };
        let all = [
            ("Key_reads", 10 * readings),
            ("Uptime", readings),
            ("Uptime_since_flush_status", since_flush),
        ];
        let row = |(name, value): (&str, u64)| {
            let cells = [name.to_string(), value.to_string()];
            cells.map(|cell| Some(cell.into_bytes())).to_vec()
        };
        Ok(Reply {
            rows: all.map(row).to_vec(),
            ..Reply::default()
        })
    };
    Observer::new(Session::Scripted(Box::new(script)), false).unwrap()
}

#[test]
fn a_round_in_which_somebody_executes_flush_status_has_no_counters_of_the_server() {
    // The observer reads three times, and the pass before, between and after its queries.
    let passed = |flushed| {
        let observer = Some(flushed_before(flushed));
        observed(&["one", "two"], None, observer).unwrap()
    };
    let whole = passed(9);
    assert_eq!(whole.counters["Key_reads"], 20);
    assert!(whole.flags.is_empty(), "{:?}", whole.flags);
    let flushed = passed(6);
    assert_eq!(flushed.queries[0].counters["Key_reads"], 10);
    assert!(!flushed.counters.contains_key("Key_reads"));
    assert_eq!(flushed.flags[0].kind, FlagKind::SamplerAbsent);
}
