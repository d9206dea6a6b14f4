//! Several clients on scripted connections.

use super::*;
use crate::run::audit::answers::Answers;
use crate::run::measure::rounds::tests::trial_with_answers;
use record::{Answer, Query, QueryError};
use server::Reply;
use server::fake_reply as reply;
use spec::{Observe, Plans, Protocol, RoundKind};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;
use workload::Queries;
use workload::ssb::{Section, StarSchema};

const NAMES: [&str; 4] = ["Q1", "Q2", "Q3", "Q4"];

/// Answers a query like a server: gets the client's number and the name of its query.
type Script = dyn Fn(u32, &str) -> Result<Reply, ServerError> + Send + Sync;

fn operations() -> Vec<Operation> {
    let operation = |name: &&str| Operation::new(*name, *name);
    NAMES.iter().map(operation).collect()
}

fn protocol(query_timeout: Option<Duration>) -> Protocol {
    Protocol {
        rounds: vec![RoundKind::Hot],
        query_timeout,
        ..Protocol::default()
    }
}

/// Runs a pass with several clients. `stop` is called with the client whose statement is to be stopped.
fn pass(
    clients: u32,
    timeout: Option<Duration>,
    script: Arc<Script>,
    stop: Arc<dyn Fn(u32) + Send + Sync>,
) -> Result<Passed, ServerError> {
    let client = |number: u32| {
        let (script, stop) = (script.clone(), stop.clone());
        Client {
            session: Session::Scripted(Box::new(move |sql| script(number, sql))),
            watch: Watch::new(Box::new(move || stop(number)), None),
        }
    };
    let Client { session, watch } = client(1);
    let mut live = Live {
        session,
        watch,
        others: (2..=clients).map(client).collect(),
        observer: None,
        process: None,
    };
    let section = spec::read_text("", Section::read).unwrap();
    let queries: &dyn Queries = &StarSchema::new(section);
    let pass = Pass {
        queries,
        operations: &operations(),
        protocol: &protocol(timeout),
        observe: &Observe {
            plans: Plans::Off,
            ..Observe::default()
        },
        known: Default::default(),
        samples: &Default::default(),
        turn: None,
    };
    pass.run(&mut live)
}

fn answered(clients: u32, script: Arc<Script>) -> Passed {
    pass(clients, None, script, Arc::new(|_| ())).unwrap()
}

fn of_client(passed: &Passed, client: u32) -> Vec<&Query> {
    let own = passed.queries.iter();
    own.filter(|query| query.client == client).collect()
}

#[test]
fn clients_start_at_evenly_spaced_queries() {
    let places = |clients| -> Vec<usize> {
        let all = 0..clients;
        all.map(|client| begins_at(client, clients, 13)).collect()
    };
    assert_eq!(places(1), [0]);
    assert_eq!(places(4), [0, 3, 6, 9]);
    assert!(places(100).iter().all(|place| *place < 13));
}

#[test]
fn every_client_issues_each_query_once_from_its_own_start() {
    let passed = answered(2, Arc::new(|_, sql| Ok(reply("answer", &[Some(sql)]))));
    let names = |client| -> Vec<&str> {
        let own = of_client(&passed, client).into_iter();
        own.map(|query| query.name.as_str()).collect()
    };
    assert_eq!(names(1), ["Q1", "Q2", "Q3", "Q4"]);
    assert_eq!(names(2), ["Q3", "Q4", "Q1", "Q2"]);
}

#[test]
fn clients_run_concurrently_and_the_slowest_sets_the_elapsed_time() {
    let all_connected = Barrier::new(3);
    let passed = answered(
        3,
        Arc::new(move |_, _| {
            all_connected.wait();
            Ok(Reply::default())
        }),
    );
    for client in 1..=3 {
        let own = of_client(&passed, client);
        let busy_s: f64 = own.iter().map(|query| query.elapsed_ns as f64 / 1e9).sum();
        assert!(
            busy_s > 0.0 && busy_s <= passed.elapsed_s,
            "{busy_s} s of {} s",
            passed.elapsed_s
        );
    }
}

#[test]
fn a_query_that_fails_in_one_client_names_it_and_the_others_continue() {
    let passed = answered(
        2,
        Arc::new(|client, sql| match (client, sql) {
            (2, "Q4") => Err(ServerError::Refused {
                code: 1317,
                message: "no".into(),
            }),
            _ => Ok(Reply::default()),
        }),
    );
    assert_eq!(passed.queries.len(), 8);
    assert_eq!(passed.flags.len(), 1);
    assert_eq!(passed.flags[0].text, "Q4 of client 2: 1317 no");
    assert!(of_client(&passed, 1).iter().all(|q| q.error.is_none()));
}

#[test]
fn a_query_that_times_out_is_stopped_in_its_client_only() {
    let (stop, stopped) = mpsc::channel();
    let (stop, stopped) = (Mutex::new(stop), Mutex::new(stopped));
    let script = move |client: u32, sql: &str| match (client, sql) {
        (2, "Q3") => {
            let number = stopped.lock().unwrap().recv();
            assert_eq!(number, Ok(2), "only the slow client is stopped");
            Err(ServerError::Refused {
                code: 1317,
                message: "stopped".into(),
            })
        }
        _ => Ok(Reply::default()),
    };
    let passed = pass(
        2,
        Some(Duration::from_secs(2)),
        Arc::new(script),
        Arc::new(move |client| stop.lock().unwrap().send(client).unwrap()),
    );
    let passed = passed.unwrap();
    let errors: Vec<_> = passed
        .queries
        .iter()
        .filter_map(|q| q.error.as_ref())
        .collect();
    assert_eq!(errors, [&QueryError::TimedOut { limit_s: 2.0 }]);
    assert_eq!(passed.queries.len(), 8);
}

#[test]
fn a_lost_connection_of_one_client_ends_the_pass() {
    let (stop, stopped) = mpsc::channel();
    let (stop, stopped) = (Mutex::new(stop), Mutex::new(stopped));
    let script = move |client: u32, _: &str| match client {
        1 => Err(ServerError::Lost("gone".into())),
        // Blocks until it is stopped.
        _ => {
            let _ = stopped.lock().unwrap().recv();
            Ok(Reply::default())
        }
    };
    let stop = move |client: u32| {
        if client == 2 {
            let _ = stop.lock().unwrap().send(());
        }
    };
    let error = pass(2, None, Arc::new(script), Arc::new(stop))
        .err()
        .unwrap();
    assert_eq!(error.to_string(), "client 1: gone");
}

#[test]
fn a_different_answer_in_one_client_is_wrong() {
    let passed = answered(
        2,
        Arc::new(|client, sql| {
            let says = if client == 2 && sql == "Q3" {
                "else"
            } else {
                sql
            };
            Ok(reply("answer", &[Some(says)]))
        }),
    );
    let mut trial = trial_with_answers("5.6", &["a"]);
    trial.rounds[0].queries = passed.queries;
    let flags = Answers::default().check("ssb", &mut trial, &Default::default());
    assert_eq!(flags.len(), 1);
    assert!(
        flags[0]
            .text
            .starts_with("Q3: 5.6, block 1, hot 1, client 2 gave a different answer")
    );
    let wrong = trial.rounds[0]
        .queries
        .iter()
        .filter(|q| q.answer == Answer::Wrong);
    assert_eq!(wrong.count(), 1);
}
