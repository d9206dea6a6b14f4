//! Checks the order of events that end or start the server's process.
//!
//! Purpose: a file whose events would find the server in the wrong state, or leave it down, is refused before the run. An event with
//! a condition comes at an unknown time, so its order is checked when it happens. Boundaries: `prony::run::event` acts.

use crate::experiment::Experiment;
use crate::experiment::event::{EventSpec, EventTime, NODE, Outage};
use crate::file::read::{Node, Section};
use std::collections::BTreeMap;
use std::time::Duration;

/// An event that changes whether the server runs.
struct Step<'s> {
    node: Node<'s>,
    /// The number of the node of the server, from 1.
    number: i64,
    outage: Outage,
    /// Whether the event starts the process that it ended.
    restarts: bool,
    time: EventTime,
}

/// Notes each event that ends a server that is down, starts one that runs, or leaves it down for the rest of the load.
pub(crate) fn check(
    experiment: &Experiment,
    sections: &[Section],
    outage: impl Fn(&EventSpec) -> Option<Outage>,
) {
    // A server of several nodes goes on without one of them, also until the end of the load.
    let has_topology = experiment
        .servers
        .iter()
        .any(|server| server.cluster.is_some());
    let step = |event: &EventSpec| {
        let outage = outage(event)?;
        let node = sections.get(event.index)?.get(&event.kind)?;
        let value = node.section("kill = {}")?;
        let restart = value.get("restart");
        let restart = restart.and_then(|node| node.truth("restart = true"));
        let number = value
            .get(NODE)
            .and_then(|node| node.value.as_integer()?.as_str().parse().ok());
        Some(Step {
            outage,
            number: number.unwrap_or(1),
            restarts: restart.unwrap_or(!has_topology),
            time: event.when,
            node,
        })
    };
    let steps: Vec<Step> = experiment.events.iter().filter_map(step).collect();
    let has_levels = experiment
        .events
        .iter()
        .any(|event| outage(event).is_some() && !event.only.is_empty());
    let times: Option<Vec<Duration>> = steps.iter().map(|step| step.time.once()).collect();
    match times.filter(|_| !has_levels) {
        Some(times) => in_order(steps, &times, has_topology),
        None if !has_topology => at_unknown_times(&steps),
        None => {}
    }
}

/// Checks events that each happen once, at a known time.
fn in_order(steps: Vec<Step>, times: &[Duration], may_stay_down: bool) {
    let mut ordered: Vec<(&Duration, Step)> = times.iter().zip(steps).collect();
    ordered.sort_by_key(|(time, _)| **time);
    let mut down: BTreeMap<i64, Step> = BTreeMap::new();
    for (_, step) in ordered {
        match (step.outage, down.contains_key(&step.number)) {
            (Outage::Ends, true) => already_down(&step.node),
            (Outage::Starts, false) => already_running(&step.node),
            (Outage::Starts, true) => drop(down.remove(&step.number)),
            (Outage::Ends, false) if !step.restarts => drop(down.insert(step.number, step)),
            (Outage::Ends, false) => {}
        }
    }
    for step in down.values().filter(|_| !may_stay_down) {
        stays_down(&step.node);
    }
}

/// Checks what holds for any order.
fn at_unknown_times(steps: &[Step]) {
    let has_start = steps.iter().any(|step| step.outage == Outage::Starts);
    let leaves_down = |step: &&Step| step.outage == Outage::Ends && !step.restarts;
    for step in steps.iter().filter(leaves_down).filter(|_| !has_start) {
        stays_down(&step.node);
    }
    let starts = steps.iter().filter(|step| step.outage == Outage::Starts);
    for step in starts.filter(|_| !steps.iter().any(|step| leaves_down(&step))) {
        already_running(&step.node);
    }
}

fn already_down(node: &Node) {
    node.note(
        format!(
            "the server is already down when this \"{}\" event is due",
            node.key
        ),
        "nothing to end",
        "write [[event]] start = {} before it, or remove restart = false from the earlier event",
    );
}

fn already_running(node: &Node) {
    node.note(
        "the server runs when this \"start\" event is due",
        "nothing to start",
        "write restart = false in the \"kill\" or \"stop\" event before it",
    );
}

fn stays_down(node: &Node) {
    node.note(
        format!(
            "this \"{}\" event leaves the server down until the end of the load",
            node.key
        ),
        "never started again",
        "remove restart = false, or write a later [[event]] with start = {}",
    );
}

#[cfg(test)]
mod tests {
    use crate::check::events::read;
    use crate::experiment::event::{EventKind, Needs, Outage};
    use crate::tests::read_on_server;

    const KINDS: [EventKind<()>; 2] = [kind("kill", Outage::Ends), kind("start", Outage::Starts)];

    const fn kind(name: &'static str, outage: Outage) -> EventKind<()> {
        EventKind {
            name,
            in_rounds: false,
            needs: Needs::Process,
            outage: Some(outage),
            read: |_| Some(()),
        }
    }

    /// The mistakes in a file with these events.
    fn mistakes(events: &[(&str, &str)]) -> Vec<String> {
        let events: String = events
            .iter()
            .map(|(time, event)| format!("[[event]]\n{time}\n{event}\n"))
            .collect();
        let source = format!(
            "title = 't'\nquestion = 'q'\n[server.a]\nbuild = 'mariadb'\n[workload.oltp]\n\
             [protocol]\ntime = '60s'\n{events}"
        );
        let experiment = read_on_server(&source).unwrap();
        match read(&experiment, &KINDS) {
            Ok(_) => Vec::new(),
            Err(error) => error.mistakes().iter().map(|one| one.to_string()).collect(),
        }
    }

    const LEFT_DOWN: &str = "kill = { restart = false }";

    #[test]
    fn a_server_that_is_left_down_needs_a_later_start() {
        let start = ("at = '20s'", "start = {}");
        assert!(mistakes(&[("at = '10s'", LEFT_DOWN), start]).is_empty());
        for wrong in [
            &[("at = '10s'", LEFT_DOWN)][..],
            &[("every = '10s'", LEFT_DOWN)],
        ] {
            let found = mistakes(wrong);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains("leaves the server down"), "{found:?}");
        }
    }

    #[test]
    fn the_order_of_times_counts_and_not_the_order_in_the_file() {
        let start = ("at = '20s'", "start = {}");
        assert!(mistakes(&[start, ("at = '10s'", LEFT_DOWN)]).is_empty());
        let found = mistakes(&[("at = '30s'", LEFT_DOWN), start]);
        assert!(found[0].contains("leaves the server down"), "{found:?}");
        assert!(found[1].contains("runs when this \"start\""), "{found:?}");
    }

    #[test]
    fn a_server_that_is_down_cannot_be_killed() {
        let found = mistakes(&[
            ("at = '10s'", LEFT_DOWN),
            ("at = '20s'", "kill = {}"),
            ("at = '30s'", "start = {}"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("already down"), "{found:?}");
    }

    #[test]
    fn kills_that_restart_the_server_may_be_repeated() {
        assert!(mistakes(&[("every = '10s'", "kill = {}")]).is_empty());
        assert!(mistakes(&[("at = '10s'", "kill = {}"), ("at = '11s'", "kill = {}")]).is_empty());
    }

    #[test]
    fn an_order_that_depends_on_the_levels_is_checked_at_run_time() {
        let events = [
            ("at = '10s'\nonly = { server = ['a'] }", LEFT_DOWN),
            ("at = '5s'", "start = {}"),
        ];
        assert!(mistakes(&events).is_empty());
    }
}
