//! Checks `limits.memory` against what the servers need.
//!
//! Purpose: a server that the kernel would kill for its memory is refused before anything is loaded, at its place in the file and with
//! the figures. Boundaries: `settings` compares pools with the machine; `host` sets the limit.

use super::settings::{POOLS, rough};
use crate::experiment::place::{Late, Path, Requested, answer, path};
use crate::experiment::{Experiment, SliceSpec, Unit};
use crate::file::mistake::SpecError;
use crate::machine::limits::Memory;
use crate::plan::PlannedTrial;
use crate::server::build::BuildSpec;
use crate::text::setting::{Setting, listed, setting_of};

const MIB: u64 = 1 << 20;

/// Memory that the server of a trial takes beside its pools once it has started: a coarse lower bound, measured on a small pool
/// (docs/METHODOLOGY-APPENDIX.md, A11). From MySQL 5.6 on, most of it is the performance schema.
fn own_bytes(trial: &PlannedTrial) -> u64 {
    let Some(server) = &trial.server else {
        return 0;
    };
    let mib = match &server.build {
        BuildSpec::Mysql(version) => match (leading(version), has_performance_schema(trial)) {
            (version, _) if version < (5, 6) => 20,
            (version, true) if version < (8, 0) => 400,
            (version, false) if version < (8, 0) => 20,
            (_, true) => 300,
            (_, false) => 100,
        },
        BuildSpec::MariaDb(_) => 70,
        BuildSpec::Path(_) | BuildSpec::External(_) | BuildSpec::Sqlite => 0,
    };
    mib * MIB
}

/// Whether the trial leaves it on, as it is by default.
fn has_performance_schema(trial: &PlannedTrial) -> bool {
    !setting_of(&trial.settings, "performance_schema").is_some_and(Setting::is_off)
}

/// `5.6.14` as (5, 6).
fn leading(version: &str) -> (u32, u32) {
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// A trial whose server does not fit into its limit.
struct Misfit<'t> {
    trial: &'t PlannedTrial,
    data_bytes: u64,
    limit: Memory,
    needed_bytes: u64,
    /// `innodb_buffer_pool_size = 128M` for each pool that the trial sets.
    pools: Vec<String>,
}

/// Checks the memory limit of every trial; `data_bytes` is the size of its data, which relative values refer to.
///
/// # Errors
/// Lists every limit below the pools of a server and what it takes beside them. A limit that several trials share is listed once,
/// with the trial that exceeds it most.
pub fn fits<'t>(
    experiment: &Experiment,
    trials: impl Iterator<Item = (&'t PlannedTrial, u64)>,
) -> Result<(), SpecError> {
    let mut found: Vec<(Path, Misfit)> = Vec::new();
    for (trial, data_bytes) in trials {
        let Some(misfit) = misfit(trial, data_bytes) else {
            continue;
        };
        let place = Requested::Memory.path(experiment, &trial.key);
        match found.iter_mut().find(|(known, _)| *known == place) {
            Some((_, known)) if known.needed_bytes >= misfit.needed_bytes => {}
            Some((_, known)) => *known = misfit,
            None => found.push((place, misfit)),
        }
    }
    let late = found.into_iter().map(|(path, misfit)| misfit.late(path));
    answer(experiment, late.collect())
}

/// Checks that the servers of each group, which run beside each other, fit into the machine; one that takes no turns is an ordinary
/// trial. `groups` have their trials with the sizes of their data; `machine_bytes` is 0 where it is unknown.
///
/// # Errors
/// The largest group that needs more than the machine has.
pub fn fit_together(
    experiment: &Experiment,
    groups: &[Vec<(&PlannedTrial, u64)>],
    machine_bytes: u64,
) -> Result<(), SpecError> {
    let needed = |group: &Vec<(&PlannedTrial, u64)>| -> u64 {
        let each = group.iter();
        each.map(|(trial, data_bytes)| needed_bytes(experiment, trial, *data_bytes))
            .sum()
    };
    let in_turn = groups.iter().filter(|group| group.len() > 1);
    let sized = in_turn.map(|group| (group.len(), needed(group)));
    let largest = sized.max_by_key(|(_, needed_bytes)| *needed_bytes);
    let is_too_large = |needed_bytes: u64| machine_bytes > 0 && needed_bytes > machine_bytes;
    let too_large = largest.filter(|(_, needed_bytes)| is_too_large(*needed_bytes));
    let late = too_large.map(|(servers, needed_bytes)| Late {
        path: path(&["protocol", "slices"]),
        says: format!(
            "the {servers} servers that take turns need about {} of memory together, and this machine has {}",
            rough(needed_bytes),
            rough(machine_bytes)
        ),
        label: "too much memory",
        help: "use smaller buffer pools, compare fewer cells, set innodb_flush_method = \"O_DIRECT\" where rounds read through the page cache, \
               or write slices = \"off\" in [protocol]"
            .into(),
    });
    answer(experiment, late.into_iter().collect())
}

/// What a server takes beside others, at most its limit.
fn needed_bytes(experiment: &Experiment, trial: &PlannedTrial, data_bytes: u64) -> u64 {
    let pools = pool_bytes(trial, data_bytes);
    let needed = pools + own_bytes(trial);
    // A limit below that is refused by `fits`.
    let limit = trial.limits.memory.flatten();
    let limit = limit.map_or(u64::MAX, |limit| limit.bytes(data_bytes).max(needed));
    let cached = match reads_again(experiment, trial) && pools < data_bytes {
        true => data_bytes,
        false => 0,
    };
    limit.min(needed + cached)
}

/// Whether hot rounds read pages from the page cache again after the turns of other servers, which must not push them out.
fn reads_again(experiment: &Experiment, trial: &PlannedTrial) -> bool {
    let protocol = &experiment.protocol;
    protocol.slices == Some(SliceSpec::Query) && protocol.unit == Unit::Round && !is_direct(trial)
}

/// Whether InnoDB reads its files past the page cache, by the settings of the trial or by default.
fn is_direct(trial: &PlannedTrial) -> bool {
    let set = |wanted: &str| setting_of(&trial.settings, wanted);
    let is_buffered = set("innodb_data_file_buffering").is_some_and(|value| !value.is_off());
    let method = set("innodb_flush_method").map(|value| value.to_string().to_ascii_uppercase());
    let is_direct = match method {
        // O_DIRECT is 4, and O_DIRECT_NO_FSYNC is 5.
        Some(value) => value.starts_with("O_DIRECT") || ["4", "5"].contains(&value.as_str()),
        None => is_direct_by_default(trial),
    };
    is_direct && !is_buffered
}

/// By the manuals of MySQL 8.4 and MariaDB, `innodb_flush_method`. The help text of MySQL 9.7 has `fsync` as default, and it uses O_DIRECT.
fn is_direct_by_default(trial: &PlannedTrial) -> bool {
    match trial.server.as_ref().map(|server| &server.build) {
        Some(BuildSpec::Mysql(version)) => leading(version) >= (8, 4),
        // An installed one, without a version in the file, may be older.
        Some(BuildSpec::MariaDb(Some(version))) => leading(version) >= (10, 6),
        _ => false,
    }
}

/// What a server has where the trial sets no buffer pool: the default of all servers.
pub const POOL_BYTES_DEFAULT: u64 = 128 * MIB;

/// The pools that the trial sets, each with its value and its bytes.
fn pools(trial: &PlannedTrial, data_bytes: u64) -> impl Iterator<Item = (&str, &Setting, u64)> {
    let own = trial.settings.iter();
    let pools = own.filter(|(name, _)| POOLS.contains(&listed(name).as_str()));
    pools.filter_map(move |(name, value)| Some((name.as_str(), value, value.bytes(data_bytes)?)))
}

/// What the pools of a trial take, those that it does not set too.
fn pool_bytes(trial: &PlannedTrial, data_bytes: u64) -> u64 {
    let set: u64 = pools(trial, data_bytes).map(|(.., bytes)| bytes).sum();
    match setting_of(&trial.settings, POOLS[0]) {
        Some(_) => set,
        None => set + POOL_BYTES_DEFAULT,
    }
}

fn misfit(trial: &PlannedTrial, data_bytes: u64) -> Option<Misfit<'_>> {
    let limit = trial.limits.memory.flatten()?;
    if matches!(limit, Memory::OfData(_)) && data_bytes == 0 {
        return None;
    }
    let (mut pool_bytes, mut shown) = (0, Vec::new());
    for (name, value, bytes) in pools(trial, data_bytes) {
        pool_bytes += bytes;
        shown.push(pool(name, value, bytes));
    }
    let needed_bytes = pool_bytes + own_bytes(trial);
    (limit.bytes(data_bytes) < needed_bytes).then_some(Misfit {
        trial,
        data_bytes,
        limit,
        needed_bytes,
        pools: shown,
    })
}

/// `innodb_buffer_pool_size = data / 8 (75M)`
fn pool(name: &str, value: &Setting, bytes: u64) -> String {
    match value {
        Setting::Literal(text) => format!("{name} = {text}"),
        Setting::OfData(_) => format!("{name} = {value} ({})", rough(bytes)),
    }
}

impl Misfit<'_> {
    fn late(&self, path: Path) -> Late {
        let limit = match self.limit {
            Memory::Bytes(bytes) => rough(bytes),
            Memory::OfData(factor) => {
                let bytes = self.limit.bytes(self.data_bytes);
                format!("{} ({})", Setting::OfData(factor), rough(bytes))
            }
        };
        let needed = rough(self.needed_bytes + MIB - 1);
        let fix = match self.limit {
            Memory::Bytes(_) => format!("use at least {needed}"),
            Memory::OfData(_) => format!(
                "with {} of data, use at least data * {:.2}, or a larger --scale",
                rough(self.data_bytes),
                (self.needed_bytes as f64 / self.data_bytes.max(1) as f64 * 100.0).ceil() / 100.0
            ),
        };
        Late {
            path,
            says: format!(
                "limits.memory = {limit} is too small for {}: its server needs about {needed}",
                self.trial.key.label()
            ),
            label: "too small",
            help: format!("{}; {fix}", self.parts()),
        }
    }

    /// `innodb_buffer_pool_size = 128M, and about 60M for mariadb itself`
    fn parts(&self) -> String {
        let (server, own) = (self.trial.server.as_ref(), own_bytes(self.trial));
        let own = server
            .filter(|_| own > 0)
            .map(|server| format!("about {} for {} itself", rough(own), server.build));
        let parts: Vec<String> = self.pools.iter().cloned().chain(own).collect();
        parts.join(", and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message for an experiment on `mysql@5.6.14` with this text and so much data; empty if every limit is large enough.
    fn message(text: &str, data_bytes: u64) -> String {
        let source = format!(
            "title = \"t\"\n[server.\"5.6\"]\nbuild = \"mysql@5.6.14\"\n[workload.ssb]\n{text}"
        );
        let check = |_: &str, _: &crate::Section| Some(crate::TargetKind::Server);
        let experiment = crate::parse("x", "x.toml", &source, &check).unwrap();
        let trials = crate::plan::expand(&experiment, 1).unwrap();
        let sized = trials.iter().map(|trial| (trial, data_bytes));
        match fits(&experiment, sized) {
            Ok(()) => String::new(),
            Err(error) => {
                let mistake = &error.mistakes()[0];
                format!("{}: {}", &source[mistake.at()], mistake.sentence())
            }
        }
    }

    #[test]
    fn a_limit_below_the_pool_and_the_server_is_refused_at_its_place() {
        let text = "[limits]\nmemory = \"128M\"\n[settings]\ninnodb_buffer_pool_size = \"64M\"\n";
        let without = format!("{text}performance_schema = 0\n");
        assert_eq!(
            message(text, 0),
            "memory = \"128M\": limits.memory = 128M is too small for 5.6: its server needs about 464M \
             (innodb_buffer_pool_size = 64M, and about 400M for mysql@5.6.14 itself; use at least 464M)"
        );
        assert_eq!(message(&text.replace("128M", "464M"), 0), "");
        assert_eq!(message(&without, 0), "");
    }

    #[test]
    fn a_limit_of_a_level_and_values_relative_to_the_data_are_resolved() {
        let text = "[variant.limited]\nlimits = { memory = \"data / 2\" }\n\
                    settings = { innodb_buffer_pool_size = \"data / 8\" }\n[variant.free]\n";
        let says = message(text, 80 << 20);
        assert!(
            says.starts_with(
                "memory = \"data / 2\": limits.memory = data / 2 (40M) is too small for 5.6 limited"
            ),
            "{says}"
        );
        assert!(
            says.contains("innodb_buffer_pool_size = data / 8 (10M)"),
            "{says}"
        );
        assert!(
            says.contains("use at least data * 5.13, or a larger --scale"),
            "{says}"
        );
        assert_eq!(message(text, 2000 << 20), "");
    }

    /// The message for two servers that take turns, each with 1 GiB of data, on a machine with 2 GiB; empty if they fit.
    fn together(protocol: &str, settings: &str) -> String {
        together_of(["mariadb", "mariadb@10.2.11"], protocol, settings)
    }

    fn together_of([a, b]: [&str; 2], protocol: &str, settings: &str) -> String {
        let source = format!(
            "title = \"t\"\n[server.a]\nbuild = \"{a}\"\n[server.b]\nbuild = \"{b}\"\n\
             [settings]\n{settings}\n[workload.ssb]\n[protocol]\nslices = \"query\"\n{protocol}\n"
        );
        let check = |_: &str, _: &crate::Section| Some(crate::TargetKind::Server);
        let experiment = crate::parse("x", "x.toml", &source, &check).unwrap();
        let groups = crate::plan::Plan::new(&experiment, 1).unwrap().groups();
        let sized = |trial| (trial, 1 << 30);
        let sized = groups.iter().map(|group| group.iter().map(sized).collect());
        let sized: Vec<Vec<(&PlannedTrial, u64)>> = sized.collect();
        let fits = fit_together(&experiment, &sized, 2 << 30);
        fits.err().map_or(String::new(), |error| error.text(None))
    }

    #[test]
    fn hot_rounds_in_turn_need_the_page_cache_for_what_their_pools_do_not_hold() {
        let (hot, cold) = ("rounds = [\"hot\"]", "unit = \"query\"");
        let says = together(hot, "");
        assert!(
            says.contains("need about 2444M of memory together"),
            "{says}"
        );
        assert_eq!(together(cold, ""), "", "all rounds of a query are one turn");
        assert_eq!(together(hot, "innodb_flush_method = \"O_DIRECT\""), "");
        let pool = "innodb_buffer_pool_size = \"1G\"";
        assert!(together(hot, pool).contains("need about 2188M"));
        let limit = "\n[limits]\nmemory = \"800M\"\n";
        assert_eq!(together(hot, limit), "", "a server keeps to its limit");
    }

    #[test]
    fn servers_that_bypass_the_page_cache_by_default_need_none_of_it() {
        let hot = "rounds = [\"hot\"]";
        let newer = |settings: &str| together_of(["mysql@9.7", "mariadb@11.4.5"], hot, settings);
        assert_eq!(newer(""), "");
        for buffered in [
            "innodb_flush_method = \"fsync\"",
            "innodb_data_file_buffering = 1",
        ] {
            let says = newer(buffered);
            assert!(says.contains("of memory together"), "{buffered}: {says}");
        }
        let older = together_of(["mysql@8.0.33", "mariadb@10.2.11"], hot, "");
        assert!(older.contains("set innodb_flush_method"), "{older}");
    }
}
