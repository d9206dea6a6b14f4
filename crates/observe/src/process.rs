//! Resource use of the server process, and its disk's reads, between two points in time.
//!
//! A reading takes microseconds, so it can directly surround a statement. Names are those of the sampler plus the unit. Rates
//! per second come from `sampler`. Disk reads include those of all other processes.

use crate::reading::Reading;
use host::{Mount, Process, mount_below, process_cpu};
use record::names::{
    DEVICE_FLUSH_US, DEVICE_FLUSHES, DEVICE_READ, DEVICE_READ_US, DEVICE_READS, SERVER_CPU,
    SERVER_CPU_SYSTEM, SERVER_READ,
};
use record::{Counters, UNCOUNTED};
use std::collections::BTreeMap;
use std::path::Path;

/// The process of a managed server, and the disk with its data.
pub struct ServerProcess {
    pid: u32,
    start_ticks: u64,
    device: Option<Mount>,
}

impl ServerProcess {
    /// Describes a running process; None if it does not exist.
    pub fn from_pid(pid: u32, data_folder: Option<&Path>) -> Option<ServerProcess> {
        let device = data_folder
            .and_then(|folder| mount_below(folder).ok())
            .filter(|mount| mount.counts().is_ok());
        Some(ServerProcess {
            pid,
            start_ticks: Process::read(pid)?.start_ticks,
            device,
        })
    }

    /// Its resource use so far. Unavailable values are absent.
    fn read(&self) -> Reading {
        let mut reading = Reading::new();
        let mut enter = |name: &str, amount: u64| {
            reading.insert(name.to_string(), i64::try_from(amount).unwrap_or(i64::MAX));
        };
        let process = Process::read(self.pid).filter(|one| one.start_ticks == self.start_ticks);
        if let Some(process) = process {
            if let Some(cpu) = process_cpu(self.pid) {
                enter(SERVER_CPU, cpu.as_micros() as u64);
            }
            enter(SERVER_CPU_SYSTEM, (process.system_s * 1e6) as u64);
            if let Some(io) = process.io {
                enter(SERVER_READ, io.read_bytes);
            }
        }
        if let Some(counts) = self.device.as_ref().and_then(|device| device.counts().ok()) {
            enter(DEVICE_READS, counts.reads);
            enter(DEVICE_READ, counts.read_bytes);
            enter(DEVICE_READ_US, counts.read_ms.saturating_mul(1000));
            if let (Some(flushes), Some(flush_ms)) = (counts.flushes, counts.flush_ms) {
                enter(DEVICE_FLUSHES, flushes);
                enter(DEVICE_FLUSH_US, flush_ms.saturating_mul(1000));
            }
        }
        reading
    }
}

/// The resource use of a process so far; empty for None.
pub fn read(process: &Option<ServerProcess>) -> Reading {
    process
        .as_ref()
        .map(ServerProcess::read)
        .unwrap_or_default()
}

/// The resource use between two readings, for the values in both.
pub fn since(before: &Reading, after: &Reading) -> Counters {
    let used = |(name, after): (&String, &i64)| {
        let before = before.get(name)?;
        (after >= before).then(|| (name.clone(), after - before))
    };
    after.iter().filter_map(used).collect()
}

/// The sampler's series of the resource use, with the factor to the unit of the counter.
const SERIES: [(&str, &str, f64); 8] = [
    (SERVER_CPU, "server cpu", 1e6),
    (SERVER_CPU_SYSTEM, "server cpu system", 1e6),
    (SERVER_READ, SERVER_READ, 1.0),
    (DEVICE_READS, DEVICE_READS, 1.0),
    (DEVICE_READ, DEVICE_READ, 1.0),
    (DEVICE_READ_US, DEVICE_READ_US, 1.0),
    (DEVICE_FLUSHES, DEVICE_FLUSHES, 1.0),
    (DEVICE_FLUSH_US, DEVICE_FLUSH_US, 1.0),
];

/// A series that lacks a larger share of the seconds that count has no sum.
const LACKING_MAX: f64 = 0.25;

/// The resource use of a timed load from this second on, in the seconds that the server's counters cover, under the names that rounds use. A
/// second that was read too late counts with the mean of the others, since the load's operations count in it. A series that lacks many
/// is absent.
pub fn over(series: &BTreeMap<String, Vec<Option<f64>>>, from_s: u32) -> Counters {
    let uncounted = series.get(UNCOUNTED).map_or(&[][..], Vec::as_slice);
    let is_counted = |second: usize| uncounted.get(second).copied().flatten() != Some(1.0);
    let sum = |(counter, name, factor): &(&str, &str, f64)| {
        let seconds = series.get(*name)?.iter().enumerate().skip(from_s as usize);
        let counted = seconds.filter(|(second, _)| is_counted(*second));
        let counted: Vec<Option<f64>> = counted.map(|(_, value)| *value).collect();
        let known = counted.iter().flatten();
        let share = known.clone().count() as f64 / counted.len().max(1) as f64;
        (share >= 1.0 - LACKING_MAX).then(|| {
            let sum = known.sum::<f64>() / share;
            (counter.to_string(), (sum * factor).round() as i64)
        })
    };
    SERIES.iter().filter_map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_process_uses_cpu_time() {
        let own = ServerProcess::from_pid(std::process::id(), None);
        let before = read(&own);
        let began = host::thread_cpu();
        while host::thread_cpu() - began < std::time::Duration::from_millis(3) {}
        let used = since(&before, &read(&own));
        assert!(used["server cpu us"] >= 3_000, "{used:?}");
        assert!(!used.contains_key("device reads"), "no folder, no device");
    }

    #[test]
    fn resource_use_of_an_ended_process_is_absent() {
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let process = ServerProcess::from_pid(child.id(), None);
        let before = read(&process);
        assert!(before.contains_key("server cpu us"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(since(&before, &read(&process)).is_empty());
    }

    #[test]
    fn the_use_of_a_load_is_that_of_all_seconds_that_count() {
        let series = BTreeMap::from([
            (
                "server cpu".to_string(),
                vec![Some(9.0), Some(0.5), None, Some(0.25), Some(0.75)],
            ),
            (
                "server cpu system".to_string(),
                vec![Some(9.0), Some(0.5), None, None, Some(0.75)],
            ),
            ("device reads".to_string(), vec![Some(7.0); 1]),
        ]);
        assert_eq!(
            over(&series, 1),
            Counters::from([("server cpu us".into(), 2_000_000)])
        );
    }

    #[test]
    fn resource_use_without_a_process_is_empty() {
        assert!(since(&read(&None), &read(&None)).is_empty());
    }
}
