//! The kinds of events that end or start the server, by the experiment file's words for them.

use crate::EventNote;

pub const KILL: &str = "kill";
pub const STOP: &str = "stop";
pub const START: &str = "start";
pub const CUT: &str = "cut";
pub const HEAL: &str = "heal";
pub const PAUSE: &str = "pause";
pub const POWER_CUT: &str = "power_cut";

/// The number of a server's nodes that remain while one is taken away, among the numbers of an event.
pub const OTHERS: &str = "other_nodes";

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
