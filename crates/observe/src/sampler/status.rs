//! Samples the server's status values on a separate connection.
//!
//! A sample is the difference of consecutive readings, without their own cost. A lost connection is opened again. A hung
//! server only loses the seconds during which it hangs. `collector` decides when a second is over.

use super::levels::is_level;
use super::sums::Sums;
use super::ticks::Ticks;
use super::{Gap, News, StatusEnd, StatusValues};
use crate::counters::OWN_STATEMENTS;
use crate::states;
use crate::{Observer, Reading, States};
use host::thread_cpu;
use record::Flag;
use server::{Connector, Cutter, ServerError};
use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// Ends a blocked read of the status thread.
#[derive(Clone, Default)]
pub(super) struct Cut(Arc<Mutex<Option<Cutter>>>);

impl Cut {
    pub(super) fn cut(&self) {
        if let Some(cutter) = self.lock().as_ref() {
            cutter.cut();
        }
    }

    fn set(&self, cutter: Option<Cutter>) {
        *self.lock() = cutter;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Cutter>> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The status thread's state.
pub(super) struct Status {
    connector: Connector,
    configure: bool,
    /// None while the connection is lost.
    connected: Option<Connected>,
    before: Option<Before>,
    /// Since the first measured second.
    sums: Sums,
    /// Time of the first reading that the counters include.
    measured_from: Option<Instant>,
    /// The last of them may not have ended.
    lost: Vec<Gap>,
    /// The seconds that the counters do not cover, the last of which may not have ended.
    uncounted: Vec<Range<u32>>,
}

struct Connected {
    observer: Observer,
    cutter: Option<Cutter>,
}

struct Before {
    /// None if the reading was too late for its tick.
    tick: Option<u32>,
    at: Instant,
    reading: Reading,
    states: States,
}

impl Connected {
    fn open(connector: &Connector, configure: bool) -> Result<Connected, ServerError> {
        let session = connector()?;
        let cutter = session.cutter();
        let observer = Observer::with_states(session, configure)?;
        Ok(Connected { observer, cutter })
    }
}

impl Status {
    pub(super) fn open(connector: Connector, configure: bool) -> Result<Status, ServerError> {
        let connected = Connected::open(&connector, configure)?;
        Ok(Status {
            connector,
            configure,
            connected: Some(connected),
            before: None,
            sums: Sums::default(),
            measured_from: None,
            lost: Vec::new(),
            uncounted: Vec::new(),
        })
    }

    /// Its connection, for readings at other times. No thread cuts it where the server hangs, so each statement has a limit.
    pub(super) fn into_observer(self) -> Option<Observer> {
        self.connected
            .map(|connected| connected.observer.for_control())
    }

    /// Reads at each tick until `ends` is closed, and then one last time.
    pub(super) fn watch(
        mut self,
        ticks: Ticks,
        measured_from_s: u32,
        ends: &Receiver<()>,
        news: &Sender<News>,
        cut: &Cut,
    ) {
        self.hand_over_cutter(cut);
        let mut tick = 0;
        loop {
            tick = ticks.next(tick, Instant::now());
            let due = ticks.due(tick);
            let pause = due.saturating_duration_since(Instant::now());
            if ends.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                break;
            }
            self.reopen(tick, cut);
            let values = self.sample(Some(tick), ticks, measured_from_s);
            let sent = news.send(News::Status {
                tick,
                values,
                cpu: thread_cpu(),
            });
            if sent.is_err() {
                return;
            }
            tick += 1;
        }
        self.sample(None, ticks, measured_from_s);
        let flags = self.flags(ticks, measured_from_s);
        let gaps = std::mem::take(&mut self.lost);
        let uncounted = std::mem::take(&mut self.uncounted);
        let own_statements = self.sums.own_statements();
        let _ = news.send(News::StatusEnded(StatusEnd {
            counters: self.sums.into_counters(),
            flags,
            gaps,
            uncounted,
            own_statements,
        }));
    }

    /// Reads the status and returns the values of the second before. The last reading has no tick.
    fn sample(&mut self, tick: Option<u32>, ticks: Ticks, measured_from_s: u32) -> StatusValues {
        let nothing = StatusValues::default();
        let Some(connected) = &mut self.connected else {
            return nothing;
        };
        let (reading, states) = match connected.observer.read_all() {
            Ok(both) => both,
            // For example a KILL QUERY: only this reading is lost.
            Err(ServerError::Refused { .. }) => return nothing,
            Err(error) => {
                self.lose(tick, ticks, &error);
                return nothing;
            }
        };
        let at = Instant::now();
        let tick = tick.filter(|tick| at <= ticks.too_late(*tick));
        let after = Before {
            tick,
            at,
            reading,
            states,
        };
        if !self.goes_on(at, tick, ticks) {
            return nothing;
        }
        if at >= ticks.due(measured_from_s) {
            self.measured_from.get_or_insert(at);
        }
        let Some(before) = self.before.replace(after) else {
            return nothing;
        };
        self.compare(&before, ticks, measured_from_s)
    }

    /// Compares the last reading with the one before.
    fn compare(&mut self, before: &Before, ticks: Ticks, measured_from_s: u32) -> StatusValues {
        let mut values = StatusValues::default();
        let (Some(connected), Some(after)) = (&self.connected, &self.before) else {
            return values;
        };
        let moved = connected
            .observer
            .difference(&before.reading, &after.reading);
        if let (Some(from), Some(to)) = (before.tick, after.tick)
            && from + 1 == to
        {
            let elapsed_s = (after.at - before.at).as_secs_f64();
            let of_server = moved.iter().filter(|(name, _)| *name != OWN_STATEMENTS);
            for (name, moved) in of_server {
                if is_level(name) {
                    values
                        .levels
                        .insert(name.clone(), after.reading[name] as f64);
                } else if *moved >= 0 {
                    values.rates.insert(name.clone(), *moved as f64 / elapsed_s);
                }
            }
            values.states = after
                .states
                .iter()
                .chain(states::rates(&values.rates))
                .collect();
        }
        if before.at >= ticks.due(measured_from_s) {
            self.sums.add(&before.reading, &after.reading, moved);
        }
        values
    }

    /// The span of seconds that is not counted and has not ended.
    fn open_loss(&mut self) -> Option<&mut Range<u32>> {
        let last = self.uncounted.last_mut();
        last.filter(|open| open.end == u32::MAX)
    }

    /// Whether counting continues with this reading. After a loss it begins again with a second, as those of the load do.
    fn goes_on(&mut self, at: Instant, tick: Option<u32>, ticks: Ticks) -> bool {
        let Some(open) = self.open_loss() else {
            return true;
        };
        let begins = tick.filter(|tick| at <= ticks.due(*tick) + ticks.every / 4);
        open.end = begins.unwrap_or(u32::MAX);
        begins.is_some()
    }

    fn lose(&mut self, tick: Option<u32>, ticks: Ticks, error: &ServerError) {
        self.connected = None;
        let last = self.before.take().map(|before| ticks.nearest(before.at));
        if self.open_loss().is_none() {
            self.uncounted.push(last.unwrap_or(0)..u32::MAX);
        }
        // After the last tick no second is lost.
        if let Some(tick) = tick {
            self.lost.push(Gap {
                from_s: tick.saturating_sub(1),
                until_s: None,
                cause: error.to_string(),
            });
        }
    }

    fn reopen(&mut self, tick: u32, cut: &Cut) {
        if self.connected.is_some() {
            return;
        }
        self.connected = Connected::open(&self.connector, self.configure).ok();
        if let (Some(lost), true) = (self.lost.last_mut(), self.connected.is_some()) {
            lost.until_s = Some(tick);
        }
        self.hand_over_cutter(cut);
    }

    fn hand_over_cutter(&mut self, cut: &Cut) {
        cut.set(
            self.connected
                .as_mut()
                .and_then(|connected| connected.cutter.take()),
        );
    }

    fn flags(&self, ticks: Ticks, measured_from_s: u32) -> Vec<Flag> {
        let late = self
            .measured_from
            .filter(|at| *at > ticks.too_late(measured_from_s));
        late.map(|at| {
            let late_s = (at - ticks.due(measured_from_s)).as_secs_f64();
            super::absent(format!(
                "the server's counters begin {late_s:.1} s after the measured part began, because it did not answer before"
            ))
        })
        .into_iter()
        .chain(self.sums.flushed())
        .collect()
    }
}
