//! Which cells of a group take turns on one server.
//!
//! Purpose: cells that differ only in what each of their sessions sets need no second server, so that even the start is the same. Where
//! one could change the figures of another through the server, each has its own. Outside this module: the groups (`spec::plan`), the turns
//! (`run::measure::slices`).

use super::request::Request;
use crate::run::RunError;
use record::{Role, TrialKey};
use spec::listed;
use spec::memory::POOL_BYTES_DEFAULT;
use spec::plan::PlannedTrial;
use spec::{Observe, Pairs, Protocol, RoundKind, Setting, SliceSpec, setting_of};
use std::collections::BTreeSet;
use std::sync::Arc;
use workload::Workload;

const POOL: &str = "innodb_buffer_pool_size";
/// An answer that the server keeps for one session would be given to another one.
const QUERY_CACHE: [&str; 2] = ["query_cache_type", "query_cache_size"];
/// The default of all servers.
const CONNECTIONS_DEFAULT: u32 = 151;
/// The most connections that prony itself uses for a cell.
const OWN_CONNECTIONS: u32 = 16;
/// Data is estimated before it is loaded, and may be larger by a quarter.
const ESTIMATE: (u64, u64) = (5, 4);

/// A trial of a group.
pub(crate) struct Member<'t> {
    pub planned: &'t PlannedTrial,
    pub workload: Arc<dyn Workload>,
    /// The size of its data; 0 if it cannot be measured.
    pub data_bytes: u64,
}

impl<'t> Member<'t> {
    /// Before its data is loaded. None if its workload cannot be opened.
    pub(crate) fn estimated(request: &Request, planned: &'t PlannedTrial) -> Option<Member<'t>> {
        let workload = request.workload(planned).ok()?;
        let estimate = workload.data().map(|data| data.estimate());
        Some(Member {
            planned,
            data_bytes: estimate.unwrap_or_default().data_bytes / ESTIMATE.1 * ESTIMATE.0,
            workload,
        })
    }

    /// Whether it leaves a server as it found it, and finds it as if it were alone there. `cells` of its kind are connected.
    fn may_share(&self, cells: usize) -> bool {
        let settings = &self.planned.settings;
        let engine = self.workload.data().and_then(|data| data.engine());
        let pool_bytes = match setting_of(settings, POOL) {
            Some(pool) => pool.bytes(self.data_bytes).unwrap_or(0),
            None => POOL_BYTES_DEFAULT,
        };
        let connections = setting_of(settings, "max_connections");
        let connections = connections.map_or(Ok(CONNECTIONS_DEFAULT), |set| set.resolve(0).parse());
        let wanted = cells as u32 * (self.planned.load.clients() + OWN_CONNECTIONS);
        let caches = |pairs: &Pairs<Setting>| {
            let mut names = pairs.iter().map(|(name, _)| listed(name));
            names.any(|name| QUERY_CACHE.contains(&name.as_str()))
        };
        self.workload.only_reads()
            && engine.is_some_and(|engine| engine.eq_ignore_ascii_case("InnoDB"))
            && (1..=pool_bytes).contains(&self.data_bytes)
            && connections.is_ok_and(|most| wanted <= most)
            && !caches(settings)
            && !caches(&self.planned.session)
            // Each cold query restarts its server.
            && !self.planned.rounds.contains(&RoundKind::Cold)
    }

    /// The trial without what each session has to itself: its name, its session variables, and which plans are looked at.
    fn on_the_server(&self) -> PlannedTrial {
        PlannedTrial {
            key: TrialKey {
                levels: Vec::new(),
                role: Role::Measured,
                ..self.planned.key.clone()
            },
            session: Vec::new(),
            set_by_levels: BTreeSet::new(),
            observe: Observe::default(),
            ..self.planned.clone()
        }
    }
}

/// For each trial of a group the number of the first one on the same server: its own number where it has a server of its own.
///
/// The control shares a server only where all do: it shows the noise of the group's comparisons, and a start of its own adds to that. Cells
/// that differ in nothing have servers of their own, since all that they compare is starts.
pub(crate) fn hosts(protocol: &Protocol, group: &[Member]) -> Vec<usize> {
    // Otherwise one cell would read into memory what the next one finds there. Rounds have a pass that does not count.
    let is_warmed = protocol.slices == Some(SliceSpec::Query)
        || protocol.preload
        || protocol.warmup_note().known_s() > 0.0;
    let needs: Vec<PlannedTrial> = group.iter().map(Member::on_the_server).collect();
    let are_alike = needs.iter().all(|other| *other == needs[0]);
    let may_share = |number: usize| {
        let session = |number: usize| &group[number].planned.session;
        let mut alike = (0..group.len()).filter(|other| needs[*other] == needs[number]);
        is_warmed
            && (are_alike || !group[number].planned.key.is_control())
            && alike.any(|other| session(other) != session(number))
            && group[number].may_share(group.len())
    };
    let shares: Vec<bool> = (0..group.len()).map(may_share).collect();
    let is_with = |number: usize, other: usize| {
        shares[number] && shares[other] && needs[number] == needs[other]
    };
    let first = |number: usize| (0..number).find(|other| is_with(number, *other));
    let numbers = 0..group.len();
    numbers
        .map(|number| first(number).unwrap_or(number))
        .collect()
}

/// The trials of each group that have a server of their own, or are the first ones on a server: before their data is loaded.
pub(crate) fn owners(request: &Request, groups: Vec<Vec<PlannedTrial>>) -> Vec<Vec<PlannedTrial>> {
    let owners = groups.into_iter().map(|group| {
        let members = group
            .iter()
            .map(|planned| Member::estimated(request, planned));
        let hosts = members.collect::<Option<Vec<_>>>();
        let hosts = hosts.map(|members| self::hosts(&request.experiment.protocol, &members));
        let is_owner =
            |number: &usize| hosts.as_ref().is_none_or(|hosts| hosts[*number] == *number);
        let all = group.iter().enumerate();
        let owners = all.filter(|(number, _)| is_owner(number));
        owners.map(|(_, planned)| planned.clone()).collect()
    });
    owners.collect()
}

/// Whether cells of the run share a server.
///
/// # Errors
/// A matrix that cannot be planned.
pub(super) fn is_any_shared(request: &Request) -> Result<bool, RunError> {
    let count = |groups: &[Vec<PlannedTrial>]| groups.iter().map(Vec::len).sum::<usize>();
    let groups = request.plan()?.groups();
    let trials = count(&groups);
    Ok(count(&owners(request, groups)) < trials)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::read_on_server;
    use crate::run::tests::toy::Toy;

    /// The protocol of hot rounds, and of a timed load without a warm-up.
    const ROUNDS: &str = "rounds = ['hot']\nslices = 'query'\n";
    const TIMED: &str = "time = '20s'\nslices = '1s'\n";

    /// The hosts of the cells of the only group of an experiment, with 64 MiB of data.
    fn hosts_of(levels: &str, protocol: &str, toy: fn() -> Toy) -> Vec<usize> {
        let text = format!(
            "title = 't'\n[server.s]\nbuild = 'mariadb'\n{levels}\n[workload.ssb]\n[load.closed]\nclients = 1\n[protocol]\n{protocol}"
        );
        let experiment = read_on_server(&text);
        let plan = spec::plan::Plan::new(&experiment, 1).unwrap();
        let groups = plan.groups();
        let members = groups[0].iter().map(|planned| Member {
            planned,
            workload: Arc::new(toy()),
            data_bytes: 64 << 20,
        });
        let mut members: Vec<Member> = members.collect();
        // The control has a drawn place.
        members.sort_by_key(|member| member.planned.key.is_control());
        members.sort_by_key(|member| member.planned.key.level("variant").map(String::from));
        hosts(&experiment.protocol, &members)
    }

    fn of_rounds(levels: &str) -> Vec<usize> {
        hosts_of(levels, ROUNDS, Toy::rounds)
    }

    const SESSIONS: &str = "[variant.a]\n[variant.b]\nsession = { optimizer_switch = 'mrr=off' }\n";

    #[test]
    fn cells_that_differ_in_session_variables_share_a_server_with_the_control() {
        let two_blocks = format!("{ROUNDS}blocks = 2\n");
        assert_eq!(of_rounds(SESSIONS), [0, 0]);
        assert_eq!(hosts_of(SESSIONS, &two_blocks, Toy::rounds), [0, 0, 0]);
    }

    #[test]
    fn a_global_setting_has_a_server_of_its_own_and_so_has_the_control_then() {
        let global = "[variant.c]\nsettings = { innodb_change_buffering = 'none' }\n";
        let levels = format!("{SESSIONS}{global}");
        let two_blocks = format!("{ROUNDS}blocks = 2\n");
        assert_eq!(of_rounds(&levels), [0, 0, 2]);
        // a, its control, b, c.
        assert_eq!(hosts_of(&levels, &two_blocks, Toy::rounds), [0, 1, 0, 3]);
        assert_eq!(
            of_rounds("[variant.a]\n[variant.b]\n"),
            [0, 1],
            "they compare starts"
        );
    }

    #[test]
    fn what_one_cell_would_leave_to_the_next_gives_each_a_server() {
        let in_all = |setting: &str| format!("[settings]\n{setting}\n{SESSIONS}");
        assert_eq!(
            of_rounds(&in_all("innodb_buffer_pool_size = '64M'")),
            [0, 0]
        );
        assert_eq!(
            of_rounds(&in_all("innodb_buffer_pool_size = 'data / 2'")),
            [0, 1]
        );
        assert_eq!(of_rounds(&in_all("max_connections = 20")), [0, 1]);
        assert_eq!(of_rounds(&in_all("query_cache_type = 1")), [0, 1]);
        let cold = "unit = 'query'\nslices = 'query'\n";
        assert_eq!(hosts_of(SESSIONS, cold, Toy::rounds), [0, 1]);
        let on_myisam: fn() -> Toy = || {
            let mut toy = Toy::rounds();
            toy.data.as_mut().unwrap().engine = "MyISAM";
            toy
        };
        assert_eq!(hosts_of(SESSIONS, ROUNDS, on_myisam), [0, 1]);
    }

    #[test]
    fn a_timed_load_shares_a_server_where_it_only_reads_what_is_in_memory() {
        let reads: fn() -> Toy = || Toy {
            only_reads: true,
            ..Toy::timed()
        };
        for warm in ["warmup = '2s'\n", "preload = true\n"] {
            let protocol = format!("{TIMED}{warm}");
            assert_eq!(hosts_of(SESSIONS, &protocol, reads), [0, 0]);
            assert_eq!(
                hosts_of(SESSIONS, &protocol, Toy::timed),
                [0, 1],
                "it may write"
            );
        }
        assert_eq!(hosts_of(SESSIONS, TIMED, reads), [0, 1]);
    }
}
