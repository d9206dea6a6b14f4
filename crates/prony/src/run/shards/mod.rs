//! Shards: processes on several machines that share the load of every trial on one external server.
//!
//! Purpose: the shards meet in a table on the server under test, agree on the experiment and the seed, load the data together, and start
//! each load at one moment of the server's clock. There is no coordinator, and nothing passes between them during a load. Outside
//! this module: dividing a load (`load::Share`), adding up the records (`store::merge`).
//!
//! All shards count the same steps: one for the meeting, one or two for each dataset, two for each trial. A shard is at a step once its
//! row says so, and waits for the others' rows.

mod agree;
mod clock;
mod launcher;
mod refuse;
mod table;

pub(crate) use launcher::shard as of_launcher;

use super::plan::{Means, Request, Shards};
use super::{Progress, RunError, stop_if_interrupted};
use agree::Look;
use clock::Clock;
use host::machine;
use record::{ShardNote, ShardStart};
use server::{Node, ServerError, Session, Sha256};
use spec::Shard;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use table::{DONE, Row};

/// How long a shard waits for the others, unless the command line says otherwise.
pub(crate) const MEET_WITHIN: Duration = Duration::from_secs(300);
/// The same for a shard whose connection is gone. A server that was restarted has ended all connections.
const LOST_WITHIN: Duration = Duration::from_secs(60);
/// How often the table is read while a shard waits.
const POLL_EVERY: Duration = Duration::from_millis(50);
/// How long a shard that does not belong to the others stays visible to them: several times `POLL_EVERY`.
const STAY: Duration = Duration::from_millis(1500);
/// How often a row without a lock is renewed.
const RENEW_EVERY: Duration = Duration::from_secs(3);
/// From the moment that the first shard has seen all others ready to the start.
const LEAD: Duration = Duration::from_secs(1);
/// It is longer by this many times the server's last write of a row: the others see the start only when its row is written.
const LEAD_ROWS: u32 = 10;
const LEAD_MAX: Duration = Duration::from_secs(10);

/// This process among the shards of its run.
pub(crate) struct Meeting {
    shard: Shard,
    within: Duration,
    node: Arc<dyn Node>,
    session: Option<Session>,
    locked: bool,
    own: Row,
    /// All shards as they first met, in the order of their numbers.
    members: Vec<Row>,
    /// The last step of the trial that is running.
    trial_end: u64,
    started: Option<ShardStart>,
    /// How long the shard does not look at the table (µs): while a load runs.
    busy_us: i64,
    /// Why the run ends.
    fatal: Option<String>,
    /// The latest stranger that was reported (µs).
    reported_us: i64,
}

/// How a wait ends without success.
enum Unmet {
    /// Too late, refused or lost: the run ends.
    Ends(String),
    Interrupted,
}

impl From<Unmet> for RunError {
    fn from(unmet: Unmet) -> RunError {
        match unmet {
            Unmet::Ends(text) => RunError::Failed(text),
            Unmet::Interrupted => RunError::Interrupted,
        }
    }
}

impl Meeting {
    /// Waits for the other shards on the first server of the experiment. The seed is the first shard's.
    ///
    /// # Errors
    /// What cannot be shared, other processes that do not belong to this run, or which shards have not come.
    pub(crate) fn gather(
        request: &Request,
        shards: &Shards,
        means: &Means,
    ) -> Result<Meeting, RunError> {
        let trials = refuse::check(request, shards.shard)?;
        let server = trials.first().and_then(|trial| trial.server.as_ref());
        let server =
            server.ok_or_else(|| RunError::Usage("the experiment has no trials".into()))?;
        let provider = (means.provide)(&server.build)?;
        let node = provider.server(Path::new("")).first().clone();
        let mut meeting = Meeting::new(shards, node, request)?;
        let met = meeting.come(means.progress);
        // Ends the meeting for all, if this shard cannot go on.
        met.inspect_err(|error| meeting.give_up(&error.to_string()))?;
        Ok(meeting)
    }

    fn new(shards: &Shards, node: Arc<dyn Node>, request: &Request) -> Result<Meeting, RunError> {
        let token = token().map_err(|error| {
            RunError::Failed(format!("no random number for this shard: {error}"))
        })?;
        Ok(Meeting {
            shard: shards.shard,
            within: shards.meet_within,
            node,
            session: None,
            locked: false,
            own: Row {
                token,
                number: shards.shard.number,
                of: shards.shard.of,
                machine: host_name(),
                process: std::process::id(),
                experiment: hash(request),
                seed: request.seed,
                ..Row::default()
            },
            members: Vec::new(),
            trial_end: 0,
            started: None,
            busy_us: 0,
            fatal: None,
            reported_us: 0,
        })
    }

    /// The meeting before the run.
    fn come(&mut self, progress: &Progress) -> Result<(), RunError> {
        self.own.step = 1;
        let _ = table::tidy(self.session()?);
        self.put()?;
        let rows = table::read(self.session()?)?;
        let written = rows.iter().find(|row| row.token == self.own.token);
        self.own.seen_us = written.map_or(0, |row| row.seen_us);
        self.reported_us = self.own.seen_us;
        progress.say(&format!(
            "{}: waiting up to {} s for the others on {}",
            self.own.name(),
            self.within.as_secs(),
            self.node
                .endpoint()
                .map(|dsn| dsn.to_string())
                .unwrap_or_default()
        ));
        let met = self.gathered()?;
        self.members = met;
        self.own.party = self.members[0].token.clone();
        self.own.seed = self.members[0].seed;
        self.put()?;
        progress.say(&format!("{} shards have met", self.shard.of));
        Ok(())
    }

    fn gathered(&mut self) -> Result<Vec<Row>, RunError> {
        let began = Instant::now();
        let mut renewed = Instant::now();
        loop {
            let rows = table::read(self.session()?)?;
            match agree::gathering(&self.own, &rows) {
                Look::Met(met) => return Ok(met),
                Look::Refused(text) => {
                    // So that the others see the same.
                    std::thread::sleep(STAY);
                    return Err(RunError::Usage(text));
                }
                Look::Waiting(missing) if began.elapsed() > self.within => {
                    return Err(RunError::Failed(late(&missing, self.within)));
                }
                Look::Waiting(_) => {}
            }
            stop_if_interrupted()?;
            self.renew(&mut renewed)?;
            std::thread::sleep(POLL_EVERY);
        }
    }

    /// The seed of the run.
    pub(crate) fn seed(&self) -> u64 {
        self.own.seed
    }

    pub(crate) fn shard(&self) -> Shard {
        self.shard
    }

    /// The name that all shards of this run have in common.
    pub(crate) fn party(&self) -> &str {
        &self.own.party
    }

    /// What the record says about this shard; `run` is the name of its run.
    pub(crate) fn note(&mut self, run: &str) -> ShardNote {
        self.own.run = run.to_string();
        ShardNote {
            number: self.shard.number,
            of: self.shard.of,
            run: run.to_string(),
            machine: self.own.machine.clone(),
            experiment: self.own.experiment.clone(),
        }
    }

    /// Comes to the next step. The first shard says `choice`; the others wait for it and return what it said.
    pub(crate) fn choose(&mut self, choice: &str) -> Result<String, RunError> {
        self.own.step += 1;
        if self.shard.is_first() {
            self.own.choice = choice.to_string();
            self.put()?;
            return Ok(choice.to_string());
        }
        self.put()?;
        let step = self.own.step;
        let rows = self.wait(|row| row.number == 1, move |row| row.step >= step, None)?;
        Ok(rows[0].choice.clone())
    }

    /// Comes to the next step and waits for all others, however long their work takes.
    pub(crate) fn all(&mut self) -> Result<(), RunError> {
        self.own.step += 1;
        self.put()?;
        let step = self.own.step;
        self.wait(|_| true, move |row| row.step >= step, None)?;
        Ok(())
    }

    /// Comes to the next step. The first shard goes on, the others wait until it has come.
    pub(crate) fn after_first(&mut self) -> Result<(), RunError> {
        self.choose("").map(|_| ())
    }

    /// Notes the steps of a trial, of which every shard takes both, even if its own trial fails.
    pub(crate) fn begin_trial(&mut self) {
        self.trial_end = self.own.step + 2;
        self.started = None;
    }

    /// Meets the others when all sessions are open, and returns when the load of `time` begins.
    ///
    /// # Errors
    /// A shard that could not go along or has not come. The latter ends the run.
    pub(crate) fn start(&mut self, time: Duration, progress: &Progress) -> Result<Instant, String> {
        self.own.step = self.trial_end;
        let started = self.common_start(progress);
        if started.is_ok() && !self.locked {
            self.busy_us = (time + LOST_WITHIN).as_micros() as i64;
            let _ = self.put();
            self.busy_us = 0;
        }
        started.map_err(|error| match error {
            RunError::NotAvailable(text) => text,
            other => {
                let text = other.to_string();
                self.fatal.get_or_insert_with(|| text.clone());
                text
            }
        })
    }

    fn common_start(&mut self, progress: &Progress) -> Result<Instant, RunError> {
        progress.now("waiting for the other shards");
        let clock = Clock::read(self.session()?)?;
        self.own.offset_us = clock.offset_us();
        self.own.round_trip_us = clock.round_trip.as_micros() as i64;
        let writes = Instant::now();
        self.put()?;
        let lead = lead(writes.elapsed());
        let step = self.own.step;
        let rows = self.wait(|_| true, move |row| row.step >= step, Some(self.within))?;
        if let Some(row) = rows.iter().find(|row| row.failed_step == step) {
            return Err(RunError::NotAvailable(format!(
                "{} could not go along: {}",
                row.name(),
                row.failed
            )));
        }
        self.report_strangers(progress)?;
        let start_us = if self.shard.is_first() {
            self.set_start(&clock, lead)?
        } else {
            let is_set = move |row: &Row| row.start_step >= step;
            self.wait(|row| row.number == 1, is_set, Some(self.within))?[0].start_us
        };
        self.started = Some(ShardStart {
            number: self.shard.number,
            of: self.shard.of,
            clock_offset_s: self.own.offset_us as f64 / 1e6,
            round_trip_s: clock.round_trip.as_secs_f64(),
            start_ns: start_us * 1000,
            late_s: 0.0,
        });
        Ok(clock.instant(start_us))
    }

    /// Sets the common start for all.
    fn set_start(&mut self, clock: &Clock, lead: Duration) -> Result<i64, RunError> {
        let now_us = host::now_ns() / 1000 + clock.offset_us();
        self.own.start_us = now_us + lead.as_micros() as i64;
        self.own.start_step = self.own.step;
        self.put()?;
        Ok(self.own.start_us)
    }

    /// Ends a trial. If it failed before the common start, tells the others, which wait for it there.
    pub(crate) fn end_trial(&mut self, failed: Option<&str>) {
        if self.own.step >= self.trial_end || self.fatal.is_some() {
            return;
        }
        self.own.step = self.trial_end;
        self.own.failed_step = self.trial_end;
        self.own.failed = failed
            .unwrap_or("its trial ended before the load")
            .to_string();
        let step = self.own.step;
        let within = self.within;
        let written = self.put().map_err(RunError::from);
        let met = written.and_then(|()| {
            let met = self.wait(|_| true, move |row| row.step >= step, Some(within));
            met.map_err(RunError::from)
        });
        if let Err(error) = met {
            self.fatal = Some(error.to_string());
        }
    }

    /// How this shard began the trial's load: `woken` is the time from the common start until its last client was awake.
    pub(crate) fn started(&self, woken: Duration) -> Option<ShardStart> {
        self.started.clone().map(|started| ShardStart {
            late_s: woken.as_secs_f64(),
            ..started
        })
    }

    /// # Errors
    /// The shards did not meet, so the run ends.
    pub(crate) fn goes_on(&self) -> Result<(), RunError> {
        match &self.fatal {
            Some(text) => Err(RunError::Failed(text.clone())),
            None => Ok(()),
        }
    }

    /// Ends this shard's part. Without an error the others need it no more.
    pub(crate) fn leave(&mut self, outcome: Result<(), &RunError>) {
        match outcome {
            Ok(()) => {
                self.own.step = DONE;
                let _ = self.put();
            }
            Err(error) => self.give_up(&error.to_string()),
        }
    }

    /// Tells the others that this shard ends. They see it when they next wait for it.
    fn give_up(&mut self, why: &str) {
        self.own.gone = why.to_string();
        let _ = self.put();
    }

    /// Waits until all due members have come. Without `within`, as long as they are there.
    fn wait(
        &mut self,
        is_due: impl Fn(&Row) -> bool,
        has_come: impl Fn(&Row) -> bool,
        within: Option<Duration>,
    ) -> Result<Vec<Row>, Unmet> {
        let began = Instant::now();
        let mut renewed = Instant::now();
        loop {
            let limit = match self.rows() {
                Ok(rows) => match agree::members(&self.members, &rows, &is_due, &has_come) {
                    Look::Met(rows) => return Ok(rows),
                    Look::Refused(text) => return Err(Unmet::Ends(text)),
                    Look::Waiting(missing) => {
                        let is_late = |row: &Row| !is_due(row) || has_come(row);
                        let is_lost = agree::has_lost_one(&self.members, &rows, is_late);
                        let lost = is_lost.then(|| LOST_WITHIN.min(self.within));
                        let limit = lost.or(within);
                        limit.map(|limit| (limit, late(&missing, limit)))
                    }
                },
                Err(error) => {
                    let limit = LOST_WITHIN.min(self.within);
                    Some((limit, format!("the shards cannot meet: {error}")))
                }
            };
            if let Some((limit, text)) = limit
                && began.elapsed() > limit
            {
                return Err(Unmet::Ends(text));
            }
            if host::interrupt::asked() {
                return Err(Unmet::Interrupted);
            }
            let _ = self.renew(&mut renewed);
            std::thread::sleep(POLL_EVERY);
        }
    }

    /// The rows of the table. A lost connection is opened anew.
    fn rows(&mut self) -> Result<Vec<Row>, ServerError> {
        let is_new = self.session.is_none();
        let rows = table::read(self.session()?);
        match rows {
            Err(ServerError::Lost(_)) if !is_new => {
                self.session = None;
                self.put()?;
                table::read(self.session()?)
            }
            rows => rows,
        }
    }

    fn session(&mut self) -> Result<&mut Session, ServerError> {
        if self.session.is_none() {
            let mut session = self.node.connect()?.for_control();
            self.locked = table::open(&mut session, &self.own.token)?;
            self.session = Some(session);
        }
        Ok(self.session.as_mut().expect("it was opened"))
    }

    /// Writes the own row, on a new connection if the old one was lost.
    fn put(&mut self) -> Result<(), ServerError> {
        match self.put_once() {
            Err(ServerError::Lost(_)) => {
                self.session = None;
                self.put_once()
            }
            written => written,
        }
    }

    fn put_once(&mut self) -> Result<(), ServerError> {
        self.session()?;
        let (row, locked, busy_us) = (self.own.clone(), self.locked, self.busy_us);
        table::write(self.session()?, &row, locked, busy_us)
    }

    /// Keeps a row without a lock fresh.
    fn renew(&mut self, renewed: &mut Instant) -> Result<(), ServerError> {
        if self.locked || renewed.elapsed() < RENEW_EVERY {
            return Ok(());
        }
        *renewed = Instant::now();
        self.put()
    }

    /// Says once that processes of another run came to this server meanwhile, and were refused.
    fn report_strangers(&mut self, progress: &Progress) -> Result<(), ServerError> {
        let rows = self.rows()?;
        if let Some(row) = agree::strangers(&self.members, &rows, self.reported_us) {
            self.reported_us = row.seen_us;
            progress.say(&format!(
                "warning: another run came to this server meanwhile and ended: {}; start one run after the other, or name another server",
                row.name()
            ));
        }
        Ok(())
    }
}

/// The time until the common start, where the server has just taken so long to write a row.
fn lead(written: Duration) -> Duration {
    (LEAD + written.saturating_mul(LEAD_ROWS)).min(LEAD_MAX)
}

fn late(missing: &[String], within: Duration) -> String {
    format!(
        "{} did not come within {} s; start all shards at about the same time, or give them longer with --meet-within",
        missing.join(" and "),
        within.as_secs()
    )
}

/// Sixteen random hexadecimal digits.
fn token() -> std::io::Result<String> {
    let uuid = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    let digits = uuid.chars().filter(char::is_ascii_hexdigit);
    Ok(digits.take(16).collect())
}

fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// A seed that runs of the same experiment, command line and release of prony share.
pub(crate) fn common_seed(request: &Request) -> u64 {
    u64::from_str_radix(&hash(request), 16).unwrap_or_default()
}

/// Identifies what the shards have to have in common: experiment, command line and release of prony. Addresses of servers are left out,
/// because machines may reach one server by different names.
fn hash(request: &Request) -> String {
    let release = machine::VERSION.split(' ').next().unwrap_or_default();
    let mut hash = Sha256::default();
    let mut is_address = false;
    let own = request.overrides.iter().filter(|argument| {
        let skipped = std::mem::replace(&mut is_address, *argument == "--server");
        !skipped && *argument != "--server"
    });
    for part in [release, &request.experiment.source]
        .into_iter()
        .chain(own.map(String::as_str))
    {
        hash.update_part(part);
    }
    hash.hex_of_first(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_writes_slowly_gives_the_shards_more_time_to_see_the_start() {
        let of_ms = |written| lead(Duration::from_millis(written)).as_millis();
        assert_eq!([2, 400, 60_000].map(of_ms), [1_020, 5_000, 10_000]);
    }
}
