//! Levels whose keys have no effect, because another level or their own `only` takes it from them.
//!
//! Purpose: a row is measured as all its levels say. Boundaries: names are checked in `sections::names`, keys about nodes in `nodes`.

use super::known::SettingKind;
use crate::experiment::place::{Late, path};
use crate::experiment::served::{is_for, nodes, section_for};
use crate::experiment::{Experiment, LevelSpec, Patch};
use crate::load::LoadPatch;
use crate::machine::limits::LimitsPatch;
use crate::text::setting::{Pairs, Setting, listed};
use crate::text::switches;
use crate::text::unit::link_text;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// A level with its factor.
type Level<'e> = (&'e str, &'e LevelSpec);

/// A section and a key in it.
type Key = (&'static str, String);

/// What a level sets, and the value.
type Set = (Key, String);

const SETTINGS: &str = SettingKind::Settings.key();
const SESSION: &str = SettingKind::Session.key();

/// The whole of an `optimizer_switch` that resets no flags.
const FLAGS_ALONE: &str = "flags alone";

/// Keys that two levels of one trial set to different values, settings that the sessions of the file override, and `on` of servers that the
/// level excludes.
pub(crate) fn without_effect(experiment: &Experiment) -> Vec<Late> {
    let factors = experiment.factors.iter();
    let levels = factors.flat_map(|factor| {
        let levels = factor.levels.iter();
        levels.map(move |level| (factor.name.as_str(), level))
    });
    let levels: Vec<Level> = levels.collect();
    let mut found: Vec<Late> = levels.iter().flat_map(excluded).collect();
    let mut servers: Vec<&str> = (experiment.servers.iter())
        .map(|server| server.name.as_str())
        .collect();
    if servers.is_empty() {
        // A workload on a folder: no level has sections for a server.
        servers.push("");
    }
    let mut all = servers
        .iter()
        .filter_map(|server| set_twice(experiment, &levels, server));
    found.extend(all.next());
    let of_file = pairs(SESSION, experiment.base.session.as_ref());
    let mut all = servers
        .iter()
        .filter(|_| !of_file.is_empty())
        .flat_map(|server| levels.iter().map(move |level| (level, server)))
        .filter_map(|(level, server)| overridden(&of_file, level, server));
    found.extend(all.next());
    found
}

/// A setting of a level that `[session]` sets to another value on every connection: all levels would be measured with that one.
fn overridden(of_file: &[Set], (factor, level): &Level, server: &str) -> Option<Late> {
    let of_level = sets(level, server);
    let is_own = |key: &Key| of_level.iter().any(|(own, _)| own == key);
    let (name, value, in_force) = of_file.iter().find_map(|(key, in_force)| {
        let setting = (SETTINGS, key.1.clone());
        let (_, value) = of_level.iter().find(|(own, _)| *own == setting)?;
        let is_overridden =
            value != in_force && in_force != FLAGS_ALONE && !is_own(key) && is_for(level, server);
        is_overridden.then_some((&key.1, value, in_force))
    })?;
    Some(Late {
        path: path(&["factor", factor, &level.name]),
        says: format!(
            "the level \"{}\" sets {name} of settings to {value}, and [session] sets it to {in_force} on every connection",
            level.name
        ),
        label: "no effect",
        help: "write it in the session of the level, or remove it from [session]".to_string(),
    })
}

/// `on."5.5"` of a level that has no trials on 5.5.
fn excluded((factor, level): &Level) -> Vec<Late> {
    let unused = level.on.iter().filter(|(server, _)| !is_for(level, server));
    let late = |(server, _): &(String, Patch)| Late {
        path: path(&["factor", factor, &level.name, "on", server]),
        says: format!(
            "the level \"{}\" has no trials on \"{server}\": its \"only\" excludes it",
            level.name
        ),
        label: "no effect",
        help: format!("add \"{server}\" to the \"only\" of the level, or remove this"),
    };
    unused.map(late).collect()
}

/// The first key on a server that levels of two factors set to different values in one trial: the later one would win without a word.
fn set_twice(experiment: &Experiment, levels: &[Level], server: &str) -> Option<Late> {
    let mut known: BTreeMap<Key, Vec<(Level, String)>> = BTreeMap::new();
    let own = levels.iter().filter(|(_, level)| is_for(level, server));
    for level in own {
        for (key, value) in sets(level.1, server) {
            let alike = alike(&key);
            let mut before = alike.iter().flat_map(|key| {
                let known = known.get(key).into_iter().flatten();
                known.map(move |(other, value)| (other, key, value))
            });
            let other =
                before.find(|(other, _, of_other)| **of_other != value && do_meet(level, other));
            if let Some(other) = other {
                return Some(meeting(experiment, server, [other, (level, &key, &value)]));
            }
            known.entry(key).or_default().push((*level, value));
        }
    }
    None
}

/// A level, a key that it sets, and the value.
type Setter<'s> = (&'s Level<'s>, &'s Key, &'s String);

/// The mistake at the later one of two levels that set a key.
fn meeting(experiment: &Experiment, server: &str, setters: [Setter; 2]) -> Late {
    let file: toml::Table = experiment.source.parse().unwrap_or_default();
    let [of_other, value] = setters.map(|(level, key, value)| {
        written(&file, level, server, key).unwrap_or_else(|| value.clone())
    });
    let [((_, other), key_of_other, _), ((factor, level), key, _)] = setters;
    let (section, name) = (key.0, &key.1);
    let section = match key_of_other == key {
        true => section.to_string(),
        false => format!("{} and of {section}", key_of_other.0),
    };
    Late {
        path: path(&["factor", factor, &level.name]),
        says: format!(
            "the levels \"{}\" and \"{}\" meet in a trial and set {name} of {section} to {of_other} and to {value}",
            other.name, level.name
        ),
        label: "set twice",
        help: "set it in one of the two factors, or keep the two apart with \"only\"".to_string(),
    }
}

/// The keys that set the same: what a session sets is in force whatever the server has.
fn alike(key: &Key) -> Vec<Key> {
    let other = match key.0 {
        SETTINGS => SESSION,
        SESSION => SETTINGS,
        _ => return vec![key.clone()],
    };
    vec![key.clone(), (other, key.1.clone())]
}

/// The value of a key of a level as the file has it. None: the file writes the level in another form, such as a list of rates.
fn written(
    file: &toml::Table,
    (factor, level): &Level,
    server: &str,
    (section, key): &(&str, String),
) -> Option<String> {
    let long = file
        .get("factor")
        .and_then(|all| all.get(factor)?.get(&level.name));
    let variants = file.get("variant").filter(|_| *factor == "variant");
    let short = variants.and_then(|all| all.get(&level.name));
    let levels = [long, short].into_iter().flatten();
    let mut places = levels.flat_map(|level| {
        let own = level.get("on").and_then(|on| on.get(server));
        own.into_iter().chain([level])
    });
    let found = places.find_map(|place| place.get(section)?.get(key))?;
    Some(found.to_string())
}

/// Whether a trial can have both levels.
fn do_meet((factor, level): &Level, (other_factor, other): &Level) -> bool {
    let allows = |level: &LevelSpec, factor: &str, other: &LevelSpec| {
        let mut only = level.only.iter().filter(|(name, _)| name == factor);
        only.all(|(_, allowed)| allowed.contains(&other.name))
    };
    factor != other_factor && allows(level, other_factor, other) && allows(other, factor, level)
}

/// What a level sets on a server.
fn sets(level: &LevelSpec, server: &str) -> Vec<Set> {
    let mut found = Vec::new();
    for kind in SettingKind::ALL {
        let of_level = section_for(level, server, |patch| kind.of(patch));
        found.extend(pairs(kind.key(), of_level));
    }
    let workload = section_for(level, server, |patch| patch.workload.as_ref());
    for (name, value) in workload.into_iter().flatten() {
        found.push((("workload", name.clone()), value.to_string()));
    }
    let load = section_for(level, server, |patch| patch.load.as_ref());
    found.extend(load.map(load_keys).into_iter().flatten());
    let limits = section_for(level, server, |patch| patch.limits);
    let limits = limits.iter().flat_map(LimitsPatch::keys);
    found.extend(limits.map(|(name, value)| (("limits", name.to_string()), value)));
    found.extend(further_keys(level, server));
    found
}

/// What `settings` or `session` set.
fn pairs(section: &'static str, pairs: Option<&Pairs<Setting>>) -> Vec<Set> {
    let pairs = pairs.into_iter().flatten();
    let parts = pairs.flat_map(|(name, value)| parts(&listed(name), &value.to_string()));
    parts
        .map(|(name, value)| ((section, name), value))
        .collect()
}

/// What a level sets in `host`, `server`, `protocol` and `observe`.
fn further_keys(level: &LevelSpec, server: &str) -> Vec<Set> {
    let host = section_for(level, server, |patch| patch.host.as_ref());
    let host = host.cloned().unwrap_or_default();
    let build = section_for(level, server, |patch| patch.build.as_ref());
    let nodes = nodes(level, server);
    let link = |link: Option<u64>| link.map_or("none".to_string(), link_text);
    let rounds = section_for(level, server, |patch| patch.rounds.as_ref());
    let observe = section_for(level, server, |patch| patch.observe.as_ref());
    let observe = observe.cloned().unwrap_or_default();
    let directory = host.directory.map(|path| path.display().to_string());
    let all = [
        ("host", "volume", shown(host.volume)),
        ("host", "redo_volume", shown(host.redo_volume)),
        ("host", "directory", directory),
        ("server", "build", build.map(ToString::to_string)),
        ("server", "nodes", shown(nodes.nodes)),
        ("server", "semi_sync", shown(nodes.semi_sync)),
        ("server", "link", nodes.link_bits_per_s.map(link)),
        (
            "server",
            "client_link",
            nodes.client_link_bits_per_s.map(link),
        ),
        ("server", "reads", shown(nodes.routing.reads)),
        ("server", "writes", shown(nodes.routing.writes)),
        ("protocol", "rounds", shown(rounds)),
        ("observe", "plans", shown(observe.plans)),
        ("observe", "profile", shown(observe.profile)),
    ];
    let given = all.into_iter();
    given
        .filter_map(|(section, name, value)| Some(((section, name.to_string()), value?)))
        .collect()
}

/// A text to compare; a message shows what the file has.
fn shown<T: Debug>(value: Option<T>) -> Option<String> {
    value.map(|value| format!("{value:?}"))
}

/// The flags of `optimizer_switch` one by one, since each level may set its own. A value with `default` resets those of other levels, so it
/// is a part as a whole.
fn parts(name: &str, value: &str) -> Vec<(String, String)> {
    if name != switches::NAME {
        return vec![(name.to_string(), value.to_string())];
    }
    let value = value.to_lowercase();
    let part = |(flag, state): (&str, &str)| (format!("{name} {flag}"), state.to_string());
    let flags: Vec<_> = switches::flags(&value).into_iter().map(part).collect();
    let resets = value.split(',').any(|flag| flag.trim() == "default");
    let whole = match resets {
        true => value,
        false => FLAGS_ALONE.to_string(),
    };
    [flags, vec![(name.to_string(), whole)]].concat()
}

fn load_keys(load: &LoadPatch) -> Vec<Set> {
    let all = [
        ("clients", shown(load.clients)),
        ("workers", shown(load.workers)),
        ("rate", load.rate.as_ref().map(ToString::to_string)),
        ("think", shown(load.think)),
        ("arrivals", shown(load.arrivals.as_ref())),
        ("queue", shown(load.queue)),
        ("when_full", shown(load.when_full)),
    ];
    let given = all.into_iter();
    given
        .filter_map(|(name, value)| Some((("load", name.to_string()), value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::tests::mistakes_in;

    /// The mistakes in a file with two servers.
    fn mistakes_of(levels: &str) -> Vec<String> {
        mistakes_in(&format!(
            "title = 't'\n[server.a]\nbuild = 'mariadb'\n[server.b]\nbuild = 'mariadb'\n\
             [workload.oltp]\n[protocol]\ntime = '60s'\n{levels}"
        ))
    }

    /// What two levels set, and how their mistake names it.
    #[rustfmt::skip]
    const SET_TWICE: [(&str, &str, &str); 12] = [
        ("settings = { x = 1 }", "settings = { x = 2 }", "x of settings to 1 and to 2"),
        ("settings = { x = 1 }", "settings = { loose-x = 2 }", "x of settings to 1 and to 2"),
        ("session = { x = 1 }", "on.b.session = { x = 2 }", "x of session"),
        ("load = { clients = 1 }", "load = { clients = 2 }", "clients of load"),
        ("limits = { cpus = 1 }", "limits = { cpus = 2 }", "cpus of limits"),
        ("host = { volume = { kind = 'loop' } }", "host = { volume = { kind = 'loop', filesystem = 'xfs' } }", "volume of host to { kind = \"loop\" } and to { kind = \"loop\", filesystem = \"xfs\" }"),
        ("server = { build = 'mysql@8.0.33' }", "on.b.server = { build = 'mysql@5.6.21' }", "build of server to \"mysql@8.0.33\" and to \"mysql@5.6.21\""),
        ("protocol = { rounds = ['cold'] }", "protocol = { rounds = ['hot'] }", "rounds of protocol to [\"cold\"] and to [\"hot\"]"),
        ("observe = { plans = false }", "observe = { plans = 'analyze' }", "plans of observe to false and to \"analyze\""),
        ("session = { optimizer_switch = 'mrr=on' }", "session = { optimizer_switch = 'icp=on,mrr=off' }", "optimizer_switch mrr of session to on and to off"),
        ("session = { optimizer_switch = 'mrr=on' }", "session = { optimizer_switch = 'Default' }", "optimizer_switch of session to \"mrr=on\" and to \"Default\""),
        ("settings = { x = 1 }", "session = { x = 2 }", "x of settings and of session to 1 and to 2"),
    ];

    #[test]
    fn two_levels_of_a_trial_that_set_a_key_to_different_values_are_a_mistake() {
        for (one, other, name) in SET_TWICE {
            let first = format!("[factor.f.p]\n{one}\n[factor.f.q]\n");
            let found = mistakes_of(&format!("{first}[factor.g.r]\n{other}\n"));
            assert!(found.len() == 1 && found[0].contains(name), "{found:?}");
            let apart = format!("{first}[factor.g.r]\n{other}\nonly = {{ f = 'q' }}\n");
            assert_eq!(mistakes_of(&apart), [""; 0], "{one}");
            let same = format!("{first}[factor.g.r]\n{one}\n");
            assert_eq!(mistakes_of(&same), [""; 0], "{one}");
        }
        let flags = "[factor.f.p]\nsession = { optimizer_switch = 'mrr=on' }\n\
            [factor.g.r]\nsession = { optimizer_switch = 'icp=on' }\n";
        assert_eq!(mistakes_of(flags), [""; 0]);
    }

    #[test]
    fn a_setting_of_a_level_that_the_sessions_of_the_file_override_is_a_mistake() {
        let of_level = |keys: &str| {
            mistakes_of(&format!(
                "[session]\nx = 5\noptimizer_switch = 'mrr=on'\n[factor.f.p]\n{keys}\n[factor.f.q]\n"
            ))
        };
        let found = of_level("settings = { loose_x = 1 }");
        let says = "\"p\" sets x of settings to 1, and [session] sets it to 5";
        assert!(found.len() == 1 && found[0].contains(says), "{found:?}");
        assert_eq!(of_level("on.b.settings = { x = 1 }").len(), 1);
        for keys in [
            "settings = { x = 5 }",
            "settings = { x = 1 }\nsession = { x = 2 }",
            "session = { x = 1 }",
            "settings = { optimizer_switch = 'icp=off' }",
            "settings = { optimizer_switch = 'default,icp=off' }",
        ] {
            assert_eq!(of_level(keys), [""; 0], "{keys}");
        }
    }

    #[test]
    fn a_section_for_a_server_that_the_level_excludes_is_a_mistake() {
        let level =
            "[factor.f.p]\nonly = { server = 'a' }\non.b.settings = { x = 1 }\n[factor.f.q]\n";
        let found = mistakes_of(level);
        assert!(found[0].contains("no trials on \"b\""), "{found:?}");
        assert_eq!(mistakes_of(&level.replace("on.b", "on.a")), [""; 0]);
    }
}
