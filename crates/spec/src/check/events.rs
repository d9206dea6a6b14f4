//! Checks events against the protocol and the servers, and reads their actions.
//!
//! Purpose: an event that a run cannot do, or that is never due, is refused before the run. Boundaries: `sections::events` has read the
//! times; each kind reads its own value and acts on it (see [`read`]); `outages` checks the order of events.

use super::outages;
use crate::experiment::event::{EventKind, EventSpec, EventTime, NODE, Needs};
use crate::experiment::place::{Late, answer, path};
use crate::experiment::{Experiment, ServerSpec, served};
use crate::file::lists::tables;
use crate::file::mistake::{Mistake, Notes, SpecError};
use crate::file::read::Section;
use crate::text::unit;
use toml::de::DeTable;

/// Reads the action of each event of a checked experiment, in file order.
///
/// # Errors
/// Lists every event that has a wrong value, that this experiment does not allow, or that is never due.
pub fn read<A>(experiment: &Experiment, kinds: &[EventKind<A>]) -> Result<Vec<A>, SpecError> {
    let kind = |event: &EventSpec| kinds.iter().find(|kind| kind.name == event.kind);
    let late = experiment.events.iter().flat_map(|event| {
        let refused = match kind(event) {
            Some(kind) => refused(experiment, event, kind),
            None => Some(without_reader(event)),
        };
        refused.into_iter().chain(too_late(experiment, event))
    });
    answer(experiment, late.collect())?;
    let shown = format!("{}.toml", experiment.name);
    let wrong = |mistakes| SpecError::new(&shown, &experiment.source, mistakes);
    // A run without its events would measure something else.
    let tree = DeTable::parse(&experiment.source).map_err(|error| {
        let cause = error.message();
        let says = format!("the events of the recorded file cannot be read: {cause}");
        wrong(vec![Mistake::new(0..0, says, "here", "start a new run")])
    })?;
    let notes = Notes::default();
    let file = Section::file(&notes, tree.get_ref());
    let sections = tables(&file, "event");
    let actions = experiment.events.iter().filter_map(|event| {
        let section = sections.get(event.index)?;
        check_node(experiment, section, event);
        let node = section.get(&event.kind)?;
        (kind(event)?.read)(&node)
    });
    let actions: Vec<A> = actions.collect();
    if notes.count() == 0 {
        outages::check(experiment, &sections, |event| kind(event)?.outage);
    }
    match notes.count() {
        0 => Ok(actions),
        _ => Err(wrong(notes.into_vec())),
    }
}

/// An event of a kind that this run cannot do. Every event needs an action, at its index.
fn without_reader(event: &EventSpec) -> Late {
    Late {
        path: path(&["event", &event.index.to_string(), &event.kind]),
        says: format!("\"{}\" events are not available here", event.kind),
        label: "not available",
        help: "remove the event".to_string(),
    }
}

/// Checks an event against the protocol and the servers.
fn refused<A>(experiment: &Experiment, event: &EventSpec, kind: &EventKind<A>) -> Option<Late> {
    let name = kind.name;
    let path = path(&["event", &event.index.to_string(), name]);
    if !experiment.protocol.is_timed() && matches!(event.when, EventTime::When(_)) {
        return Some(Late {
            path: [&path[..path.len() - 1], &["when".to_string()]].concat(),
            says: "rounds of queries have no samples of each second, which \"when\" needs".into(),
            label: "belongs to a timed load",
            help: "write at = \"30s\" or every = \"10s\"".to_string(),
        });
    }
    if !experiment.protocol.is_timed() && !kind.in_rounds {
        return Some(Late {
            path,
            says: format!(
                "\"{name}\" events require a timed load and are not available in rounds of queries"
            ),
            label: "belongs to a timed load",
            help: "write an event with sql = \"...\"".to_string(),
        });
    }
    if event.set.is_some()
        && let Some(server) = of_several_nodes(experiment, event)
    {
        return Some(Late {
            path,
            says: format!(
                "the server \"{}\" has several nodes, and \"{name}\" changes the limits and settings of one",
                server.name
            ),
            label: "several nodes",
            help: "name the other servers with only = { server = [...] }, or write the settings in [settings]"
                .to_string(),
        });
    }
    let (says, label, help) = match kind.needs {
        Needs::Nothing => return None,
        Needs::Process => {
            let server = one_that(experiment, event, |server| !server.build.is_managed())?;
            let says = format!(
                "prony did not start the process of the server \"{}\", so \"{name}\" cannot be applied to it",
                server.name
            );
            let help = "name the other servers with only = { server = [...] }";
            (says, "not started by prony", help)
        }
        Needs::Link => {
            let server = one_that(experiment, event, |server| !server.has_links())?;
            let says = format!(
                "the nodes of the server \"{}\" have no links that \"{name}\" could act on",
                server.name
            );
            let help = "write link = \"1gbit\" in [server.NAME], or name the other servers with only = { server = [...] }";
            (says, "no link", help)
        }
    };
    Some(Late {
        path,
        says,
        label,
        help: help.to_string(),
    })
}

/// A server in the event's trials that prony starts with several nodes.
fn of_several_nodes(experiment: &Experiment, event: &EventSpec) -> Option<ServerSpec> {
    one_that(experiment, event, |server| {
        server.build.is_managed() && server.nodes() > 1
    })
}

/// A server in the event's trials that is such a one.
fn one_that(
    experiment: &Experiment,
    event: &EventSpec,
    is_it: impl Fn(&ServerSpec) -> bool,
) -> Option<ServerSpec> {
    let is_meant = |server: &&ServerSpec| {
        let only = event.only.iter().find(|(factor, _)| factor == "server");
        only.is_none_or(|(_, names)| names.contains(&server.name))
    };
    let meant = experiment.servers.iter().filter(is_meant);
    let mut run = meant.flat_map(|server| served::variants(experiment, server, None));
    run.find(is_it)
}

/// The largest number of nodes of a server in the event's trials.
fn nodes_max(experiment: &Experiment) -> u32 {
    let of_levels = experiment.factors.iter().flat_map(|factor| &factor.levels);
    let of_levels = of_levels.filter_map(|level| level.patch.cluster.nodes);
    let of_servers = experiment.servers.iter().map(ServerSpec::nodes);
    of_servers.chain(of_levels).max().unwrap_or(1)
}

/// Notes a node that no server of the file has.
fn check_node(experiment: &Experiment, section: &Section, event: &EventSpec) {
    let value = section.get(&event.kind);
    let value = value.and_then(|node| node.section_if_table());
    let Some(node) = value.and_then(|value| value.get(NODE)) else {
        return;
    };
    let most = nodes_max(experiment);
    let example = format!("node = {most}");
    let _ = node.whole(1..=i64::from(most), &example);
}

/// Checks that the event is due before the timed load ends.
fn too_late(experiment: &Experiment, event: &EventSpec) -> Option<Late> {
    let driven = experiment.protocol.driven();
    let (key, first) = match event.when {
        EventTime::At(at) => ("at", at),
        EventTime::Every(every) => ("every", every),
        EventTime::When(_) => return None,
    };
    (experiment.protocol.is_timed() && first >= driven).then(|| Late {
        path: path(&["event", &event.index.to_string(), key]),
        says: format!(
            "the load ends after {}, before this event is due",
            unit::duration_text(driven)
        ),
        label: "after the end",
        help: "write an earlier time, or increase time in [protocol]; times count from the start of the warm-up"
            .to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::event::SET;
    use crate::tests::read_on_server;

    const KINDS: [EventKind<()>; 1] = [EventKind {
        name: SET,
        in_rounds: false,
        needs: Needs::Process,
        outage: None,
        read: |_| Some(()),
    }];

    #[test]
    fn events_are_not_lost_where_the_file_cannot_be_read_again() {
        let source = "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.oltp]\n[protocol]\ntime = '60s'\n\
            [[event]]\nat = '5s'\nset = { settings = { x = 1 } }\n";
        let mut experiment = read_on_server(source).unwrap();
        assert_eq!(read(&experiment, &KINDS).unwrap().len(), 1);
        experiment.source.push('[');
        assert!(read(&experiment, &KINDS).is_err());
    }

    #[test]
    fn what_one_of_several_nodes_would_have_is_not_set() {
        let mistake = |set: &str| {
            let source = format!(
                "title = 't'\nquestion = 'q'\n[server.one]\nbuild = 'mariadb'\n[server.three]\nbuild = 'mariadb'\n\
                 topology = 'galera'\nnodes = 3\n[workload.oltp]\n[protocol]\ntime = '60s'\n[[event]]\nat = '5s'\nset = {set}\n"
            );
            let experiment = read_on_server(&source).unwrap();
            let refused = read(&experiment, &KINDS).err()?;
            Some(refused.mistakes()[0].to_string())
        };
        for set in [
            "{ settings = { innodb_io_capacity = 100 } }",
            "{ limits = { write_iops = 200 } }",
        ] {
            let says = mistake(set).unwrap();
            assert!(says.contains("\"three\" has several nodes"), "{says}");
            let on_one = format!("{set}\nonly = {{ server = ['one'] }}");
            assert_eq!(mistake(&on_one), None);
        }
    }
}
