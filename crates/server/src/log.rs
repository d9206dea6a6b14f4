//! A server's own log: its last lines, why it ended, and which settings are suspect when it does not start.
//!
//! Goal: one message that holds the cause and the way out. Non-goal: a full understanding of every server's log.

use spec::known::plain;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

/// How much of a log's end is looked at, in bytes.
const LOOKED_AT_BYTES: u64 = 256 << 10;

/// The lines of a log from an offset in bytes on (where this start began), at most the last 256 KiB of them. Empty where
/// there is no log.
pub fn lines_from(log: &Path, offset: u64) -> Vec<String> {
    let text = read_from(log, offset).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .map(|line| line.trim_end().to_string())
        .filter(|line| !line.is_empty())
        .collect()
}

fn read_from(log: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(
        offset.max(length.saturating_sub(LOOKED_AT_BYTES)),
    ))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(text)
}

/// The last `most` lines.
pub fn tail(lines: &[String], most: usize) -> &[String] {
    &lines[lines.len().saturating_sub(most)..]
}

/// The lines without those that a server writes about every plugin while it ends, and under which the cause is lost.
pub fn telling(lines: &[String]) -> Vec<String> {
    let tells = |line: &&String| !line.contains("[Note] Shutting down plugin");
    lines.iter().filter(tells).cloned().collect()
}

/// How a process ended, in words: `it was ended by signal 9 (SIGKILL)`.
pub fn ending(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("it was ended by signal {signal}{}", signal_meaning(signal)),
        (None, Some(code)) => format!("it ended with status {code}"),
        (None, None) => format!("it ended: {status}"),
    }
}

fn signal_meaning(signal: i32) -> &'static str {
    match signal {
        libc::SIGKILL => " (SIGKILL: by hand, or by the kernel when memory ran out; `dmesg` tells)",
        libc::SIGABRT => " (SIGABRT: the server gave up by itself, its log says why)",
        libc::SIGSEGV => " (SIGSEGV: a crash of the server)",
        libc::SIGTERM => " (SIGTERM: someone asked it to stop)",
        _ => "",
    }
}

/// What a line of a log tells, by a text that it holds.
struct Sign {
    holds: &'static str,
    says: &'static str,
    /// The beginnings of the settings that may be at fault.
    settings: &'static [&'static str],
}

const MEMORY: &[&str] = &[
    "innodb_buffer_pool",
    "key_buffer_size",
    "aria_pagecache",
    "innodb_log_buffer",
    "table_open_cache",
];

/// In the order of what explains more.
const SIGNS: &[Sign] = &[
    sign(
        "error while loading shared libraries",
        "a library that the server needs is missing on this machine",
        &[],
    ),
    sign(
        "Address already in use",
        "another program has its port or socket",
        &[],
    ),
    sign("No space left on device", "the disk is full", &[]),
    sign("Errcode: 28", "the disk is full", &[]),
    sign(
        "Cannot allocate memory for the buffer pool",
        "there is not enough memory",
        MEMORY,
    ),
    sign("failed; errno 12", "there is not enough memory", MEMORY),
    sign("Out of memory", "there is not enough memory", MEMORY),
    sign(
        "is of different size",
        "the data folder was made with another size of log file",
        &["innodb_log_file"],
    ),
    sign(
        "is of a different size",
        "the data folder was made with another size of data file",
        &["innodb_data_file_path"],
    ),
    sign(
        "different page size",
        "the data folder was made with another page size",
        &["innodb_page_size"],
    ),
    sign(
        "data dictionary upgrade",
        "the data folder was made by another version",
        &[],
    ),
    sign(
        "Unable to lock",
        "another server uses this data folder",
        &[],
    ),
    sign(
        "Permission denied",
        "the server may not read or write its folders",
        &[],
    ),
    sign(
        "Errcode: 13",
        "the server may not read or write its folders",
        &[],
    ),
    sign(
        "Plugin 'InnoDB' init function returned error",
        "InnoDB did not start",
        &["innodb_"],
    ),
    sign(
        "Unknown/unsupported storage engine",
        "the storage engine did not start",
        &["innodb", "default_storage_engine"],
    ),
];

const fn sign(holds: &'static str, says: &'static str, settings: &'static [&'static str]) -> Sign {
    Sign {
        holds,
        says,
        settings,
    }
}

/// What the log says about a failed start, one sentence each: the cause where it is known, and the settings of the
/// experiment that are suspect.
pub fn suspects(lines: &[String], settings: &[(String, String)]) -> Vec<String> {
    let mut found: Vec<String> = lines
        .iter()
        .filter_map(|line| unknown_setting(line))
        .collect();
    for sign in SIGNS
        .iter()
        .filter(|sign| lines.iter().any(|line| line.contains(sign.holds)))
    {
        found.push(with_settings(sign, settings));
    }
    let named = |name: &str| lines.iter().any(|line| is_error(line) && names(line, name));
    for (name, value) in settings.iter().filter(|(name, _)| named(name)) {
        found.push(format!("its log names `{name}` (asked for: {value})"));
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|sentence| seen.insert(sentence.clone()));
    found
}

fn with_settings(sign: &Sign, settings: &[(String, String)]) -> String {
    let is_suspect = |name: &str| {
        sign.settings
            .iter()
            .any(|beginning| plain(name).starts_with(beginning))
    };
    let suspect: Vec<String> = settings
        .iter()
        .filter(|(name, _)| is_suspect(name))
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    if suspect.is_empty() {
        sign.says.to_string()
    } else {
        format!("{}: suspect is {}", sign.says, suspect.join(", "))
    }
}

/// `unknown variable 'x=y'` and `unknown option '--x'` are how all servers refuse a setting. What begins with `loose` is
/// prony's own and only a warning.
fn unknown_setting(line: &str) -> Option<String> {
    let at = ["unknown variable '", "unknown option '"]
        .iter()
        .find_map(|text| Some(line.find(text)? + text.len()))?;
    let given = line[at..].split('\'').next()?.trim_start_matches('-');
    let name = given.split('=').next()?;
    (!name.starts_with("loose"))
        .then(|| format!("this server does not know the setting `{name}` ({given})"))
}

fn is_error(line: &str) -> bool {
    line.contains("[ERROR]") || line.contains("[FATAL]") || line.contains(": Error")
}

fn names(line: &str, setting: &str) -> bool {
    plain(line).contains(&plain(setting))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(String::from).collect()
    }

    fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect()
    }

    #[test]
    fn the_plugins_that_shut_down_do_not_hide_the_cause() {
        let log =
            lines("[ERROR] the cause\n[Note] Shutting down plugin 'CSV'\n[Note] Shutdown complete");
        assert_eq!(
            telling(&log),
            ["[ERROR] the cause", "[Note] Shutdown complete"]
        );
    }

    #[test]
    fn a_setting_that_the_server_does_not_know_is_named() {
        let log = lines(
            "131 [Warning] unknown variable 'loose-mysqlx=OFF'\n131 [ERROR] mysqld: unknown variable 'inodb_x=1'",
        );
        assert_eq!(
            suspects(&log, &[]),
            ["this server does not know the setting `inodb_x` (inodb_x=1)"]
        );
        let log = lines("[ERROR] unknown option '--skip-nothing'");
        assert_eq!(
            suspects(&log, &[]),
            ["this server does not know the setting `skip-nothing` (skip-nothing)"]
        );
    }

    #[test]
    fn a_pool_beyond_the_memory_makes_the_pool_suspect() {
        let log = lines(
            "InnoDB: mmap(137363456 bytes) failed; errno 12\n[ERROR] InnoDB: Cannot allocate memory for the buffer pool",
        );
        let says = suspects(
            &log,
            &settings(&[
                ("innodb_buffer_pool_size", "900G"),
                ("sort_buffer_size", "1M"),
            ]),
        );
        assert_eq!(
            says,
            ["there is not enough memory: suspect is innodb_buffer_pool_size = 900G"]
        );
    }

    #[test]
    fn a_log_file_of_another_size_makes_its_setting_suspect() {
        let log =
            lines("InnoDB: Error: log file ./ib_logfile0 is of different size 0 5242880 bytes");
        let says = suspects(&log, &settings(&[("innodb_log_file_size", "64M")]));
        assert_eq!(
            says,
            [
                "the data folder was made with another size of log file: suspect is innodb_log_file_size = 64M"
            ]
        );
    }

    #[test]
    fn a_setting_that_an_error_names_is_suspect_however_it_is_spelled() {
        let log = lines("[ERROR] Error while setting value 'warm' to 'innodb-flush-method'");
        let says = suspects(&log, &settings(&[("innodb_flush_method", "warm")]));
        assert_eq!(
            says,
            ["its log names `innodb_flush_method` (asked for: warm)"]
        );
    }

    #[test]
    fn only_the_log_of_this_start_counts() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, "old\nnew\n\n").unwrap();
        assert_eq!(lines_from(&log, 4), ["new"]);
        assert_eq!(
            lines_from(&folder.path().join("none"), 0),
            Vec::<String>::new()
        );
    }

    #[test]
    fn an_ending_names_the_signal() {
        assert!(ending(ExitStatus::from_raw(9)).starts_with("it was ended by signal 9 (SIGKILL"));
        assert_eq!(
            ending(ExitStatus::from_raw(2 << 8)),
            "it ended with status 2"
        );
    }
}
