//! Resource use of one process: `/proc/PID/stat` and `/proc/PID/io` (proc(5)).
//!
//! The values are sums over all its threads, including those that have ended. Single threads are in `turns`.

use super::seconds;
use std::fs;

/// Resource use of a process since it started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Process {
    pub user_s: f64,
    pub system_s: f64,
    pub threads: u32,
    /// Resident memory, including shared pages.
    pub resident_bytes: u64,
    /// Start time in clock ticks since boot; together with the process id it identifies the process uniquely.
    pub start_ticks: u64,
    /// None if this user may not read it.
    pub io: Option<Io>,
}

/// Bytes that a process caused to be read from and written to disks; page cache hits do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    pub read_bytes: u64,
    pub written_bytes: u64,
}

impl Process {
    /// Reads the current values; None if the process does not exist or is a zombie.
    pub fn read(pid: u32) -> Option<Process> {
        let mut process = parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
        process.io = fs::read_to_string(format!("/proc/{pid}/io"))
            .ok()
            .and_then(|text| io(&text));
        Some(process)
    }
}

/// Parses the fields, numbered from 1 as in proc(5). The name (field 2) is in parentheses and may contain anything, so
/// parsing starts after the last parenthesis.
fn parse(stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat
        .get(stat.rfind(')')? + 1..)?
        .split_whitespace()
        .collect();
    let number = |n: usize| fields.get(n - 3)?.parse::<u64>().ok();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    Some(Process {
        user_s: seconds(number(14)?),
        system_s: seconds(number(15)?),
        threads: u32::try_from(number(20)?).ok()?,
        resident_bytes: number(24)?.checked_mul(rustix::param::page_size() as u64)?,
        start_ticks: number(22)?,
        io: None,
    })
}

fn io(text: &str) -> Option<Io> {
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some(Io {
        read_bytes: number("read_bytes:")?,
        written_bytes: number("write_bytes:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A shell on Linux 6.18, but for its name.
    const STAT: &str = "14251 (a) (b) S 14249 14251 14251 0 -1 4194560 3749 467482 0 9 250 150 1414 145 20 0 7 0 95377 \
         5255168 970 18446744073709551615 94731601768448 94731602557853 140733616747152 0 0 0 65536 4 1132560123 1 0 0 17 \
         0 0 0 0 0 0 94731602791152 94731602839396 94731942150144 140733616749403 140733616749418 140733616749418 \
         140733616750570 0\n";

    #[test]
    fn the_kernels_stat_format_is_parsed() {
        let process = parse(STAT).unwrap();
        let tick_s = seconds(1);
        assert_eq!(process.user_s, 250.0 * tick_s);
        assert_eq!(process.system_s, 150.0 * tick_s);
        assert_eq!((process.threads, process.start_ticks), (7, 95377));
        assert_eq!(
            process.resident_bytes,
            970 * rustix::param::page_size() as u64
        );
    }

    #[test]
    fn a_zombie_does_not_count_as_a_process() {
        assert_eq!(parse(&STAT.replace(") S ", ") Z ")), None);
    }

    #[test]
    fn disk_bytes_are_read_instead_of_syscall_bytes() {
        let text = "rchar: 28336139\nwchar: 123784550\nsyscr: 23826\nsyscw: 3377\nread_bytes: 8192\n\
                    write_bytes: 130764800\ncancelled_write_bytes: 434176\n";
        let expected = Io {
            read_bytes: 8192,
            written_bytes: 130_764_800,
        };
        assert_eq!(io(text), Some(expected));
        assert_eq!(io("rchar: 1\n"), None);
    }

    #[test]
    fn an_ended_process_is_absent() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert_eq!(Process::read(pid), None);
        assert!(Process::read(std::process::id()).is_some());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in ".{0,300}", cut in 0..STAT.len()) {
            let _ = (parse(&text), io(&text), parse(STAT.get(..cut).unwrap_or("")));
        }
    }
}
