//! Reads a server's error log: its last lines, why the server ended, which settings may have prevented its start, and which it does not use.
//!
//! The aim is one message with the cause and the fix. It recognises common errors only.

use crate::Adjusted;
use spec::{listed, plain};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

/// How much of the log's end is read.
const TAIL_BYTES: u64 = 256 << 10;

/// The non-empty lines of a log from a byte offset on (where this start begins), at most the last 256 KiB. Empty if
/// there is no log.
pub(crate) fn lines_from(log: &Path, offset: u64) -> Vec<String> {
    let length = std::fs::metadata(log).map_or(0, |file| file.len());
    let text = read_from(log, offset.max(length.saturating_sub(TAIL_BYTES))).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .map(|line| line.trim_end().to_string())
        .filter(|line| !line.is_empty())
        .collect()
}

/// The bytes of a log from an offset on.
pub(crate) fn read_from(log: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(text)
}

/// The last `count` lines.
pub(crate) fn tail(lines: &[String], count: usize) -> &[String] {
    &lines[lines.len().saturating_sub(count)..]
}

/// The lines without the notes about each plugin's shutdown, which would hide the cause.
pub(crate) fn relevant(lines: &[String]) -> Vec<String> {
    let is_relevant = |line: &&String| !line.contains("[Note] Shutting down plugin");
    lines.iter().filter(is_relevant).cloned().collect()
}

/// Describes how a process ended: `it was killed by signal 9 (SIGKILL ...)`.
pub(crate) fn ending(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("it was killed by signal {signal}{}", signal_meaning(signal)),
        (None, Some(code)) => format!("it exited with status {code}"),
        (None, None) => format!("it ended: {status}"),
    }
}

fn signal_meaning(signal: i32) -> &'static str {
    match signal {
        libc::SIGKILL => {
            " (SIGKILL: sent by a user, or by the kernel because memory ran out; see `dmesg`)"
        }
        libc::SIGABRT => " (SIGABRT: the server aborted; see its log)",
        libc::SIGSEGV => " (SIGSEGV: the server crashed)",
        libc::SIGTERM => " (SIGTERM: another process stopped it)",
        _ => "",
    }
}

/// A known error: a text in the log, what it means, and prefixes of the settings that may be the cause.
type Sign = (&'static str, &'static str, &'static [&'static str]);

const MEMORY: &[&str] = &[
    "innodb_buffer_pool",
    "key_buffer_size",
    "aria_pagecache",
    "innodb_log_buffer",
    "table_open_cache",
];

/// Known errors, the most specific explanation first.
#[rustfmt::skip]
const SIGNS: &[Sign] = &[
    ("error while loading shared libraries", "a library that the server needs is missing on this machine", &[]),
    ("Address already in use", "another program uses its port or socket", &[]),
    ("Port already in use?", "another program uses the port for the other nodes", &[]),
    ("failed to reach primary view", "it did not reach the other nodes of its cluster", &[]),
    ("No space left on device", "the disk is full", &[]),
    ("Errcode: 28", "the disk is full", &[]),
    ("Cannot allocate memory for the buffer pool", "there is not enough memory", MEMORY),
    ("failed; errno 12", "there is not enough memory", MEMORY),
    ("Out of memory", "there is not enough memory", MEMORY),
    ("is of different size", "the data folder was created with another redo log file size", &["innodb_log_file"]),
    ("is of a different size", "the data folder was created with another data file size", &["innodb_data_file_path"]),
    ("different page size", "the data folder was created with another page size", &["innodb_page_size"]),
    ("data dictionary upgrade", "the data folder was created by another version", &[]),
    ("Unable to lock", "another server uses this data folder", &[]),
    ("Permission denied", "the server has no permission to read or write its folders", &[]),
    ("Errcode: 13", "the server has no permission to read or write its folders", &[]),
    ("Plugin 'InnoDB' init function returned error", "InnoDB did not start", &["innodb_"]),
    ("Unknown/unsupported storage engine", "the storage engine did not start", &["innodb", "default_storage_engine"]),
];

/// Explains a failed start from the log, one sentence per finding: known causes, and the settings of the experiment that
/// may be responsible.
pub(crate) fn suspects(lines: &[String], settings: &[(String, String)]) -> Vec<String> {
    let mut found: Vec<String> = lines
        .iter()
        .filter_map(|line| unknown_setting(line))
        .collect();
    for (text, meaning, causes) in SIGNS {
        if lines.iter().any(|line| line.contains(text)) {
            found.push(with_settings(meaning, causes, settings));
        }
    }
    let named = |name: &str| lines.iter().any(|line| is_error(line) && names(line, name));
    for (name, value) in settings.iter().filter(|(name, _)| named(name)) {
        found.push(format!(
            "its log names the setting `{name}` (value in the experiment: {value})"
        ));
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|sentence| seen.insert(sentence.clone()));
    found
}

fn with_settings(meaning: &str, causes: &[&str], settings: &[(String, String)]) -> String {
    let is_suspect = |name: &str| {
        let mut causes = causes.iter();
        causes.any(|prefix| plain(name).starts_with(prefix))
    };
    let suspect: Vec<String> = settings
        .iter()
        .filter(|(name, _)| is_suspect(name))
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    if suspect.is_empty() {
        meaning.to_string()
    } else {
        format!("{meaning}: check {}", suspect.join(", "))
    }
}

/// Finds a setting that the server rejects: all servers print `unknown variable 'x=y'` or `unknown option '--x'`.
/// Settings that begin with `loose` are prony's own and cause only a warning.
fn unknown_setting(line: &str) -> Option<String> {
    let at = ["unknown variable '", "unknown option '"]
        .iter()
        .find_map(|text| Some(line.find(text)? + text.len()))?;
    let given = line[at..].split('\'').next()?.trim_start_matches('-');
    let name = given.split('=').next()?;
    (!name.starts_with("loose"))
        .then(|| format!("this server does not know the setting `{name}` ({given})"))
}

/// Settings that a server shows as requested and does not use: what its log says then, and what it uses instead.
#[rustfmt::skip]
const NOT_USED: [(&str, &str, &str); 4] = [
    ("innodb_flush_method", "Failed to set O_DIRECT on file", "the page cache, since the file system of its data refuses O_DIRECT"),
    ("large_pages", "sing conventional memory pool", "pages of the usual size, since there are too few large ones"),
    ("plugin_load", "Couldn't load plugin", "what it could load: its log names a plugin that it could not"),
    ("plugin_load_add", "Couldn't load plugin", "what it could load: its log names a plugin that it could not"),
];

/// The requested settings that the server does not use, as its log says, although it shows them.
pub(crate) fn not_used(lines: &[String], settings: &[(String, String)]) -> Vec<Adjusted> {
    let adjusted = |(name, says, instead): &(&str, &str, &str)| {
        lines.iter().find(|line| line.contains(says))?;
        let (_, requested) = settings.iter().rfind(|(own, _)| listed(own) == *name)?;
        Some(Adjusted {
            name: name.to_string(),
            requested: requested.clone(),
            effective: instead.to_string(),
        })
    };
    NOT_USED.iter().filter_map(adjusted).collect()
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
    fn plugin_shutdown_notes_do_not_hide_the_cause() {
        let log =
            lines("[ERROR] the cause\n[Note] Shutting down plugin 'CSV'\n[Note] Shutdown complete");
        assert_eq!(
            relevant(&log),
            ["[ERROR] the cause", "[Note] Shutdown complete"]
        );
    }

    #[test]
    fn an_unknown_setting_is_named() {
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
    fn a_node_that_does_not_reach_the_others_says_so() {
        let log = lines(
            "0 [ERROR] WSREP: failed to open gcomm backend connection: 110: failed to reach primary view\n0 [ERROR] Aborting",
        );
        assert_eq!(
            suspects(&log, &[]),
            ["it did not reach the other nodes of its cluster"]
        );
    }

    #[test]
    fn a_port_that_is_taken_is_the_cause() {
        let own = "another program uses its port or socket";
        let others = "another program uses the port for the other nodes";
        for (log, says) in [
            (
                "0 [ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use",
                own,
            ),
            (
                "0 [ERROR] WSREP: failed to open gcomm backend connection: 98: error while trying to listen \
                 'tcp://127.0.0.1:23456?socket.non_blocking=1', asio error 'bind: Address already in use'",
                own,
            ),
            (
                "0 [ERROR] [MY-011735] [Repl] Plugin group_replication reported: '[GCS] Unable to announce tcp port 23456. Port already in use?'",
                others,
            ),
        ] {
            assert_eq!(suspects(&lines(log), &[]), [says]);
        }
    }

    #[test]
    fn an_allocation_failure_points_to_the_buffer_pool_size() {
        let log = lines(
            "InnoDB: mmap(137363456 bytes) failed; errno 12\n[ERROR] InnoDB: Cannot allocate memory for the buffer pool",
        );
        let found = suspects(
            &log,
            &settings(&[
                ("innodb_buffer_pool_size", "900G"),
                ("sort_buffer_size", "1M"),
            ]),
        );
        assert_eq!(
            found,
            ["there is not enough memory: check innodb_buffer_pool_size = 900G"]
        );
    }

    #[test]
    fn a_log_file_size_mismatch_points_to_its_setting() {
        let log =
            lines("InnoDB: Error: log file ./ib_logfile0 is of different size 0 5242880 bytes");
        let found = suspects(&log, &settings(&[("innodb_log_file_size", "64M")]));
        assert_eq!(
            found,
            [
                "the data folder was created with another redo log file size: check innodb_log_file_size = 64M"
            ]
        );
    }

    #[test]
    fn a_setting_named_by_an_error_is_found_in_any_spelling() {
        let log = lines("[ERROR] Error while setting value 'warm' to 'innodb-flush-method'");
        let found = suspects(&log, &settings(&[("innodb_flush_method", "warm")]));
        assert_eq!(
            found,
            ["its log names the setting `innodb_flush_method` (value in the experiment: warm)"]
        );
    }

    #[test]
    fn a_setting_that_the_server_shows_and_does_not_use_is_found_in_its_log() {
        let requested = settings(&[
            ("loose_innodb_flush_method", "O_DIRECT"),
            ("large_pages", "ON"),
            ("plugin-load-add", "thread_pool.so"),
        ]);
        let names = |log: &str, settings: &[(String, String)]| -> Vec<String> {
            let found = not_used(&lines(log), settings).into_iter();
            found.map(|one| one.name).collect()
        };
        let of_tmpfs = "[Warning] InnoDB: Failed to set O_DIRECT on file ./ibdata1; OPEN: Invalid argument, continuing anyway.\n[Note] ready";
        assert_eq!(names(of_tmpfs, &requested), ["innodb_flush_method"]);
        assert!(names(of_tmpfs, &[]).is_empty(), "the server's own default");
        let of_memory = "InnoDB: HugeTLB: Warning: Using conventional memory pool";
        assert_eq!(names(of_memory, &requested), ["large_pages"]);
        let of_plugin = "[ERROR] Couldn't load plugins from 'thread_pool.so'.";
        assert_eq!(names(of_plugin, &requested), ["plugin_load_add"]);
        assert!(names("[Note] ready", &requested).is_empty());
    }

    #[test]
    fn lines_before_this_start_are_ignored() {
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
    fn the_exit_description_names_the_signal() {
        assert!(ending(ExitStatus::from_raw(9)).starts_with("it was killed by signal 9 (SIGKILL"));
        assert_eq!(
            ending(ExitStatus::from_raw(2 << 8)),
            "it exited with status 2"
        );
    }
}
