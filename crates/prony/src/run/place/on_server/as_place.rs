//! What a trial does with a server from its preparation to its end.

use super::ServerPlace;
use crate::run::Progress;
use crate::run::event::kinds::{has_outage, keeps_from_a_node};
use crate::run::event::{Action, Means, PreparedEvents, recovery};
use crate::run::machine::limits::Held;
use crate::run::machine::{limits, volume};
use crate::run::place::live::Live;
use crate::run::place::{Look, Place, changed};
use crate::run::prepare::{connections, crash_cause};
use crate::run::results::recording::Recording;
use load::Needs;
use observe::{Prepared, Targets, variables};
use record::{AuditNote, Flag, Trial};
use server::{ServerError, StartRequest};
use spec::plan::PlannedTrial;
use std::sync::Arc;
use workload::{AuditError, Audited, Connect, Target};

impl<'a> Place<'a> for ServerPlace<'a> {
    fn continue_with(&mut self, planned: PlannedTrial) {
        self.planned = planned;
        // Others can have changed them since.
        if self.is_external() {
            self.effective.clear();
        }
    }

    /// Copies the snapshot for the first trial on the server. Flags settings that this kind of server does not support.
    fn prepare(&mut self, trial: &mut Trial, progress: &Progress) -> Result<(), ServerError> {
        if self.hosted.is_unfilled() {
            self.place_data()?;
        }
        if let (true, Some(dataset)) = (self.ready.data_folder.is_some(), &mut trial.dataset) {
            dataset.file_system = host::file_system(&self.data());
        }
        self.renew_data(trial, progress)?;
        trial.flags.extend(self.not_available());
        trial.flags.extend(volume::flags(&self.planned.host));
        trial.flags.extend(limits::lifted(&self.planned));
        Ok(())
    }

    /// Starts the server for a timed load if it is not running. After a start, reads the tables into the buffer pool if `preload`.
    fn start(&mut self, trial: &mut Trial, preload: bool) -> Result<(), ServerError> {
        let fresh = !self.is_started();
        self.live(trial)?;
        self.note_links(trial)?;
        if fresh && preload {
            self.preload(trial)
        } else {
            Ok(())
        }
    }

    fn server(&mut self) -> Result<&mut ServerPlace<'a>, ServerError> {
        Ok(self)
    }

    fn target(&self) -> Result<Target, ServerError> {
        Ok(Target::Server {
            login: self.login()?,
            readers: self.readers()?,
            session: self.session_statements(),
        })
    }

    fn prepare_sampler(&self) -> Result<Prepared, ServerError> {
        let abilities = self.node().abilities();
        let connector = if abilities.mysql {
            Some(self.node().connector()?)
        } else {
            None
        };
        let node = self.node().clone();
        Prepared::new(Targets {
            connector,
            configure: abilities.settings,
            server_pid: Some(Box::new(move || node.pid())),
            data_folder: self.node().data_folder(),
            interface: self.clients_link().map(|link| link.interface),
        })
    }

    /// Checks that the server allows all clients of a load. A server that refuses some would be measured with fewer clients than the
    /// trial's name says. Prepared statements are limited over all connections.
    fn admits(&self, planned: &PlannedTrial, needs: &Needs) -> Result<(), ServerError> {
        if let Some(max) = self.effective_number("max_connections")
            && let Some(why) = connections::too_few(planned, max as u32, self.is_external())
        {
            return Err(ServerError::Unusable(why));
        }
        // Of the trials that take turns on this server too.
        let clients = u64::from(planned.load.clients()) * Arc::strong_count(&self.hosted) as u64;
        let each = needs.statements as u64;
        match self.effective_number("max_prepared_stmt_count") {
            Some(max) if each * clients > max => Err(ServerError::Unusable(format!(
                "{} prepared statements ({each} per client) exceed the server's max_prepared_stmt_count = {max}; raise it, or use fewer clients, tables or operations",
                each * clients
            ))),
            _ => Ok(()),
        }
    }

    fn prepare_events(&self, actions: &[Action]) -> Result<PreparedEvents, ServerError> {
        if keeps_from_a_node(&self.planned.events) {
            recovery::prepare(&mut self.node().connect()?)?;
        }
        PreparedEvents::open(&self.planned.events, actions, || {
            let reopen = self.reopen();
            let (session, stopper) = reopen()?;
            Ok(Means {
                session: Some(session),
                stopper,
                reopen,
                server: Some(self.hosted.instance.clone()),
                changes: self.hosted.changes.clone(),
                power: self.hosted.disks.power(self.planned.key.block),
            })
        })
    }

    fn audited(&self, look: Look) -> Result<Result<Option<AuditNote>, AuditError>, ServerError> {
        let nodes = self.audited_nodes()?;
        let each = nodes.iter();
        let each = each.map(|(number, connect)| (*number, connect as Connect));
        let each: Vec<(u32, Connect)> = each.collect();
        let [(_, connect), further @ ..] = each.as_slice() else {
            return Err(ServerError::Lost("no node of the server runs".into()));
        };
        Ok(look(Audited::Server { connect, further }))
    }

    /// # Errors
    /// The server has ended, or an external server is gone or has been replaced by another one.
    fn still_runs(&self) -> Result<(), ServerError> {
        if let Some(reason) = self
            .hosted
            .instance
            .nodes()
            .find_map(|node| node.exit_reason())
        {
            return Err(ServerError::Lost(reason));
        }
        let is_one = self.hosted.instance.formation().is_none();
        if is_one && has_outage(&self.planned.events) && self.node().pid().is_none() {
            return Err(ServerError::Lost(
                "an event ended the server, and it was down at the end of the load".into(),
            ));
        }
        if self.is_external() {
            self.node().start(&StartRequest::default())?;
        }
        self.is_the_same()
    }

    fn changed_settings(&self) -> Option<Flag> {
        let begun = self.in_force.as_ref()?;
        let mut session = self.node().connect().ok()?.for_control();
        let now = variables::effective(&mut session).ok()?;
        changed::flag(begun, &now, "at the start of the trial")
    }

    fn lost_limit(&self) -> Option<Flag> {
        self.hosted.held.get()?.lost()
    }

    fn restored(&self) -> Result<(), String> {
        self.heal()?;
        self.hosted.changes.restore(|| self.node().connect())
    }

    fn explain(&self, error: &ServerError) -> String {
        if let Some(broken) = self.hosted.disks.broken() {
            return format!("{broken}; the server lost its data directory: {error}");
        }
        if self.live.as_ref().is_some_and(Live::is_cut) {
            self.give_up();
            return error.to_string();
        }
        let of_limits = self.hosted.held.get().and_then(Held::last_words);
        let reason = match error {
            ServerError::Lost(_) => crash_cause::reason(self.node().as_ref()),
            _ => self.node().exit_reason(),
        };
        match (error, reason) {
            (ServerError::Lost(_), Some(reason)) => match of_limits {
                Some(words) => format!("the server ended: {words}"),
                None => format!("the server ended: {reason}"),
            },
            // The complete log is stored with the run.
            (ServerError::NotStarted { message: says, .. }, _) => match of_limits {
                Some(words) => format!("{says}\n  - {words}"),
                None => says.clone(),
            },
            (_, Some(reason)) => format!("{error}; the server ended: {reason}"),
            (_, None) => error.to_string(),
        }
    }

    fn recording(&self) -> Option<Recording> {
        self.hosted.disks.recording(&self.planned.host)
    }
}
