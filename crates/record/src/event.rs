//! The kinds of events that end or start the server, by the experiment file's words for them.

use crate::EventNote;

pub const KILL: &str = "kill";
pub const STOP: &str = "stop";
pub const START: &str = "start";
pub const POWER_CUT: &str = "power_cut";

impl EventNote {
    /// Whether acknowledged transactions may be missing after it.
    pub fn is_crash(&self) -> bool {
        [KILL, POWER_CUT].contains(&self.kind.as_str())
    }

    /// Whether the server was down before, during or after it.
    pub fn is_outage(&self) -> bool {
        self.is_crash() || [STOP, START].contains(&self.kind.as_str())
    }
}
