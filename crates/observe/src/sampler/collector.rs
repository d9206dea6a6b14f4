//! Assembles each second: /proc at the tick, and the server's values that have arrived by then.
//!
//! It owns the series. It waits for the server at most half a second per tick, and a few seconds at the end.

use super::column::Column;
use super::machine::{Amounts, Machine, between};
use super::status::Cut;
use super::ticks::Ticks;
use super::{Live, News, Sample, Sampled, StatusEnd, StatusValues, absent};
use record::{Flag, UNCOUNTED};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// Time limits of the last reading of the server, and then of the end of its connection.
const LAST_READING_WITHIN: Duration = Duration::from_secs(2);
const END_WITHIN: Duration = Duration::from_secs(1);

pub(super) struct Collector {
    pub(super) ticks: Ticks,
    pub(super) machine: Machine,
    pub(super) received: Receiver<News>,
    /// Closed to end the status thread; None if there is none.
    pub(super) end_status: Option<Sender<()>>,
    pub(super) cut: Cut,
    pub(super) live: Live,
}

/// What has been collected so far.
#[derive(Default)]
struct Collected {
    columns: BTreeMap<String, (SeriesKind, Column)>,
    /// The last punctual reading of the machine.
    before: Option<(u32, Instant, Amounts)>,
    /// The last tick that the status thread has reported, with its values.
    status: Option<(u32, StatusValues)>,
    status_cpu: Duration,
    ended: Option<StatusEnd>,
    stopping: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum SeriesKind {
    /// prony's own series, states among them: always kept.
    Own,
    Rate,
    Level,
}

impl Collector {
    pub(super) fn run(mut self) -> Sampled {
        let mut collected = Collected::default();
        let mut tick = 0;
        loop {
            tick = self.ticks.next(tick, Instant::now());
            let due = self.ticks.due(tick);
            self.receive_until(&mut collected, due, |collected| collected.stopping);
            // A load that ends with this second completes it, even if it stops a moment before this clock's tick.
            let is_near = due <= Instant::now() + self.ticks.every / 10;
            if collected.stopping && !is_near {
                break;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            self.one_tick(&mut collected, tick);
            tick += 1;
            if collected.stopping {
                break;
            }
        }
        let flags = self.end_status(&mut collected);
        let seconds = tick.saturating_sub(1);
        collected.sampled(seconds, flags)
    }

    /// Receives messages until the deadline, or until `enough`.
    fn receive_until(
        &self,
        collected: &mut Collected,
        until: Instant,
        enough: impl Fn(&Collected) -> bool,
    ) {
        while !enough(collected) {
            let pause = until.saturating_duration_since(Instant::now());
            match self.received.recv_timeout(pause) {
                Ok(news) => collected.receive(news),
                Err(_) => return,
            }
        }
    }

    fn one_tick(&mut self, collected: &mut Collected, tick: u32) {
        let amounts = self.machine.read(collected.status_cpu);
        let now = Instant::now();
        let is_late = now > self.ticks.too_late(tick);
        if self.end_status.is_some() {
            self.receive_until(collected, self.ticks.too_late(tick), |collected| {
                collected.ended.is_some()
                    || matches!(&collected.status, Some((reported, _)) if *reported >= tick)
            });
        }
        let before = if is_late {
            collected.before.take()
        } else {
            collected.before.replace((tick, now, amounts.clone()))
        };
        let Some(second) = tick.checked_sub(1) else {
            return;
        };
        let mut values = BTreeMap::new();
        if let Some((last, at, before)) = before
            && last == second
            && !is_late
        {
            let own = between(&before, &amounts, (now - at).as_secs_f64());
            let own = own
                .into_iter()
                .map(|(name, value)| (name.to_string(), value));
            collected.put(second, SeriesKind::Own, own, &mut values);
        }
        if let Some((reported, status)) = collected.status.take()
            && reported == tick
        {
            collected.put(second, SeriesKind::Rate, status.rates, &mut values);
            collected.put(second, SeriesKind::Level, status.levels, &mut values);
            let states = status.states.into_iter();
            let states = states.map(|(state, value)| (state.to_string(), value));
            collected.put(second, SeriesKind::Own, states, &mut values);
        }
        (self.live)(Sample {
            second,
            values: &values,
        });
    }

    /// Requests the last reading of the server, and gives up if it does not answer.
    fn end_status(&mut self, collected: &mut Collected) -> Vec<Flag> {
        if self.end_status.take().is_none() {
            return Vec::new();
        }
        let has_ended = |collected: &Collected| collected.ended.is_some();
        self.receive_until(collected, Instant::now() + LAST_READING_WITHIN, has_ended);
        if has_ended(collected) {
            return Vec::new();
        }
        self.cut.cut();
        self.receive_until(collected, Instant::now() + END_WITHIN, has_ended);
        vec![absent(
            "the server did not answer at the end; its counters end with its last answer".into(),
        )]
    }
}

impl Collected {
    fn receive(&mut self, news: News) {
        match news {
            News::Status { tick, values, cpu } => {
                self.status = Some((tick, values));
                self.status_cpu = cpu;
            }
            News::StatusEnded(end) => self.ended = Some(end),
            News::Stop => self.stopping = true,
        }
    }

    fn put(
        &mut self,
        second: u32,
        kind: SeriesKind,
        of: impl IntoIterator<Item = (String, f64)>,
        values: &mut BTreeMap<String, f64>,
    ) {
        for (name, value) in of {
            match self.columns.get_mut(&name) {
                Some((_, column)) => column.put(second, value),
                None => {
                    let mut column = Column::default();
                    column.put(second, value);
                    self.columns.insert(name.clone(), (kind, column));
                }
            }
            values.insert(name, value);
        }
    }

    fn sampled(self, seconds: u32, mut flags: Vec<Flag>) -> Sampled {
        let is_kept = |kind: SeriesKind, column: &Column| match kind {
            SeriesKind::Own => true,
            SeriesKind::Rate => column.is_ever_nonzero(),
            SeriesKind::Level => column.varies(),
        };
        let ended = self.ended.unwrap_or_default();
        let uncounted = uncounted(&ended.uncounted, seconds as usize);
        let series = self
            .columns
            .into_iter()
            .filter(|(_, (kind, column))| is_kept(*kind, column))
            .map(|(name, (_, column))| (name, column.into_series(seconds as usize)))
            .chain(uncounted)
            .collect();
        flags.extend(ended.flags);
        Sampled {
            series,
            counters: ended.counters,
            flags,
            gaps: ended.gaps,
            own_statements: ended.own_statements,
        }
    }
}

/// The series of the seconds that the counters do not cover; None if they cover all.
fn uncounted(ranges: &[Range<u32>], seconds: usize) -> Option<(String, Vec<Option<f64>>)> {
    let one = |second: usize| {
        let is_in = |range: &Range<u32>| range.contains(&(second as u32));
        Some(f64::from(u8::from(ranges.iter().any(is_in))))
    };
    (!ranges.is_empty()).then(|| (UNCOUNTED.to_string(), (0..seconds).map(one).collect()))
}
