//! Tests of the sampler on a fake server, with seconds of a few milliseconds. How many readings are punctual depends on the
//! machine, so no test counts them.

use super::*;
use server::{Fake, Node, Reply, Session, StartRequest};
use std::sync::{Arc, Condvar, Mutex};

/// (second, values)
type Second = (u32, BTreeMap<String, f64>);

const SECOND: Duration = Duration::from_millis(40);

fn rows(values: &[(&str, u64)]) -> Reply {
    Reply {
        columns: vec!["Variable_name".into(), "Value".into()],
        rows: values
            .iter()
            .map(|(name, value)| {
                [name.to_string(), value.to_string()]
                    .map(|text| Some(text.into_bytes()))
                    .into()
            })
            .collect(),
        ..Reply::default()
    }
}

/// Answers SHOW GLOBAL STATUS with the function's values for the reading's number, from 0, and rejects metrics.
fn server(mut status: impl FnMut(u64) -> Vec<(&'static str, u64)> + Send + 'static) -> Fake {
    let mut readings = 0;
    let fake = Fake::new("fake", move |sql| {
        if sql != "SHOW GLOBAL STATUS" {
            let message = "no such table".into();
            return Err(ServerError::Refused {
                code: 1109,
                message,
            });
        }
        readings += 1;
        Ok(rows(&status(readings - 1)))
    });
    fake.start(&StartRequest::default()).unwrap();
    fake
}

fn prepared(fake: &Fake) -> Prepared {
    let targets = Targets {
        connector: Some(fake.connector().unwrap()),
        server_pid: Some(Box::new(|| Some(std::process::id()))),
        ..Targets::default()
    };
    Prepared {
        every: SECOND,
        ..Prepared::new(targets).unwrap()
    }
}

/// Samples until `enough` is true for the samples so far.
fn sampled(
    prepared: Prepared,
    measured_from_s: u32,
    enough: impl Fn(&[Second]) -> bool,
) -> Sampled {
    let seen = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
    let shared = seen.clone();
    let live = Box::new(move |sample: Sample| {
        let mut seen = shared.0.lock().unwrap();
        seen.push((sample.second, sample.values.clone()));
        shared.1.notify_one();
    });
    let sampler = prepared.start(Instant::now(), measured_from_s, live);
    let waited =
        seen.1
            .wait_timeout_while(seen.0.lock().unwrap(), Duration::from_secs(60), |seen| {
                !enough(seen)
            });
    assert!(!waited.unwrap().1.timed_out(), "timed out");
    sampler.stop()
}

/// The flags but the one that a busy machine alone can raise: that the first reading was late.
fn flags(sampled: &Sampled) -> Vec<&Flag> {
    let late = "after the measured part began";
    let flags = sampled.flags.iter();
    flags.filter(|flag| !flag.text.contains(late)).collect()
}

fn has(name: &'static str) -> impl Fn(&[Second]) -> bool {
    move |seen| seen.iter().any(|(_, values)| values.contains_key(name))
}

#[test]
fn counters_become_rates_and_constant_values_have_no_series() {
    let fake = server(|reading| {
        vec![
            ("Innodb_rows_read", 100 + 7 * reading),
            ("Innodb_rows_deleted", 5),
            ("Threads_running", 2 + reading % 2),
            ("Threads_connected", 9),
        ]
    });
    let of_three = |seen: &[Second]| {
        seen.iter()
            .filter(|(_, values)| values.contains_key("Threads_running"))
            .count()
            >= 3
    };
    let sampled = sampled(prepared(&fake), 0, of_three);
    let present = |name: &str| {
        sampled.series[name]
            .iter()
            .flatten()
            .copied()
            .collect::<Vec<_>>()
    };
    assert!(present("Innodb_rows_read").iter().all(|rate| *rate > 0.0));
    assert!(
        present("Threads_running")
            .iter()
            .all(|level| [2.0, 3.0].contains(level))
    );
    for still in ["Innodb_rows_deleted", "Threads_connected"] {
        assert!(!sampled.series.contains_key(still), "{still} never moved");
    }
    let moved = sampled.counters["Innodb_rows_read"];
    assert!(moved >= 21 && moved % 7 == 0, "{moved}");
    assert_eq!(sampled.counters["Innodb_rows_deleted"], 0);
    assert!(!sampled.counters.contains_key("Threads_running"));
    assert!(flags(&sampled).is_empty(), "{:?}", sampled.flags);
}

#[test]
fn all_series_have_the_same_length() {
    let fake = server(|reading| vec![("Innodb_rows_read", reading)]);
    let sampled = sampled(prepared(&fake), 0, |seen| seen.len() >= 3);
    let lengths: Vec<usize> = sampled.series.values().map(Vec::len).collect();
    assert!(lengths[0] >= 3);
    assert!(
        lengths.iter().all(|length| *length == lengths[0]),
        "{lengths:?}"
    );
}

#[test]
fn counters_start_at_the_first_measured_second() {
    let fake = server(|reading| vec![("Innodb_rows_read", 1000 * reading)]);
    let all = sampled(prepared(&fake), 0, |seen| seen.len() >= 5);
    let fake = server(|reading| vec![("Innodb_rows_read", 1000 * reading)]);
    let later = sampled(prepared(&fake), 100_000, |seen| seen.len() >= 5);
    assert!(all.counters["Innodb_rows_read"] > 0);
    assert_eq!(later.counters.get("Innodb_rows_read"), None);
}

#[test]
fn a_counter_that_is_reset_during_the_load_is_absent() {
    // The first three readings measure the reading cost. After the reset the counter soon exceeds its first value again.
    let fake = server(|reading| {
        let since_reset = if reading < 6 { reading } else { reading - 6 };
        vec![
            ("Innodb_rows_read", 1000 * reading),
            ("Innodb_rows_inserted", 1000 * since_reset),
        ]
    });
    let of_nine = |seen: &[Second]| {
        let read = seen
            .iter()
            .filter(|(_, values)| values.contains_key("Innodb_rows_read"));
        read.count() >= 9
    };
    let sampled = sampled(prepared(&fake), 0, of_nine);
    assert!(sampled.counters["Innodb_rows_read"] >= 9000);
    assert_eq!(sampled.counters.get("Innodb_rows_inserted"), None);
}

#[test]
fn a_hung_server_loses_only_its_own_values_and_stop_returns() {
    let (held, hold) = channel::<()>();
    // The first three readings measure the reading cost.
    let fake = server(move |reading| {
        if reading > 3 {
            let _ = hold.recv();
        }
        vec![("Innodb_rows_read", 3 * reading)]
    });
    let began = Instant::now();
    let sampled = sampled(prepared(&fake), 0, |seen| {
        seen.iter()
            .filter(|(_, values)| values.contains_key("machine cpu"))
            .count()
            >= 3
    });
    assert!(began.elapsed() < Duration::from_secs(90));
    assert!(!sampled.series.contains_key("Innodb_rows_read"));
    assert!(
        sampled.flags[0].text.contains("did not answer at the end"),
        "{:?}",
        sampled.flags
    );
    drop(held);
}

/// A connector whose first connection fails at a reading. The next two attempts fail, then it connects again.
fn breaking(at: u64) -> Connector {
    let attempts = Mutex::new(0);
    Box::new(move || {
        let mut attempts = attempts.lock().unwrap();
        *attempts += 1;
        let gone = || ServerError::Lost("gone away".into());
        if [2, 3].contains(&*attempts) {
            return Err(gone());
        }
        let (is_first, mut readings) = (*attempts == 1, 0);
        Ok(Session::Scripted(Box::new(move |sql| {
            if sql != "SHOW GLOBAL STATUS" {
                return Err(ServerError::Refused {
                    code: 1109,
                    message: "no such table".into(),
                });
            }
            readings += 1;
            if is_first && readings == at {
                Err(gone())
            } else {
                Ok(rows(&[("Innodb_rows_read", 3 * readings)]))
            }
        })))
    })
}

#[test]
fn a_lost_connection_is_reopened_and_flagged_once() {
    let targets = Targets {
        connector: Some(breaking(5)),
        ..Targets::default()
    };
    let prepared = Prepared {
        every: SECOND,
        ..Prepared::new(targets).unwrap()
    };
    // The first connection is lost too early to yield a complete second.
    let sampled = sampled(prepared, 0, |seen| {
        let of_status =
            |(second, values): &&Second| *second > 3 && values.contains_key("Innodb_rows_read");
        seen.iter().any(|one| of_status(&one))
    });
    assert!(flags(&sampled).is_empty(), "{:?}", sampled.flags);
    let text = sampled.gaps[0].flag().text;
    assert!(
        text.contains("until second") && text.ends_with("gone away"),
        "{text}"
    );
    assert!(sampled.counters["Innodb_rows_read"] > 0);
    assert_eq!(sampled.counters["Innodb_rows_read"] % 3, 0);
    let uncounted = &sampled.series[record::UNCOUNTED];
    let lost = uncounted.iter().flatten().sum::<f64>();
    assert!(lost >= 2.0, "two attempts to connect fail: {uncounted:?}");
    // Each reading of the second connection moves the counter by 3.
    let read = sampled.counters["Innodb_rows_read"] / 3;
    assert!(
        read as f64 <= uncounted.len() as f64 - lost + 1.0,
        "{uncounted:?}"
    );
}

#[test]
fn a_stopped_server_is_absent_from_then_on() {
    let fake = server(|reading| vec![("Innodb_rows_read", 3 * reading)]);
    let prepared = prepared(&fake);
    fake.stop().unwrap();
    let sampled = sampled(prepared, 0, |seen| seen.len() >= 4);
    assert!(sampled.flags.is_empty(), "{:?}", sampled.flags);
    let text = sampled.gaps[0].flag().text;
    assert!(text.contains("from second 0 to the end"), "{text}");
    assert!(sampled.series.contains_key("machine cpu"));
    assert!(sampled.counters.is_empty());
}

#[test]
fn without_a_server_only_the_machine_is_sampled() {
    let prepared = Prepared {
        every: SECOND,
        ..Prepared::new(Targets::default()).unwrap()
    };
    let sampled = sampled(prepared, 0, has("machine cpu"));
    assert!(sampled.counters.is_empty() && sampled.flags.is_empty());
    assert!(!sampled.series.contains_key("server cpu"));
    assert!(sampled.series.contains_key("sampler cpu"));
}

#[test]
fn a_dropped_sampler_ends() {
    let fake = server(|_| Vec::new());
    let before = Instant::now();
    drop(prepared(&fake).start(Instant::now(), 0, Box::new(|_| ())));
    assert!(before.elapsed() < Duration::from_secs(60));
}
