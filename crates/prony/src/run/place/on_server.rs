//! A server as the place of a trial: a clone of the snapshot, and the trial's server on it with its connections.
//!
//! Purpose: every trial starts from the same data with the settings that it names; what is not available is reported. Outside this
//! module: rounds and their figures (`rounds`), making snapshots (`dataset`).

use crate::run::cold::{self, Before};
use crate::run::dataset::{Ready, remove_redo_log};
use crate::run::event::{Action, Means, PreparedEvents};
use crate::run::limits::{self, Held};
use crate::run::round::{Client, Live};
use crate::run::servers::Provided;
use crate::run::timed::asked;
use crate::run::watch::{Admin, Watch, stopper};
use crate::run::{connections, in_place, settings};
use host::{Lease, Leases, clone};
use load::Needs;
use observe::{Observer, Prepared, ServerProcess, Targets, variables};
use record::{Flag, FlagKind, Trial};
use server::{Adjusted, Node, Server, ServerError, Session, StartRequest, adjusted};
use spec::plan::PlannedTrial;
use spec::{Pairs, Setting, switches};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use workload::{Target, Workload};

/// The server of one trial with its folder and connections.
pub struct ServerPlace<'a> {
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

impl<'a> ServerPlace<'a> {
    /// Nothing is copied or started yet; everything it makes is below the leased folder.
    pub fn new(
        planned: PlannedTrial,
        server: &'a Provided,
        ready: &'a Ready,
        workload: Arc<dyn Workload>,
        leases: Leases,
        lease: Lease,
    ) -> ServerPlace<'a> {
        let folder = lease.path().to_path_buf();
        let instance = server.instance(&folder.join("instance"));
        ServerPlace {
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
    fn is_external(&self) -> bool {
        self.server.spec.build.is_external()
    }

    fn is_started(&self) -> bool {
        self.live.is_some()
    }

    /// Copies the snapshot for the first trial. Flags what this kind of server cannot do.
    pub fn prepare(&mut self, trial: &mut Trial) -> Result<(), ServerError> {
        if !self.is_started() {
            self.place_data()?;
        }
        trial.flags.extend(self.not_available());
        Ok(())
    }

    /// The server for a timed load, started where it is not running. A start is followed by reading the tables into the pool if
    /// `preload`.
    pub fn start_for_a_load(
        &mut self,
        trial: &mut Trial,
        preload: bool,
    ) -> Result<(), ServerError> {
        let fresh = !self.is_started();
        self.live(trial)?;
        match fresh && preload {
            true => self.preload(trial),
            false => Ok(()),
        }
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
                "the tables did not stay in the buffer pool: a second read of them took {pages} pages from disk; give innodb_buffer_pool_size more than the data"
            ));
        }
        Ok(())
    }

    /// A clone of the snapshot, where the server has one.
    fn place_data(&mut self) -> Result<(), ServerError> {
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
                    one.name, one.requested, one.effective
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
        let mut session = self.session()?;
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
    pub fn prepare_events(&self, actions: &[Action]) -> Result<PreparedEvents, ServerError> {
        PreparedEvents::open(&self.planned.events, actions, || {
            let session = self.session()?;
            let stopper = stopper(&session, self.node().as_ref())?;
            Ok(Means {
                session,
                stopper,
                server: self.instance.clone(),
            })
        })
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

    /// Whether the server admits the clients of a load. One that refuses the last clients would be measured with fewer than the
    /// trial is named after, and prepared statements are limited over all connections.
    pub fn admits(&self, planned: &PlannedTrial, needs: &Needs) -> Result<(), ServerError> {
        if let Some(most) = self.effective_number("max_connections")
            && let Some(why) = connections::too_few(planned, most as u32, self.is_external())
        {
            return Err(ServerError::Unusable(why));
        }
        let (each, clients) = (needs.statements as u64, u64::from(planned.load.clients()));
        match self.effective_number("max_prepared_stmt_count") {
            Some(most) if each * clients > most => Err(ServerError::Unusable(format!(
                "{} prepared statements ({each} per client) exceed the server's max_prepared_stmt_count = {most}; raise it, or take fewer clients, tables or operations",
                each * clients
            ))),
            _ => Ok(()),
        }
    }

    fn effective_number(&self, name: &str) -> Option<u64> {
        self.effective.get(name)?.parse().ok()
    }

    /// Calls `with` with how a client of the load reaches the server and what each connection executes first.
    ///
    /// # Errors
    /// There is nothing to connect to.
    pub fn with_target<T>(&self, with: impl FnOnce(&Target) -> T) -> Result<T, ServerError> {
        let endpoint = self.node().endpoint().ok_or_else(|| {
            ServerError::Unusable("a timed load needs a server that clients can connect to".into())
        })?;
        Ok(with(&Target::Server {
            login: asked::login(endpoint),
            session: &self.session_statements(),
        }))
    }

    /// The statements that each connection executes first.
    fn session_statements(&self) -> Vec<String> {
        settings::session_statements(&self.planned.session, self.ready.note.data_bytes)
    }

    /// A new connection in the workload's schema, without the session settings.
    pub fn session(&self) -> Result<Session, ServerError> {
        let mut session = self.node().connect()?;
        self.enter(&mut session)?;
        Ok(session)
    }

    /// What was asked for and cannot be had on this kind of server: said, not faked.
    fn not_available(&self) -> Vec<Flag> {
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
    pub fn still_runs(&self) -> Result<(), ServerError> {
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
    pub fn explain(&self, error: &ServerError) -> String {
        let of_limits = self.held.as_ref().and_then(Held::last_words);
        match (error, self.node().exit_reason()) {
            (ServerError::Lost(_), Some(reason)) => match of_limits {
                Some(words) => format!("the server ended: {words}"),
                None => format!("the server ended: {reason}"),
            },
            // Its whole log is kept with the run.
            (ServerError::NotStarted { message: says, .. }, _) => match of_limits {
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

impl Drop for ServerPlace<'_> {
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
