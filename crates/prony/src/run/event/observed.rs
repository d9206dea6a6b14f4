//! The states of the server as of the last second, for events that wait for one.
//!
//! Boundaries: the sampler of a timed load reads them; `spec::Condition` decides.

use crate::lock;
use record::State;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Shared by the sampler and the events of a load.
#[derive(Default)]
pub struct Observed(Mutex<BTreeMap<State, f64>>);

impl Observed {
    /// Replaces the states by those of a new second. A state that could not be read is unknown.
    pub fn put(&self, values: &BTreeMap<String, f64>) {
        let states = State::ALL.iter();
        let known = states.filter_map(|state| Some((*state, *values.get(state.as_str())?)));
        *lock(&self.0) = known.collect();
    }

    pub(super) fn get(&self, state: State) -> Option<f64> {
        lock(&self.0).get(&state).copied()
    }
}
