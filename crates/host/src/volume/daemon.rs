//! The process behind a volatile volume: it serves the disk, and obeys prony through its standard input and output.
//!
//! Purpose: its flushes, its lies and its end. A dead daemon closes /dev/fuse, and the kernel then ends every request with an
//! error, so nothing waits for it forever. Outside this module: who mounts what on the disk (the parent module).

use super::cache::Cache;
use super::fuse::{Blocks, Connection, Errno};
use super::survive::Survive;
use super::trace::Recorder;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The hidden verb by which prony starts itself as the daemon of a disk.
pub const VERB: &str = "disk";

/// A disk that acknowledges flushes and forgets them still writes in order in the background, this late.
const LIES_FOR: Duration = Duration::from_secs(1);

/// Threads that answer requests, so that a slow flush does not hold up reads.
const WORKERS: usize = 4;

/// How a volatile disk behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskOptions {
    /// Acknowledges flushes without doing them.
    pub lies: bool,
    /// How long each flush takes at least.
    pub slow_flush: Duration,
    /// The file that records its writes and flushes.
    pub recording: Option<PathBuf>,
}

/// The requests of a disk since it was attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskStats {
    pub writes: u64,
    pub written_bytes: u64,
    pub flushes: u64,
    /// Writes that no flush has covered.
    pub unsynced_writes: u64,
    pub unsynced_bytes: u64,
    /// What the cut left of them.
    pub survived_bytes: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// From now on every request fails with EIO, and the unsynced writes stay as they are.
    Freeze,
    /// Brings what survives onto the image and forgets the rest.
    Cut { survive: Survive, seed: u64 },
    /// How much it has done.
    Count,
}

/// The daemon's main function: serves `image` below `point` until prony closes its standard input.
///
/// # Errors
/// The image cannot be opened, the recording cannot be written, or the file system cannot be mounted.
pub fn serve(
    image: &std::path::Path,
    point: &std::path::Path,
    options: DiskOptions,
) -> io::Result<()> {
    take_part_in_writeback();
    let image = File::options().read(true).write(true).open(image)?;
    let disk = Disk::over(image, options)?;
    let connection = Arc::new(Connection::mount(point)?);
    for _ in 0..WORKERS {
        let (connection, disk) = (connection.clone(), disk.clone());
        std::thread::spawn(move || connection.serve(&disk));
    }
    let mut answers = io::stdout().lock();
    say(&mut answers, &Ok(DiskStats::default()))?;
    for line in io::stdin().lock().lines() {
        let order = serde_json::from_str(&line?).map_err(io::Error::other)?;
        say(
            &mut answers,
            &disk.obey(order).map_err(|error| error.to_string()),
        )?;
    }
    Ok(())
}

fn say(answers: &mut impl Write, answer: &Result<DiskStats, String>) -> io::Result<()> {
    let line = serde_json::to_string(answer).map_err(io::Error::other)?;
    writeln!(answers, "{line}")?;
    answers.flush()
}

/// include/uapi/linux/prctl.h
const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// The kernel may wait for this process to free memory, so its own memory must not wait for that.
fn take_part_in_writeback() {
    // SAFETY: integers. Without the right to it, the daemon is only slower when memory is short.
    unsafe { libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) };
}

#[derive(Clone)]
struct Disk {
    state: Arc<Mutex<DiskState>>,
    bytes: u64,
    lies: bool,
    slow_flush: Duration,
}

struct DiskState {
    cache: Cache,
    recorder: Option<Recorder>,
    is_frozen: bool,
    stats: DiskStats,
}

impl Disk {
    fn over(image: File, options: DiskOptions) -> io::Result<Disk> {
        let cache = Cache::over(image)?;
        let bytes = cache.bytes();
        let recording = options.recording.as_deref();
        let state = DiskState {
            cache,
            recorder: recording.map(Recorder::create).transpose()?,
            is_frozen: false,
            stats: DiskStats::default(),
        };
        Ok(Disk {
            state: Arc::new(Mutex::new(state)),
            bytes,
            lies: options.lies,
            slow_flush: options.slow_flush,
        })
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of a disk that still has power.
    fn powered(&self) -> Result<MutexGuard<'_, DiskState>, Errno> {
        let state = self.state();
        if state.is_frozen {
            Err(libc::EIO)
        } else {
            Ok(state)
        }
    }

    fn obey(&self, order: Order) -> io::Result<DiskStats> {
        let mut state = self.state();
        match order {
            Order::Freeze => {
                state.is_frozen = true;
                if let Some(recorder) = &mut state.recorder {
                    recorder.end()?;
                }
            }
            Order::Cut { survive, seed } => {
                state.count_unsynced();
                state.stats.survived_bytes = state.cache.cut(survive, seed)?;
                return Ok(state.stats);
            }
            Order::Count => {}
        }
        state.count_unsynced();
        Ok(state.stats)
    }
}

impl DiskState {
    fn count_unsynced(&mut self) {
        let (writes, bytes) = self.cache.unsynced();
        self.stats.unsynced_writes = writes;
        self.stats.unsynced_bytes = bytes;
    }
}

fn errno(error: io::Error) -> Errno {
    match error.kind() {
        io::ErrorKind::InvalidInput => libc::EINVAL,
        _ => error.raw_os_error().unwrap_or(libc::EIO),
    }
}

impl Blocks for Disk {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
        self.powered()?.cache.read(offset, length).map_err(errno)
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        let mut state = self.powered()?;
        state.cache.write(offset, data).map_err(errno)?;
        state.stats.writes += 1;
        state.stats.written_bytes += data.len() as u64;
        match &mut state.recorder {
            Some(recorder) => recorder.write(offset, data).map_err(errno),
            None => Ok(()),
        }
    }

    /// Covers the writes that were answered before it came.
    fn flush(&self) -> Result<(), Errno> {
        let mark = self.powered()?.cache.mark();
        std::thread::sleep(self.slow_flush);
        let mut state = self.powered()?;
        if self.lies {
            state.cache.settle_older_than(LIES_FOR)
        } else {
            state.cache.settle(mark)
        }
        .map_err(errno)?;
        state.stats.flushes += 1;
        match &mut state.recorder {
            Some(recorder) => recorder.flush().map_err(errno),
            None => Ok(()),
        }
    }
}

/// prony's end of a daemon. Dropping it ends the daemon, and the kernel then fails every request.
pub(super) struct Daemon {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Daemon {
    /// Starts the daemon and waits until the disk is served.
    pub(super) fn start(command: &mut Command) -> io::Result<Daemon> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(orders), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the process has no standard input"));
        };
        let mut daemon = Daemon {
            child,
            orders,
            answers: BufReader::new(answers),
        };
        daemon.answer()?;
        Ok(daemon)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn freeze(&mut self) -> io::Result<DiskStats> {
        self.obey(Order::Freeze)
    }

    pub(super) fn cut(&mut self, survive: Survive, seed: u64) -> io::Result<DiskStats> {
        self.obey(Order::Cut { survive, seed })
    }

    pub(super) fn count(&mut self) -> io::Result<DiskStats> {
        self.obey(Order::Count)
    }

    /// How the daemon ended; None while it runs.
    pub(super) fn end(&mut self) -> Option<String> {
        let ended = self.child.try_wait().ok()??;
        Some(format!("the process of the volatile disk ended, {ended}"))
    }

    fn obey(&mut self, order: Order) -> io::Result<DiskStats> {
        let line = serde_json::to_string(&order).map_err(io::Error::other)?;
        // The answer, or its absence, says why.
        let _ = writeln!(self.orders, "{line}");
        self.answer()
    }

    fn answer(&mut self) -> io::Result<DiskStats> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::Error::other(self.last_words()?));
        }
        let answer: Result<DiskStats, String> =
            serde_json::from_str(&line).map_err(io::Error::other)?;
        answer.map_err(io::Error::other)
    }

    fn last_words(&mut self) -> io::Result<String> {
        let ended = self.child.wait()?;
        let mut says = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            io::Read::read_to_string(&mut errors, &mut says)?;
        }
        let says = says.trim();
        let colon = if says.is_empty() { "" } else { ": " };
        Ok(format!(
            "the process of the volatile disk ended, {ended}{colon}{says}"
        ))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(options: DiskOptions) -> (Disk, File) {
        let image = tempfile::tempfile().unwrap();
        image.set_len(1 << 20).unwrap();
        let seen = image.try_clone().unwrap();
        (Disk::over(image, options).unwrap(), seen)
    }

    fn first_byte(image: &File) -> u8 {
        let mut byte = [0];
        std::os::unix::fs::FileExt::read_exact_at(image, &mut byte, 0).unwrap();
        byte[0]
    }

    #[test]
    fn a_flush_makes_writes_durable() {
        let (disk, image) = disk(DiskOptions::default());
        disk.write(0, &[1; 512]).unwrap();
        assert_eq!(first_byte(&image), 0);
        disk.flush().unwrap();
        assert_eq!(first_byte(&image), 1);
        let stats = disk.obey(Order::Count).unwrap();
        assert_eq!(
            (stats.writes, stats.flushes, stats.unsynced_bytes),
            (1, 1, 0)
        );
    }

    #[test]
    fn a_lying_disk_acknowledges_a_flush_and_forgets_it() {
        let (disk, image) = disk(DiskOptions {
            lies: true,
            ..DiskOptions::default()
        });
        disk.write(0, &[1; 512]).unwrap();
        disk.flush().unwrap();
        assert_eq!(first_byte(&image), 0);
        let order = Order::Cut {
            survive: Survive::None,
            seed: 1,
        };
        assert_eq!(disk.obey(order).unwrap().unsynced_bytes, 512);
        assert_eq!(first_byte(&image), 0);
    }

    #[test]
    fn a_frozen_disk_answers_every_request_with_eio() {
        let (disk, image) = disk(DiskOptions::default());
        disk.write(0, &[1; 512]).unwrap();
        disk.obey(Order::Freeze).unwrap();
        assert_eq!(disk.write(0, &[2; 512]), Err(libc::EIO));
        assert_eq!(disk.read(0, 512), Err(libc::EIO));
        assert_eq!(disk.flush(), Err(libc::EIO));
        assert_eq!(first_byte(&image), 0);
    }

    #[test]
    fn a_flush_that_the_cut_overtakes_covers_nothing() {
        let (disk, image) = disk(DiskOptions {
            slow_flush: Duration::from_secs(3),
            ..DiskOptions::default()
        });
        disk.write(0, &[1; 512]).unwrap();
        let flushing = disk.clone();
        let flush = std::thread::spawn(move || flushing.flush());
        std::thread::sleep(Duration::from_millis(50));
        disk.obey(Order::Freeze).unwrap();
        assert_eq!(flush.join().unwrap(), Err(libc::EIO));
        assert_eq!(first_byte(&image), 0);
    }
}
