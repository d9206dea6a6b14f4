//! Describes the machine for the record's environment, so that runs on different machines can be told apart.
//!
//! The protocol adds the servers.

use crate::device;
use record::Environment;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The version with the build: `0.1.0 (ee8757c30bd1)`.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("PRONY_BUILD"));

/// The environment without the servers. Unavailable values are `unknown`.
pub fn environment(work: &Path) -> Environment {
    let kernel = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    Environment {
        prony_version: VERSION.to_string(),
        machine: text(kernel.nodename()),
        cpu: cpu(&read("/proc/cpuinfo"), &text(kernel.machine())),
        cores: cores(),
        memory_bytes: memory_bytes(),
        kernel: format!("{} {}", text(kernel.sysname()), text(kernel.release())),
        system: system(&read("/etc/os-release")),
        file_system: device::below(work).map_or_else(
            |_| unknown(),
            |mount| format!("{} on {}", mount.kind, mount.source),
        ),
        servers: BTreeMap::new(),
        unconfigured: BTreeSet::new(),
    }
}

/// Memory of the machine in bytes; 0 if unknown.
pub fn memory_bytes() -> u64 {
    memory_total(&read("/proc/meminfo")).unwrap_or(0)
}

fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

fn unknown() -> String {
    "unknown".to_string()
}

/// The model name of the first CPU, or the architecture if there is none (ARM).
fn cpu(cpuinfo: &str, architecture: &str) -> String {
    let name = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or(architecture, |(_, name)| name.trim())
        .to_string()
}

/// Parses `MemTotal:       24689532 kB`, where kB is 1024 bytes.
fn memory_total(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Parses `PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"` (os-release(5)).
fn system(os_release: &str) -> String {
    let name = os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or_else(unknown, |name| name.trim_matches(['"', '\'']).to_string())
}

/// CPU cores that this process may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_formats_are_parsed() {
        assert_eq!(
            cpu(
                "processor\t: 0\nmodel name\t: Some CPU @ 2.0: GHz\n",
                "x86_64"
            ),
            "Some CPU @ 2.0: GHz"
        );
        assert_eq!(cpu("processor\t: 0\n", "aarch64"), "aarch64");
        assert_eq!(
            memory_total("MemTotal:       24689532 kB\nMemFree: 1 kB\n"),
            Some(24_689_532 * 1024)
        );
        assert_eq!(
            system("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)"
        );
    }

    #[test]
    fn the_environment_of_this_machine_is_complete() {
        let here = environment(Path::new("/"));
        assert!(here.memory_bytes > 0 && here.cores > 0 && here.kernel.starts_with("Linux "));
        assert!(here.file_system.contains(" on "), "{}", here.file_system);
    }
}
