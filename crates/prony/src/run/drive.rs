//! Converts a planned load to the load engine's terms.

use crate::run::event::{kinds::has_outage, recovery};
use load::arrivals::{Arrivals, Rates};
use load::{Closed, Drive, Load, Open, Share};
use record::{Mode, RateRange};
use spec::plan::PlannedTrial;
use spec::{ArrivalsSpec, Dsn, PlannedLoad, Protocol, Shard, WhenFull};
use std::time::Duration;
use wire::Login;
use workload::Workload;

/// Timeout for connecting and logging in. A slower server counts as refusing the connection.
const LOGIN_WITHIN: Duration = Duration::from_secs(30);

/// How clients reach the server; the workload adds its schema.
pub(crate) fn login(dsn: &Dsn) -> Login {
    server::login(dsn, LOGIN_WITHIN)
}

/// The drive of a planned load.
pub(crate) fn planned(planned: &PlannedTrial, protocol: &Protocol, seed: u64) -> Drive {
    Drive {
        load: load(&planned.load),
        time: protocol.driven(),
        warmup: Duration::from_secs_f64(protocol.warmup_note().known_s()),
        seed,
        reactors: None,
        backend: None,
        reconnect_for: protocol
            .reconnect
            .unwrap_or(match has_outage(&planned.events) {
                true => recovery::RECONNECT_FOR,
                false => load::RECONNECT_FOR,
            }),
        drain_timeout: None,
        share: Share::WHOLE,
        turns: None,
    }
}

/// The share of a shard. Clients that have a home in the data stay together with it.
pub(crate) fn share(shard: Shard, workload: &dyn Workload) -> Share {
    Share::new(shard.number - 1, shard.of, workload.homes())
}

/// What a share of a load is in the record: its own clients or workers, and its own part of the rate and the queue. A rate that changes is
/// the mean of the measured part. Pauses of the workload are think times.
pub(crate) fn mode_of(
    share: &Share,
    planned: &PlannedLoad,
    protocol: &Protocol,
    workload: &dyn Workload,
) -> Mode {
    let clients = |whole: u32| share.clients(whole).len() as u32;
    let part = |rate: f64| rate / f64::from(share.of());
    let mut mode = planned.mode();
    match &mut mode {
        Mode::Closed {
            clients: own,
            think_s,
        } => {
            *own = clients(*own);
            *think_s += workload.pauses().map_or(0.0, |pauses| pauses.mean_s);
        }
        Mode::Open { workers, queue, .. } => {
            *workers = clients(*workers);
            *queue = share.part(*queue);
        }
    }
    if let (Mode::Open { rate, range, .. }, Load::Open(open)) = (&mut mode, load(planned)) {
        let scheduled = rates(&open.arrivals, protocol);
        *rate = part(scheduled.mean);
        *range = scheduled.range.map(|(min, max)| RateRange {
            min: part(min),
            max: part(max),
        });
    }
    mode
}

/// The rates that are scheduled in the measured part; with a warm-up that is found, in the whole load.
fn rates(arrivals: &Arrivals, protocol: &Protocol) -> Rates {
    let driven_s = protocol.driven().as_secs_f64();
    let from_s = f64::from(measured_from_s(protocol));
    arrivals.rates(if from_s < driven_s { from_s } else { 0.0 }, driven_s)
}

/// The whole load of a trial.
pub(crate) fn load(planned: &PlannedLoad) -> Load {
    match planned {
        PlannedLoad::Closed { clients, think } => Load::Closed(Closed {
            clients: *clients,
            think: *think,
        }),
        PlannedLoad::Open {
            rate,
            arrivals,
            workers,
            queue,
            when_full,
        } => Load::Open(Open {
            arrivals: schedule(*rate, arrivals),
            workers: *workers,
            queue: *queue,
            when_full: match when_full {
                WhenFull::Stop => load::WhenFull::Stop,
                WhenFull::Drop => load::WhenFull::Drop,
                WhenFull::Wait => load::WhenFull::Wait,
            },
        }),
    }
}

fn schedule(rate: f64, arrivals: &ArrivalsSpec) -> Arrivals {
    match arrivals {
        ArrivalsSpec::Poisson => Arrivals::Poisson { rate },
        ArrivalsSpec::Uniform => Arrivals::Uniform { rate },
        ArrivalsSpec::Bursts {
            burst_rate,
            every,
            length,
        } => Arrivals::Bursts {
            rate,
            burst_rate: *burst_rate,
            every_s: every.as_secs_f64(),
            burst_s: length.as_secs_f64(),
        },
        ArrivalsSpec::Ramp { to, over } => Arrivals::Ramp {
            from: rate,
            to: *to,
            over_s: over.as_secs_f64(),
        },
        ArrivalsSpec::Trace { at_ns } => Arrivals::Trace {
            at_ns: at_ns.clone(),
        },
    }
}

/// The first second over which the server's counters are taken.
pub(crate) fn measured_from_s(protocol: &Protocol) -> u32 {
    protocol.warmup_note().known_s().ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::read_on_server;

    #[test]
    fn keying_and_think_times_of_a_workload_are_think_times_of_its_load() {
        let source = "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.tpcc]\n\
             [load.closed]\nclients = [8]\n[protocol]\ntime = '60s'\n";
        let experiment = read_on_server(source);
        let closed = PlannedLoad::Closed {
            clients: 8,
            think: Duration::from_millis(500),
        };
        let mode = |section: &str| {
            let section = section.parse().unwrap();
            let tpcc = workload::open("tpcc", &section).unwrap();
            mode_of(&Share::WHOLE, &closed, &experiment.protocol, tpcc.as_ref())
        };
        let thinking = |think_s: f64| Mode::Closed {
            clients: 8,
            think_s,
        };
        assert_eq!(mode("waits = 'none'"), thinking(0.5));
        assert_eq!(mode("waits = 'standard'"), thinking(0.5 + 20.696));
        let payments = "waits = 'standard'\nmix = 'weights'\nweights = { payment = 3 }";
        assert_eq!(mode(payments), thinking(0.5 + 15.0));
    }
}
