//! What `set` events change during a load, and its end.
//!
//! Purpose: limits and settings change while the load runs, and are those of the file again when it has ended, so that the next trial of
//! a series begins as the first one did. Outside this module: when events happen (`event`), control groups (`host::limits`).

use super::limits::{SharedGroup, resolve};
use crate::run::settings;
use server::{ServerError, Session};
use spec::{LimitsPatch, Pairs, Setting};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The changeable parts of a trial's target, shared by its events.
#[derive(Default)]
pub struct Changes {
    state: Mutex<ChangesState>,
}

#[derive(Default)]
struct ChangesState {
    group: Option<SharedGroup>,
    data_bytes: u64,
    /// Those of the file.
    planned: LimitsPatch,
    /// Those in force.
    limits: LimitsPatch,
    /// The settings that were changed, with their first values, as SQL literals.
    originals: Pairs<String>,
}

impl Changes {
    /// For a target with this much data, to which relative sizes refer. Without limits until [`Changes::of`].
    pub(crate) fn new(data_bytes: u64) -> Changes {
        let state = ChangesState {
            data_bytes,
            ..ChangesState::default()
        };
        Changes {
            state: Mutex::new(state),
        }
    }

    /// From now on the limits of this group can change; `planned` are in force.
    pub(crate) fn of(&self, group: SharedGroup, planned: LimitsPatch) {
        let mut state = self.state();
        state.group = Some(group);
        state.planned = planned;
        state.limits = planned;
    }

    /// Changes the limits that `patch` names. The others stay.
    ///
    /// # Errors
    /// Nothing is limited, or the kernel refuses a limit.
    pub(crate) fn limit(&self, patch: LimitsPatch) -> Result<(), String> {
        let mut state = self.state();
        let limits = patch.over(state.limits);
        state.apply(limits)
    }

    /// Sets server variables by SET GLOBAL.
    ///
    /// # Errors
    /// The server refuses one of them. Those before it are in force.
    pub(crate) fn set(
        &self,
        session: &mut Session,
        wanted: &Pairs<Setting>,
    ) -> Result<(), ServerError> {
        let mut state = self.state();
        for (name, value) in settings::literals(wanted, state.data_bytes) {
            let reply = session.query(&format!("SELECT @@GLOBAL.{name}"))?;
            let before = reply.first_text().unwrap_or_default();
            session.execute(&format!("SET GLOBAL {name} = {value}"))?;
            if state.originals.iter().all(|(known, _)| *known != name) {
                state.originals.push((name, settings::literal(&before)));
            }
        }
        Ok(())
    }

    /// Brings the limits and settings of the file back. Does nothing if no event changed them.
    ///
    /// # Errors
    /// The kernel or the server refuses it, so that the target is not as the file says any more.
    pub(crate) fn restore(
        &self,
        connect: impl FnOnce() -> Result<Session, ServerError>,
    ) -> Result<(), String> {
        let mut state = self.state();
        if state.limits != state.planned {
            let planned = state.planned;
            state.apply(planned)?;
        }
        if state.originals.is_empty() {
            return Ok(());
        }
        let mut session = connect().map_err(|error| error.to_string())?;
        for (name, value) in std::mem::take(&mut state.originals) {
            let set = session.execute(&format!("SET GLOBAL {name} = {value}"));
            set.map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, ChangesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChangesState {
    fn apply(&mut self, limits: LimitsPatch) -> Result<(), String> {
        let group = self.group.as_ref().ok_or("the target has no limits")?;
        let absolute = resolve(&limits, self.data_bytes);
        let changed = group.lock().change(&absolute);
        changed.map_err(|error| error.to_string())?;
        self.limits = limits;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::Reply;
    use std::sync::Arc;

    /// A server that logs statements and says 1000 whenever it is asked.
    fn scripted(log: &Arc<Mutex<Vec<String>>>) -> Session {
        let log = log.clone();
        Session::Scripted(Box::new(move |sql| {
            log.lock().unwrap().push(sql.to_string());
            Ok(Reply {
                rows: vec![vec![Some(b"1000".to_vec())]],
                ..Reply::default()
            })
        }))
    }

    #[test]
    fn settings_are_restored_once_to_their_first_values() {
        let log = Arc::default();
        let changes = Changes::default();
        let to = |value: &str| {
            let value = Setting::Literal(value.into());
            vec![("innodb_io_capacity".to_string(), value)]
        };
        changes.set(&mut scripted(&log), &to("100")).unwrap();
        changes.set(&mut scripted(&log), &to("4K")).unwrap();
        changes.restore(|| Ok(scripted(&log))).unwrap();
        changes.restore(|| Ok(scripted(&log))).unwrap();
        let set: Vec<String> = log
            .lock()
            .unwrap()
            .iter()
            .filter(|sql| sql.starts_with("SET"))
            .cloned()
            .collect();
        assert_eq!(
            set,
            [
                "SET GLOBAL innodb_io_capacity = 100",
                "SET GLOBAL innodb_io_capacity = 4096",
                "SET GLOBAL innodb_io_capacity = 1000",
            ]
        );
    }

    #[test]
    fn limits_of_a_target_without_a_group_cannot_change() {
        let patch = LimitsPatch {
            write_iops: Some(Some(200)),
            ..LimitsPatch::default()
        };
        assert_eq!(
            Changes::default().limit(patch),
            Err("the target has no limits".to_string())
        );
    }
}
