//! Tests of the sampler with real servers: counts, cost, and stalled servers.
//!
//! Tiers: default, long.

use crate::support::fresh::{BUILDS, Fresh};
use host::{Paused, Process, thread_cpu};
use observe::{Observer, Prepared, Sample, Sampled, Sampler, Targets};
use server::{Managed, Node, Session};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(600);

type Second = (u32, BTreeMap<String, f64>);

fn started(fresh: &Fresh) -> Arc<Managed> {
    Arc::new(fresh.started(&[("max_connections", "500")]))
}

/// A running sampler, and the seconds that it publishes.
fn sampling(server: &Arc<Managed>) -> (Sampler, Receiver<Second>) {
    let targets = Targets {
        connector: Some(server.connector().unwrap()),
        configure: true,
        server_pid: Some(Box::new({
            let server = server.clone();
            move || server.pid()
        })),
        data_folder: server.data_folder(),
        interface: None,
    };
    let prepared = Prepared::new(targets).unwrap();
    let (send, seconds) = channel();
    let live = Box::new(move |sample: Sample| {
        let _ = send.send((sample.second, sample.values.clone()));
    });
    (prepared.start(Instant::now(), 0, live), seconds)
}

/// Waits for a second with (or without) the server's values, and returns its number.
fn wait_for(seconds: &Receiver<Second>, has_status: bool) -> u32 {
    loop {
        let (second, values) = seconds.recv_timeout(PATIENCE).expect("a second");
        if values.contains_key("Uptime") == has_status {
            return second;
        }
    }
}

/// A running sampler of a server that answered once and is stopped now.
fn stalled(server: &Arc<Managed>) -> (Sampler, Receiver<Second>, Paused) {
    let (sampler, seconds) = sampling(server);
    wait_for(&seconds, true);
    let paused = Paused::stop(server.pid().unwrap()).unwrap();
    (sampler, seconds, paused)
}

fn mean(series: &[Option<f64>]) -> f64 {
    let present: Vec<f64> = series.iter().flatten().copied().collect();
    present.iter().sum::<f64>() / present.len() as f64
}

/// A busy machine alone may delay the first reading, which is flagged.
fn nothing_was_lost(sampled: &Sampled) {
    let late = "after the measured part began";
    let mut flags = sampled.flags.iter();
    assert!(
        flags.all(|flag| flag.text.contains(late)) && sampled.gaps.is_empty(),
        "{sampled:?}"
    );
}

#[test]
fn only_the_loads_statements_are_counted() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let mut session = server.connect().unwrap();
    let (sampler, seconds) = sampling(&server);
    wait_for(&seconds, true);
    let (began, mut sent) = (Instant::now(), 0);
    let last = loop {
        session.query("SELECT 1").unwrap();
        sent += 1;
        match seconds.try_recv() {
            Ok((second, values)) if values.get("Com_select") > Some(&0.0) => break second,
            _ => assert!(began.elapsed() < PATIENCE, "no second counts them"),
        }
    };
    let sampled = sampler.stop();
    nothing_was_lost(&sampled);
    let Sampled {
        series, counters, ..
    } = sampled;
    assert_eq!(counters["Com_select"], sent);
    assert_eq!(counters.get("Threads_running"), None, "it is a level");
    let lengths: Vec<usize> = series.values().map(Vec::len).collect();
    assert!(lengths[0] > last as usize && lengths.iter().all(|length| *length == lengths[0]));
    for name in [
        "server cpu",
        "server threads",
        "machine cpu",
        "network bytes",
    ] {
        assert!(series[name].iter().flatten().count() > 0, "{name}");
    }
    // A loose bound for an unoptimised build on a shared machine; bench/results/sampler.md has the figures.
    let share = mean(&series["sampler cpu"]);
    assert!(share > 0.0 && share < 0.3, "{share} of a core");
    server.stop().unwrap();
}

#[test]
fn a_stalled_server_is_absent_until_it_resumes() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let (sampler, seconds, paused) = stalled(&server);
    let from = wait_for(&seconds, false);
    wait_for(&seconds, false);
    drop(paused);
    let to = wait_for(&seconds, true);
    let sampled = sampler.stop();
    let uptime = &sampled.series["Uptime"];
    assert!(uptime[from as usize].is_none() && uptime[to as usize].is_some());
    let machine = &sampled.series["machine cpu"];
    let meanwhile = &machine[from as usize..to as usize];
    assert!(
        meanwhile.iter().any(Option::is_some),
        "the machine is still sampled"
    );
    nothing_was_lost(&sampled);
    assert!(sampled.counters.contains_key("Com_select"));
    server.stop().unwrap();
}

#[test]
fn a_sampler_stops_even_if_the_server_stalls() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let (sampler, seconds, paused) = stalled(&server);
    wait_for(&seconds, false);
    let began = Instant::now();
    let sampled = sampler.stop();
    assert!(began.elapsed() < PATIENCE);
    assert!(
        sampled.flags[0].text.contains("did not answer at the end"),
        "{:?}",
        sampled.flags
    );
    assert!(sampled.counters.contains_key("Com_select"));
    drop(paused);
    server.stop().unwrap();
}

/// The cost of a reading in milliseconds.
struct Cost {
    wall: f64,
    prony_cpu: f64,
    server_cpu: f64,
}

/// The mean cost of one execution, over many.
fn cost_of(server: &Managed, mut act: impl FnMut()) -> Cost {
    const TIMES: u32 = 400;
    let cpu_s = || {
        let process = Process::read(server.pid().unwrap()).unwrap();
        process.user_s + process.system_s
    };
    let (server_before, own_before, began) = (cpu_s(), thread_cpu(), Instant::now());
    for _ in 0..TIMES {
        act();
    }
    let each_ms = |seconds: f64| seconds * 1e3 / f64::from(TIMES);
    Cost {
        wall: each_ms(began.elapsed().as_secs_f64()),
        prony_cpu: each_ms((thread_cpu() - own_before).as_secs_f64()),
        server_cpu: each_ms(cpu_s() - server_before),
    }
}

/// Writes the tables of bench/results/sampler.md.
#[test]
#[cfg(tier_long)]
fn measure_the_cost_of_a_reading() {
    println!(
        "| server | connections | reading | wall, ms | prony's CPU, ms | the server's CPU, ms |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    let mut whole = Vec::new();
    for build in BUILDS {
        let Some(fresh) = Fresh::of(build) else {
            continue;
        };
        let server = started(&fresh);
        let mut others: Vec<Session> = Vec::new();
        for connections in [1, 257] {
            others.resize_with(connections - 1, || server.connect().unwrap());
            let mut observer = Observer::new(server.connect().unwrap(), true).unwrap();
            let mut session = server.connect().unwrap();
            let alone = cost_of(&server, || {
                drop(session.query("SHOW GLOBAL STATUS").unwrap())
            });
            let all = cost_of(&server, || drop(observer.read().unwrap()));
            let mut observer = Observer::with_states(server.connect().unwrap(), true).unwrap();
            let with_states = cost_of(&server, || drop(observer.read_all().unwrap()));
            for (name, cost) in [
                ("status alone", alone),
                ("status, metrics, pool", all),
                ("status, metrics, pool, states", with_states),
            ] {
                println!(
                    "| {build} | {connections} | {name} | {:.2} | {:.2} | {:.2} |",
                    cost.wall, cost.prony_cpu, cost.server_cpu
                );
            }
            let (sampler, seconds) = sampling(&server);
            for _ in 0..10 {
                wait_for(&seconds, true);
            }
            let sampled = sampler.stop();
            let core = |name: &str| 100.0 * mean(&sampled.series[name]);
            whole.push(format!(
                "| {build} | {connections} | {:.0} | {:.2} | {:.2} |",
                mean(&sampled.series["server threads"]),
                core("sampler cpu"),
                core("server cpu")
            ));
        }
        drop(others);
        server.stop().unwrap();
    }
    println!(
        "\n| server | connections | its threads | `sampler cpu`, % of a core | `server cpu`, idle but for the sampler, % of a core |"
    );
    println!("| --- | --- | --- | --- | --- |");
    println!("{}", whole.join("\n"));
}
