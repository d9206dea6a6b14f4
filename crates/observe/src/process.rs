//! What the server's process used and its device read between two moments: processor time, bytes, requests.
//!
//! Goal: a reading of microseconds, so that it can stand right around a statement; the sampler's names, with their units behind
//! them. Non-goals: each second's rates (`sampler`); whose reads of the device they were: it serves all.

use super::Reading;
use host::{Mount, Process, mount_below, process_cpu};
use record::Counters;
use record::stats::used::{DEVICE_READ, DEVICE_READS, SERVER_CPU, SERVER_CPU_SYSTEM, SERVER_READ};
use std::path::Path;

/// The process of a managed server, and the device below its data.
pub struct ServerProcess {
    pid: u32,
    start_ticks: u64,
    device: Option<Mount>,
}

impl ServerProcess {
    /// None where there is no such process.
    pub fn of(pid: u32, data_folder: Option<&Path>) -> Option<ServerProcess> {
        let device = data_folder
            .and_then(|folder| mount_below(folder).ok())
            .filter(|mount| mount.counts().is_ok());
        Some(ServerProcess {
            pid,
            start_ticks: Process::read(pid)?.start_ticks,
            device,
        })
    }

    /// What it used so far. What cannot be read is left out.
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
        }
        reading
    }
}

/// Empty where there is no process.
pub fn read(process: &Option<ServerProcess>) -> Reading {
    process
        .as_ref()
        .map(ServerProcess::read)
        .unwrap_or_default()
}

/// What was used between two readings, where both have it.
pub fn since(before: &Reading, after: &Reading) -> Counters {
    let used = |(name, after): (&String, &i64)| {
        let before = before.get(name)?;
        (after >= before).then(|| (name.clone(), after - before))
    };
    after.iter().filter_map(used).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_works_uses_processor_time() {
        let own = ServerProcess::of(std::process::id(), None);
        let before = read(&own);
        let began = host::thread_cpu();
        while host::thread_cpu() - began < std::time::Duration::from_millis(3) {}
        let used = since(&before, &read(&own));
        assert!(used["server cpu us"] >= 3_000, "{used:?}");
        assert!(!used.contains_key("device reads"), "no folder, no device");
    }

    #[test]
    fn a_process_that_ended_in_between_has_used_nothing_that_can_be_told() {
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let process = ServerProcess::of(child.id(), None);
        let before = read(&process);
        assert!(before.contains_key("server cpu us"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(since(&before, &read(&process)).is_empty());
    }

    #[test]
    fn a_server_without_a_process_is_absent() {
        assert!(since(&read(&None), &read(&None)).is_empty());
    }
}
