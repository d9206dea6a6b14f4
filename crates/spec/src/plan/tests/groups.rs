//! Groups of cells that take turns in slices.

use super::parse;
use crate::check::{memory, slices};
use crate::plan::{Finished, MatrixPart, Plan, PlannedTrial, tested};
use crate::{Experiment, SpecError};
use record::TrialKey;
use std::collections::{BTreeMap, BTreeSet};

/// Two servers and `further` factors, with `claims`.
fn experiment(protocol: &str, further: &str, claims: &str) -> Experiment {
    parse(&format!(
        "title = 't'\n[server.a]\nbuild = 'mariadb'\n[server.b]\nbuild = 'mysql@9.7'\n{further}\n[workload.oltp]\n\
         [load.closed]\nclients = [8, 1]\n[protocol]\ntime = '60s'\nslices = '1s'\n{protocol}\n{claims}"
    ))
}

fn claim(of: &str, to: &str) -> String {
    format!(
        "[[claim]]\nsays = 's'\nvalue = 'throughput'\nof = {{ {of} }}\nto = {{ {to} }}\nat_least = 1.1\n"
    )
}

fn names(group: &[PlannedTrial]) -> Vec<String> {
    let mut names: Vec<String> = group.iter().map(|trial| trial.key.label()).collect();
    names.sort();
    names
}

fn groups(experiment: &Experiment) -> Vec<Vec<String>> {
    let plan = Plan::new(experiment, 3).unwrap();
    let mut groups: Vec<Vec<String>> = plan.groups().iter().map(|group| names(group)).collect();
    groups.sort();
    groups
}

#[test]
fn without_claims_the_servers_of_each_load_take_turns_with_the_control() {
    let both = experiment("blocks = 2", "", "");
    assert_eq!(
        groups(&both),
        [vec!["a 1", "a 1 (control)", "b 1"], vec!["a 8", "b 8"]]
    );
    assert_eq!(Plan::new(&both, 3).unwrap().servers_at_once(), 3);
}

#[test]
fn without_claims_every_further_server_is_tested_at_every_load() {
    let of_block = |experiment: &Experiment| {
        let plan = Plan::new(experiment, 3).unwrap();
        let block = plan.trials().filter(|trial| trial.key.block == 0);
        tested(experiment, &Vec::from_iter(block))
    };
    assert_eq!(of_block(&experiment("blocks = 2", "", "")), 2);
    let one = claim("server = 'b'", "server = 'a'");
    assert_eq!(of_block(&experiment("blocks = 2", "", &one)), 1);
    // A gate tests the p99 too.
    let thinking = parse(
        "title = 't'\n[server.a]\nbuild = 'mariadb'\n[server.b]\nbuild = 'mysql@9.7'\n[workload.oltp]\n\
         [load.closed]\nclients = 8\nthink = '10ms'\n[protocol]\ntime = '60s'\nslices = '1s'\nblocks = 2\n",
    );
    assert_eq!(of_block(&thinking), 2);
}

#[test]
fn cells_of_a_claim_take_turns_and_a_cell_without_one_is_alone() {
    let further = "[variant.x]\n[variant.y]\n[variant.z]\n";
    let claims = claim("server = 'a', variant = 'x'", "server = 'a', variant = 'y'");
    let found = groups(&experiment("", further, &claims));
    assert_eq!(found.len(), 10, "{found:?}");
    for clients in ["1", "8"] {
        let pair = vec![format!("a x, {clients}"), format!("a y, {clients}")];
        assert!(found.contains(&pair), "{found:?}");
    }
}

#[test]
fn a_group_has_at_most_four_cells_the_most_alike_first() {
    let further = "[variant.u]\n[variant.v]\n[variant.w]\n[variant.x]\n[variant.y]\n";
    let found = groups(&experiment(
        "",
        further,
        &claim("server = 'b'", "server = 'a'"),
    ));
    assert!(found.iter().all(|group| group.len() <= 4), "{found:?}");
    for variant in ["u", "v", "w", "x", "y"] {
        let of = |server: &str| format!("{server} {variant}, 8");
        let has = |group: &&Vec<String>| group.contains(&of("a")) && group.contains(&of("b"));
        assert!(
            found.iter().any(|group| has(&group)),
            "{variant}: {found:?}"
        );
    }
}

#[test]
fn a_group_is_planned_finished_and_divided_as_a_whole() {
    let both = experiment("blocks = 3", "", "");
    let plan = Plan::new(&both, 3).unwrap();
    let groups = plan.group_numbers();
    let mut finished: Vec<Finished> = Vec::new();
    let mut sizes = Vec::new();
    loop {
        let unit = plan.next_unit(&finished, &|_| Vec::new());
        let Some(first) = unit.first() else {
            break;
        };
        let keys: Vec<TrialKey> = unit.iter().map(|trial| trial.key.clone()).collect();
        let of_plan = groups
            .values()
            .filter(|number| **number == groups[&first.key]);
        assert_eq!(of_plan.count(), keys.len());
        assert!(keys.iter().all(|key| groups[key] == groups[&first.key]));
        sizes.push(keys.len());
        finished.extend(
            keys.into_iter()
                .map(|key| Finished::without_figures(key, true)),
        );
    }
    sizes.sort_unstable();
    assert_eq!(
        (sizes, finished.len()),
        (vec![2, 2, 2, 3, 3, 3], plan.len())
    );
    for part in ["1/2", "2/2"] {
        let part: MatrixPart = part.parse().unwrap();
        let plan = Plan::of_part(&both, 3, Some(part)).unwrap();
        // Each part has both groups, in one block or another.
        assert_eq!((plan.groups().len(), plan.servers_at_once()), (2, 3));
        let groups = plan.group_numbers();
        assert_eq!(groups.len(), plan.trials().count());
        for number in groups.values() {
            let group = groups.iter().filter(|(_, other)| *other == number);
            let servers = group.filter(|(key, _)| !key.is_control());
            assert_eq!(servers.count(), 2, "{groups:?}");
        }
    }
}

#[test]
fn a_control_that_its_group_was_measured_without_is_not_measured_alone() {
    let one = experiment("", "", "");
    let of_one = Plan::new(&one, 3).unwrap();
    let keys = of_one.trials().map(|trial| trial.key);
    let finished: Vec<Finished> = keys
        .map(|key| Finished::without_figures(key, true))
        .collect();
    assert!(finished.iter().all(|trial| !trial.key.is_control()));
    let further = experiment("blocks = 2", "", "");
    let plan = Plan::new(&further, 3).unwrap();
    let next = plan.next_unit(&finished, &|_| Vec::new());
    assert!(next.iter().all(|trial| trial.key.block == 1), "{next:?}");
    let left = plan.until_look(1, &finished, &|_| Vec::new());
    assert_eq!(left.len(), 5, "{left:?}");
}

#[test]
fn the_control_has_every_place_in_the_order_of_its_group() {
    let both = experiment("blocks = 20", "", "");
    let plan = Plan::new(&both, 3).unwrap();
    let keys = plan.trials().map(|trial| trial.key);
    let keys: Vec<TrialKey> = keys.collect();
    let groups = plan.group_numbers();
    let place = |control: &TrialKey| {
        let mut group = keys.iter().filter(|key| groups[*key] == groups[control]);
        group.position(|key| key == control)
    };
    let controls = keys.iter().filter(|key| key.is_control());
    let places: BTreeSet<Option<usize>> = controls.map(place).collect();
    assert_eq!(places, BTreeSet::from([Some(0), Some(1), Some(2)]));
}

#[test]
fn servers_that_differ_in_a_setting_about_time_by_default_are_noticed() {
    let server = |value: &str| {
        let settings = ["innodb_old_blocks_time", "version"];
        BTreeMap::from(settings.map(|name| (name.to_string(), value.to_string())))
    };
    let (old, new) = (server("0"), server("1000"));
    let says = slices::differing(&[&old, &new, &old]);
    let own = "innodb_old_blocks_time, here 1000 (its";
    assert!(says[1].contains(own), "{says:?}");
    assert_eq!(says[0], says[2]);
    assert!(slices::differing(&[&old, &old, &BTreeMap::new()]).is_empty());
}

#[test]
fn a_cell_that_takes_no_turns_needs_no_memory_beside_others() {
    let further = "[variant.x]\n[variant.y]\n[variant.large]\nsettings = { innodb_buffer_pool_size = '64G' }\n";
    let claims = claim("server = 'a', variant = 'x'", "server = 'a', variant = 'y'");
    let experiment = experiment("", further, &claims);
    let groups = Plan::new(&experiment, 3).unwrap().groups();
    let sized: Vec<Vec<(&PlannedTrial, u64)>> = groups
        .iter()
        .map(|group| group.iter().map(|trial| (trial, 0)).collect())
        .collect();
    let refused = |machine_bytes: u64| {
        let refused = memory::fit_together(&experiment, &sized, machine_bytes).err();
        refused.map_or(String::new(), |error| error.text(None))
    };
    assert_eq!(refused(8 << 30), "");
    let says = refused(300 << 20);
    assert!(
        says.contains("the 2 servers that take turns need"),
        "{says}"
    );
}

#[test]
fn slices_without_anything_to_take_turns_are_refused() {
    let claims = claim("server = 'a', clients = 1", "server = 'a', clients = 8");
    // From two blocks on there is a control.
    for protocol in ["", "blocks = 3"] {
        let says = refused(&experiment(protocol, "", &claims));
        assert!(says.contains("slices would have no effect"), "{says}");
        assert!(says.contains("or write slices = \"off\""), "{says}");
    }
    assert_eq!(refused(&experiment("", "", "")), "");
}

/// The messages for an experiment; empty if it can be measured in slices.
fn refused(experiment: &Experiment) -> String {
    let groups = Plan::new(experiment, 3).unwrap().groups();
    let refused = slices::check(experiment, &groups).err();
    refused.map_or(String::new(), |error| error.text(None))
}

#[test]
fn settings_about_time_may_be_set_but_not_differ_within_a_group() {
    let of = |x: &str, y: &str| {
        let further =
            format!("[variant.x]\nsettings = {{ {x} }}\n[variant.y]\nsettings = {{ {y} }}\n");
        let claims = claim("server = 'a', variant = 'x'", "server = 'a', variant = 'y'");
        refused(&experiment("", &further, &claims))
    };
    let io = "innodb_io_capacity = 100";
    assert_eq!(of(io, io), "");
    assert_eq!(of("innodb_doublewrite = 0", ""), "");
    let says = of("innodb_max_dirty_pages_pct_lwm = 5", "");
    assert!(
        says.contains("its second is over at once after a pause"),
        "{says}"
    );
    let pool = "thread_pool_idle_timeout = 1";
    assert!(of(pool, "").contains("manual, Thread Pool System and Status Variables"));
    let spins = "innodb_log_spin_cpu_abs_lwm = 0";
    assert!(of(spins, "").contains("measures its CPU use with pauses"));
    assert_eq!(of("binlog_expire_logs_seconds = 60", ""), "");
    for (x, y) in [
        (io, ""),
        (io, "innodb-io-capacity = 200"),
        (io, "loose_innodb_io_capacity = 200"),
    ] {
        let says = of(x, y);
        assert!(
            says.contains("innodb_io_capacity differs between a x"),
            "{says}"
        );
        assert!(says.contains("or write slices = \"off\""), "{says}");
    }
}

#[test]
fn settings_about_time_of_sessions_may_not_differ_behind_one_of_the_server() {
    let of = |x: u32, y: u32| {
        let further = format!(
            "[settings]\ninformation_schema_stats_expiry = 500\n\
             [variant.x]\nsession = {{ information_schema_stats_expiry = {x} }}\n\
             [variant.y]\nsession = {{ information_schema_stats_expiry = {y} }}\n"
        );
        let claims = claim("server = 'a', variant = 'x'", "server = 'a', variant = 'y'");
        refused(&experiment("", &further, &claims))
    };
    assert_eq!(of(100, 100), "");
    let says = of(0, 100);
    let differs = "information_schema_stats_expiry differs between a x";
    assert!(says.contains(differs), "{says}");
}

#[test]
fn timeouts_that_a_pause_may_reach_are_refused_in_any_cell() {
    let of = |setting: &str| {
        let further = format!(
            "[variant.x]\nsettings = {{ {setting} }}\n[variant.y]\nsettings = {{ {setting} }}\n"
        );
        let claims = claim("server = 'a', variant = 'x'", "server = 'a', variant = 'y'");
        refused(&experiment("", &further, &claims))
    };
    for (setting, says) in [
        ("idle_transaction_timeout = 1", "the server ends it"),
        (
            "event_scheduler = 'ON'",
            "more often in each measured second",
        ),
        (
            "wait_timeout = 60",
            "wait_timeout = 60 does not go with slices",
        ),
        ("wait_timeout = 0", "does not go with slices"),
        ("loose_wait_timeout = 60", "does not go with slices"),
        ("innodb_fatal_semaphore_wait_threshold = 5", "ends itself"),
    ] {
        let found = of(setting);
        assert!(found.contains(says), "{setting}: {found}");
    }
    for setting in [
        "idle_transaction_timeout = 0",
        "event_scheduler = 'OFF'",
        "wait_timeout = 28800",
        "innodb_fatal_semaphore_wait_threshold = 600",
        "interactive_timeout = 1",
    ] {
        assert_eq!(of(setting), "", "{setting}");
    }
}

/// Two servers whose rounds of queries may take turns.
fn of_rounds(protocol: &str, rest: &str) -> Result<Experiment, SpecError> {
    crate::tests::read_on_server(&format!(
        "title = 't'\n[server.a]\nbuild = 'mariadb'\n[server.b]\nbuild = 'mysql@9.7'\n[workload.ssb]\nscale = 1\n\
         [protocol]\n{protocol}\n{rest}"
    ))
}

#[test]
fn rounds_take_turns_query_by_query_in_groups_as_loads_do() {
    let both = of_rounds("slices = 'query'\nrounds = ['hot']\nblocks = 2", "").unwrap();
    assert_eq!(groups(&both), [vec!["a", "a (control)", "b"]]);
    let off = of_rounds("slices = 'off'", "").unwrap();
    assert_eq!(off.protocol.slices, None);
}

#[test]
fn rounds_that_cannot_take_turns_are_refused() {
    let hot = "rounds = ['hot', 'hot']";
    // A claim on plans alone compares nothing.
    let plan = "[[claim]]\nsays = 's'\nfinds = 'plan changed'\nof = { server = 'a' }\n\
                [[claim]]\nsays = 'r'\nvalue = 'elapsed'\nat_least = 1.1\n\
                of = { server = 'b', round = 'hot' }\nto = { server = 'a', round = 'hot' }\n";
    let event = "[[event]]\nat = '1s'\nsql = 'flush logs'\n";
    let levels = "[variant.x]\n[variant.y]\nprotocol = { rounds = ['hot'] }\n";
    let settings = "[variant.x]\n[variant.y]\nsettings = { innodb_old_blocks_time = 1 }\n";
    for (protocol, rest, says) in [
        (hot, "", ""),
        ("unit = 'query'", "", ""),
        (hot, "[limits]\nmemory = '1G'\n", ""),
        (hot, plan, ""),
        ("", "", "a cold round of all queries empties the page cache"),
        (
            hot,
            "[load.closed]\nclients = 2\n",
            "2 clients run their queries at the same time",
        ),
        (hot, levels, "have different rounds"),
        (hot, event, "events are due by the clock"),
        (hot, settings, "innodb_old_blocks_time differs between"),
    ] {
        let found = refused(&of_rounds(&format!("slices = 'query'\n{protocol}"), rest).unwrap());
        assert_eq!(found.is_empty(), says.is_empty(), "{found}");
        assert!(found.contains(says), "{says}: {found}");
        let has_way_out = found.contains("or write slices = \"off\" in [protocol]");
        assert!(says.is_empty() || has_way_out, "{found}");
    }
}

#[test]
fn slices_of_the_other_kind_name_the_right_ones() {
    for (protocol, says, way_out) in [
        (
            "slices = '1s'",
            "is for a timed load",
            "write slices = \"query\"",
        ),
        (
            "slices = 'query'\nwithin = '10m'",
            "but \"within\" requests a timed load",
            "write a length such as slices = \"1s\"",
        ),
        (
            "slices = 'query'\ntime = '60s'",
            "is for rounds of queries",
            "write a length such as slices = \"1s\"",
        ),
    ] {
        let found = of_rounds(protocol, "").unwrap_err().text(None);
        assert!(found.contains(says) && found.contains(way_out), "{found}");
    }
}
