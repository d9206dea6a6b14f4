//! Measures the trials of a run in the order of the plan, and saves each at once.

mod before;
pub(crate) mod bench;
mod requests;
pub(crate) mod rounds;
pub(crate) mod seat;
mod slices;
pub(crate) mod timed;
pub(crate) mod trial;

use super::place::{AnyPlace, Source};
use super::plan::looks::{self, Taken};
use super::plan::sharing::{self, Member};
use super::plan::{Expected, Request, figures};
use super::prepare::Prepared;
use super::prepare::servers::Provided;
use super::prepare::{layout, preflight};
use super::progress::news;
use super::progress::remaining::Remaining;
use super::{RunError, settings, stop_if_interrupted, stored};
use crate::lock;
use before::Before;
use bench::Bench;
use record::{DatasetNote, FlagKind, LiveSample, Loaded, Trial, TrialKey, TrialState};
use spec::plan::{Finished, Laps, Plan, PlannedTrial};
use spec::{BuildSpec, SliceSpec};
use std::collections::{BTreeMap, BTreeSet};
use store::{Store, StoreError};
use trial::{failed, not_available};
use workload::{Dataset, TargetKind, Workload};

/// What all trials of a run share.
pub(crate) struct Measuring<'r> {
    pub request: &'r Request,
    pub plan: &'r Plan<'r>,
    pub prepared: &'r Prepared<'r>,
    pub bench: Bench<'r>,
}

impl<'r> Measuring<'r> {
    /// Measures the trials that are not finished yet.
    ///
    /// # Errors
    /// An interruption, a record that cannot be written. Finished trials are saved.
    pub(crate) fn all(&self, store: &mut Store) -> Result<(), RunError> {
        let mut before = store.trials().map_err(stored)?;
        before.extend(store.controls().map_err(stored)?);
        let mut finished = earlier(store, self.plan, &before)?;
        let mut recalled = self.recalled(before)?;
        let mut held = None;
        let mut said = news::Said::default();
        let taken = Taken::of(store)?;
        let remaining = self.remaining()?;
        let left_s = |coming: Option<&[TrialKey]>, finished: &[Finished]| {
            let remaining = remaining.as_ref()?;
            Some(remaining.of_next(coming, finished))
        };
        loop {
            let unit = self.next(&finished, &taken, store)?;
            let Some(first) = unit.first() else {
                break;
            };
            stop_if_interrupted()?;
            let coming = self.until_look(first, &finished, &taken, store);
            let known = coming.as_ref().map(|coming| finished.len() + coming.len());
            let known = known.unwrap_or(self.plan.len());
            let named = |key: &TrialKey, place: usize| {
                news::name(&self.request.experiment, key, place, known)
            };
            let name = named(&first.key, finished.len() + 1) + &others(&unit);
            let expected_s = left_s(coming.as_deref(), &finished);
            self.bench.progress.trial(&name, expected_s);
            let mut trials = self.unit(&unit, &mut held, store)?;
            let elapsed_s = shared_s(trials.iter());
            for (planned, trial) in unit.iter().zip(&mut trials) {
                self.settle(planned, trial, &mut recalled)?;
                let load = trial.load.as_deref();
                finished.push(self::finished(trial, load, held.is_some(), elapsed_s));
                let answer = self.plan.answer(&trial.key, &finished);
                trial.flag_each(FlagKind::Search, answer);
            }
            self.save(&trials, store)?;
            taken.forget(first.key.block);
            let meeting = self.bench.meeting.map(lock);
            meeting.map_or(Ok(()), |meeting| meeting.goes_on())?;
            let coming = self.until_look(first, &finished, &taken, store);
            let left_s = left_s(coming.as_deref(), &finished);
            let left_s = left_s.map(|(next_s, rest_s)| next_s + rest_s);
            let before = finished.len() - trials.len();
            for (place, trial) in (before + 1..).zip(&trials) {
                let name = named(&trial.key, place);
                let line = news::line(&name, trial, left_s, &mut said);
                self.bench.progress.say(&line);
            }
        }
        self.end(&finished, &taken, store)?;
        store.shrink();
        for key in self.plan.lost(&finished) {
            self.bench.progress.say(&format!(
                "warning: {key} was not measured, because the maximum that its rate refers to could not be measured"
            ));
        }
        stop_if_interrupted()
    }

    /// Measures a trial, or the trials of a group at the same time.
    fn unit(
        &self,
        unit: &[PlannedTrial],
        held: &mut Option<Box<AnyPlace<'r>>>,
        store: &mut Store,
    ) -> Result<Vec<Trial>, RunError> {
        match unit {
            // In slices a cell that no other joins is measured like the others, since claims may compare it with them.
            [one] if self.bench.protocol.slices.is_none() => Ok(vec![self.one(one, held, store)?]),
            several => self.group(several),
        }
    }

    /// Measures the trials of a group in slices. One whose server cannot run it takes no turns. Their seconds are not displayed live,
    /// which is for one trial.
    fn group(&self, planned: &[PlannedTrial]) -> Result<Vec<Trial>, RunError> {
        let prepared = planned.iter().map(|planned| {
            let workload = self.request.workload(planned)?;
            let source = self.source(planned, workload.as_ref())?;
            Ok((planned, workload, source))
        });
        let prepared = prepared.collect::<Result<Vec<_>, RunError>>()?;
        let protocol = self.bench.protocol;
        let middle = protocol.slice_length().unwrap_or_default();
        let block = planned.first().map_or(0, |first| first.key.block);
        let laps = Laps::new(middle, block, self.request.seed).up_to(protocol.slice_longest());
        let members = prepared.iter().map(|(planned, workload, source)| Member {
            planned,
            workload: workload.clone(),
            data_bytes: source.as_ref().map_or(0, Source::data_bytes),
        });
        let members: Vec<Member> = members.collect();
        let hosts = sharing::hosts(protocol, &members);
        let mut trials = slices::measure(protocol, &hosts, laps, |number, seat| {
            let (planned, workload, source) = &prepared[number];
            let (seat, source) = match (seat, source) {
                (_, Err(why)) => return Ok(not_available(planned, why.clone())),
                (Err(why), _) => return Ok(failed(planned, why)),
                (Ok(seat), Ok(source)) => (Some(seat), *source),
            };
            let bench = Bench { seat, ..self.bench };
            bench.measure(planned, source, workload, &mut None, &mut |_, _| ())
        })?;
        self.bench.share_disturbances(&mut trials);
        flag_pauses(&mut trials);
        if protocol.slices == Some(SliceSpec::Query) {
            flag_turns(&mut trials, &hosts);
        }
        flag_shared(&mut trials, &hosts);
        Ok(trials)
    }

    /// Compares a trial with the others of its run.
    fn settle(
        &self,
        planned: &PlannedTrial,
        trial: &mut Trial,
        before: &mut Before,
    ) -> Result<(), RunError> {
        let same = same_sqlite(&self.prepared.servers, planned.server_name());
        trial.flag_each(FlagKind::NotAvailable, same);
        let collations = self.prepared.ready.collations();
        trial.flag_each(FlagKind::CollationsDiffer, collations);
        if !trial.is_not_available() {
            let workload = self.request.workload(planned)?;
            let key = answers_key(workload.data(), planned);
            for flag in before.answers.check(&key, trial, self.bench.samples) {
                trial.invalidate(flag.kind, flag.text);
            }
        }
        before.plans.compare(trial);
        before.settings.compare(planned, trial);
        Ok(())
    }

    /// Saves the trials of a unit together, also where another program holds the record for a while.
    fn save(&self, trials: &[Trial], store: &mut Store) -> Result<(), RunError> {
        let say = |line: &str| self.bench.progress.say(line);
        patiently(&say, || store.save_group(trials)).map_err(stored)
    }

    /// The next trials; more than one if they take turns in slices.
    fn next(
        &self,
        finished: &[Finished],
        taken: &Taken,
        store: &Store,
    ) -> Result<Vec<PlannedTrial>, RunError> {
        let undecided = |blocks: u32| taken.undecided(store, blocks);
        let next = self.plan.next_unit(finished, &undecided);
        taken.check()?;
        Ok(next)
    }

    /// What the trials are expected to take; none for a search, whose trials are not known.
    fn remaining(&self) -> Result<Option<Remaining>, RunError> {
        if self.request.experiment.search().is_some() {
            return Ok(None);
        }
        let trials: Vec<PlannedTrial> = self.plan.trials().collect();
        let expected = Expected::of(self.request, &trials)?;
        let each = trials.iter();
        let each = each.map(|trial| (trial.key.clone(), expected.trial_s(trial)));
        Ok(Some(Remaining::new(each.collect())))
    }

    /// The trials that will be measured until the look for which this one is. None without looks: all trials are measured.
    fn until_look(
        &self,
        of: &PlannedTrial,
        finished: &[Finished],
        taken: &Taken,
        store: &Store,
    ) -> Option<Vec<TrialKey>> {
        self.request.experiment.protocol.looks.as_ref()?;
        let undecided = |blocks: u32| taken.undecided(store, blocks);
        Some(self.plan.until_look(of.key.block, finished, &undecided))
    }

    /// Records why the run stopped, where it depends on the claims.
    fn end(&self, finished: &[Finished], taken: &Taken, store: &mut Store) -> Result<(), RunError> {
        if self.request.experiment.protocol.looks.is_none() {
            return Ok(());
        }
        let ended = self
            .plan
            .ended(finished, &|blocks| taken.undecided(store, blocks));
        taken.check()?;
        let blocks = finished.iter().map(|one| one.key.block + 1).max();
        self.bench.progress.say(&format!(
            "stopped after {} blocks: {}",
            blocks.unwrap_or(0),
            ended.text()
        ));
        let measured = finished.iter().filter(|one| !one.key.is_control());
        looks::keep_end(ended, measured.count() as u64, store)
    }

    fn one(
        &self,
        planned: &PlannedTrial,
        held: &mut Option<Box<AnyPlace<'r>>>,
        store: &mut Store,
    ) -> Result<Trial, RunError> {
        let workload = self.request.workload(planned)?;
        let source = match self.source(planned, workload.as_ref())? {
            Ok(source) => source,
            Err(why) => return Ok(not_available(planned, why)),
        };
        let mut live = |second: u32, sample: LiveSample| {
            // Only for live display, so an error must not fail the trial.
            let _ = store.live(&planned.key, second, &sample);
        };
        self.bench
            .measure(planned, source, &workload, held, &mut live)
    }

    /// What the trial's place is made from, or why its server cannot run it.
    fn source(
        &self,
        planned: &PlannedTrial,
        workload: &dyn Workload,
    ) -> Result<Result<Source<'r>, String>, RunError> {
        if workload.target() == TargetKind::Folder {
            return Ok(Ok(Source::Folder));
        }
        if let Some(why) = preflight::lacking(planned, &self.prepared.known) {
            return Ok(Err(why));
        }
        let server = &self.prepared.servers[planned.server_name()];
        let ready = self.prepared.ready.of(self.request, planned);
        let ready = ready.ok_or_else(|| RunError::Failed("the trial has no dataset".into()))?;
        Ok(match ready {
            Ok(ready) => Ok(Source::Server(server, ready)),
            Err(why) => Err(why.clone()),
        })
    }

    /// What the trials have shown that a resumed run has already measured.
    fn recalled(&self, before: Vec<Trial>) -> Result<Before, RunError> {
        let mut recalled = Before::default();
        for mut trial in before {
            recalled.plans.compare(&mut trial);
            let mut planned = self.plan.trials();
            if let Some(planned) = planned.find(|planned| planned.key == trial.key) {
                recalled.settings.compare(&planned, &mut trial);
                let workload = self.request.workload(&planned)?;
                let data = workload.data();
                let fingerprint = data.map(Dataset::fingerprint).unwrap_or_default();
                let ready = self.prepared.ready.of(self.request, &planned);
                let now = ready.and_then(|ready| Some(&ready.as_ref().ok()?.note));
                is_the_same(&trial, &fingerprint, now)?;
                let key = answers_key(data, &planned);
                let answers = &mut recalled.answers;
                answers.check(&key, &mut trial, self.bench.samples);
            }
        }
        Ok(recalled)
    }
}

/// What the name of a group's first trial lacks.
fn others(unit: &[PlannedTrial]) -> String {
    match unit.len() {
        0 | 1 => String::new(),
        2 => " and another server in slices".into(),
        servers => format!(" and {} other servers in slices", servers - 1),
    }
}

/// How often a record that another program has locked is tried; each time waits for 10 s.
const TRIES: usize = 6;

/// Writes to the record. While another program has locked it, waits and says so.
fn patiently(
    say: &dyn Fn(&str),
    mut write: impl FnMut() -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for left in (1..TRIES).rev() {
        match write() {
            Err(StoreError::Locked(path)) => say(&format!(
                "warning: another program has locked {}; close it; prony waits for another {} s",
                path.display(),
                left * 10
            )),
            other => return other,
        }
        if host::interrupt::asked() {
            break;
        }
    }
    write()
}

/// Says so where another name of the experiment is SQLite too, as with `--server sqlite`: it has one version and no settings, so
/// comparing the two would compare it with itself.
fn same_sqlite(servers: &BTreeMap<String, Provided>, name: &str) -> Option<String> {
    let is_sqlite = |server: &Provided| server.spec.build == BuildSpec::Sqlite;
    let own = servers.get(name).filter(|server| is_sqlite(server))?;
    let (first, _) = servers.iter().find(|(_, server)| is_sqlite(server))?;
    (first != name).then(|| {
        let version = &own.identity().version;
        format!("servers {first} and {name} are the same SQLite {version}: they are not compared")
    })
}

/// Refuses to add trials on other data to a run, as when the dump of the workload has changed, or the user's own tables (`now`).
fn is_the_same(
    trial: &Trial,
    fingerprint: &str,
    now: Option<&DatasetNote>,
) -> Result<(), RunError> {
    let Some(then) = &trial.dataset else {
        return Ok(());
    };
    if then.fingerprint != fingerprint {
        return Err(RunError::Usage(format!(
            "cannot resume: {} was measured on the dataset {}, and the workload's files make {fingerprint} now; start a new run",
            trial.key, then.fingerprint
        )));
    }
    match now.is_some_and(|now| then.has_changed(now)) {
        true => Err(RunError::Usage(format!(
            "cannot resume: since {} was measured, the rows, columns, indexes, triggers, foreign keys or views of {fingerprint} have changed; start a new run",
            trial.key
        ))),
        false => Ok(()),
    }
}

fn finished(trial: &Trial, load: Option<&Loaded>, held: bool, elapsed_s: f64) -> Finished {
    let is_usable = trial.state == TrialState::Done && !trial.is_not_available();
    let key = trial.key.clone();
    let figures = match load {
        Some(load) => figures::timed(key, load, is_usable, held),
        None => Finished::without_figures(key, is_usable),
    };
    Finished {
        elapsed_s,
        ..figures
    }
}

/// The share that each of the trials of a unit has in its time: trials of a group overlap, and their time counts once.
fn shared_s<'t>(trials: impl Iterator<Item = &'t Trial>) -> f64 {
    let spans = trials.map(|trial| (trial.started_ns, trial.ended_ns));
    let (began_ns, ended_ns): (Vec<i64>, Vec<i64>) = spans.unzip();
    let (first_ns, last_ns) = (began_ns.iter().min(), ended_ns.iter().max());
    let span_ns = first_ns
        .zip(last_ns)
        .map_or(0, |(first, last)| last - first);
    span_ns as f64 / 1e9 / began_ns.len().max(1) as f64
}

/// Flags the trials of a group if pauses change what their servers' settings do: the check before the start does not know defaults.
fn flag_pauses(trials: &mut [Trial]) {
    let settings: Vec<&BTreeMap<String, String>> =
        trials.iter().map(|trial| &trial.settings).collect();
    let texts = spec::slices::differing(&settings);
    for (trial, text) in trials.iter_mut().zip(texts) {
        trial.flag(FlagKind::PausesMatter, text);
    }
}

/// Flags the trials of a group whose rounds took turns: one that has none took no turn.
fn flag_turns(trials: &mut [Trial], hosts: &[usize]) {
    let with_rounds = || {
        trials
            .iter()
            .zip(hosts)
            .filter(|(trial, _)| !trial.rounds.is_empty())
    };
    let cells = with_rounds().count();
    let servers: BTreeSet<usize> = with_rounds().map(|(_, host)| *host).collect();
    let text = match servers.len() {
        _ if cells < 2 => return,
        1 => format!("{cells} cells took turns query by query on one server, this one among them"),
        servers if servers == cells => {
            format!("{servers} servers took turns query by query, this one among them")
        }
        servers => format!(
            "{cells} cells on {servers} servers took turns query by query, this one among them"
        ),
    };
    let in_turns = trials.iter_mut().filter(|trial| !trial.rounds.is_empty());
    in_turns.for_each(|trial| trial.flag(FlagKind::TookTurns, text.clone()));
}

/// Flags the trials of a group that took turns on one server; `hosts` has for each the first one on its server.
fn flag_shared(trials: &mut [Trial], hosts: &[usize]) {
    let has_figures = |trial: &Trial| trial.load.is_some() || !trial.rounds.is_empty();
    let measured = trials
        .iter()
        .zip(hosts)
        .filter(|(trial, _)| has_figures(trial));
    let measured: Vec<usize> = measured.map(|(_, host)| *host).collect();
    for (trial, host) in trials.iter_mut().zip(hosts) {
        let cells = measured.iter().filter(|other| *other == host).count();
        if cells > 1 && has_figures(trial) {
            trial.flag(FlagKind::SharedServer, format!(
                "{cells} cells took turns on one server and its one start, this one among them: only what each session sets differs"
            ));
        }
    }
}

/// The trials that an earlier process measured. Failed ones are measured again. Loads with their histograms are read only if a later
/// trial depends on their figures.
fn earlier(store: &Store, plan: &Plan, before: &[Trial]) -> Result<Vec<Finished>, RunError> {
    let needs_figures = plan.needs_figures();
    let numbers = plan.group_numbers();
    let mut groups: BTreeMap<usize, Vec<&Trial>> = BTreeMap::new();
    for trial in before {
        if let Some(number) = numbers.get(&trial.key) {
            groups.entry(*number).or_default().push(trial);
        }
    }
    let mut kept = Vec::new();
    for trial in before {
        let group = numbers
            .get(&trial.key)
            .and_then(|number| groups.get(number));
        let group = group.map_or(std::slice::from_ref(&trial), Vec::as_slice);
        // A group is measured as a whole.
        if group.iter().any(|one| one.state == TrialState::Failed) {
            continue;
        }
        let load = match needs_figures {
            true => store.load(&trial.key).map_err(stored)?,
            false => None,
        };
        let elapsed_s = shared_s(group.iter().copied());
        kept.push(finished(trial, load.as_ref(), false, elapsed_s));
    }
    Ok(kept)
}

/// Identifies what a trial's answers depend on: its rows, and what the settings make of them.
fn answers_key(data: Option<&dyn Dataset>, planned: &PlannedTrial) -> String {
    let rows = data.map(Dataset::rows_key).unwrap_or_default();
    let settings = settings::resolve(&planned.settings, 0);
    rows + &layout::of_contents(&settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::read_on_server;
    use std::cell::RefCell;

    /// Writes to a record that is locked for so many tries. Returns the number of tries, and what was said.
    fn locked_for(tries: usize) -> (Result<(), StoreError>, usize, Vec<String>) {
        let (mut tried, said) = (0, RefCell::new(Vec::new()));
        let say = |line: &str| said.borrow_mut().push(line.to_string());
        let written = patiently(&say, || {
            tried += 1;
            match tried > tries {
                true => Ok(()),
                false => Err(StoreError::Locked("run.sqlite".into())),
            }
        });
        (written, tried, said.into_inner())
    }

    #[test]
    fn a_run_on_the_users_own_tables_is_not_resumed_on_other_ones() {
        let note = |rows: u64, definitions: Option<&str>| -> DatasetNote {
            let note = serde_json::json!({
                "fingerprint": "schema-shop", "server": "db", "rows": rows, "data_bytes": 16384, "load_s": null,
                "method": "already there", "definitions": definitions
            });
            serde_json::from_value(note).unwrap()
        };
        let then = note(4, Some("1f"));
        assert!(!then.has_changed(&then));
        assert!(then.has_changed(&note(5, Some("1f"))));
        assert!(then.has_changed(&note(4, Some("2e"))));
        assert!(!then.has_changed(&note(5, None)), "prony's own tables");
        let estimated = DatasetNote {
            rows_estimated: true,
            ..note(5, Some("1f"))
        };
        assert!(!then.has_changed(&estimated));
        let mut trial = trial::blank();
        trial.dataset = Some(then);
        let says = is_the_same(&trial, "schema-shop", Some(&note(5, Some("1f")))).unwrap_err();
        assert!(says.to_string().contains("have changed"), "{says}");
        assert!(is_the_same(&trial, "schema-shop", None).is_ok());
    }

    #[test]
    fn a_trial_is_named_with_the_number_of_others_that_take_turns() {
        let source = "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.ssb]\n";
        let experiment = read_on_server(source);
        let planned = spec::plan::expand(&experiment, 1).unwrap();
        let of = |servers: usize| others(&vec![planned[0].clone(); servers]);
        assert_eq!(of(1), "");
        assert_eq!(of(2), " and another server in slices");
        assert_eq!(of(3), " and 2 other servers in slices");
    }

    #[test]
    fn the_time_of_a_group_counts_once() {
        let span = |(began_s, ended_s): (i64, i64)| Trial {
            started_ns: began_s * 1_000_000_000,
            ended_ns: ended_s * 1_000_000_000,
            ..trial::blank()
        };
        assert_eq!(shared_s([(5, 9)].map(span).iter()), 4.0);
        // Prepared one after another and let go one after another; the second server did not start.
        let group = [(0, 50), (10, 15), (20, 60)].map(span);
        assert_eq!(shared_s(group.iter()), 20.0);
    }

    #[test]
    fn a_locked_record_is_waited_for_with_a_message() {
        let (written, tried, said) = locked_for(2);
        assert!(written.is_ok());
        assert_eq!((tried, said.len()), (3, 2));
        let first = "warning: another program has locked run.sqlite; close it; prony waits for another 50 s";
        assert_eq!(said[0], first);
    }

    #[test]
    fn a_record_that_stays_locked_is_an_error_that_names_the_way_out() {
        let (written, tried, _) = locked_for(usize::MAX);
        assert_eq!(tried, TRIES);
        let text = written.unwrap_err().to_string();
        assert!(
            text.contains("close the program that has it open"),
            "{text}"
        );
    }
}
