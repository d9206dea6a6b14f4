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
    let outlasts = |event: &&EventNote| {
        let ended_ns = event.ended_ns.unwrap_or(i64::MAX);
        event.is_outage() && event.at_ns < end_ns && ended_ns + RECONNECTS_WITHIN_NS > end_ns
    };
    match trial.events.iter().find(outlasts) {
        Some(event) => {
            let at_s = (event.at_ns - started_ns) as f64 / 1e9;
            let text = format!(
                "the \"{}\" event at {at_s:.1} s outlasted the load: {count} clients had no connection at its end; measure for longer, or start the event earlier",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::measure::trial::blank;
    use record::TrialState;
    use record::event::{KILL, PAUSE};
    use std::collections::BTreeMap;

    fn event(kind: &str, at_ns: i64, ended_ns: Option<i64>) -> EventNote {
        EventNote {
            at_ns,
            ended_ns,
            kind: kind.into(),
            node: None,
            numbers: BTreeMap::new(),
            text: String::new(),
        }
    }

    #[test]
    fn an_outage_that_outlasts_the_load_leaves_the_trial_valid_and_says_so() {
        let second_ns = 1_000_000_000;
        let refused = [(
            1,
            Failure {
                code: 2002,
                text: "connection refused: correct the port".into(),
                transient: true,
            },
        )];
        let flagged = |event: Option<EventNote>| {
            let mut trial = blank();
            trial.events.extend(event);
            flag(&mut trial, &refused, (0, 10 * second_ns));
            trial
        };
        for ended_ns in [9 * second_ns, 14 * second_ns] {
            let trial = flagged(Some(event(KILL, 8 * second_ns, Some(ended_ns))));
            assert_eq!(trial.state, TrialState::Done);
            assert_eq!(trial.flags[0].kind, FlagKind::NotRecovered);
            let text = &trial.flags[0].text;
            assert!(
                text.starts_with("the \"kill\" event at 8.0 s outlasted the load"),
                "{text}"
            );
        }
        let early = event(KILL, second_ns, Some(2 * second_ns));
        let paused = event(PAUSE, 8 * second_ns, Some(14 * second_ns));
        for event in [Some(early), Some(paused), None] {
            let trial = flagged(event);
            assert_eq!(trial.state, TrialState::Invalid);
            assert_eq!(trial.flags[0].kind, FlagKind::ClientsLost);
        }
    }
}
