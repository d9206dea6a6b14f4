//! Samples the machine, the server's process and its disk, under prony's own names.
//!
//! Unavailable values are absent. The crate `host` reads /proc; the server's status values are in `status`.

use super::PidOf;
use host::{
    Interface, Mount, Process, Processors, Turns, mount_below, network_bytes, network_bytes_of,
    retransmitted_segments, thread_cpu,
};
use record::names::{
    DEVICE_FLUSH_US, DEVICE_FLUSHES, DEVICE_READ, DEVICE_READ_US, DEVICE_READS, LINK_RECEIVED,
    LINK_RECEIVED_PACKETS, LINK_SENT, LINK_SENT_PACKETS, SERVER_READ,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

pub(super) const DEVICE_WRITTEN: &str = "device written bytes";

/// The sources of the machine's values.
pub(super) struct Machine {
    /// Called every second, because a restart changes the process.
    pid: Option<PidOf>,
    server: Option<Server>,
    device: Option<Mount>,
    /// The interface by which clients reach the server.
    interface: Option<Interface>,
}

struct Server {
    pid: u32,
    start_ticks: u64,
    turns: Turns,
}

/// One value under prony's own names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Amount {
    /// Cumulative; the sample is its change per second.
    Total(f64),
    /// A gauge; the sample is the value itself.
    Level(f64),
}

pub(super) type Amounts = BTreeMap<&'static str, Amount>;

impl Machine {
    /// Values of a missing process or disk are always absent.
    pub(super) fn new(
        pid: Option<PidOf>,
        data_folder: Option<&Path>,
        interface: Option<Interface>,
    ) -> Machine {
        let device = data_folder
            .and_then(|folder| mount_below(folder).ok())
            .filter(|mount| mount.counts().is_ok());
        let server = pid.as_ref().and_then(|pid| Server::from_pid(pid()?));
        Machine {
            pid,
            server,
            device,
            interface,
        }
    }

    /// Reads all current values. `others` is the CPU time of the sampler's other thread.
    pub(super) fn read(&mut self, others: Duration) -> Amounts {
        let mut amounts = Amounts::new();
        self.read_server(&mut amounts);
        if let Some(counts) = self.device.as_ref().and_then(|device| device.counts().ok()) {
            amounts.extend([
                (DEVICE_READS, total(counts.reads)),
                (DEVICE_READ, total(counts.read_bytes)),
                ("device writes", total(counts.writes)),
                (DEVICE_WRITTEN, total(counts.written_bytes)),
                ("device busy", Amount::Total(counts.busy_ms as f64 / 1e3)),
                ("device in flight", Amount::Level(counts.in_flight as f64)),
                (DEVICE_READ_US, Amount::Total(counts.read_ms as f64 * 1e3)),
            ]);
            if let (Some(flushes), Some(flush_ms)) = (counts.flushes, counts.flush_ms) {
                amounts.extend([
                    (DEVICE_FLUSHES, total(flushes)),
                    (DEVICE_FLUSH_US, Amount::Total(flush_ms as f64 * 1e3)),
                ]);
            }
        }
        if let Some(processors) = Processors::read() {
            amounts.extend([
                ("machine cpu", Amount::Total(processors.busy_s)),
                ("machine io wait", Amount::Total(processors.waiting_s)),
                ("machine stolen", Amount::Total(processors.stolen_s)),
            ]);
        }
        if let Some(bytes) = network_bytes() {
            amounts.insert("network bytes", total(bytes));
        }
        if let Some(carried) = self.interface.as_ref().and_then(Interface::carried) {
            amounts.extend([
                (LINK_RECEIVED, total(carried.received_bytes)),
                (LINK_SENT, total(carried.sent_bytes)),
                (LINK_RECEIVED_PACKETS, total(carried.received_packets)),
                (LINK_SENT_PACKETS, total(carried.sent_packets)),
            ]);
            if let Some(segments) = retransmitted_segments() {
                amounts.insert("tcp retransmissions", total(segments));
            }
        }
        let own_s = (thread_cpu() + others).as_secs_f64();
        amounts.insert("sampler cpu", Amount::Total(own_s));
        amounts
    }

    /// Skips the first reading of a new process, whose totals must not be compared with those of the previous one.
    fn read_server(&mut self, amounts: &mut Amounts) {
        let pid = self.pid.as_ref().and_then(|pid| pid());
        let known = self.server.as_ref().map(|server| server.pid);
        if pid == known {
            if let Some(server) = &mut self.server {
                server.read(amounts);
            }
        } else if pid.is_some() {
            self.server = pid.and_then(Server::from_pid);
        }
    }
}

impl Server {
    fn from_pid(pid: u32) -> Option<Server> {
        Some(Server {
            pid,
            start_ticks: Process::read(pid)?.start_ticks,
            turns: Turns::default(),
        })
    }

    fn read(&mut self, amounts: &mut Amounts) {
        let found = Process::read(self.pid);
        let Some(process) = found.filter(|process| process.start_ticks == self.start_ticks) else {
            return;
        };
        amounts.extend([
            (
                "server cpu",
                Amount::Total(process.user_s + process.system_s),
            ),
            ("server cpu system", Amount::Total(process.system_s)),
            ("server threads", Amount::Level(f64::from(process.threads))),
            (
                "server memory bytes",
                Amount::Level(process.resident_bytes as f64),
            ),
        ]);
        if let Some(io) = process.io {
            amounts.extend([
                (SERVER_READ, total(io.read_bytes)),
                ("server written bytes", total(io.written_bytes)),
            ]);
        }
        if let Some(bytes) = network_bytes_of(self.pid) {
            amounts.insert("server network bytes", total(bytes));
        }
        if let Some((count, waited)) = self.turns.read(self.pid, process.threads) {
            amounts.extend([
                ("server context switches", total(count)),
                ("server cpu wait", Amount::Total(waited.as_secs_f64())),
            ]);
        }
    }
}

/// A count that only grows, until its source begins anew.
fn total(count: u64) -> Amount {
    Amount::Total(count as f64)
}

/// The sample between two readings: totals as rates per second, levels as of the later reading.
pub(super) fn between(
    before: &Amounts,
    after: &Amounts,
    elapsed_s: f64,
) -> BTreeMap<&'static str, f64> {
    let value = |name: &&'static str, amount: &Amount| match (before.get(name), amount) {
        (_, Amount::Level(level)) => Some(*level),
        (Some(Amount::Total(before)), Amount::Total(after)) if after >= before => {
            Some((after - before) / elapsed_s)
        }
        _ => None,
    };
    after
        .iter()
        .filter_map(|(name, amount)| Some((*name, value(name, amount)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[test]
    fn totals_become_rates_and_levels_stay_unchanged() {
        let before = Amounts::from([("a", Amount::Total(10.0)), ("b", Amount::Level(1.0))]);
        let after = Amounts::from([
            ("a", Amount::Total(13.0)),
            ("b", Amount::Level(5.0)),
            ("c", Amount::Total(1.0)),
        ]);
        let second = between(&before, &after, 1.5);
        assert_eq!(second, BTreeMap::from([("a", 2.0), ("b", 5.0)]));
    }

    #[test]
    fn a_falling_total_has_no_rate() {
        let before = Amounts::from([("a", Amount::Total(10.0))]);
        let after = Amounts::from([("a", Amount::Total(1.0))]);
        assert!(between(&before, &after, 1.0).is_empty());
    }

    #[test]
    fn only_server_values_are_absent_after_the_server_ended() {
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let pid = child.id();
        let mut machine = Machine::new(Some(Box::new(move || Some(pid))), None, None);
        assert!(machine.read(Duration::ZERO).contains_key("server cpu"));
        child.kill().unwrap();
        child.wait().unwrap();
        let amounts = machine.read(Duration::ZERO);
        assert!(!amounts.keys().any(|name| name.starts_with("server")));
        assert!(amounts.contains_key("machine cpu") && amounts.contains_key("sampler cpu"));
    }

    #[test]
    fn a_restarted_server_is_sampled_from_its_second_reading_on() {
        let pid = Arc::new(AtomicU32::new(1));
        let current = pid.clone();
        let pid_of: PidOf = Box::new(move || Some(current.load(Relaxed)));
        let mut machine = Machine::new(Some(pid_of), None, None);
        pid.store(std::process::id(), Relaxed);
        assert!(!machine.read(Duration::ZERO).contains_key("server cpu"));
        assert!(machine.read(Duration::ZERO).contains_key("server cpu"));
    }
}
