//! A server as the place of a trial: a copy of the snapshot, the server on it, and its connections.
//!
//! Purpose: start every trial from the same data with the requested settings, and flag settings that are not available. Outside this
//! module: rounds and their figures (`rounds`), making snapshots (`dataset`).

use crate::run::event::Reopen;
use crate::run::machine::limits::{self, Held};
use crate::run::machine::redo_log;
use crate::run::place::coldness::{self, Before};
use crate::run::place::live::{Client, Live};
use crate::run::place::sessions;
use crate::run::prepare::dataset::Ready;
use crate::run::prepare::in_place::{self, Renewal};
use crate::run::prepare::servers::Provided;
use crate::run::watch::{Admin, Watch, stopper};
use crate::run::{Progress, settings};
use host::{Lease, Leases, LimitError};
use hosted::Hosted;
use observe::{Observer, ServerProcess, variables};
use record::{Flag, FlagKind, Trial};
use server::{Adjusted, Node, ServerError, Session, StartRequest, adjusted};
use spec::plan::PlannedTrial;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use workload::Workload;

mod as_place;
mod ending;
mod flags;
mod hosted;
mod nodes;

pub(crate) use hosted::Shared;

/// The process of a running server.
#[derive(Clone)]
pub(crate) struct Process {
    pub pid: u32,
    /// Says why it has ended; None while it runs.
    pub exit: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    /// Kills it, and waits for its end.
    pub kill: Arc<dyn Fn() -> Result<(), ServerError> + Send + Sync>,
}

/// The server of one trial with its folder and connections.
pub(crate) struct ServerPlace<'a> {
    planned: PlannedTrial,
    server: &'a Provided,
    ready: &'a Ready,
    workload: Arc<dyn Workload>,
    live: Option<Live>,
    /// What every session executes before the statements of the file; None before the first start.
    baseline: Option<Vec<String>>,
    /// The settings that the server reports, and those that differ from the requested ones.
    effective: BTreeMap<String, String>,
    /// The global variables of a server that prony does not configure, from the start of the trial.
    in_force: Option<BTreeMap<String, String>>,
    adjusted: Vec<Adjusted>,
    /// What prony's account may not read.
    not_permitted: Option<&'static str>,
    /// Dropped after the connections.
    hosted: Arc<Hosted>,
}

impl<'a> ServerPlace<'a> {
    /// A place below the leased folder, or on the server that another trial of `shared` has. Nothing is copied or started yet.
    ///
    /// # Errors
    /// The nodes of a cluster cannot be made.
    pub(crate) fn new(
        planned: PlannedTrial,
        server: &'a Provided,
        ready: &'a Ready,
        workload: Arc<dyn Workload>,
        (leases, lease): (Leases, Lease),
        shared: Option<&Shared>,
    ) -> Result<ServerPlace<'a>, ServerError> {
        let make = || {
            let instance = server.instance_of(&planned, &lease.path().join("instance"))?;
            Ok(Hosted::new(instance, ready.note.data_bytes, leases, lease))
        };
        let hosted = match shared {
            Some(shared) => shared.hosted(make)?,
            None => Arc::new(make()?),
        };
        Ok(ServerPlace {
            planned,
            server,
            ready,
            workload,
            live: None,
            baseline: None,
            effective: BTreeMap::new(),
            in_force: None,
            adjusted: Vec::new(),
            not_permitted: None,
            hosted,
        })
    }

    /// The node that queries and clients connect to.
    fn node(&self) -> &Arc<dyn Node> {
        self.hosted.instance.first()
    }

    /// Whether prony did not start the server.
    pub(crate) fn is_external(&self) -> bool {
        self.server.spec.build.is_external()
    }

    fn is_started(&self) -> bool {
        self.live.is_some()
    }

    fn preload(&mut self, trial: &mut Trial) -> Result<(), ServerError> {
        let workload = self.workload.clone();
        let Some(dataset) = workload.data() else {
            return Ok(());
        };
        let Live { session, watch, .. } = self.live(trial)?;
        let (preloaded, _) = watch.over(None, || dataset.preload(session));
        let preloaded = preloaded?;
        if preloaded.held == Some(false) {
            let pages = preloaded.pages_read_again.unwrap_or_default();
            trial.flag(FlagKind::NotPreloaded, format!(
                "the tables did not stay in the buffer pool: a second scan had {pages} buffer pool misses; set innodb_buffer_pool_size above the data size"
            ));
        }
        Ok(())
    }

    /// Makes sure that the tables are as loaded on a server without snapshots.
    fn renew_data(&self, trial: &mut Trial, progress: &Progress) -> Result<(), ServerError> {
        match self.workload.data() {
            Some(dataset) if self.is_external() => {
                let node = self.node().as_ref();
                node.start(&StartRequest::default())?;
                // Another server has other tables, so its name is the better message.
                self.is_the_same()?;
                let needs = Renewal {
                    is_timed: self.planned.rounds.is_empty(),
                    may_reload: self.ready.may_reload,
                };
                let server = &self.server.spec.name;
                let held = in_place::renew(server, node, dataset, needs, progress)?;
                held.iter().for_each(|held| in_place::enter(held, trial));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Copies the snapshot, if the server has one.
    fn place_data(&mut self) -> Result<(), ServerError> {
        let Some(snapshot) = &self.ready.data_folder else {
            return Ok(());
        };
        let without_redo_log = self.server.provider.keeps_redo_log_size()
            && settings::reshapes_redo_log(&self.settings());
        let planned = &self.planned.host;
        let Hosted { disks, leases, .. } = self.hosted.as_ref();
        disks.fill(snapshot, planned, without_redo_log, leases)?;
        self.place_further_data(snapshot)
    }

    /// Stops the server, empties the caches, starts it, and collects the evidence that it is cold.
    pub(crate) fn go_cold(
        &mut self,
        trial: &mut Trial,
        clients: u32,
    ) -> Result<Before, ServerError> {
        let restart = self.node().abilities().restart;
        if restart {
            self.live = None;
            self.hosted.stop()?;
            coldness::empty_page_cache(&self.data());
        }
        self.live(trial)?;
        self.have_clients(clients)?;
        // Again, because the start and the connections have read parts of the files.
        let eviction = if restart {
            coldness::empty_page_cache(&self.data())
        } else {
            "none".into()
        };
        let data = self.node().data_folder();
        let observer = self.live.as_mut().and_then(|live| live.observer.as_mut());
        Ok(Before::look(restart, eviction, data.as_deref(), observer))
    }

    /// The connections. Starts the server if it is not running.
    pub(crate) fn live(&mut self, trial: &mut Trial) -> Result<&mut Live, ServerError> {
        if self.live.is_none() {
            self.launch(trial)?;
        }
        if trial.settings.is_empty() {
            if self.effective.is_empty() && self.is_external() {
                let mut session = self.query_session()?;
                self.look_at_settings(&mut session)?;
            }
            trial.settings = self.effective.clone();
            self.note_limits(trial);
            trial.flags.extend(self.adjusted.iter().map(|one| Flag {
                kind: FlagKind::SettingAdjusted,
                text: format!(
                    "{}: requested {}, the server uses {}",
                    one.name, one.requested, one.effective
                ),
            }));
            trial.flags.extend(self.ignored());
            for flag in self.not_applied() {
                trial.flag(flag.kind, flag.text);
            }
            trial.flag_each(FlagKind::NotPermitted, self.not_permitted);
        }
        self.live
            .as_mut()
            .ok_or_else(|| ServerError::Lost("the server was not started".into()))
    }

    /// The process of the running server.
    ///
    /// # Errors
    /// prony did not start it.
    pub(crate) fn process(&self) -> Result<Process, ServerError> {
        let pid = self.node().pid();
        let pid = pid.ok_or_else(|| {
            ServerError::Unusable("prony stops only servers that it started itself".into())
        })?;
        let (instance, killed) = (self.hosted.instance.clone(), self.hosted.instance.clone());
        Ok(Process {
            pid,
            exit: Arc::new(move || instance.nodes().find_map(|node| node.exit_reason())),
            kill: Arc::new(move || killed.kill()),
        })
    }

    /// The data folder, if prony can read it.
    pub(crate) fn data_folder(&self) -> Option<PathBuf> {
        self.node().data_folder()
    }

    fn launch(&mut self, trial: &mut Trial) -> Result<(), ServerError> {
        self.hold()?;
        self.note_limits(trial);
        let started = self.hosted.start(self.settings())?;
        self.is_the_same()?;
        trial
            .start_s
            .extend(started.map(|started| started.elapsed_s));
        let abilities = self.node().abilities();
        if abilities.mysql && self.baseline.is_none() {
            let mut session = self.session()?;
            self.baseline = Some(sessions::baseline(self.set(), &mut session)?);
        }
        let mut session = self.query_session()?;
        if let (false, Some(dataset)) = (abilities.snapshots, self.workload.data()) {
            in_place::still_holds(dataset, &mut session)?;
        }
        if self.effective.is_empty() {
            self.look_at_settings(&mut session)?;
        }
        let observer = if abilities.mysql {
            Some(Observer::new(
                self.node().connect()?.for_control(),
                abilities.settings,
            )?)
        } else {
            None
        };
        self.not_permitted = observer.as_ref().and_then(Observer::not_permitted);
        let admin = Admin::of(self.node().as_ref())?;
        let watch = Watch::new(admin.stopper(&session), session.cutter());
        let data_folder = self.node().data_folder();
        let pid = self.node().pid();
        self.live = Some(Live {
            session,
            watch,
            others: Vec::new(),
            observer,
            process: pid.and_then(|pid| ServerProcess::from_pid(pid, data_folder.as_deref())),
        });
        Ok(())
    }

    /// Sets and verifies the planned limits before the first start.
    fn hold(&mut self) -> Result<(), ServerError> {
        let data_bytes = self.ready.note.data_bytes;
        let limits = limits::resolve(&self.planned.limits, data_bytes);
        let later = limits::later(&self.planned, data_bytes);
        if (limits.are_none() && later.is_empty()) || self.hosted.held.get().is_some() {
            return Ok(());
        }
        let unusable = |error: LimitError| ServerError::Unusable(error.to_string());
        let Hosted { disks, leases, .. } = self.hosted.as_ref();
        let held = Held::hold(&limits, &later, &self.data(), leases);
        let mut held = held.map_err(unusable)?;
        if let Some(redo) = disks.redo() {
            let limited = held.limit_redo(&limits, &redo, leases);
            limited.map_err(unusable)?;
        }
        let (group, planned) = (held.group.clone(), self.planned.limits);
        self.hosted.changes.of(group, planned);
        let _ = self.hosted.held.set(held);
        // The copied snapshot is in the page cache: reads from it would bypass the limits, and it does not count as the group's memory.
        coldness::empty_page_cache(&self.data());
        Ok(())
    }

    /// Records the limits once. Called before the start, which may fail because of them.
    fn note_limits(&self, trial: &mut Trial) {
        if let Some(held) = self.hosted.held.get().filter(|_| trial.limits.is_empty()) {
            trial.limits = held.notes.clone();
            trial.flags.extend(held.flags.iter().cloned());
        }
    }

    /// A connection for queries, with the session settings.
    pub(crate) fn query_session(&self) -> Result<Session, ServerError> {
        let mut session = self.session()?;
        if self.node().abilities().mysql {
            for statement in self.session_statements() {
                session.control(|session| session.execute(&statement))?;
            }
        }
        Ok(session)
    }

    /// Opens connections for this number of clients on the running server.
    pub(crate) fn have_clients(&mut self, clients: u32) -> Result<(), ServerError> {
        let Some(live) = self.live.as_ref() else {
            return Ok(());
        };
        let others = clients.saturating_sub(1) as usize;
        if live.others.len() == others {
            return Ok(());
        }
        let admin = Admin::of(self.node().as_ref())?;
        let opened = (0..others).map(|_| {
            let session = self.query_session()?;
            let watch = Watch::new(admin.stopper(&session), session.cutter());
            Ok(Client { session, watch })
        });
        let opened = opened.collect::<Result<Vec<_>, ServerError>>()?;
        if let Some(live) = &mut self.live {
            live.others = opened;
        }
        Ok(())
    }

    /// What the file sets for the sessions and the server.
    fn set(&self) -> sessions::Set<'_> {
        [&self.planned.session, &self.planned.settings]
    }

    /// Records the settings in force, and compares the requested ones with them.
    fn look_at_settings(&mut self, session: &mut Session) -> Result<(), ServerError> {
        let abilities = self.node().abilities();
        self.effective = variables::effective(session)?;
        let is_theirs = abilities.mysql && !abilities.settings;
        self.in_force = is_theirs.then(|| self.effective.clone());
        self.adjusted = self.node().adjusted(session)?;
        self.look_at_session(session)
    }

    /// Compares the requested session settings with those in force, and records the latter.
    fn look_at_session(&mut self, session: &mut Session) -> Result<(), ServerError> {
        let requested = settings::resolve(&self.planned.session, self.ready.note.data_bytes);
        let in_force = variables::of_session(session)?;
        self.effective.extend(sessions::recorded(&in_force));
        self.adjusted.extend(adjusted(&requested, &in_force));
        for (name, _) in requested {
            let name = spec::plain(&name);
            if let Some(value) = in_force.get(&name) {
                self.effective.insert(name, value.clone());
            }
        }
        Ok(())
    }

    fn settings(&self) -> Vec<(String, String)> {
        if !self.node().abilities().settings {
            return Vec::new();
        }
        let data_bytes = self.ready.note.data_bytes;
        let mut settings = self.server.settings(&self.planned.settings, data_bytes);
        let redo = self.hosted.disks.redo();
        settings.extend(redo.map(|redo| (redo_log::PLACE.into(), redo.display().to_string())));
        settings
    }

    /// Opens sessions of an event, also after a restart.
    fn reopen(&self) -> Reopen {
        let (node, connect) = (self.node().clone(), self.connector());
        Box::new(move || {
            let session = connect()?;
            let stopper = stopper(&session, node.as_ref())?;
            Ok((session, stopper))
        })
    }

    fn effective_number(&self, name: &str) -> Option<u64> {
        self.effective.get(name)?.parse().ok()
    }

    /// The statements that each connection executes first.
    fn session_statements(&self) -> Vec<String> {
        let own = settings::session_statements(&self.planned.session, self.ready.note.data_bytes);
        let baseline = self.baseline.iter().flatten().cloned();
        baseline.chain(own).collect()
    }

    /// A new connection in the workload's schema, without the session settings.
    pub(crate) fn session(&self) -> Result<Session, ServerError> {
        self.connector()()
    }

    /// Opens such connections, from any thread.
    pub(crate) fn connector(
        &self,
    ) -> impl Fn() -> Result<Session, ServerError> + Send + Sync + use<> {
        self.connector_to(self.node())
    }

    /// The same for a node.
    fn connector_to(
        &self,
        node: &Arc<dyn Node>,
    ) -> impl Fn() -> Result<Session, ServerError> + Send + Sync + use<> {
        let (node, workload) = (node.clone(), self.workload.clone());
        move || {
            let mut session = node.connect()?;
            if let Some(dataset) = workload.data() {
                dataset.enter(&mut session)?;
            }
            Ok(session)
        }
    }

    fn data(&self) -> PathBuf {
        self.hosted.disks.data()
    }
}
