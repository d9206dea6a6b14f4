//! Experiment files: from TOML to a checked experiment.
//!
//! Data flow: `file` (a tree with source spans) -> `server`, `machine`, `load`, `sections`, `claims` (the meaning of the keys; `names`
//! has the cross references) -> `Experiment`. Every mistake is recorded with its span and reading continues, so one error lists
//! all mistakes of a file. Checks that need other information run later (`check`), and `experiment::place` finds their spans again.
//! `flags` has what the command line changes.
//!
//! Boundaries: `plan` crosses factors into trials; this crate never contacts a server.

mod check;
mod claims;
mod experiment;
mod file;
mod flags;
mod load;
mod machine;
pub mod plan;
mod sections;
mod server;
mod text;

#[cfg(test)]
mod tests;

pub use check::advice::advice;
pub use check::{events, known, memory, queries, settings, slices, timed};
pub use experiment::condition::Condition;
pub use experiment::event::{self, EventKind, EventSpec, EventTime, NODE, Needs, Outage, SetSpec};
pub use experiment::place::Requested;
pub use experiment::question::question;
pub use experiment::*;
pub use file::differing::differing_keys;
pub use file::input::{InputError, read_text as read_text_file};
pub use file::mistake::{self, Mistake, SpecError};
pub use file::option_file::{OptionLine, option_lines};
pub use file::read::{Node, Section, SectionError, Written, read_table, read_text};
pub use flags::bench::{BenchRequest, FileioRequest, SqlRequest, bench};
pub use flags::overrides::OverrideError;
pub use load::{
    ArrivalsSpec, LoadPatch, LoadSpec, MAX, OpenSpec, PlannedLoad, QueueSpec, RateSpec, SearchSpec,
    Threshold, WhenFull,
};
pub use machine::host::{DiskSpec, FilesystemSpec, HostPatch, VolatileSpec, VolumeSpec};
pub use machine::limits::{LimitsPatch, Memory};
pub use sections::blocks::UNTIL_DECIDED_TIMES;
pub use sections::workload::{CheckWorkload, merge};
pub use server::build::{self, BuildSpec};
pub use server::cluster::{ClusterPatch, ClusterSpec, Reads, Routing, Topology, Writes};
pub use server::confined;
pub use text::dsn::{self, Dsn, DsnError, LeftOpen};
pub use text::dsn_tls::{DsnSecurity, ServerKey, TlsMode};
pub use text::setting::{Pairs, Setting, listed, plain, setting_of, without_loose};
pub use text::shard::{SHARDS_MAX, Shard, ShardError};
pub use text::switches;
pub use text::unit::{duration, size_text};

use check::{levels, nodes};
use experiment::place;
use file::mistake::{Notes, Span};
use machine::{host, limits};
use sections::names::{self, Names};
use sections::settings::settings;
use sections::{blocks, factors, load_factors, observe, protocol, workload};
use std::cmp::Reverse;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// How many syntax mistakes are shown: later ones mostly follow from the first.
const SYNTAX_MISTAKES_MAX: usize = 3;

const TOP_LEVEL: [&str; 16] = [
    "title",
    "question",
    "published",
    "server",
    "settings",
    "session",
    "limits",
    "host",
    "variant",
    "factor",
    "workload",
    "load",
    "protocol",
    "observe",
    "event",
    "claim",
];

/// Reads and checks an experiment file.
///
/// `name` is the file's stem. `path_shown` is the path in messages; files that the experiment names are relative to its
/// folder. `check_workload` lets the workload read its own section, once as it is and once for every level that changes
/// it. In the result, `source` has the passwords of DSNs masked, since it goes into the record; the builds keep them.
///
/// # Errors
/// All mistakes of the file at once.
pub fn parse(
    name: &str,
    path_shown: &str,
    source: &str,
    check_workload: CheckWorkload,
) -> Result<Experiment, SpecError> {
    let (tree, syntax) = DeTable::parse_recoverable(source);
    if !syntax.is_empty() {
        return Err(SpecError::new(
            path_shown,
            source,
            syntax
                .iter()
                .take(SYNTAX_MISTAKES_MAX)
                .map(syntax_mistake)
                .collect(),
        ));
    }
    let notes = Notes::default();
    let folder = Path::new(path_shown).parent().unwrap_or(Path::new(""));
    let experiment = read_file(
        name,
        source,
        folder,
        &Section::file(&notes, tree.get_ref()),
        check_workload,
    );
    match experiment {
        Some(experiment) if notes.count() == 0 => {
            let unfit = nodes::unfit(&experiment).into_iter();
            let all = unfit.chain(nodes::without_effect(&experiment));
            let all = all.chain(levels::without_effect(&experiment));
            let all = all.chain(claims::unfit(&experiment));
            place::answer(&experiment, all.collect())?;
            Ok(experiment)
        }
        _ => Err(SpecError::new(path_shown, source, notes.into_vec())),
    }
}

fn syntax_mistake(error: &toml::de::Error) -> Mistake {
    let says = format!("this is not TOML: {}", error.message());
    let help = match error.message() {
        "duplicate key" => "a key may occur only once in a table: remove one of the two",
        _ => "put strings in quotes, tables in [brackets], one key = value per line",
    };
    Mistake::new(error.span().unwrap_or(0..0), says, "here", help)
}

fn read_file(
    name: &str,
    source: &str,
    folder: &Path,
    file: &Section,
    check_workload: CheckWorkload,
) -> Option<Experiment> {
    file.allow("the file", &TOP_LEVEL);
    let title = file.require("the file", "title", "title = \"What is compared\"");
    let title = title.and_then(|node| node.words("title = \"...\""));
    let workload = workload::workload(file, folder, check_workload);
    let servers = factors::servers(file, &workload);
    let noted = file.notes.count();
    let load = load::load(file, folder);
    let mut protocol = protocol::protocol(file);
    let is_load_known = file.notes.count() == noted;
    let mut factors = factors::factors(file, &workload);
    factors.extend(load_factors::load_factors(&load));
    let noted = file.notes.count();
    let names = Names::new(&servers, &factors, &load.spec, &protocol);
    names::check(file, &servers, &names);
    if workload.target() == TargetKind::Folder {
        names::check_without_server(file, &workload.name);
    }
    // What claims may name depends on the load: mistakes there would be found again in every claim.
    let claims = match is_load_known {
        true => claims::claims(file, &names),
        false => Vec::new(),
    };
    if is_load_known && noted == file.notes.count() {
        blocks::check_claims(file, &protocol, &claims);
    }
    protocol::least_time(&mut protocol, &load.spec, &claims);
    let question = file.read("question", |node| node.words("question = \"...\""));
    let table = workload.table();
    let remarks = workload.texts.remarks();
    let in_place = load.trace.into_iter().chain(workload.texts.in_place());
    Some(Experiment {
        name: name.to_string(),
        source: kept(source, file.table(), in_place),
        remarks,
        title: title?,
        question: question.unwrap_or_default(),
        published: published(file),
        base: Patch {
            settings: file.read("settings", settings),
            session: file.read("session", settings),
            workload: table,
            limits: file.read("limits", limits::limits),
            host: file.read("host", host::host),
            ..Patch::default()
        },
        unlimited: false,
        workload: workload.name,
        observe: observe::observe(file),
        events: sections::events::events(file),
        servers,
        factors,
        load: load.spec,
        protocol,
        claims,
    })
}

/// How many results docs/REPLICATION.md has, from `P1` on.
const PUBLISHED: u32 = 9;

/// A key of docs/REPLICATION.md, or a source in words.
fn published(file: &Section) -> Option<String> {
    let node = file.get("published")?;
    let text = node.words("published = \"P1\"")?;
    let number = text.strip_prefix('P').map(str::parse::<u32>);
    if number.is_some_and(|number| number.is_ok_and(|number| !(1..=PUBLISHED).contains(&number))) {
        node.note(
            format!("docs/REPLICATION.md has no {text}"),
            "not known",
            format!("write one of P1 to P{PUBLISHED}, or name the source in words"),
        );
    }
    Some(text)
}

/// The source for the record: passwords are masked without moving any span, and the contents of external files replace
/// their names. A string ends where it did, and what is no DSN is kept, since events and resumed runs read it again.
fn kept(source: &str, table: &DeTable, in_place: impl Iterator<Item = (Span, String)>) -> String {
    let mut kept = dsn::mask_passwords(source);
    let mut strings = Vec::new();
    strings_of(table, &mut strings);
    for at in strings {
        kept.replace_range(at.clone(), &dsn::mask_string(&source[at]));
    }
    let mut in_place: Vec<_> = in_place.collect();
    in_place.sort_by_key(|(at, _)| Reverse(at.start));
    for (at, text) in in_place {
        kept.replace_range(at, &text);
    }
    kept
}

/// The places of all strings, except those of builds, which are DSNs.
fn strings_of(table: &DeTable, found: &mut Vec<Span>) {
    for (key, value) in table {
        let name: &str = key.get_ref();
        if name != "build" {
            strings_in(value, found);
        }
    }
}

fn strings_in(value: &toml::Spanned<DeValue>, found: &mut Vec<Span>) {
    match value.get_ref() {
        DeValue::String(_) => found.push(value.span()),
        DeValue::Array(values) => values.iter().for_each(|value| strings_in(value, found)),
        DeValue::Table(table) => strings_of(table, found),
        _ => {}
    }
}
