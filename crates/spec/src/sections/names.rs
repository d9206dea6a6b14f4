//! Cross references in a file: names of servers, factors, levels and rounds.
//!
//! Purpose: every name exists, and no cell of a claim is empty because of an `only`. Boundaries: `check::queries` checks the
//! names of queries.

use super::factors::without_server;
use crate::experiment::event::{SET, of_servers};
use crate::experiment::{FactorSpec, LevelSpec, Protocol, RoundKind, ServerSpec};
use crate::file::lists::{placed_names, tables};
use crate::file::read::{Node, Section};
use crate::load::{LoadSpec, MAX};
use record::LoadFactor;
use record::event::POWER_CUT;
use std::collections::{HashMap, HashSet};

/// All names that a file defines.
pub(crate) struct Names<'e> {
    pub servers: Vec<&'e str>,
    factors: &'e [FactorSpec],
    /// By factor; `server` is one.
    levels: HashMap<&'e str, Levels<'e>>,
    pub load: &'e LoadSpec,
    pub rounds: &'e [RoundKind],
    pub is_timed: bool,
}

/// The levels of a factor in file order.
struct Levels<'e> {
    names: Vec<&'e str>,
    /// The first place of each name.
    places: HashMap<&'e str, usize>,
}

impl<'e> Levels<'e> {
    fn of(names: impl Iterator<Item = &'e String>) -> Levels<'e> {
        let names: Vec<&str> = names.map(String::as_str).collect();
        let mut places = HashMap::new();
        for (place, name) in names.iter().enumerate() {
            places.entry(*name).or_insert(place);
        }
        Levels { names, places }
    }
}

impl<'e> Names<'e> {
    pub(crate) fn new(
        servers: &'e [ServerSpec],
        factors: &'e [FactorSpec],
        load: &'e LoadSpec,
        protocol: &'e Protocol,
    ) -> Names<'e> {
        let server = (
            "server",
            Levels::of(servers.iter().map(|server| &server.name)),
        );
        let levels = factors.iter().map(|factor| {
            let levels = factor.levels.iter().map(|level| &level.name);
            (factor.name.as_str(), Levels::of(levels))
        });
        Names {
            servers: servers.iter().map(|server| server.name.as_str()).collect(),
            factors,
            levels: levels.chain([server]).collect(),
            load,
            rounds: &protocol.rounds,
            is_timed: protocol.is_timed(),
        }
    }

    /// `server` first, then the factors.
    pub(crate) fn factor_names(&self) -> Vec<&str> {
        let mut names = vec!["server"];
        names.extend(self.factors.iter().map(|factor| factor.name.as_str()));
        names
    }

    /// None: no such factor.
    pub(crate) fn levels(&self, factor: &str) -> Option<&[&'e str]> {
        self.levels
            .get(factor)
            .map(|levels| levels.names.as_slice())
    }

    fn is_server(&self, name: &str) -> bool {
        let servers = self.levels.get("server");
        servers.is_some_and(|servers| servers.places.contains_key(name))
    }

    /// Notes unknown names in `FACTOR = LEVEL` or `FACTOR = [LEVEL, ...]` and returns the known levels.
    pub(crate) fn check_levels(
        &self,
        node: &Node,
        also_allowed: &[&str],
        where_: &str,
    ) -> Vec<String> {
        let Some(Levels { names, places }) = self.levels.get(node.key) else {
            let known = [&self.factor_names(), also_allowed].concat();
            let says = format!(
                "{where_} names the factor \"{}\", which the file does not have",
                node.key
            );
            node.notes.note(
                node.key_at.clone(),
                says,
                "no such factor",
                node.notes.suggestion(node.key, &known),
            );
            return Vec::new();
        };
        let mut found = Vec::new();
        let example = format!("{} = [\"{}\"]", node.key, names.first().unwrap_or(&"..."));
        for (element, name) in placed_names(node, &example) {
            if places.contains_key(name.as_str()) {
                found.push(name);
            } else {
                let says = match node.key {
                    "server" => format!("the file has no server \"{name}\""),
                    factor => format!("the factor \"{factor}\" has no level \"{name}\""),
                };
                let help = element.notes.suggestion(&name, names);
                element.note(says, "not known", help);
            }
        }
        found
    }

    fn level(&self, factor: &str, level: &str) -> Option<&LevelSpec> {
        let place = self.levels.get(factor)?.places.get(level)?;
        let spec = self.factors.iter().find(|known| known.name == factor)?;
        spec.levels.get(*place)
    }

    /// The rounds that a level chooses on every server. None: those of the protocol, or others on some servers.
    pub(crate) fn rounds_of(&self, factor: &str, level: &str) -> Option<&[RoundKind]> {
        let level = self.level(factor, level)?;
        let differ = level.on.iter().any(|(_, patch)| patch.rounds.is_some());
        level.patch.rounds.as_deref().filter(|_| !differ)
    }

    /// Whether `only` allows a level together with one of the levels of another factor.
    pub(crate) fn meet(
        &self,
        (factor, level): (&str, &str),
        (other, others): (&str, &[String]),
    ) -> bool {
        let Some(spec) = self.level(factor, level) else {
            return true;
        };
        let restriction = spec.only.iter().find(|(name, _)| name == other);
        restriction.is_none_or(|(_, allowed)| allowed.iter().any(|name| others.contains(name)))
    }

    /// Two of these factors whose levels `only` never combines, in words: no trial has all of them.
    pub(crate) fn apart(&self, levels: &[(String, Vec<String>)]) -> Option<String> {
        let named = || levels.iter().filter(|(_, levels)| !levels.is_empty());
        named().find_map(|(factor, levels)| {
            let mut rest = named().filter(|(other, _)| other != factor);
            let (other, others) = rest.find(|(other, others)| {
                let mut own = levels.iter();
                !own.any(|level| self.meet((factor, level), (other, others)))
            })?;
            Some(format!(
                "\"{}\" is not measured with {other} \"{}\"",
                levels.join("\", \""),
                others.join("\", \"")
            ))
        })
    }
}

/// Checks `dataset_from` of servers, `only` and `on` of levels, and `only` of events, which would happen nowhere.
pub(crate) fn check(file: &Section, servers: &[ServerSpec], names: &Names) {
    check_dataset_from(file, servers, names);
    check_every_server_is_measured(file, servers, names);
    for (factor, level) in level_sections(file) {
        check_level(&factor, &level, names);
    }
    for event in tables(file, "event") {
        check_only(&event, None, names);
    }
}

/// Notes everything that requires a server, for a workload that runs on a folder.
pub(crate) fn check_without_server(file: &Section, workload: &str) {
    let note = |section: &Section, keys: &[&str]| {
        let nodes = keys.iter().filter_map(|key| section.get(key));
        nodes.for_each(|node| without_server(&node, workload));
    };
    let note_redo = |file_or_level: &Section| {
        let host = file_or_level.read("host", Node::section_if_table);
        host.inspect(|host| note(host, &["redo_volume"]));
    };
    note(file, &["settings", "session"]);
    let protocol = file.read("protocol", Node::section_if_table);
    protocol.inspect(|protocol| note(protocol, &["preload", "reconnect"]));
    note_redo(file);
    for event in tables(file, "event") {
        note(&event, &of_servers());
        let set = event.read(SET, Node::section_if_table);
        set.inspect(|set| note(set, &["settings"]));
        let cut = event.read(POWER_CUT, Node::section_if_table);
        cut.inspect(|cut| note(cut, &["node", "restart", "within"]));
    }
    for (_, level) in level_sections(file) {
        note(&level, &["settings", "session", "server", "on"]);
        note_redo(&level);
    }
}

fn check_dataset_from(file: &Section, servers: &[ServerSpec], names: &Names) {
    let sections = file.read("server", Node::section_if_table);
    let by_name: HashMap<&str, &ServerSpec> =
        (servers.iter().map(|server| (server.name.as_str(), server))).collect();
    for server in servers {
        let Some(from) = &server.dataset_from else {
            continue;
        };
        let own = sections
            .as_ref()
            .and_then(|all| all.read(&server.name, Node::section_if_table));
        let Some(node) = own.and_then(|own| own.get("dataset_from")) else {
            continue;
        };
        match by_name.get(from.as_str()) {
            None => node
                .notes
                .unknown(node.at(), "the server", from, &names.servers),
            Some(other) if other.name == server.name => {
                node.note(
                    "a server cannot copy its own dataset",
                    "itself",
                    "name another server of the file",
                );
            }
            Some(other) if other.dataset_from.is_some() => {
                let says =
                    format!("\"{from}\" has no dataset of its own: it copies another server's");
                node.note(
                    says,
                    "no dataset of its own",
                    "name the server that loads the dataset",
                );
            }
            Some(_) => {}
        }
    }
}

/// Notes servers without trials, because every level of a factor excludes them. A server may have no trials if another
/// one uses its dataset.
fn check_every_server_is_measured(file: &Section, servers: &[ServerSpec], names: &Names) {
    let sections = file.read("server", Node::section_if_table);
    let lenders: HashSet<&String> = (servers
        .iter()
        .filter_map(|server| server.dataset_from.as_ref()))
    .collect();
    let restricting: Vec<(&FactorSpec, HashSet<&String>)> = names
        .factors
        .iter()
        .filter_map(|factor| Some((factor, only_on(factor)?)))
        .collect();
    for server in servers {
        let gives_its_dataset = lenders.contains(&server.name);
        let excludes =
            |(_, allowed): &&(&FactorSpec, HashSet<&String>)| !allowed.contains(&server.name);
        let excluding = restricting.iter().find(excludes).map(|(factor, _)| factor);
        let excluding = excluding.filter(|_| !gives_its_dataset);
        let node = sections.as_ref().and_then(|all| all.get(&server.name));
        if let (Some(factor), Some(node)) = (excluding, node) {
            let says = format!(
                "the server \"{}\" has no trials: every level of \"{}\" excludes it",
                server.name, factor.name
            );
            let help = "add it to the \"only\" of a level, or remove the server";
            node.notes.note(node.key_at, says, "not measured", help);
        }
    }
}

/// The servers on which a factor has levels; None if it has one on every server.
fn only_on(factor: &FactorSpec) -> Option<HashSet<&String>> {
    let mut allowed = HashSet::new();
    for level in &factor.levels {
        let mut restrictions = level.only.iter().filter(|(name, _)| name == "server");
        allowed.extend(&restrictions.next()?.1);
    }
    (!factor.levels.is_empty()).then_some(allowed)
}

fn check_level(factor: &str, level: &Section, names: &Names) {
    check_only(level, Some(factor), names);
    let on = level.read("on", Node::section_if_table);
    let on: Vec<Node> = on.iter().flat_map(Section::entries).collect();
    let is_unknown = |node: &&Node| !names.servers.is_empty() && !names.is_server(node.key);
    for node in on.iter().filter(is_unknown) {
        node.notes
            .unknown(node.key_at.clone(), "the server", node.key, &names.servers);
    }
    let replaced = on
        .iter()
        .filter_map(|node| node.section_if_table()?.get("load"));
    for load in level.get("load").into_iter().chain(replaced) {
        check_load(&load, names);
    }
}

/// Checks that the keys match the kind of load and that none is a factor already.
fn check_load(load: &Node, names: &Names) {
    let load = load.section_if_table();
    for node in load.iter().flat_map(Section::entries) {
        let key = node.key;
        if !names.load.keys().contains(&key) && names.load.other_keys().contains(&key) {
            let says = format!(
                "\"{key}\" does not apply to the load of this file, which is {}",
                names.load.section()
            );
            let help = format!("allowed: {}", names.load.keys().join(", "));
            node.note(says, "another kind of load", help);
        } else if LoadFactor::named(key).is_some()
            && (names.levels(key).is_some() || names.load.decides(key))
        {
            let says = format!("both this level and {} set \"{key}\"", names.load.section());
            let help = format!(
                "keep one of the two: this one, or the list in {}",
                names.load.section()
            );
            node.note(says, "set twice", help);
        }
    }
}

fn check_only(section_with_only: &Section, own: Option<&str>, names: &Names) {
    let Some(restriction) = section_with_only.get("only") else {
        return;
    };
    let Some(only) = restriction.section_if_table() else {
        return;
    };
    let mut levels = Vec::new();
    for node in only.entries() {
        if own == Some(node.key) {
            node.note(
                "a level cannot restrict its own factor",
                "its own factor",
                "name another factor, or remove it",
            );
        } else {
            let found = names.check_levels(&node, &[], "only");
            if node.key == LoadFactor::Rate.name() && found == [MAX] {
                node.note(
                    "the maximum is measured for its shares, and without events: alone it has no trials",
                    "no trials",
                    "name a share of it, such as rate = \"60% of max\"",
                );
            }
            levels.push((node.key.to_string(), found));
        }
    }
    if let Some(why) = names.apart(&levels) {
        restriction.note(
            format!("no trial has all levels of this \"only\": {why}"),
            "no trials",
            "see the \"only\" of these levels",
        );
    }
}

/// Every level, with the name of its factor.
fn level_sections<'s>(file: &Section<'s>) -> Vec<(String, Section<'s>)> {
    let factors = file.read("factor", Node::section_if_table);
    let factors = factors.iter().flat_map(Section::entries);
    let mut found = Vec::new();
    for factor in file.get("variant").into_iter().chain(factors) {
        let levels = factor.section_if_table();
        let levels = levels.iter().flat_map(Section::entries);
        found.extend(
            levels.filter_map(|level| Some((factor.key.to_string(), level.section_if_table()?))),
        );
    }
    found
}
