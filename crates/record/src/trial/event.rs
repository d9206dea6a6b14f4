//! Events during a load, and the kinds that end or start the server, by the experiment file's words for them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const KILL: &str = "kill";
pub const STOP: &str = "stop";
pub const START: &str = "start";
pub const CUT: &str = "cut";
pub const HEAL: &str = "heal";
pub const PAUSE: &str = "pause";
pub const POWER_CUT: &str = "power_cut";

/// The number of a server's nodes that remain while one is taken away, among the numbers of an event.
pub const OTHERS: &str = "other_nodes";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventNote {
    pub at_ns: i64,
    /// None if the event had not ended when the trial ended, or its end was not recorded.
    #[serde(default)]
    pub ended_ns: Option<i64>,
    /// The experiment file's word for it: `sql`, `kill`.
    pub kind: String,
    /// The node that it happened to, from 1; none if it is of no single node.
    #[serde(default)]
    pub node: Option<u32>,
    /// What was measured of it, by names that end in the unit: `recovered_s`.
    #[serde(default)]
    pub numbers: BTreeMap<String, f64>,
    pub text: String,
}

impl EventNote {
    /// Whether acknowledged transactions may be missing after it.
    pub fn is_crash(&self) -> bool {
        [KILL, POWER_CUT].contains(&self.kind.as_str())
    }

    /// Whether operations fail by it: it stopped, cut or paused a server.
    pub fn fails_operations(&self) -> bool {
        self.is_outage() || [CUT, PAUSE].contains(&self.kind.as_str())
    }

    /// Whether it took a node from a server that has others, and did not bring it back.
    pub fn takes_a_node_away(&self) -> bool {
        let kind = self.kind.as_str();
        let ends = [KILL, STOP].contains(&kind) && !self.numbers.contains_key("start_s");
        (ends && self.numbers.contains_key(OTHERS)) || kind == CUT
    }

    /// Whether it starts the node that this outage left down.
    pub fn starts(&self, outage: &EventNote) -> bool {
        self.kind == START && self.node == outage.node && self.at_ns >= outage.at_ns
    }

    /// When it was over for the clients: at its end, or at the first commit after it. A killed node is gone at once, but clients of the other
    /// nodes wait until these go on without it. None if it had not ended.
    pub fn over_ns(&self) -> Option<i64> {
        let commit_s = self.numbers.get("commit_s").copied().unwrap_or(0.0);
        let committed_ns = self.at_ns + (commit_s * 1e9) as i64;
        self.ended_ns.map(|ended_ns| ended_ns.max(committed_ns))
    }

    /// Whether the server was down before, during or after it.
    pub fn is_outage(&self) -> bool {
        self.is_crash() || [STOP, START].contains(&self.kind.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_is_started_again_is_not_taken_away() {
        let killed = |numbers: &[&str]| EventNote {
            at_ns: 0,
            ended_ns: None,
            kind: KILL.into(),
            node: Some(2),
            numbers: numbers.iter().map(|name| (name.to_string(), 1.0)).collect(),
            text: String::new(),
        };
        assert!(killed(&[OTHERS, "commit_s"]).takes_a_node_away());
        assert!(!killed(&[OTHERS, "start_s", "commit_s"]).takes_a_node_away());
        assert!(
            !killed(&["commit_s"]).takes_a_node_away(),
            "it has no others"
        );
    }
}
