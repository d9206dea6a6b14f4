//! A group of trials whose servers take turns in slices, or query by query.
//!
//! Purpose: prepare all servers, warm them up one after another, and let them take turns until each has its time, or all its rounds.
//! Only one server runs at any time: the others are stopped, and run on whatever happens here. Cells on one server take turns on it, with
//! connections of their own. Outside this module: the steps of a trial (`trial`, `timed`, `rounds`), which each cell takes in a thread of its own;
//! which cells share a server (`run::plan::sharing`).

use super::seat::{Connected, Go, Leave, News, Seat};
use crate::lock;
use crate::run::place::{Process, Shared};
use crate::run::{RunError, drive};
use host::{Paused, interrupt};
use load::{Latencies, Took, Turn};
use record::{Slices, Trial};
use spec::plan::{Laps, Length};
use spec::{Protocol, SliceSpec};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often an interruption is looked for.
const TICK: Duration = Duration::from_millis(50);
/// How long a server may take to stop all its threads. One that waits for the disk stops after that, and could be killed no sooner.
const STOPS_WITHIN: Duration = Duration::from_secs(60);

/// Measures the trials of a group at the same time, in turns by `laps`. `hosts` has for each trial the first one on the same server.
/// `measure` takes the steps of one of them, by its number; instead of its seat it gets why it cannot be measured.
///
/// # Errors
/// The first error of a trial, such as an interruption.
///
/// # Panics
/// If a trial panics, after the others have ended.
pub(super) fn measure<M>(
    protocol: &Protocol,
    hosts: &[usize],
    laps: Laps,
    measure: M,
) -> Result<Vec<Trial>, RunError>
where
    M: Fn(usize, Result<&Seat, String>) -> Result<Trial, RunError> + Sync,
{
    let (tell, news) = channel();
    let shared: Vec<Arc<Shared>> = hosts.iter().map(|_| Arc::default()).collect();
    std::thread::scope(|scope| {
        let (measure, mut cells, mut threads) = (&measure, Vec::new(), Vec::new());
        for (number, host) in hosts.iter().copied().enumerate() {
            let (seat, go) = Seat::new(number, tell.clone(), shared[host].clone());
            cells.push(Cell::new(host, go));
            threads.push(scope.spawn(move || {
                let failed = seat.wait().failed;
                if interrupt::asked() {
                    return Err(RunError::Interrupted);
                }
                measure(number, failed.map_or(Ok(&seat), Err))
            }));
        }
        drop(tell);
        let group = Group {
            protocol,
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
    /// The number of the first cell on its server.
    host: usize,
    go: Go,
    /// Its server, from when its clients are connected.
    connected: Option<Connected>,
    /// Its server, while it waits for its next turn in rounds.
    waits: Option<Process>,
    /// Held while the server is stopped, by the first cell on it.
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
    busy: Duration,
    at_edges: Duration,
    first: Latencies,
    all: Latencies,
}

impl Counted {
    fn add(&mut self, began: Instant, length: Length, took: &Took) {
        self.count += 1;
        self.spanned = self.began.get_or_insert(began).elapsed();
        if let Length::Of(length) = length {
            let finishing = took.whole.saturating_sub(length);
            self.finishing_max = self.finishing_max.max(finishing);
        }
        self.busy += took.busy;
        self.at_edges += took.at_edges;
        self.first += took.first;
        self.all += took.all;
    }

    /// None without a slice.
    fn noted(&self, middle: Duration, servers: u32, written: Option<u64>) -> Option<Slices> {
        let mean_s = |latencies: Latencies| Some(latencies.mean()?.as_secs_f64());
        (self.count > 0).then(|| Slices {
            length_s: middle.as_secs_f64(),
            count: self.count,
            servers,
            spanned_s: self.spanned.as_secs_f64(),
            finishing_s_max: self.finishing_max.as_secs_f64(),
            edges_share: (!self.busy.is_zero()).then(|| self.at_edges.div_duration_f64(self.busy)),
            first_s_mean: mean_s(self.first),
            first_s_max: self.first.longest().map(|longest| longest.as_secs_f64()),
            operation_s_mean: mean_s(self.all),
            written_between_bytes: written,
        })
    }
}

impl Cell {
    fn new(host: usize, go: Go) -> Cell {
        Cell {
            host,
            go,
            connected: None,
            waits: None,
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

    fn server(&self) -> Option<&Process> {
        let connected = self.connected.as_ref().map(|connected| &connected.server);
        connected.or(self.waits.as_ref())
    }

    /// Ends the load early.
    fn end(&mut self, failed: Option<String>) {
        self.is_over = true;
        self.failed = self.failed.take().or(failed);
        if let Some(connected) = &self.connected {
            connected.end();
        }
    }

    /// The clients start operations for this long.
    fn slice(&mut self, length: Length, is_measured: bool) {
        let Some(connected) = &self.connected else {
            return;
        };
        if (connected.server.exit)().is_some() {
            // The trial finds out by itself.
            return self.end(None);
        }
        let before = connected.turns.measured();
        lock(&connected.edges).begin(before);
        let began = Instant::now();
        let turn = connected.turns.run(match length {
            Length::Of(length) => Some(length),
            Length::Rest => None,
        });
        let (took, after) = (connected.turns.last(), connected.turns.measured());
        lock(&connected.edges).end(after, is_measured);
        if is_measured {
            self.counted.add(began, length, &took);
        }
        self.is_over |= turn == Turn::Over;
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
        let measured = match self.protocol.slices {
            Some(SliceSpec::Query) => self.query_by_query(),
            _ => (self.prepare())
                .and_then(|()| self.warm_up())
                .and_then(|()| self.take_turns()),
        };
        if let Err(why) = measured {
            for cell in &mut self.cells {
                cell.end(Some(why.clone()));
            }
        }
        self.finish();
    }

    /// Stops all servers but that of a cell, and lets that one run. Cells on one server do not stop it for each other.
    ///
    /// # Errors
    /// Another server may still run, so that nothing else can be measured.
    fn run_only(&mut self, number: usize) -> Result<(), String> {
        let own = self.cells[number].host;
        let hosts: BTreeSet<usize> = self.cells.iter().map(|cell| cell.host).collect();
        let mut others = hosts.into_iter().filter(|host| *host != own);
        others.try_for_each(|host| self.stop(host))?;
        self.cells[own].paused = None;
        Ok(())
    }

    /// Stops a server until its next slice. One that cannot be stopped is killed, since it would run on in the slices of others.
    ///
    /// # Errors
    /// As for [`Group::run_only`].
    fn stop(&mut self, host: usize) -> Result<(), String> {
        // One that was killed has no process any more.
        let on_it = |cell: &&Cell| cell.host == host && !cell.has_ended && cell.failed.is_none();
        let server = self.cells.iter().filter(on_it).find_map(Cell::server);
        let Some(Process { pid, exit, kill }) = server
            .filter(|_| self.cells[host].paused.is_none())
            .cloned()
        else {
            return Ok(());
        };
        // Its number may be that of another process by now. The trial finds out by itself.
        if exit().is_some() {
            self.end(host, None);
            return Ok(());
        }
        let stopped = Paused::stop(pid)
            .and_then(|paused| paused.until_stopped(STOPS_WITHIN, &interrupt::asked));
        match stopped {
            Ok(paused) => self.cells[host].paused = Some(paused),
            // It has ended meanwhile.
            Err(_) if exit().is_some() => self.end(host, None),
            // The trials of the group are not stored.
            Err(_) if interrupt::asked() => return Err("prony was interrupted".into()),
            Err(error) => {
                kill().map_err(|killed| {
                    format!("a server could neither be stopped between two slices ({error}) nor killed ({killed}), so it kept running beside the others")
                })?;
                self.end(host, Some(format!(
                    "the server could not be stopped between two slices, and was killed: {error}"
                )));
            }
        }
        Ok(())
    }

    /// Ends the loads of all cells on a server early.
    fn end(&mut self, host: usize, failed: Option<String>) {
        let on_it = self.cells.iter_mut().filter(|cell| cell.host == host);
        on_it.for_each(|cell| cell.end(failed.clone()));
    }

    /// Prepares the servers one after another, until the clients of each are connected.
    fn prepare(&mut self) -> Result<(), String> {
        for number in 0..self.cells.len() {
            self.run_only(number)?;
            let _ = self.cells[number].go.send(Leave::default());
            self.hear_of(number);
        }
        Ok(())
    }

    /// Until the first second that is measured, so that counters and operations are of the same time.
    fn warm_up(&mut self) -> Result<(), String> {
        let length = Duration::from_secs(drive::measured_from_s(self.protocol).into());
        for number in 0..self.cells.len() {
            if !length.is_zero() && self.cells[number].takes_turns() && !interrupt::asked() {
                self.run_only(number)?;
                self.cells[number].slice(Length::Of(length), false);
            }
        }
        self.learn();
        Ok(())
    }

    /// How long operations take in the last slice of the slowest server.
    fn learn(&mut self) {
        let cells = self.cells.iter();
        let connected = cells.filter_map(|cell| cell.connected.as_ref());
        let means = connected.filter_map(|connected| connected.turns.last().all.mean());
        if let Some(slowest) = means.max() {
            self.laps.learn(slowest);
        }
    }

    /// Prepares the servers one after another. Then each lap gives every server its next turn, until all have ended.
    fn query_by_query(&mut self) -> Result<(), String> {
        let mut order: Vec<usize> = (0..self.cells.len()).collect();
        while self.cells.iter().any(|cell| !cell.has_ended) {
            for number in order {
                if interrupt::asked() {
                    return Ok(());
                }
                self.turn(number)?;
            }
            order = self.laps.next(self.cells.len()).order;
        }
        Ok(())
    }

    /// Gives a cell a turn, which lasts until it waits again. A cell whose server could not be stopped ends.
    fn turn(&mut self, number: usize) -> Result<(), String> {
        if self.cells[number].has_ended {
            return Ok(());
        }
        self.run_only(number)?;
        let cell = &mut self.cells[number];
        let failed = cell.failed.take();
        let _ = cell.go.send(Leave {
            failed,
            ..Leave::default()
        });
        self.hear_of(number);
        Ok(())
    }

    fn take_turns(&mut self) -> Result<(), String> {
        let time = self.protocol.driven();
        while self.cells.iter().any(Cell::takes_turns) {
            let lap = self.laps.next(self.cells.len());
            for number in &lap.order {
                if interrupt::asked() {
                    return Ok(());
                }
                let cell = &self.cells[*number];
                let Some(connected) = cell.connected.as_ref().filter(|_| !cell.is_over) else {
                    continue;
                };
                let left = time.saturating_sub(connected.turns.measured());
                let length = self.laps.slice(&lap, left);
                self.run_only(*number)?;
                self.cells[*number].slice(length, true);
            }
            self.learn();
        }
        Ok(())
    }

    /// Lets the cells look at their servers one after another.
    fn finish(&mut self) {
        for number in 0..self.cells.len() {
            if interrupt::asked() {
                self.release();
            }
            let host = self.cells[number].host;
            self.cells[host].paused = None;
            let leave = self.leave(number);
            let _ = self.cells[number].go.send(leave);
            while !self.cells[number].has_ended {
                self.hear_of(number);
            }
        }
    }

    fn leave(&mut self, number: usize) -> Leave {
        let measured = self.cells.iter().filter(|cell| cell.connected.is_some());
        let hosts: BTreeSet<usize> = measured.map(|cell| cell.host).collect();
        let servers = hosts.len() as u32;
        let cell = &mut self.cells[number];
        let connected = cell.connected.as_ref();
        let written =
            connected.and_then(|connected| lock(&connected.edges).written_between_bytes());
        Leave {
            slices: cell.counted.noted(self.laps.middle(), servers, written),
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
                        News::Waits(server) => cell.waits = server,
                        News::Ended => {
                            cell.waits = None;
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
                Err(RecvTimeoutError::Disconnected) => self.cells[number].has_ended = true,
            }
        }
    }

    /// Lets all servers run and all cells end.
    fn release(&mut self) {
        for cell in &mut self.cells {
            cell.paused = None;
            cell.end(None);
            let _ = cell.go.send(Leave::default());
        }
    }
}

impl Drop for Group<'_> {
    /// No server stays stopped, and no cell waits for a group that has gone.
    fn drop(&mut self) {
        for cell in &mut self.cells {
            cell.paused = None;
            cell.end(None);
        }
    }
}

#[cfg(test)]
mod by_query;

#[cfg(test)]
pub(super) mod tests;
