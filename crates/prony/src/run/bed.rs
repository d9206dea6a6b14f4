//! What one trial is measured on: a clone of the snapshot, and the trial's server on it with its connections.
//!
//! Goal: every trial starts from the same data with the settings that it names; what cannot be had is said. Non-goals:
//! rounds and their figures (`trial`), making snapshots (`dataset`).

use super::cold::{self, Before};
use super::dataset::{Ready, remove_redo_log};
use super::event::{Means, PreparedEvents};
use super::limits::{self, Held};
use super::round::{Client, Live};
use super::servers::Provided;
use super::watch::{Admin, Watch, stopper};
use super::{in_place, settings};
use host::{Lease, Leases, clone};
use observe::{Observer, Prepared, ServerProcess, Targets, variables};
use record::{Flag, FlagKind, Trial};
use server::{Adjusted, Node, Server, ServerError, Session, StartRequest, adjusted};
use spec::plan::PlannedTrial;
use spec::{Dsn, Pairs, Setting, switches};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use workload::Workload;

/// The server of one trial with its folder and connections.
pub struct Bed<'a> {
    planned: PlannedTrial,
    server: &'a Provided,
    ready: &'a Ready,
    workload: Arc<dyn Workload>,
    folder: PathBuf,
    instance: Server,
    live: Option<Live>,
    /// Settings as the server itself reports them, and those that are in force otherwise than they were asked for.
    effective: BTreeMap<String, String>,
    adjusted: Vec<Adjusted>,
    /// What the server is held to, from its first start on.
    held: Option<Held>,
    leases: Leases,
    _lease: Lease,
}

impl<'a> Bed<'a> {
    /// Nothing is copied or started yet; everything it makes is below the leased folder.
    pub fn new(
        planned: PlannedTrial,
        server: &'a Provided,
        ready: &'a Ready,
        workload: Arc<dyn Workload>,
        leases: Leases,
        lease: Lease,
    ) -> Bed<'a> {
        let folder = lease.path().to_path_buf();
        let instance = server.instance(&folder.join("instance"));
        Bed {
            planned,
            server,
            ready,
            workload,
            folder,
            instance,
            live: None,
            effective: BTreeMap::new(),
            adjusted: Vec::new(),
            held: None,
            leases,
            _lease: lease,
        }
    }

    /// The next trial of a series goes on with the server as the last one left it.
    pub fn continue_with(&mut self, planned: PlannedTrial) {
        self.planned = planned;
    }

    /// The node that queries and clients go to.
    fn node(&self) -> &Arc<dyn Node> {
        self.instance.first()
    }

    /// Somebody else's server.
    pub fn is_external(&self) -> bool {
        self.server.spec.build.is_external()
    }

    pub fn is_started(&self) -> bool {
        self.live.is_some()
    }

    /// A clone of the snapshot, where the server has one.
    pub fn place_data(&mut self) -> Result<(), ServerError> {
        let Some(snapshot) = &self.ready.data_folder else {
            return Ok(());
        };
        let data = self.data();
        std::fs::create_dir_all(&self.folder).map_err(|error| {
            ServerError::Unusable(format!("cannot write {}: {error}", self.folder.display()))
        })?;
        clone::folder(snapshot, &data)
            .map_err(|error| ServerError::Unusable(format!("cannot copy the snapshot: {error}")))?;
        if self.server.provider.keeps_redo_log_size()
            && settings::reshapes_redo_log(&self.settings())
        {
            remove_redo_log(&data).map_err(|error| {
                ServerError::Unusable(format!("cannot change the redo log: {error}"))
            })?;
        }
        Ok(())
    }

    /// Stop, empty the caches, start, and look whether it is cold.
    pub fn go_cold(&mut self, trial: &mut Trial, clients: u32) -> Result<Before, ServerError> {
        let restart = self.node().abilities().restart;
        if restart {
            self.live = None;
            self.instance.stop()?;
            cold::evict(&self.data());
        }
        self.live(trial)?;
        self.have_clients(clients)?;
        // Once more: the start itself and the connections have read parts of the files.
        let eviction = if restart {
            cold::evict(&self.data())
        } else {
            "none".into()
        };
        let data = self.node().data_folder();
        let observer = self.live.as_mut().and_then(|live| live.observer.as_mut());
        Ok(Before::look(restart, eviction, data.as_deref(), observer))
    }

    /// The connections, on a server that is started where it was not yet.
    pub fn live(&mut self, trial: &mut Trial) -> Result<&mut Live, ServerError> {
        if self.live.is_none() {
            self.start(trial)?;
        }
        if trial.settings.is_empty() {
            trial.settings = self.effective.clone();
            self.note_limits(trial);
            trial.flags.extend(self.adjusted.iter().map(|one| Flag {
                kind: FlagKind::SettingAdjusted,
                text: format!(
                    "{}: asked for {}, the server runs with {}",
                    one.name, one.asked, one.runs
                ),
            }));
            trial.flags.extend(self.ignored());
        }
        self.live
            .as_mut()
            .ok_or_else(|| ServerError::Lost("the server was not started".into()))
    }

    /// The folder whose files hold the data, where prony may look at it.
    pub fn data_folder(&self) -> Option<PathBuf> {
        self.node().data_folder()
    }

    fn start(&mut self, trial: &mut Trial) -> Result<(), ServerError> {
        self.hold()?;
        self.note_limits(trial);
        let held = self.held.as_ref();
        let request = StartRequest {
            data_folder: self.data(),
            settings: self.settings(),
            groups: held.map(|held| held.group.joins()).unwrap_or_default(),
        };
        let started = self.node().start(&request)?;
        self.is_the_same()?;
        trial.start_s.push(started.elapsed_s);
        let mut session = self.asking()?;
        let abilities = self.node().abilities();
        if let (false, Some(dataset)) = (abilities.snapshots, self.workload.data()) {
            in_place::still_holds(dataset, &mut session)?;
        }
        if self.effective.is_empty() {
            self.effective = variables::effective(&mut session)?;
            self.adjusted = self.node().adjusted(&mut session)?;
            self.look_at_session(&mut session)?;
        }
        let observer = if abilities.mysql {
            Some(Observer::new(self.node().connect()?, abilities.settings)?)
        } else {
            None
        };
        let watch = Watch::new(stopper(&session, self.node().as_ref())?);
        let data_folder = self.node().data_folder();
        let pid = self.node().pid();
        self.live = Some(Live {
            session,
            watch,
            others: Vec::new(),
            observer,
            process: pid.and_then(|pid| ServerProcess::of(pid, data_folder.as_deref())),
        });
        Ok(())
    }

    /// The planned limits, set and verified before the first start.
    fn hold(&mut self) -> Result<(), ServerError> {
        let limits = limits::resolve(&self.planned.limits, self.ready.note.data_bytes);
        if limits.are_none() || self.held.is_some() {
            return Ok(());
        }
        let scratch = self.folder.join("gauge");
        let held = Held::hold(&limits, &self.data(), &scratch, &self.leases);
        self.held = Some(held.map_err(|error| ServerError::Unusable(error.to_string()))?);
        // The copy of the snapshot lies in the page cache, where no limit would be felt, and is not in the group's memory.
        cold::evict(&self.data());
        Ok(())
    }

    /// Once, and before the server's start, which the limits may have kept from succeeding.
    fn note_limits(&self, trial: &mut Trial) {
        if let Some(held) = self.held.as_ref().filter(|_| trial.limits.is_empty()) {
            trial.limits = held.notes.clone();
            trial.flags.extend(held.flags.iter().cloned());
        }
    }

    /// A limit that the trial was not held to until its end.
    pub fn lost_limit(&self) -> Option<Flag> {
        let file = self.held.as_ref()?.group.lost()?;
        Some(Flag {
            kind: FlagKind::LimitLost,
            text: format!(
                "{} is not as it was set: something took the limit back during the trial",
                file.display()
            ),
        })
    }

    /// A connection that queries run on, with the session settings.
    fn asking(&self) -> Result<Session, ServerError> {
        let mut session = self.node().connect()?;
        self.enter(&mut session)?;
        if self.node().abilities().mysql {
            for statement in self.session_statements() {
                session.execute(&statement)?;
            }
        }
        Ok(session)
    }

    /// Makes the workload's schema the session's default.
    fn enter(&self, session: &mut Session) -> Result<(), ServerError> {
        match self.workload.data() {
            Some(dataset) => dataset.enter(session),
            None => Ok(()),
        }
    }

    /// So many connections for queries on the server that runs, the first among them.
    pub fn have_clients(&mut self, clients: u32) -> Result<(), ServerError> {
        let Some(live) = self.live.as_ref() else {
            return Ok(());
        };
        let others = clients.saturating_sub(1) as usize;
        if live.others.len() == others {
            return Ok(());
        }
        let admin = Admin::of(self.node().as_ref())?;
        let opened = (0..others).map(|_| {
            let session = self.asking()?;
            let watch = Watch::new(admin.stopper(&session));
            Ok(Client { session, watch })
        });
        let opened = opened.collect::<Result<Vec<_>, ServerError>>()?;
        if let Some(live) = &mut self.live {
            live.others = opened;
        }
        Ok(())
    }

    /// What the measured connection was told and what holds there: that is what its queries ran with.
    fn look_at_session(&mut self, session: &mut Session) -> Result<(), ServerError> {
        let asked = settings::resolve(&self.planned.session, self.ready.note.data_bytes);
        if asked.is_empty() {
            return Ok(());
        }
        let in_force = variables::of_session(session)?;
        self.adjusted.extend(adjusted(&asked, &in_force));
        for (name, _) in asked {
            let name = settings::plain(&name);
            if let Some(value) = in_force.get(&name) {
                self.effective.insert(name, value.clone());
            }
        }
        Ok(())
    }

    /// Switches of the trial that its server takes and that change nothing there.
    fn ignored(&self) -> Vec<Flag> {
        let identity = self.server.identity();
        let pairs = self.planned.settings.iter().chain(&self.planned.session);
        let ignored = pairs.flat_map(|(name, setting)| {
            switches::ignored(name, setting, &identity.version, &identity.comment)
        });
        ignored
            .map(|text| Flag {
                kind: FlagKind::SwitchIgnored,
                text,
            })
            .collect()
    }

    fn settings(&self) -> Vec<(String, String)> {
        if !self.node().abilities().settings {
            return Vec::new();
        }
        let mut settings = settings::resolve(&self.planned.settings, self.ready.note.data_bytes);
        let given = |name: &str| {
            settings
                .iter()
                .any(|(given, _)| settings::plain(given) == name)
        };
        let baseline: Vec<_> = self
            .server
            .baseline
            .iter()
            .filter(|(name, _)| !given(name))
            .cloned()
            .collect();
        settings.extend(baseline);
        settings
    }

    /// The planned events, each with connections of its own.
    pub fn prepare_events(&self) -> Result<PreparedEvents, ServerError> {
        let events = &self.planned.events;
        let means = events.iter().map(|_| {
            let mut session = self.node().connect()?;
            self.enter(&mut session)?;
            let stopper = stopper(&session, self.node().as_ref())?;
            Ok(Means {
                session,
                stopper,
                server: self.instance.clone(),
            })
        });
        let means = means.collect::<Result<_, ServerError>>()?;
        Ok(PreparedEvents::new(events, means))
    }

    /// The sampler of the trial's server, with a connection of its own.
    pub fn prepare_sampler(&self) -> Result<Prepared, ServerError> {
        let abilities = self.node().abilities();
        let connector = match abilities.mysql {
            true => Some(self.node().connector()?),
            false => None,
        };
        let node = self.node().clone();
        Prepared::new(Targets {
            connector,
            configure: abilities.settings,
            server_pid: Some(Box::new(move || node.pid())),
            data_folder: self.node().data_folder(),
        })
    }

    /// As the server reports it; none where it reports none.
    pub fn max_connections(&self) -> Option<u32> {
        self.effective.get("max_connections")?.parse().ok()
    }

    /// Over all connections, as the server reports it.
    pub fn max_prepared_statements(&self) -> Option<u64> {
        self.effective.get("max_prepared_stmt_count")?.parse().ok()
    }

    /// How a client of the load reaches the server; None where there is none to connect to.
    pub fn dsn(&self) -> Option<Dsn> {
        self.node().endpoint()
    }

    /// What each connection is told first.
    pub fn session_statements(&self) -> Vec<String> {
        settings::session_statements(&self.planned.session, self.ready.note.data_bytes)
    }

    /// What was asked for and cannot be had on this kind of server: said, not faked.
    pub fn not_available(&self) -> Vec<Flag> {
        let abilities = self.node().abilities();
        let mut missing = Vec::new();
        let names = |pairs: &Pairs<Setting>| {
            pairs
                .iter()
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
                .join(", ")
        };
        if !abilities.settings && !self.planned.settings.is_empty() {
            missing.push(format!(
                "settings {}: not available here, since prony does not configure this server",
                names(&self.planned.settings)
            ));
        }
        if !abilities.mysql && !self.planned.session.is_empty() {
            missing.push(format!(
                "session {}: not available here",
                names(&self.planned.session)
            ));
        }
        missing
            .into_iter()
            .map(|text| Flag {
                kind: FlagKind::NotAvailable,
                text,
            })
            .collect()
    }

    /// # Errors
    /// A server of prony's own that has ended meanwhile; somebody else's that is gone, or came back as another one.
    pub fn still_runs(&mut self) -> Result<(), ServerError> {
        if let Some(reason) = self.node().exit_reason() {
            return Err(ServerError::Lost(reason));
        }
        if self.is_external() {
            self.node().start(&StartRequest::default())?;
        }
        self.is_the_same()
    }

    /// Nobody but prony exchanges a server of prony's own; behind an address there may be another one each time.
    fn is_the_same(&self) -> Result<(), ServerError> {
        let begun = self.server.identity();
        match self.node().identity() {
            Some(now) if self.is_external() && now != *begun => {
                Err(ServerError::Unusable(format!(
                    "{} was {} ({}) when the run began, and is {} ({}) now; measure it in a run of its own",
                    begun.build, begun.version, begun.comment, now.version, now.comment
                )))
            }
            _ => Ok(()),
        }
    }

    /// Why a trial failed, with the server's own last words where it is gone.
    pub fn explain(&mut self, error: &ServerError) -> String {
        let of_limits = self.held.as_ref().and_then(Held::last_words);
        match (error, self.node().exit_reason()) {
            (ServerError::Lost(_), Some(reason)) => match of_limits {
                Some(words) => format!("the server ended: {words}"),
                None => format!("the server ended: {reason}"),
            },
            // Its whole log is kept with the run.
            (ServerError::NotStarted { says, .. }, _) => match of_limits {
                Some(words) => format!("{says}\n  - {words}"),
                None => says.clone(),
            },
            _ => error.to_string(),
        }
    }

    /// The lines of its log; empty where prony cannot see one.
    pub fn log(&self) -> Vec<String> {
        self.node().log_tail(usize::MAX)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }
}

impl Drop for Bed<'_> {
    /// The data are of no more use, so a server of prony's own is not given the time of a clean stop.
    fn drop(&mut self) {
        self.live = None;
        if let Some(held) = &self.held {
            held.group.lift_disk();
        }
        let _ = match self.node().abilities().restart {
            true => self.instance.kill(),
            false => self.instance.stop(),
        };
    }
}
