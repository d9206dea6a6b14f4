//! `[protocol]`: rounds of queries, or a timed load.
//!
//! Purpose: its keys, defaults, ranges and combinations. Boundaries: `check::timed` checks that the workload supports them.

use super::blocks;
use crate::experiment::{Protocol, RoundKind, SHORTEST, SliceSpec, Unit, WarmupSpec, Within};
use crate::file::lists::names;
use crate::file::read::{Node, Section};
use crate::load::LoadSpec;
use crate::text::unit;
use record::{Claim, Slices, Value};
use std::time::Duration;

const KEYS: [&str; 15] = [
    "rounds",
    "unit",
    "blocks",
    "control",
    "shared_machine",
    "query_timeout",
    "queries",
    "time",
    "warmup",
    "preload",
    "series",
    "reconnect",
    "short",
    "slices",
    "within",
];
const OF_ROUNDS: [&str; 4] = ["rounds", "unit", "query_timeout", "queries"];
const OF_TIME: [&str; 5] = ["warmup", "preload", "series", "reconnect", "short"];

/// Shorter slices spend more time on changing the server than on measuring; longer ones are trials.
const SLICE_SHORTEST: Duration = Duration::from_millis(200);
const SLICE_LONGEST: Duration = Duration::from_secs(30);
/// Where operations are not too long for it: servers against themselves varied least with it (bench/results/slices.md).
const SLICE_AUTO: Duration = Duration::from_millis(250);
/// A budget chooses at least so many blocks.
const BLOCKS_MIN: u32 = 3;

/// One block of one cold and two hot rounds over all queries.
impl Default for Protocol {
    fn default() -> Protocol {
        Protocol {
            rounds: vec![RoundKind::Cold, RoundKind::Hot, RoundKind::Hot],
            unit: Unit::Round,
            blocks: 1,
            looks: None,
            control: true,
            shared_machine: false,
            short: false,
            query_timeout: None,
            queries: Vec::new(),
            time: None,
            warmup: WarmupSpec::None,
            preload: false,
            series: false,
            reconnect: None,
            slices: None,
            within: None,
        }
    }
}

/// Reads `[protocol]`.
pub(crate) fn protocol(file: &Section) -> Protocol {
    let mut protocol = Protocol::default();
    let Some(section) = file.read("protocol", |node| node.section("[protocol]")) else {
        return protocol;
    };
    section.allow("[protocol]", &KEYS);
    if let Some(node) = section.get("blocks") {
        blocks::blocks(&node, &mut protocol);
    }
    protocol.control = truth(&section, "control").unwrap_or(true);
    protocol.shared_machine = truth(&section, "shared_machine").unwrap_or(false);
    refuse_the_other_kind(&section);
    match timed_by(&section) {
        Some(_) => timed(&mut protocol, &section),
        None => in_rounds(&mut protocol, &section),
    }
    protocol
}

/// The key that requests a timed load.
fn timed_by<'s>(section: &'s Section) -> Option<Node<'s>> {
    section.get("time").or_else(|| section.get("within"))
}

/// A trial has rounds or a time, never both.
fn refuse_the_other_kind(section: &Section) {
    let (refused, says, help) = match timed_by(section) {
        Some(node) => (
            OF_ROUNDS.as_slice(),
            format!(
                "applies to rounds of queries, but \"{}\" requests a timed load",
                node.key
            ),
            format!("keep \"{}\" or this one", node.key),
        ),
        None => (
            OF_TIME.as_slice(),
            "applies only to a timed load, which requires \"time\"".to_string(),
            "add time = \"60s\", or remove it".to_string(),
        ),
    };
    for node in refused.iter().filter_map(|key| section.get(key)) {
        node.note(
            format!("\"{}\" {says}", node.key),
            "does not belong here",
            help.as_str(),
        );
    }
}

fn timed(protocol: &mut Protocol, section: &Section) {
    protocol.rounds = Vec::new();
    if let Some(time) = section.get("time") {
        protocol.time = time.duration("time = \"60s\"");
    }
    protocol.warmup = section.read("warmup", warmup).unwrap_or(protocol.warmup);
    protocol.preload = truth(section, "preload").unwrap_or(false);
    protocol.series = truth(section, "series").unwrap_or(false);
    protocol.short = truth(section, "short").unwrap_or(false);
    protocol.reconnect = section.read("reconnect", |node| node.duration("reconnect = \"900s\""));
    let by = timed_by(section).map_or("time", |node| node.key);
    protocol.slices = section.read("slices", |node| of_time(node, by));
    if let Some(node) = section.get("within") {
        within(protocol, section, &node);
    }
}

/// Reads `within`, and what it chooses: until then that has the least value which is allowed.
fn within(protocol: &mut Protocol, section: &Section, node: &Node) {
    let within = Within {
        budget: node.duration("within = \"10m\"").unwrap_or_default(),
        chooses_time: section.get("time").is_none(),
        chooses_blocks: section.get("blocks").is_none(),
    };
    protocol.within = Some(within);
    if let Some((says, help)) = protocol.refused_within() {
        node.note(says, "cannot plan this", help);
    }
    if within.chooses_time {
        protocol.time = Some(shortest(protocol));
    }
    if within.chooses_blocks {
        protocol.blocks = BLOCKS_MIN;
    }
}

/// The least measured time that a budget chooses, in whole seconds: with enough slices, and unless the load is short on purpose,
/// with enough seconds for a plan.
fn shortest(protocol: &Protocol) -> Duration {
    let slices = protocol.slice_length().unwrap_or_default() * Slices::MIN;
    let whole = Duration::from_secs(slices.as_secs_f64().ceil() as u64);
    let is_warmed = protocol.preload || protocol.warmup_note().known_s() > 0.0;
    let planned_s = Slices::planned_s_min(is_warmed);
    match protocol.short {
        true => whole,
        false => whole.max(Duration::from_secs(planned_s.into())),
    }
}

/// The time until a budget chooses it: the least that is allowed. Where a percentile decides, that is no shorter than a file may request: a
/// percentile is uncertain unless [`record::SPANS_ABOVE`] seconds have operations above it, and of so few seconds hardly all have some.
pub(crate) fn least_time(protocol: &mut Protocol, load: &LoadSpec, claims: &[Claim]) {
    if !(protocol.within).is_some_and(|within| within.chooses_time) {
        return;
    }
    let mut values = claims.iter().filter_map(|claim| claim.subject.value());
    let is_claimed = values.any(|value| matches!(value, Value::Latency { .. }));
    // Think times set most of the throughput, so that a gate tests the p99 too.
    let has_think = matches!(load, LoadSpec::Closed { think, .. } if !think.is_zero());
    let shortest = shortest(protocol);
    protocol.time = Some(match !protocol.short && (is_claimed || has_think) {
        true => shortest.max(SHORTEST),
        false => shortest,
    });
}

/// The slices of a timed load, which the key `by` requests. None for `"off"`, and for a mistake.
fn of_time(node: &Node, by: &str) -> Option<SliceSpec> {
    const EXAMPLE: &str = "slices = \"1s\"";
    match node.text(EXAMPLE)? {
        "off" => return None,
        "auto" => return Some(SliceSpec::Auto),
        "query" => {
            node.note(
                format!(
                    "slices = \"query\" is for rounds of queries, but \"{by}\" requests a timed load"
                ),
                "not for a timed load",
                "write a length such as slices = \"1s\"",
            );
            return None;
        }
        _ => {}
    }
    let length = node.duration(EXAMPLE)?;
    let allowed = SLICE_SHORTEST..=SLICE_LONGEST;
    if !allowed.contains(&length) {
        node.note(
            format!("slices of {} s", length.as_secs_f64()),
            "not such a length",
            "write a length from \"200ms\" to \"30s\", \"auto\" or \"off\"",
        );
        return None;
    }
    Some(SliceSpec::Time(length))
}

/// The slices of rounds. None for `"off"`, and for a mistake.
fn of_rounds(node: &Node) -> Option<SliceSpec> {
    match node.text("slices = \"query\"")? {
        "query" => return Some(SliceSpec::Query),
        "off" => {}
        other => node.note(
            format!("slices = \"{other}\" is for a timed load, and these are rounds of queries"),
            "not for rounds",
            "write slices = \"query\", with which servers take turns query by query, or \"off\"",
        ),
    }
    None
}

fn truth(section: &Section, key: &str) -> Option<bool> {
    let node = section.get(key)?;
    node.truth(&format!("{key} = true"))
}

fn in_rounds(protocol: &mut Protocol, section: &Section) {
    protocol.rounds = rounds(section).unwrap_or_else(|| protocol.rounds.clone());
    protocol.unit = section.read("unit", unit).unwrap_or(protocol.unit);
    let timeout = |node: &Node| node.duration("query_timeout = \"10m\"");
    protocol.query_timeout = section.read("query_timeout", timeout);
    let queries = |node: Node| names(&node, "queries = [\"Q1.1\"]");
    protocol.queries = section.get("queries").map_or(Vec::new(), queries);
    protocol.slices = section.read("slices", of_rounds);
}

/// `protocol = { rounds = ["cold"] }` of a level.
pub(crate) fn level(node: &Node) -> Option<Vec<RoundKind>> {
    let section = node.section("protocol = { rounds = [\"cold\"] }")?;
    for node in section.entries().filter(|node| node.key != "rounds") {
        match KEYS.contains(&node.key) {
            true => node.note(
                format!("\"{}\" cannot differ between trials", node.key),
                "not allowed in a level",
                "a level can change the rounds; write the rest in [protocol]",
            ),
            false => section.unknown_key("protocol", &node, &["rounds"]),
        }
    }
    rounds(&section)
}

fn rounds(section: &Section) -> Option<Vec<RoundKind>> {
    let rounds = section
        .get("rounds")?
        .list("rounds = [\"cold\", \"hot\", \"hot\"]")?;
    Some(rounds.iter().filter_map(round).collect())
}

fn round(node: &Node) -> Option<RoundKind> {
    let kinds = [("cold", RoundKind::Cold), ("hot", RoundKind::Hot)];
    node.one_of("the round", "rounds = [\"cold\", \"hot\", \"hot\"]", &kinds)
}

fn unit(node: &Node) -> Option<Unit> {
    let units = [("round", Unit::Round), ("query", Unit::Query)];
    node.one_of("the unit", "unit = \"round\"", &units)
}

fn warmup(node: &Node) -> Option<WarmupSpec> {
    let warmup = node.text("warmup = \"find\"")?.parse::<WarmupSpec>();
    let help = "write warmup = \"find\", \"10s\" or \"50%\"";
    node.noted(warmup, "not a warm-up", help)
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a warm-up: write \"find\", a duration such as \"10s\", or a share below 100% such as \"50%\""
)]
pub struct WarmupError(String);

impl std::str::FromStr for WarmupSpec {
    type Err = WarmupError;

    fn from_str(text: &str) -> Result<WarmupSpec, WarmupError> {
        if text == "find" {
            return Ok(WarmupSpec::Find);
        }
        if let Ok(fixed) = unit::duration(text) {
            return Ok(match fixed.is_zero() {
                true => WarmupSpec::None,
                false => WarmupSpec::Fixed(fixed),
            });
        }
        match unit::share(text) {
            Ok(share) if (0.0..1.0).contains(&share) => Ok(WarmupSpec::Share(share)),
            _ => Err(WarmupError(text.to_string())),
        }
    }
}

impl Protocol {
    /// Why its budget cannot choose, and the way out; None without a budget. The command line may change what the file says.
    pub fn refused_within(&self) -> Option<(&'static str, &'static str)> {
        let within = self.within?;
        Some(match self.slices {
            None => (
                "\"within\" plans loads in slices only",
                "write slices = \"1s\" too, or time and blocks instead",
            ),
            _ if !within.chooses_time && !within.chooses_blocks => (
                "\"within\" has nothing to choose: \"time\" and \"blocks\" are both given",
                "remove one of the three; blocks = { first = 3, most = 9, within = \"2h\" } has a limit of its own",
            ),
            _ if self.looks.is_some() || self.blocks < 2 && !within.chooses_blocks => (
                "\"within\" chooses the time for a fixed number of blocks, at least two",
                "write blocks = 5, or remove \"blocks\"",
            ),
            _ if matches!(self.warmup, WarmupSpec::Share(_)) => (
                "\"within\" cannot plan a warm-up that is a share of the time",
                "write a duration such as warmup = \"10s\"",
            ),
            _ => return None,
        })
    }

    /// The middle length of the slices of a timed load, or the least that it can be.
    pub fn slice_length(&self) -> Option<Duration> {
        match self.slices {
            Some(SliceSpec::Time(length)) => Some(length),
            Some(SliceSpec::Auto) => Some(SLICE_AUTO),
            Some(SliceSpec::Query) | None => None,
        }
    }

    /// The middle length up to which slices may become longer; None where it is fixed.
    pub fn slice_longest(&self) -> Option<Duration> {
        let is_auto = self.slices == Some(SliceSpec::Auto);
        is_auto.then(|| SLICE_LONGEST.min(self.measured() / Slices::MIN))
    }

    /// The measured part of a timed load, as far as the warm-up is known beforehand.
    pub fn measured(&self) -> Duration {
        let warmup = Duration::from_secs_f64(self.warmup_note().known_s());
        self.driven().saturating_sub(warmup)
    }

    /// Whether trials run a timed load rather than rounds.
    pub fn is_timed(&self) -> bool {
        self.time.is_some()
    }

    /// The duration of a timed load. A fixed warm-up is added to `time`; a share or a detected warm-up is part of it. Zero
    /// for rounds.
    pub fn driven(&self) -> Duration {
        let before = match self.warmup {
            WarmupSpec::Fixed(warmup) => warmup,
            _ => Duration::ZERO,
        };
        self.time.map_or(Duration::ZERO, |time| before + time)
    }

    /// The warm-up in the record: seconds from the first operation.
    pub fn warmup_note(&self) -> record::Warmup {
        match self.warmup {
            WarmupSpec::None => record::Warmup::Seconds(0.0),
            WarmupSpec::Fixed(warmup) => record::Warmup::Seconds(warmup.as_secs_f64()),
            WarmupSpec::Share(share) => {
                record::Warmup::Seconds(self.driven().as_secs_f64() * share)
            }
            WarmupSpec::Find => record::Warmup::Find,
        }
    }
}
