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
        (self.leaves_down() && self.numbers.contains_key(OTHERS)) || self.kind == CUT
    }

    /// Whether it brings back what another event took away: it starts the node, or heals its link.
    pub fn brings_back(&self, taken: &EventNote) -> bool {
        let by = if taken.kind == CUT { HEAL } else { START };
        self.kind == by && self.node == taken.node && self.at_ns >= taken.at_ns
    }

    /// When it was over for the clients: at its end, or at the first commit after it. A killed node is gone at once, but clients of the other
    /// nodes wait until these go on without it. Where nothing was committed, what it took away is gone until one of the trial's `events`
    /// brings it back. None if it was not over.
    pub fn over_ns(&self, events: &[EventNote]) -> Option<i64> {
        match self.numbers.get("commit_s") {
            Some(commit_s) => {
                let committed_ns = self.at_ns + (commit_s * 1e9) as i64;
                self.ended_ns.map(|ended_ns| ended_ns.max(committed_ns))
            }
            None if self.leaves_down() || self.kind == CUT => {
                let back = events.iter().find(|later| later.brings_back(self));
                back?.ended_ns
            }
            None => self.ended_ns,
        }
    }

    /// Whether it ended a process and did not start it again.
    fn leaves_down(&self) -> bool {
        let ends = [KILL, STOP, POWER_CUT].contains(&self.kind.as_str());
        ends && !self.numbers.contains_key("start_s")
    }

    /// Whether the server was down before, during or after it.
    pub fn is_outage(&self) -> bool {
        self.is_crash() || [STOP, START].contains(&self.kind.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event of node 2 at this time, which ended 1 ns later.
    fn event(kind: &str, at_ns: i64, numbers: &[&str]) -> EventNote {
        EventNote {
            at_ns,
            ended_ns: Some(at_ns + 1),
            kind: kind.into(),
            node: Some(2),
            numbers: numbers.iter().map(|name| (name.to_string(), 1.0)).collect(),
            text: String::new(),
        }
    }

    #[test]
    fn a_node_that_is_started_again_is_not_taken_away() {
        let killed = |numbers: &[&str]| event(KILL, 0, numbers);
        assert!(killed(&[OTHERS, "commit_s"]).takes_a_node_away());
        assert!(!killed(&[OTHERS, "start_s", "commit_s"]).takes_a_node_away());
        assert!(
            !killed(&["commit_s"]).takes_a_node_away(),
            "it has no others"
        );
    }

    #[test]
    fn what_was_taken_away_is_gone_until_the_next_commit_or_until_it_is_brought_back() {
        let elsewhere = EventNote {
            node: Some(3),
            ..event(START, 7, &["start_s"])
        };
        let started = event(START, 8, &["start_s"]);
        let events = [elsewhere, started, event(HEAL, 9, &[])];
        let over_ns = |event: &EventNote| event.over_ns(&events);
        assert_eq!(over_ns(&event(KILL, 5, &[OTHERS])), Some(9));
        assert_eq!(over_ns(&event(STOP, 5, &[])), Some(9));
        assert_eq!(over_ns(&event(CUT, 5, &[])), Some(10));
        assert_eq!(over_ns(&event(CUT, 20, &[])), None);
        assert_eq!(over_ns(&event(PAUSE, 5, &[])), Some(6));
        let committed = event(KILL, 5, &[OTHERS, "commit_s"]);
        assert_eq!(over_ns(&committed), Some(1_000_000_005));
        let restarted = event(KILL, 5, &["start_s", "commit_s"]);
        assert_eq!(over_ns(&restarted), Some(1_000_000_005));
    }
}
