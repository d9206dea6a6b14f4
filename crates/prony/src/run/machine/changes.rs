//! What `set` events change during a load, and its end.
//!
//! Purpose: limits and settings change while the load runs, and are those of the file again when it has ended, so that the next trial of
//! a series begins as the first one did. Outside this module: when events happen (`event`), control groups (`host::limits`).

use super::limits::{SharedGroup, resolve};
use crate::lock;
use crate::run::settings;
use server::{Adjusted, ServerError, Session};
use spec::{LimitsPatch, Pairs, Setting};
use std::collections::BTreeMap;
use std::sync::Mutex;

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
        let mut state = lock(&self.state);
        state.group = Some(group);
        state.planned = planned;
        state.limits = planned;
    }

    /// Changes the limits that `patch` names. The others stay.
    ///
    /// # Errors
    /// Nothing is limited, or the kernel refuses a limit. Then all are as before.
    pub(crate) fn limit(&self, patch: LimitsPatch) -> Result<(), String> {
        let mut state = lock(&self.state);
        let (group, data_bytes) = (state.group()?, state.data_bytes);
        let wanted = patch.over(state.limits);
        state.replace(wanted, |limits| change(&group, limits, data_bytes))
    }

    /// Sets server variables by SET GLOBAL. Returns those of which the server, or a connection that is open, uses another value.
    ///
    /// # Errors
    /// The server refuses one of them. Those before it are in force.
    pub(crate) fn set(
        &self,
        session: &mut Session,
        wanted: &Pairs<Setting>,
    ) -> Result<Vec<Adjusted>, ServerError> {
        let mut state = lock(&self.state);
        let requested = settings::resolve(wanted, state.data_bytes);
        let literals: Pairs<String> = settings::literals(wanted, state.data_bytes).collect();
        // One may change another, so all are read before the first and after the last.
        let before = values(session, &literals)?;
        for (name, value) in &literals {
            session.execute(&format!("SET GLOBAL {name} = {value}"))?;
            if state.originals.iter().all(|(known, _)| known != name) {
                let original = settings::literal(&before[name]);
                state.originals.push((name.clone(), original));
            }
        }
        let mut in_force = values(session, &literals)?;
        // A variable that starts an action reads as empty, or as OFF again: innodb_buffer_pool_dump_now.
        in_force.retain(|name, value| !value.is_empty() && !name.ends_with("_now"));
        let mut adjusted = server::adjusted(&requested, &in_force);
        adjusted.extend(kept(session, &requested, &literals)?);
        Ok(adjusted)
    }

    /// Brings the limits and settings of the file back. Does nothing if no event changed them.
    ///
    /// # Errors
    /// The kernel or the server refuses it, so that the target is not as the file says any more.
    pub(crate) fn restore(
        &self,
        connect: impl FnOnce() -> Result<Session, ServerError>,
    ) -> Result<(), String> {
        let mut state = lock(&self.state);
        if state.limits != state.planned {
            let planned = state.planned;
            change(&state.group()?, &planned, state.data_bytes)?;
            state.limits = planned;
        }
        if state.originals.is_empty() {
            return Ok(());
        }
        let mut session = connect().map_err(|error| error.to_string())?;
        let originals = std::mem::take(&mut state.originals);
        // Twice, since one that another one bounds is not taken before that one has its value: innodb_io_capacity and its maximum.
        for (name, value) in originals.iter().chain(&originals) {
            let set = session.execute(&format!("SET GLOBAL {name} = {value}"));
            set.map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(())
    }
}

/// The values of these variables that are in force.
fn values(
    session: &mut Session,
    variables: &Pairs<String>,
) -> Result<BTreeMap<String, String>, ServerError> {
    let value = |(name, _): &(String, String)| {
        let reply = session.query(&format!("SELECT @@GLOBAL.{name}"))?;
        Ok((name.clone(), reply.first_text().unwrap_or_default()))
    };
    variables.iter().map(value).collect()
}

/// Replaces the limits of the group. Where the kernel refuses one, those that were set before it are in force.
fn change(group: &SharedGroup, limits: &LimitsPatch, data_bytes: u64) -> Result<(), String> {
    let changed = group.lock().change(&resolve(limits, data_bytes));
    changed.map_err(|error| error.to_string())
}

/// Those of which open connections keep their own value: where a variable has one for each session, SET GLOBAL is for later connections.
fn kept(
    session: &mut Session,
    requested: &Pairs<String>,
    literals: &Pairs<String>,
) -> Result<Vec<Adjusted>, ServerError> {
    let mut own = BTreeMap::new();
    for (name, _) in literals {
        match session.query(&format!("SELECT @@SESSION.{name}")) {
            Ok(reply) => {
                own.insert(name.clone(), reply.first_text().unwrap_or_default());
            }
            // It has a value for the whole server only.
            Err(ServerError::Refused { .. }) => {}
            Err(lost) => return Err(lost),
        }
    }
    let kept = server::adjusted(requested, &own).into_iter();
    let said = |one: Adjusted| Adjusted {
        effective: "it for later connections only: the clients keep the value of theirs".into(),
        ..one
    };
    Ok(kept.map(said).collect())
}

impl ChangesState {
    fn group(&self) -> Result<SharedGroup, String> {
        let group = self.group.clone();
        group.ok_or_else(|| "the target has no limits".to_string())
    }

    fn replace(
        &mut self,
        wanted: LimitsPatch,
        change: impl Fn(&LimitsPatch) -> Result<(), String>,
    ) -> Result<(), String> {
        let Err(refused) = change(&wanted) else {
            self.limits = wanted;
            return Ok(());
        };
        // What cannot be undone now, `restore` undoes at the end of the load.
        if change(&self.limits).is_err() {
            self.limits = wanted;
        }
        Err(refused)
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
        for value in ["100", "4K"] {
            let wanted = vec![to("innodb_io_capacity", value)];
            changes.set(&mut scripted(&log), &wanted).unwrap();
        }
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
                "SET GLOBAL innodb_io_capacity = 1000",
            ]
        );
    }

    /// A server that keeps innodb_io_capacity, the first of these values, at its maximum, the second, or below.
    fn bounding(values: &Arc<Mutex<[u64; 2]>>) -> Session {
        let values = values.clone();
        Session::Scripted(Box::new(move |sql| {
            if sql.contains("@@SESSION.") {
                return Err(ServerError::Refused {
                    code: 1238,
                    message: "it is a GLOBAL variable".into(),
                });
            }
            let [capacity, max] = &mut *values.lock().unwrap();
            let set: Option<u64> = sql.split_once(" = ").map(|(_, to)| to.parse().unwrap());
            let value = match sql.contains("_max") {
                true => {
                    *max = set.unwrap_or(*max).max(*capacity);
                    *max
                }
                false => {
                    *capacity = set.unwrap_or(*capacity).min(*max);
                    *capacity
                }
            };
            Ok(Reply {
                rows: vec![vec![Some(value.to_string().into_bytes())]],
                ..Reply::default()
            })
        }))
    }

    const BOUNDED: [&str; 2] = ["innodb_io_capacity", "innodb_io_capacity_max"];

    fn to(name: &str, value: &str) -> (String, Setting) {
        (name.to_string(), Setting::Literal(value.into()))
    }

    #[test]
    fn settings_that_bound_each_other_are_restored_whatever_their_order() {
        let [capacity, max] = BOUNDED;
        for names in [[capacity, max], [max, capacity]] {
            let values = Arc::new(Mutex::new([200, 2000]));
            let changes = Changes::default();
            let wanted = Vec::from(names.map(|name| to(name, "100")));
            changes.set(&mut bounding(&values), &wanted).unwrap();
            changes.restore(|| Ok(bounding(&values))).unwrap();
            assert_eq!(*values.lock().unwrap(), [200, 2000], "{names:?}");
        }
    }

    #[test]
    fn a_value_that_the_server_does_not_take_is_named() {
        let values = Arc::new(Mutex::new([200, 2000]));
        let set = |value: &str| {
            let wanted = vec![to(BOUNDED[0], value)];
            let set = Changes::default().set(&mut bounding(&values), &wanted);
            set.unwrap()
        };
        let adjusted = Adjusted {
            name: BOUNDED[0].into(),
            requested: "4K".into(),
            effective: "2000".into(),
        };
        assert_eq!(set("4K"), [adjusted]);
        assert!(set("1K").is_empty());
    }

    #[test]
    fn a_variable_of_which_open_connections_keep_their_value_is_named() {
        let script = |sql: &str| {
            let value = match sql.contains("@@SESSION.") {
                true => "262144",
                false => "4194304",
            };
            Ok(Reply {
                rows: vec![vec![Some(value.into())]],
                ..Reply::default()
            })
        };
        let mut session = Session::Scripted(Box::new(script));
        let wanted = vec![to("sort_buffer_size", "4M")];
        let adjusted = Changes::default().set(&mut session, &wanted).unwrap();
        let says: Vec<&str> = adjusted.iter().map(|one| one.effective.as_str()).collect();
        let expected = "it for later connections only: the clients keep the value of theirs";
        assert_eq!(says, [expected]);
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

    #[test]
    fn limits_before_one_that_the_kernel_refuses_are_undone() {
        let iops = |iops| LimitsPatch {
            write_iops: Some(Some(iops)),
            ..LimitsPatch::default()
        };
        let (before, wanted) = (
            iops(400),
            LimitsPatch {
                cpus: Some(Some(0.5)),
                ..iops(200)
            },
        );
        let mut state = ChangesState {
            planned: before,
            limits: before,
            ..ChangesState::default()
        };
        let in_force = std::cell::Cell::new(before);
        let refuses_cpus = |limits: &LimitsPatch| {
            in_force.set(LimitsPatch {
                cpus: None,
                ..*limits
            });
            match limits.cpus {
                Some(_) => Err("refused".to_string()),
                None => Ok(()),
            }
        };
        let refused = Err("refused".to_string());
        assert_eq!(state.replace(wanted, refuses_cpus), refused);
        assert_eq!((in_force.get(), state.limits), (before, before));
        // Nothing can be undone at the moment: the end of the load tries it again.
        let refuses_all = |_: &LimitsPatch| Err("refused".to_string());
        assert_eq!(state.replace(wanted, refuses_all), refused);
        assert!(state.limits != state.planned);
    }
}
