//! Where the run took place, and how to repeat it.

use crate::document::{Block, Cell, Column, ColumnContent, Forms, Section, Table};
use crate::{format, names};
use record::names::LIES_ON;
use record::{Conditions, Environment, Run, Trial};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn section(run: &Run, trials: &[Trial]) -> Option<Section> {
    let at = &run.environment;
    let cores = format::plural(at.cores as usize, "core");
    let fact = |name: &str, value: String| (name.to_string(), value);
    let mut facts = vec![
        fact("Machine", at.machine.clone()),
        fact("CPU", format!("{}, {cores}", at.cpu)),
        fact("Memory", format::bytes(at.memory_bytes)),
        fact("System", format!("{}, kernel {}", at.system, at.kernel)),
        fact("Work folder", at.file_system.clone()),
    ];
    let data = Some(lay_on(run, trials)).filter(|data| !data.is_empty());
    let data = data.filter(|data| *data != at.file_system);
    facts.extend(data.map(|data| fact("Data", data)));
    facts.extend(conditions(&at.conditions));
    facts.extend(below_files(trials));
    facts.extend([
        fact("prony", at.prony_version.clone()),
        fact("Run", run.id.clone()),
        fact("Started", format::moment(run.started_ns)),
    ]);
    let rows = at.servers.iter().map(|(name, server)| {
        let comment = Some(server.comment.clone()).filter(|comment| !comment.is_empty());
        let digest = match server.binary_sha256.as_str() {
            "" => "unknown",
            digest => digest,
        };
        vec![
            Cell::text(name),
            Cell::text(&server.build),
            Cell::text(&server.version).remarked(comment),
            Cell::text(digest),
        ]
    });
    let columns = Column::list(&[
        (ColumnContent::Label, &["server", "build"]),
        (ColumnContent::Words, &["reported version"]),
        (ColumnContent::Code, &["SHA-256 of the binary"]),
    ]);
    let nodes = vec![
        Block::Facts(facts).page(),
        Block::table(Table::new("", columns, rows)).page(),
        Block::text(in_a_line(run, trials)).shown(Forms::MARKDOWN),
    ];
    let same = same_server(at).map(|text| Block::remark(text).everywhere());
    let nodes = nodes.into_iter().chain(same).collect();
    Section::unless_empty("environment", "Environment", nodes)
}

/// Two names of one address. They may still differ in what the file sets for each, such as session variables.
fn same_server(at: &Environment) -> Option<String> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut servers = at.servers.iter();
    servers.find_map(|(name, server)| {
        let address = server.build.as_str();
        let other = seen.insert(address, name);
        let other = other.filter(|_| address.contains("://"))?;
        Some(format!(
            "{other} and {name} are one server, {address}: a difference between them comes from their settings or routing, or is noise."
        ))
    })
}

/// What lay below the files of a workload without a server, as far as all trials agree. The rest is in the table of differences.
fn below_files(trials: &[Trial]) -> Vec<(String, String)> {
    let Some((first, others)) = trials.split_first() else {
        return Vec::new();
    };
    let on_folders = trials.iter().all(|trial| trial.key.server.is_none());
    let everywhere = |(name, value): &(&String, &String)| {
        let mut others = others.iter();
        others.all(|other| other.settings.get(*name) == Some(*value))
    };
    let facts = first.settings.iter().filter(|_| on_folders);
    facts
        .filter(everywhere)
        .map(|(name, value)| (format!("Files: {name}"), value.clone()))
        .collect()
}

/// What decides the machine's speed, as far as the kernel shows it.
fn conditions(at: &Conditions) -> Vec<(String, String)> {
    let facts = [
        ("Frequency governor", at.governor.clone()),
        ("Turbo", at.turbo.clone()),
        ("Transparent huge pages", at.transparent_huge_pages.clone()),
        ("Clock source", at.clocksource.clone()),
        ("I/O scheduler", at.io_scheduler.clone()),
        ("Hypervisor", at.hypervisor.clone()),
        (
            "Load at the start",
            at.load_at_start.map(|load| format!("{load:.2}")),
        ),
        ("Niceness", at.nice.map(|nice| nice.to_string())),
    ];
    let known = facts.into_iter();
    known
        .filter_map(|(name, value)| Some((name.to_string(), value?)))
        .collect()
}

/// `5.5 (MySQL 5.5.34), 5.6 (MySQL 5.6.14); Some CPU at 3.3 GHz, 6 cores, 12.0 GiB, ext4 on /dev/vda; 2013-04-01`: enough for a
/// reader to judge whether the answer concerns them.
pub(crate) fn measured_on(run: &Run, trials: &[Trial]) -> String {
    let at = &run.environment;
    let servers: Vec<String> = (run.question.servers.iter())
        .map(|name| names::server_with_version(run, name))
        .collect();
    let moment = format::moment(run.started_ns);
    let day = moment.split(' ').next().unwrap_or_default().to_string();
    let cores = format::plural(at.cores as usize, "core");
    let memory = format::bytes(at.memory_bytes);
    let data = lay_on(run, trials);
    let machine = [&at.cpu, &cores, &memory, &data].into_iter();
    let machine: Vec<&str> = machine
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    let parts = [servers.join(", "), machine.join(", "), day].into_iter();
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// The file systems on which the data lay that was measured; empty where only a server elsewhere knows. Older records have that of the
/// work folder.
fn lay_on(run: &Run, trials: &[Trial]) -> String {
    let at = &run.environment;
    let of = |trial: &Trial| match (&trial.key.server, &trial.dataset) {
        (None, _) => (trial.settings.get(LIES_ON))
            .or(Some(&at.file_system))
            .cloned(),
        (Some(server), _) if is_elsewhere(at, server) => None,
        (_, Some(dataset)) if dataset.file_system.is_some() => dataset.file_system.clone(),
        _ => Some(at.file_system.clone()),
    };
    let all: BTreeSet<String> = trials.iter().filter_map(of).collect();
    match trials.is_empty() {
        true => at.file_system.clone(),
        false => Vec::from_iter(all).join(" and "),
    }
}

/// Whether the server was named by a DSN.
fn is_elsewhere(at: &Environment, server: &str) -> bool {
    let identity = at.servers.get(server);
    identity.is_some_and(|identity| identity.build.contains("://"))
}

/// Without the machine's name, so that it can be published.
fn in_a_line(run: &Run, trials: &[Trial]) -> String {
    let at = &run.environment;
    let server = |(name, server): (&String, &record::ServerIdentity)| {
        format!("{name} = {} {}", server.build, server.version)
    };
    let servers: Vec<String> = at.servers.iter().map(server).collect();
    let data = lay_on(run, trials);
    let data = match data.as_str() {
        "" => data,
        data => format!("{data}, "),
    };
    format!(
        "{}; {}, {}, {}, {data}kernel {}; prony {}, seed {}, {}",
        servers.join(", "),
        at.cpu,
        format::plural(at.cores as usize, "core"),
        format::bytes(at.memory_bytes),
        at.kernel,
        at.prony_version,
        run.seed,
        format::moment(run.started_ns)
    )
}

pub(crate) fn repeat(run: &Run) -> Option<Section> {
    let name = format!("{}.toml", run.question.name);
    let file = shell(&name);
    let arguments: String = run
        .overrides
        .iter()
        .map(|argument| format!(" {}", shell(argument)))
        .collect();
    let commands = format!("prony check {file}{arguments}\nprony run {file}{arguments}");
    let version = &run.environment.prony_version;
    let nodes = vec![
        Block::text(format!("Save the file below as {name}. Then, with prony {version}:")).page(),
        Block::Verbatim(commands).page(),
        Block::text(format!(
            "The seed of this run was {}. It decides the order of the trials within a block. Every figure above is in run.sqlite, in the folder of this page:",
            run.seed
        ))
        .page(),
        Block::Verbatim(format!("prony show {} --format csv", shell(&run.id))).page(),
        Block::fold(
            "The experiment file, verbatim",
            false,
            vec![Block::Verbatim(run.experiment_toml.clone()).page()],
        )
        .page(),
    ];
    Section::unless_empty("repeat", "How to repeat it", nodes)
}

/// An argument quoted for a POSIX shell.
fn shell(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_string()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{same_server, shell};

    #[test]
    fn two_names_of_one_address_are_one_server() {
        let of = |old: &str, new: &str| {
            let server = |build: &str| {
                serde_json::json!({
                    "build": build, "version": "8", "comment": "", "binary_sha256": ""
                })
            };
            let at = serde_json::json!({
                "prony_version": "0.1.0", "machine": "m", "cpu": "c", "cores": 2, "memory_bytes": 1, "kernel": "6.1", "system": "s",
                "file_system": "ext4", "servers": {"new": server(new), "old": server(old)}
            });
            same_server(&serde_json::from_value(at).unwrap())
        };
        let said = of("mysql://u@h:3306/s", "mysql://u@h:3306/s").unwrap();
        assert!(said.starts_with("new and old are one server, mysql://u@h:3306/s: "));
        assert_eq!(of("mysql://u@h:3306/s", "mysql://u@h:3307/s"), None);
        assert_eq!(of("mariadb", "mariadb"), None);
    }

    #[test]
    fn an_argument_with_spaces_or_quotes_is_quoted() {
        assert_eq!(shell("server=5.6"), "server=5.6");
        assert_eq!(shell("variant=small pool"), "'variant=small pool'");
        assert_eq!(shell("it's"), "'it'\\''s'");
    }
}
