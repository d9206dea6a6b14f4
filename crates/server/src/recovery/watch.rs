//! Watches a log while the server writes it, and notes when each line appears.

use super::LogLine;
use crate::lock;
use crate::log::read_from;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often the log is read: the resolution of the times.
const EVERY: Duration = Duration::from_millis(5);

/// Reads a log on a separate thread until it is dropped.
pub struct LogWatch {
    lines: Arc<Mutex<Vec<LogLine>>>,
    /// Closed to end the thread.
    _end: Sender<()>,
}

impl LogWatch {
    /// Watches the log from its present end on. A log that does not exist yet, or cannot be read, has no lines.
    pub fn begin(log: &Path) -> LogWatch {
        let from = std::fs::metadata(log).map_or(0, |file| file.len());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (end, ends) = channel();
        let (log, found) = (log.to_path_buf(), lines.clone());
        std::thread::spawn(move || watch(&log, from, &found, &ends));
        LogWatch { lines, _end: end }
    }

    /// The complete lines so far.
    pub fn lines(&self) -> Vec<LogLine> {
        lock(&self.lines).clone()
    }
}

fn watch(log: &Path, mut from: u64, found: &Mutex<Vec<LogLine>>, ends: &Receiver<()>) {
    let began = Instant::now();
    let mut unfinished = Vec::new();
    loop {
        let at_s = began.elapsed().as_secs_f64();
        let new = read_from(log, from).unwrap_or_default();
        from += new.len() as u64;
        unfinished.extend(new);
        while let Some(end) = unfinished.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = unfinished.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line).trim_end().to_string();
            lock(found).push(LogLine { at_s, text });
        }
        if ends.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn lines_of(watch: &LogWatch, count: usize) -> Vec<LogLine> {
        let began = Instant::now();
        while watch.lines().len() < count {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{:?}",
                watch.lines()
            );
            std::thread::sleep(EVERY);
        }
        watch.lines()
    }

    #[test]
    fn lines_are_timed_when_they_appear_and_older_ones_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "old\n").unwrap();
        let watch = LogWatch::begin(&path);
        let mut log = std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap();
        writeln!(log, "one").unwrap();
        write!(log, "tw").unwrap();
        let one = lines_of(&watch, 1)[0].clone();
        std::thread::sleep(Duration::from_millis(100));
        writeln!(log, "o").unwrap();
        let lines = lines_of(&watch, 2);
        assert_eq!([one.text.as_str(), lines[1].text.as_str()], ["one", "two"]);
        assert!(lines[1].at_s >= one.at_s + 0.09, "{lines:?}");
    }
}
