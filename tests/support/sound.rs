//! What must hold for every run of prony, whatever a server, a file or a network does to it.

use super::Ended;
use super::process::PATIENCE;
use host::Process;
use std::io::Read;
use std::process::Child;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Resident memory at most.
const MEMORY_BYTES_MAX: u64 = 500 << 20;
/// What it prints at most.
const OUTPUT_BYTES_MAX: usize = 100_000;

/// A run of prony that held, and what it cost.
pub(crate) struct Sound {
    pub ended: Ended,
    took: Duration,
    peak_bytes: u64,
}

/// What many runs had in common, in one line.
pub(crate) fn say(what: &str, runs: &[Sound]) {
    let with = |status: i32| runs.iter().filter(|run| run.ended.status == status).count();
    println!(
        "{what}: {} runs, status 0: {}, 2: {}, 3: {}; the longest {:.1} s; at most {} MiB resident",
        runs.len(),
        with(0),
        with(2),
        with(3),
        (runs.iter().map(|run| run.took).max())
            .unwrap_or_default()
            .as_secs_f64(),
        (runs.iter().map(|run| run.peak_bytes).max()).unwrap_or_default() >> 20,
    );
}

/// Waits for the end of prony, which must come with an exit status of its own, without a panic, with little memory, and with a text
/// of ordinary length that no terminal interprets.
pub(crate) fn sound(mut child: Child, name: &str) -> Sound {
    let (began, pid) = (Instant::now(), child.id());
    // A full pipe would block prony.
    let (out, err) = (
        collected(child.stdout.take()),
        collected(child.stderr.take()),
    );
    let mut peak_bytes = 0;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(began.elapsed() < PATIENCE, "{name}: prony does not end");
        let now = Process::read(pid).map_or(0, |process| process.resident_bytes);
        peak_bytes = peak_bytes.max(now);
        std::thread::sleep(Duration::from_millis(5));
    };
    let took = began.elapsed();
    let ended = Ended {
        status: status.code().unwrap_or(-1),
        stdout: out.join().unwrap(),
        stderr: err.join().unwrap(),
    };
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(
        [0, 2, 3].contains(&ended.status),
        "{name}: status {} {said}",
        ended.status
    );
    assert!(!said.contains("panicked"), "{name}: {said}");
    let is_raw = |sign: char| sign.is_control() && sign != '\n';
    assert!(
        !said.contains(is_raw),
        "{name}: a control character in {said:?}"
    );
    assert!(
        said.len() < OUTPUT_BYTES_MAX,
        "{name}: {} bytes of output",
        said.len()
    );
    assert!(
        peak_bytes < MEMORY_BYTES_MAX,
        "{name}: {peak_bytes} bytes of memory"
    );
    Sound {
        ended,
        took,
        peak_bytes,
    }
}

fn collected(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Handles all cases, this many at once. `make` makes what each worker keeps for its cases.
pub(crate) fn beside<C: Send, W, R: Send>(
    workers: usize,
    cases: impl IntoIterator<Item = C>,
    make: impl Fn() -> Option<W> + Sync,
    handle: impl Fn(&mut W, C) -> R + Sync,
) -> Vec<R> {
    let results = Mutex::new(Vec::new());
    let left = Mutex::new(cases.into_iter().collect::<Vec<_>>());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let Some(mut own) = make() else { return };
                loop {
                    let next = left.lock().unwrap().pop();
                    let Some(case) = next else { return };
                    let result = handle(&mut own, case);
                    results.lock().unwrap().push(result);
                }
            });
        }
    });
    results.into_inner().unwrap()
}
