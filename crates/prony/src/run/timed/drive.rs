//! Converts a planned load to the load engine's terms.

use crate::run::event::{has_outage, recovery};
use load::{Closed, Drive, Load, Open, arrivals::Arrivals};
use record::Warmup;
use spec::plan::PlannedTrial;
use spec::{ArrivalsSpec, Dsn, PlannedLoad, Protocol, WhenFull};
use std::time::Duration;
use wire::Login;

/// Timeout for connecting and logging in. A slower server counts as refusing the connection.
const LOGIN_WITHIN: Duration = Duration::from_secs(30);

/// How clients reach the server; the workload adds its schema.
pub(crate) fn login(dsn: &Dsn) -> Login {
    server::login(dsn, LOGIN_WITHIN)
}

/// The drive of a planned load.
pub(crate) fn of(planned: &PlannedTrial, protocol: &Protocol, seed: u64) -> Drive {
    Drive {
        load: load(&planned.load),
        time: protocol.driven(),
        warmup: match protocol.warmup_note() {
            Warmup::Seconds(warmup_s) => Duration::from_secs_f64(warmup_s),
            Warmup::Find => Duration::ZERO,
        },
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
    }
}

fn load(planned: &PlannedLoad) -> Load {
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
    match protocol.warmup_note() {
        Warmup::Seconds(warmup_s) => warmup_s.ceil() as u32,
        Warmup::Find => 0,
    }
}
