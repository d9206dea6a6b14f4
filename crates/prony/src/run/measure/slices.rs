//! A group of trials whose servers take turns in slices.
//!
//! Purpose: prepare all servers, warm them up one after another, and let them take turns until each has its time. Only one server
//! runs at any time: the others are stopped, and run on whatever happens here. Outside this module: the steps of a trial (`trial`,
//! `timed`), which each cell takes in a thread of its own.

use super::bench::Bench;
use super::seat::{Connected, Go, Leave, News, Seat};
use crate::run::{RunError, drive};
use host::{Paused, interrupt};
use load::Turn;
use record::{Slices, Trial};
use spec::Protocol;
use spec::plan::{Laps, Length};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often an interruption is looked for.
const TICK: Duration = Duration::from_millis(50);
/// How long a server may take to stop all its threads. One that waits for the disk stops after that.
const STOPS_WITHIN: Duration = Duration::from_secs(10);

/// Measures the trials of a group at the same time, in turns by `laps`. `measure` takes the steps of one of them, by its number.
///
/// # Errors
/// The first error of a trial, such as an interruption.
pub(super) fn measure<'b, M>(
    bench: &Bench<'b>,
    trials: usize,
    laps: Laps,
    measure: M,
) -> Result<Vec<Trial>, RunError>
where
    M: Fn(usize, &Bench) -> Result<Trial, RunError> + Sync,
{
    let (tell, news) = channel();
    std::thread::scope(|scope| {
        let (measure, mut cells, mut threads) = (&measure, Vec::new(), Vec::new());
        for number in 0..trials {
            let (seat, go) = Seat::new(number, tell.clone());
            cells.push(Cell::new(go));
            threads.push(scope.spawn(move || {
                seat.wait();
                if interrupt::asked() {
                    return Err(RunError::Interrupted);
                }
                let bench = Bench {
                    seat: Some(&seat),
                    ..*bench
                };
                measure(number, &bench)
            }));
        }
        drop(tell);
        let group = Group {
            protocol: bench.protocol,
            laps,
            cells,
            news,
        };
        group.run();
        let joined = threads.into_iter().map(|thread| {
            let joined = thread.join();
            joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect()
    })
}

/// A cell of a group.
struct Cell {
    go: Go,
    /// Its server, from when its clients are connected.
    connected: Option<Connected>,
    /// Held while the server is stopped.
    paused: Option<Paused>,
    /// Whether it takes no more turns.
    is_over: bool,
    has_ended: bool,
    counted: Counted,
    /// Why its figures cannot be used.
    failed: Option<String>,
}

/// The slices of the measured part.
#[derive(Default)]
struct Counted {
    count: u32,
    began: Option<Instant>,
    spanned: Duration,
    finishing_max: Duration,
}

impl Cell {
    fn new(go: Go) -> Cell {
        Cell {
            go,
            connected: None,
            paused: None,
            is_over: false,
            has_ended: false,
            counted: Counted::default(),
            failed: None,
        }
    }

    fn takes_turns(&self) -> bool {
        self.connected.is_some() && !self.is_over
    }

    /// Lets the server run.
    fn go_on(&mut self) {
        self.paused = None;
    }

    /// Stops the server between its slices.
    fn stop(&mut self) {
        let Some(connected) = &self.connected else {
            return;
        };
        let paused = Paused::stop(connected.pid);
        let stopped = paused.and_then(|paused| {
            paused.until_stopped(STOPS_WITHIN)?;
            Ok(paused)
        });
        match stopped {
            Ok(paused) => self.paused = Some(paused),
            Err(error) => self.end(Some(format!(
                "the server could not be stopped between two slices: {error}"
            ))),
        }
    }

    /// Ends the load early.
    fn end(&mut self, failed: Option<String>) {
        self.is_over = true;
        self.failed = self.failed.take().or(failed);
        if let Some(connected) = &self.connected {
            connected.uptime.stop().store(true, Relaxed);
        }
    }

    /// The server runs while its clients start operations for this long.
    fn slice(&mut self, length: Length, is_measured: bool) {
        self.go_on();
        let Some(connected) = &self.connected else {
            return;
        };
        if (connected.exit)().is_some() {
            // The trial finds out by itself.
            return self.end(None);
        }
        let before = connected.turns.measured();
        connected.edges().begin(before);
        let began = Instant::now();
        let turn = connected.turns.run(match length {
            Length::Of(length) => Some(length),
            Length::Rest => None,
        });
        let (took, after) = (connected.turns.took(), connected.turns.measured());
        connected.edges().end(after, is_measured);
        if is_measured {
            self.counted.count += 1;
            let first = *self.counted.began.get_or_insert(began);
            self.counted.spanned = first.elapsed();
            if let Length::Of(length) = length {
                let finishing = took.saturating_sub(length);
                self.counted.finishing_max = self.counted.finishing_max.max(finishing);
            }
        }
        self.is_over |= turn == Turn::Over;
        self.stop();
    }
}

struct Group<'g> {
    protocol: &'g Protocol,
    laps: Laps,
    cells: Vec<Cell>,
    news: Receiver<(usize, News)>,
}

impl Group<'_> {
    fn run(mut self) {
        self.prepare();
        self.warm_up();
        self.take_turns();
        self.finish();
    }

    /// Prepares the servers one after another, until the clients of each are connected.
    fn prepare(&mut self) {
        for number in 0..self.cells.len() {
            let _ = self.cells[number].go.send(Leave::default());
            self.hear_of(number);
            self.cells[number].stop();
        }
    }

    /// Until the first second that is measured, so that counters and operations are of the same time.
    fn warm_up(&mut self) {
        let length = Duration::from_secs(drive::measured_from_s(self.protocol).into());
        for number in 0..self.cells.len() {
            if !length.is_zero() && self.cells[number].takes_turns() && !interrupt::asked() {
                self.cells[number].slice(Length::Of(length), false);
            }
        }
    }

    fn take_turns(&mut self) {
        let time = self.protocol.driven();
        while self.cells.iter().any(Cell::takes_turns) {
            let lap = self.laps.next(self.cells.len());
            for number in &lap.order {
                if interrupt::asked() {
                    return;
                }
                let cell = &mut self.cells[*number];
                let Some(connected) = cell.connected.as_ref().filter(|_| !cell.is_over) else {
                    continue;
                };
                let left = time.saturating_sub(connected.turns.measured());
                let length = self.laps.slice(&lap, left);
                cell.slice(length, true);
            }
        }
    }

    /// Lets the cells look at their servers one after another.
    fn finish(&mut self) {
        for number in 0..self.cells.len() {
            if interrupt::asked() {
                self.release();
            }
            self.cells[number].go_on();
            let leave = self.leave(number);
            let _ = self.cells[number].go.send(leave);
            while !self.cells[number].has_ended {
                self.hear_of(number);
            }
        }
    }

    fn leave(&mut self, number: usize) -> Leave {
        let servers = self.cells.iter().filter(|cell| cell.connected.is_some());
        let servers = servers.count() as u32;
        let cell = &mut self.cells[number];
        let connected = cell.connected.as_ref();
        let written = connected.and_then(|connected| connected.edges().written_between_bytes());
        let counted = &cell.counted;
        Leave {
            slices: (counted.count > 0).then_some(Slices {
                length_s: self.laps.middle().as_secs_f64(),
                count: counted.count,
                servers,
                spanned_s: counted.spanned.as_secs_f64(),
                finishing_s_max: counted.finishing_max.as_secs_f64(),
                written_between_bytes: written,
            }),
            failed: cell.failed.take(),
        }
    }

    /// Waits for news of a cell.
    fn hear_of(&mut self, number: usize) {
        while !self.cells[number].has_ended {
            match self.news.recv_timeout(TICK) {
                Ok((of, news)) => {
                    let cell = &mut self.cells[of];
                    match news {
                        News::Connected(connected) => cell.connected = Some(*connected),
                        News::Ended => {
                            cell.has_ended = true;
                            cell.is_over = true;
                        }
                    }
                    if of == number {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) if interrupt::asked() => self.release(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Lets all servers run and all cells end.
    fn release(&mut self) {
        for cell in &mut self.cells {
            cell.go_on();
            cell.end(None);
            let _ = cell.go.send(Leave::default());
        }
    }
}

impl Drop for Group<'_> {
    /// No server stays stopped, and no cell waits for a group that has gone.
    fn drop(&mut self) {
        self.release();
    }
}
