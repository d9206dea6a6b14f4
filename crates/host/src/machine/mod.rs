//! Describes the machine for the record's environment, so that runs on different machines can be told apart.
//!
//! The protocol adds the servers.

pub(crate) mod clock;
pub(crate) mod pace;

use crate::storage::{self, facts, marked};
use record::{Conditions, Environment};
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
        file_system: facts::file_system(work).unwrap_or_else(unknown),
        conditions: conditions(work),
        servers: BTreeMap::new(),
        unconfigured: BTreeSet::new(),
    }
}

fn conditions(work: &Path) -> Conditions {
    let cpuinfo = read("/proc/cpuinfo");
    Conditions {
        governor: pace::governor(),
        turbo: turbo(
            &read("/sys/devices/system/cpu/intel_pstate/no_turbo"),
            &read("/sys/devices/system/cpu/cpufreq/boost"),
        ),
        transparent_huge_pages: marked(&read("/sys/kernel/mm/transparent_hugepage/enabled"))
            .and_then(line),
        clocksource: line(&read(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )),
        io_scheduler: storage::below(work)
            .ok()
            .and_then(|below| below.disk?.scheduler),
        hypervisor: hypervisor(
            &cpuinfo,
            &read("/sys/class/dmi/id/sys_vendor"),
            &read("/sys/class/dmi/id/product_name"),
        ),
        load_at_start: read("/proc/loadavg")
            .split_whitespace()
            .next()
            .and_then(|load| load.parse().ok()),
        nice: Some(pace::nice()),
    }
}

fn line(text: &str) -> Option<String> {
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}

/// From `no_turbo` of intel_pstate, or `boost` of other drivers.
fn turbo(no_turbo: &str, boost: &str) -> Option<String> {
    let turbo = match (no_turbo.trim(), boost.trim()) {
        ("0", _) | ("", "1") => "on",
        ("1", _) | ("", "0") => "off",
        _ => return None,
    };
    Some(turbo.to_string())
}

/// The vendor and product of a virtual machine, or `none` if the CPU shows no hypervisor. ARM does not say.
fn hypervisor(cpuinfo: &str, vendor: &str, product: &str) -> Option<String> {
    let mut lines = cpuinfo.lines();
    let flags = lines
        .find_map(|line| line.strip_prefix("flags")?.split_once(':'))?
        .1;
    if !flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return Some("none".to_string());
    }
    let name = format!("{} {}", vendor.trim(), product.trim());
    Some(line(&name).unwrap_or_else(unknown))
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
    fn the_conditions_of_a_machine_are_parsed() {
        let text = |text: &str| Some(text.to_string());
        assert_eq!(marked("always [madvise] never\n"), Some("madvise"));
        assert_eq!(marked("none\n"), None);
        assert_eq!(turbo("0\n", ""), text("on"));
        assert_eq!(turbo("1\n", ""), text("off"));
        assert_eq!(turbo("", "0\n"), text("off"));
        assert_eq!(turbo("", ""), None);
        let virtual_cpu = "processor\t: 0\nflags\t\t: fpu hypervisor lm\n";
        assert_eq!(
            hypervisor(virtual_cpu, "QEMU\n", "Standard PC\n"),
            text("QEMU Standard PC")
        );
        assert_eq!(hypervisor(virtual_cpu, "", ""), text("unknown"));
        assert_eq!(hypervisor("flags\t\t: fpu lm\n", "Dell", "x"), text("none"));
        assert_eq!(hypervisor("processor\t: 0\n", "", ""), None);
    }

    #[test]
    fn the_environment_of_this_machine_is_complete() {
        let here = environment(Path::new("/"));
        assert!(here.memory_bytes > 0 && here.cores > 0 && here.kernel.starts_with("Linux "));
        assert!(here.file_system.contains(" on "), "{}", here.file_system);
        assert!(here.conditions.load_at_start.is_some() && here.conditions.nice.is_some());
    }
}
