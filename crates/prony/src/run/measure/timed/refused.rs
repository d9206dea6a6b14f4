//! Clients that had no session when the load ended.
//!
//! Purpose: what an outage of the experiment explains is named by it, and the trial stays valid. Boundaries: `load` reconnects.

use load::Failure;
use record::{EventNote, FlagKind, Trial};

/// Pause of a client between two attempts to connect, and what an attempt takes at most while a server comes up.
const RECONNECTS_WITHIN_NS: i64 = 2_000_000_000;

/// Clients that had no session at the end of the load: the server refused them, or an outage outlasted the load.
pub(super) fn flag(
    trial: &mut Trial,
    refused: &[(u32, Failure)],
    (started_ns, end_ns): (i64, i64),
) {
    let Some((client, failure)) = refused.first() else {
        return;
    };
    let count = refused.len();
    let outlasting = trial.events.iter().find_map(|event| {
        let started = started_by(event, &trial.events);
        let ended_ns = started.and_then(|start| start.ended_ns);
        let up_ns = ended_ns.map_or(i64::MAX, |ns| ns + RECONNECTS_WITHIN_NS);
        let outlasts = event.is_outage() && event.at_ns < end_ns && up_ns > end_ns;
        outlasts.then_some((event, started.is_some()))
    });
    match outlasting {
        Some((event, is_started)) => {
            let at_s = (event.at_ns - started_ns) as f64 / 1e9;
            let way_out = match is_started {
                true => "measure for longer, or start the event earlier",
                false => {
                    "no event starts the node again: write a \"start\" event, or let the clients use other nodes with \"writes\""
                }
            };
            let text = format!(
                "the \"{}\" event at {at_s:.1} s outlasted the load: {count} clients had no connection at its end; {way_out}",
                event.kind
            );
            trial.flag(FlagKind::NotRecovered, text);
        }
        None => trial.invalidate(
            FlagKind::ClientsLost,
            format!(
                "{count} clients had no connection at the end of the load, first client {client}: {failure}"
            ),
        ),
    }
}

/// The event that starts the server, or its node, after an outage: the outage itself, or a later one.
pub(super) fn started_by<'e>(
    outage: &'e EventNote,
    events: &'e [EventNote],
) -> Option<&'e EventNote> {
    match outage.numbers.contains_key("start_s") {
        true => Some(outage),
        false => events.iter().find(|other| other.brings_back(outage)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::run::measure::trial::blank;
    use record::TrialState;
    use record::event::{KILL, PAUSE, START};
    use std::collections::BTreeMap;

    const SECOND_NS: i64 = 1_000_000_000;

    /// An event of node 1 between these seconds, which started it or did not.
    pub(crate) fn event(kind: &str, (at_s, ended_s): (i64, i64), starts: bool) -> EventNote {
        let start_s = starts.then(|| ("start_s".to_string(), 0.5));
        EventNote {
            at_ns: at_s * SECOND_NS,
            ended_ns: Some(ended_s * SECOND_NS),
            kind: kind.into(),
            node: Some(1),
            numbers: BTreeMap::from_iter(start_s),
            text: String::new(),
        }
    }

    /// A trial of 10 s with these events, at whose end a client had no connection.
    fn flagged(events: Vec<EventNote>) -> Trial {
        let refused = Failure {
            code: 2002,
            text: "connection refused: correct the port".into(),
            transient: true,
        };
        let mut trial = blank();
        trial.events = events;
        flag(&mut trial, &[(1, refused)], (0, 10 * SECOND_NS));
        trial
    }

    #[test]
    fn an_outage_that_outlasts_the_load_leaves_the_trial_valid_and_says_so() {
        for ended_s in [9, 14] {
            let trial = flagged(vec![event(KILL, (8, ended_s), true)]);
            assert_eq!(trial.state, TrialState::Done);
            assert_eq!(trial.flags[0].kind, FlagKind::NotRecovered);
            let text = &trial.flags[0].text;
            assert!(
                text.starts_with("the \"kill\" event at 8.0 s outlasted the load"),
                "{text}"
            );
        }
        let early = event(KILL, (1, 2), true);
        let paused = event(PAUSE, (8, 14), false);
        for events in [vec![early], vec![paused], Vec::new()] {
            let trial = flagged(events);
            assert_eq!(trial.state, TrialState::Invalid);
            assert_eq!(trial.flags[0].kind, FlagKind::ClientsLost);
        }
    }

    #[test]
    fn a_node_that_is_left_down_has_an_outage_until_it_is_started() {
        let killed = event(KILL, (1, 1), false);
        let trial = flagged(vec![killed.clone()]);
        assert_eq!(trial.state, TrialState::Done);
        let text = &trial.flags[0].text;
        assert!(text.contains("write a \"start\" event"), "{text}");
        let started = |ended_s| flagged(vec![killed.clone(), event(START, (2, ended_s), true)]);
        assert_eq!(started(9).state, TrialState::Done);
        assert_eq!(started(3).state, TrialState::Invalid);
    }
}
