//! `[load]` and the keys of `[protocol]` that go with it.

use super::{RIGHT, read, shown};
use crate::check::timed;
use crate::experiment::event::EventKind;
use crate::{
    ArrivalsSpec, Experiment, LoadSpec, OpenSpec, QueueSpec, RateSpec, SearchSpec, Threshold,
    WarmupSpec, WhenFull,
};
use record::{Finding, LatencyKind, Percentile, Subject, Value};
use std::time::Duration;

fn right(added: &str) -> Experiment {
    read(&format!("{RIGHT}{added}")).unwrap_or_else(|error| panic!("{}", shown(&error)))
}

fn open(added: &str) -> OpenSpec {
    match right(&format!("[load.open]\n{added}")).load {
        LoadSpec::Open(open) => open,
        closed => panic!("{closed:?}"),
    }
}

fn levels(experiment: &Experiment, factor: &str) -> Vec<String> {
    let factor = experiment
        .factors
        .iter()
        .find(|known| known.name == factor)
        .unwrap();
    factor
        .levels
        .iter()
        .map(|level| level.name.clone())
        .collect()
}

/// `NAME: SOURCE` appended to a valid file.
macro_rules! added {
    ($($name:ident: $source:expr;)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), shown(&read(&format!("{RIGHT}{}", $source)).unwrap_err()));
        }
    )*};
}

added! {
    a_closed_and_an_open_load: "[load.closed]\nclients = 1\n[load.open]\nrate = 500\n";
    an_open_load_without_a_rate: "[load.open]\nworkers = 4\n";
    rates_out_of_range: "[load.open]\nrate = [0, -5, 2e9, \"60 of max\", \"half\"]\n";
    a_duplicate_rate: "[load.open]\nrate = [500, 500.0]\n";
    zero_workers_and_an_empty_queue: "[load.open]\nrate = 500\nworkers = 0\nqueue = 0\nwhen_full = \"block\"\n";
    a_queue_without_a_unit: "[load.open]\nrate = 500\nqueue = \"10\"\n";
    too_many_clients: "[load.closed]\nclients = [1, 1000000]\n";
    a_think_time_without_a_unit: "[load.closed]\nthink = 10\n";
    an_unknown_kind_of_arrivals: "[load.open]\nrate = 500\narrivals = \"poison\"\n";
    bursts_without_a_pause: "[load.open]\nrate = 500\narrivals = { bursts = { rate = 2000, every = \"1s\", length = \"1s\" } }\n";
    a_ramp_without_a_target_rate: "[load.open]\nrate = 500\narrivals = { ramp = { over = \"60s\" } }\n";
    a_missing_trace_file: "[load.open]\narrivals = { trace = \"none/such.txt\" }\n";
    a_trace_that_is_not_ascending: "[load.open]\narrivals = { trace = [0.5, 0.25] }\n";
    a_trace_beside_a_rate: "[load.open]\nrate = 500\narrivals = { trace = [0.5] }\n";
    a_search_beside_a_rate: "[load.open]\nrate = 500\nfind = { max_rate = [1, 2], where = \"p99 <= 10ms\" }\n";
    a_search_without_bounds: "[load.open]\nfind = { max_rate = [20000, 100], where = \"p99 < 10ms\" }\n";
    a_level_with_the_other_kind_of_load: "[variant.x]\nload = { clients = 8 }\n[load.open]\nrate = 500\n";
    a_level_with_a_rate_beside_a_search: "[variant.x]\nload = { rate = 8 }\n[load.open]\nfind = { max_rate = [1, 2], where = \"p99 <= 10ms\" }\n";
    a_factor_called_workers: "[factor.workers.few]\nload = { workers = 1 }\n";
    a_time_and_rounds: "[protocol]\ntime = \"60s\"\nrounds = [\"hot\"]\n";
    a_warmup_without_a_time: "[protocol]\nwarmup = \"10s\"\nseries = true\n";
    a_warmup_of_100_percent: "[protocol]\ntime = \"60s\"\nwarmup = \"100%\"\n";
    the_time_of_a_timed_load: "[protocol]\ntime = \"60s\"\n[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = { server = \"5.5\" }\nto = { server = \"5.6\" }\nat_least = 2\n";
    a_queueing_time_in_a_closed_load: "[protocol]\ntime = \"60s\"\n[[claim]]\nsays = \"s\"\nvalue = \"wait p99\"\nof = { server = \"5.5\" }\nto = { server = \"5.6\" }\nat_least = 2\n";
    an_unsupported_percentile: "[protocol]\ntime = \"60s\"\n[[claim]]\nsays = \"s\"\nvalue = \"p98\"\nof = { server = \"5.5\" }\nto = { server = \"5.6\" }\nat_least = 2\n";
    a_closed_load_that_is_unstable: "[protocol]\ntime = \"60s\"\n[[claim]]\nsays = \"s\"\nfinds = \"unstable\"\nof = { server = \"5.5\" }\n";
    a_plan_of_a_timed_load: "[protocol]\ntime = \"60s\"\n[[claim]]\nsays = \"s\"\nfinds = \"plan changed\"\nof = { server = \"5.5\" }\n";
    a_round_of_a_timed_load: "[protocol]\ntime = \"60s\"\n[[claim]]\nsays = \"s\"\nfinds = \"stall\"\nof = { round = \"hot\" }\n";
    an_event_of_two_kinds: "[[event]]\nat = \"30s\"\nsql = \"select 1\"\ndump = {}\n";
}

#[test]
fn lists_of_clients_become_the_last_factor() {
    let experiment = right("[load.closed]\nclients = [1, 8, 64]\nthink = \"10ms\"\n");
    assert_eq!(experiment.factors.last().unwrap().name, "clients");
    assert_eq!(levels(&experiment, "clients"), ["1", "8", "64"]);
    let first = LoadSpec::Closed {
        clients: 1,
        think: Duration::from_millis(10),
    };
    assert_eq!(experiment.load, first);
}

#[test]
fn a_single_number_is_not_a_factor() {
    let experiment = right("[load.open]\nrate = [500]\nworkers = 4\n");
    assert_eq!(experiment.factors.len(), 1);
    let open = open("rate = 500\nworkers = 4\n");
    assert_eq!((open.rate, open.workers), (RateSpec::PerSecond(500.0), 4));
}

#[test]
fn an_open_load_has_defaults() {
    let expected = OpenSpec {
        rate: RateSpec::PerSecond(500.0),
        arrivals: ArrivalsSpec::Poisson,
        workers: 1,
        queue: QueueSpec::Default,
        when_full: WhenFull::Stop,
    };
    assert_eq!(open("rate = 500\n"), expected);
}

#[test]
fn arrivals_may_come_in_bursts_or_grow() {
    let bursts = "rate = 500\narrivals = { bursts = { rate = 2000, every = \"10s\", length = \"1s\" } }\nqueue = 5\nwhen_full = \"drop\"\n";
    let expected = ArrivalsSpec::Bursts {
        burst_rate: 2000.0,
        every: Duration::from_secs(10),
        length: Duration::from_secs(1),
    };
    let open_bursts = open(bursts);
    assert_eq!(open_bursts.arrivals, expected);
    assert_eq!(
        (open_bursts.queue, open_bursts.when_full),
        (QueueSpec::Operations(5), WhenFull::Drop)
    );
    let ramp = open("rate = 500\narrivals = { ramp = { to = 2000, over = \"60s\" } }\n");
    let expected = ArrivalsSpec::Ramp {
        to: 2000.0,
        over: Duration::from_secs(60),
    };
    assert_eq!(ramp.arrivals, expected);
}

#[test]
fn a_queue_may_be_given_in_seconds_of_arrivals() {
    let queue = open("rate = 500\nqueue = \"2s\"\n").queue;
    assert_eq!(queue, QueueSpec::Time(Duration::from_secs(2)));
}

#[test]
fn a_share_of_the_maximum_adds_the_level_that_measures_it() {
    let experiment = right("[load.open]\nrate = \"60% of max\"\nworkers = [1, 8]\n");
    assert_eq!(levels(&experiment, "rate"), ["max", "60% of max"]);
    assert_eq!(levels(&experiment, "workers"), ["1", "8"]);
}

#[test]
fn the_largest_rate_may_be_searched_for() {
    let open = open("find = { max_rate = [100, 20000], where = \"p99 <= 10ms\" }\n");
    let search = SearchSpec {
        between: (100.0, 20000.0),
        holds: Threshold {
            percentile: record::Percentile::P99,
            at_most_ms: 10.0,
        },
    };
    assert_eq!(open.rate, RateSpec::Find(search));
}

#[test]
fn a_trace_file_is_relative_to_the_experiment_and_stored_in_the_record() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("arrivals.txt"), "0\n0.5\n2\n").unwrap();
    let source = format!("{RIGHT}[load.open]\narrivals = {{ trace = \"arrivals.txt\" }}\n");
    let shown = folder.path().join("x.toml").display().to_string();
    let experiment = crate::parse("x", &shown, &source, &super::check_ssb).unwrap();
    let LoadSpec::Open(open) = &experiment.load else {
        panic!("open")
    };
    let at_ns = [0, 500_000_000, 2_000_000_000].into();
    assert_eq!(open.arrivals, ArrivalsSpec::Trace { at_ns });
    assert_eq!(open.rate, RateSpec::PerSecond(1.5));
    let again = read(&experiment.source).unwrap();
    assert_eq!(
        (again.load, again.source),
        (experiment.load, experiment.source)
    );
}

#[test]
fn a_timed_protocol_has_no_rounds() {
    let protocol = right("[protocol]\ntime = \"60s\"\nwarmup = \"find\"\npreload = true\nseries = true\nreconnect = \"900s\"\nblocks = 3\n").protocol;
    assert!(protocol.is_timed() && protocol.rounds.is_empty());
    assert!(protocol.preload && protocol.series);
    assert_eq!(protocol.reconnect, Some(Duration::from_secs(900)));
    assert_eq!((protocol.warmup, protocol.blocks), (WarmupSpec::Find, 3));
}

#[test]
fn a_load_under_20_seconds_is_refused_unless_it_is_short_on_purpose() {
    let check = |protocol: &str| timed::long_enough(&right(&format!("[protocol]\n{protocol}\n")));
    insta::assert_snapshot!(shown(&check("time = \"10s\"").unwrap_err()));
    for allowed in [
        "time = \"20s\"",
        "time = \"10s\"\nshort = true",
        "slices = \"1s\"\nwithin = \"10m\"\nwarmup = \"3s\"",
        "rounds = [\"hot\"]",
    ] {
        assert!(check(allowed).is_ok(), "{allowed}");
    }
}

#[test]
fn a_fixed_warmup_comes_before_the_time_and_a_share_lies_within_it() {
    let driven = |warmup: &str| {
        let protocol = right(&format!(
            "[protocol]\ntime = \"60s\"\nwarmup = \"{warmup}\"\n"
        ))
        .protocol;
        (protocol.driven().as_secs(), protocol.warmup_note())
    };
    assert_eq!(driven("0s"), (60, record::Warmup::Seconds(0.0)));
    assert_eq!(driven("10s"), (70, record::Warmup::Seconds(10.0)));
    assert_eq!(driven("50%"), (60, record::Warmup::Seconds(30.0)));
    assert_eq!(driven("find"), (60, record::Warmup::Find));
}

#[test]
fn a_dump_and_a_pause_are_events() {
    let experiment = right(
        "[[event]]\nat = \"30s\"\ndump = {}\n[[event]]\nevery = \"10s\"\npause = { for = \"1s\" }\n",
    );
    let kinds: Vec<&str> = experiment
        .events
        .iter()
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(kinds, ["dump", "pause"]);
}

#[test]
fn rounds_of_queries_refuse_what_belongs_to_a_timed_load() {
    let of = |added: &str| shown(&timed::check(&right(added), false).unwrap_err());
    insta::assert_snapshot!(
        [
            of("[load.closed]\nclients = [1, 2000]\n"),
            of("[load.closed]\nthink = \"1s\"\n"),
            of("[factor.crowd.\"8\"]\nload = { clients = 8, think = \"1s\" }\n"),
            of("[load.open]\nrate = 500\n"),
            of("[protocol]\ntime = \"60s\"\n"),
            of("[load.closed]\nclients = [2, 4]\n[observe]\nprofile = [\"Q1.1\"]\n"),
        ]
        .join("\n")
    );
}

#[test]
fn a_level_can_omit_rounds_but_not_add_any() {
    let check = |rounds: &str| {
        let added = format!("[factor.disk.slow]\nprotocol = {{ rounds = {rounds} }}\n");
        timed::check(&right(&added), false)
    };
    assert!(check("['cold']").is_ok());
    insta::assert_snapshot!(shown(&check("['cold', 'cold']").unwrap_err()));
}

#[test]
fn a_timed_load_has_no_rounds_that_a_level_could_choose() {
    let experiment =
        right("[factor.disk.slow]\nprotocol = { rounds = ['cold'] }\n[protocol]\ntime = \"60s\"\n");
    let says = shown(&timed::check(&experiment, true).unwrap_err());
    assert!(says.contains("a timed load has no rounds"), "{says}");
}

#[test]
fn rounds_of_queries_take_several_clients() {
    for load in [
        "[load.closed]\nclients = [1, 2, 4, 8]\n",
        "[load.closed]\nclients = [1, 8]\n[observe]\nprofile = [\"Q1.1\"]\n",
        "[factor.crowd.\"8\"]\nload = { clients = 8 }\n",
    ] {
        assert!(timed::check(&right(load), false).is_ok(), "{load}");
    }
}

#[test]
fn a_driver_needs_a_time_and_takes_any_load() {
    insta::assert_snapshot!(shown(&timed::check(&right(""), true).unwrap_err()));
    for load in [
        "[load.closed]\nclients = [1, 8]\nthink = \"1s\"\n",
        "[load.open]\nrate = 500\n",
    ] {
        let experiment = right(&format!("{load}[protocol]\ntime = \"60s\"\n"));
        assert!(timed::check(&experiment, true).is_ok());
    }
}

fn subject(load: &str, claim: &str) -> Subject {
    right(&format!(
        "{load}[protocol]\ntime = \"60s\"\n[[claim]]\nsays = \"s\"\n{claim}"
    ))
    .claims
    .remove(0)
    .subject
}

fn value(text: &str) -> Value {
    let claim = format!("value = \"{text}\"\namong = {{ server = \"5.6\" }}\nwithin = 0.1\n");
    match subject("[load.open]\nrate = 500\n", &claim) {
        Subject::Spread { value, .. } => value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn claims_of_timed_loads_have_throughput_percentiles_and_counters() {
    assert_eq!(value("throughput"), Value::Throughput);
    for (word, kind, percentile) in [
        ("p99", LatencyKind::Response, Percentile::P99),
        ("max", LatencyKind::Response, Percentile::Max),
        ("wait p999", LatencyKind::Wait, Percentile::P999),
        ("service p50", LatencyKind::Service, Percentile::P50),
    ] {
        assert_eq!(value(word), Value::Latency { kind, percentile });
    }
    assert_eq!(value("read_age_ms"), Value::ReadAge);
    let counter = "Innodb_buffer_pool_reads";
    assert_eq!(value(counter), Value::Counter(counter.to_string()));
}

#[test]
fn claims_find_shapes_in_the_per_second_series() {
    let expected = [
        ("unstable", Finding::Unstable),
        ("stall", Finding::Stall),
        ("level shift", Finding::LevelShift),
        ("period", Finding::Period),
        ("steady", Finding::Steady),
        ("losses", Finding::Losses),
        ("no losses", Finding::NoLosses),
        ("stale reads", Finding::StaleReads),
        ("no stale reads", Finding::NoStaleReads),
    ];
    for (text, finding) in expected {
        let claim = format!("finds = \"{text}\"\nof = {{ server = \"5.6\" }}\n");
        let subject = subject("[load.open]\nrate = 500\n", &claim);
        assert!(matches!(subject, Subject::Finds { finding: found, .. } if found == finding));
    }
}

#[test]
fn cells_name_clients_as_numbers_or_texts() {
    let claim = "value = \"throughput\"\nof = { clients = 64 }\nto = { clients = [\"1\", 8] }\nat_least = 2\n";
    let subject = subject("[load.closed]\nclients = [1, 8, 64]\n", claim);
    let Subject::Ratio { of, to, .. } = subject else {
        panic!("a ratio")
    };
    let levels = |names: &[&str]| {
        let names = names.iter().map(|name| name.to_string()).collect();
        vec![("clients".to_string(), names)]
    };
    assert_eq!(
        (of.levels, to.levels),
        (levels(&["64"]), levels(&["1", "8"]))
    );
}

#[test]
fn a_cell_without_a_rate_excludes_trials_that_measure_the_maximum() {
    let claim = "finds = \"stall\"\nof = { server = \"5.6\" }\n";
    let load = "[load.open]\nrate = [\"60% of max\", 500]\n";
    let Subject::Finds { of, .. } = subject(load, claim) else {
        panic!("a finding")
    };
    let rates = vec!["60% of max".to_string(), "500".to_string()];
    assert!(of.levels.contains(&("rate".to_string(), rates)));
}

#[test]
fn the_command_line_replaces_the_load() {
    let closed = right("[load.closed]\nclients = [1, 8]\n[protocol]\ntime = \"60s\"\n");
    let changed = closed
        .with_clients(&[1, 4, 16])
        .and_then(|changed| changed.with_time("30s"))
        .and_then(|changed| changed.with_warmup("50%"))
        .unwrap();
    assert_eq!(levels(&changed, "clients"), ["1", "4", "16"]);
    assert_eq!(changed.protocol.time, Some(Duration::from_secs(30)));
    assert_eq!(changed.protocol.warmup, WarmupSpec::Share(0.5));
    let changed = changed.with_clients(&[2]).unwrap();
    assert_eq!(changed.factors.len(), 1);
    assert!(matches!(changed.load, LoadSpec::Closed { clients: 2, .. }));

    let search = right(
        "[load.open]\nfind = { max_rate = [1, 2], where = \"p99 <= 10ms\" }\n[protocol]\ntime = \"60s\"\n",
    );
    let rates = ["500".to_string(), "60% of max".to_string()];
    let changed = search
        .with_rate(&rates)
        .and_then(|changed| changed.with_workers(&[1, 2]))
        .unwrap();
    assert_eq!(levels(&changed, "rate"), ["max", "500", "60% of max"]);
    assert!(changed.search().is_none());
}

#[test]
fn clients_that_leave_an_only_without_trials_are_refused() {
    let load = "[load.closed]\nclients = [1, 8]\n[protocol]\ntime = \"60s\"\n";
    let event = "[[event]]\nat = \"10s\"\nsql = \"select 1\"\nonly = { clients = 8 }\n";
    let level = "[factor.join.on]\nonly = { clients = 8 }\n[factor.join.off]\n";
    for added in [event, level] {
        let with = |counts: &[u32]| right(&format!("{load}{added}")).with_clients(counts);
        assert!(with(&[2, 8]).is_ok());
        for counts in [&[1, 16][..], &[16]] {
            let error = with(counts).unwrap_err();
            assert!(error.says.contains("names clients 8"), "{error}");
        }
    }
}

#[test]
fn invalid_load_overrides_are_reported() {
    let says = |result: Result<Experiment, crate::OverrideError>| result.unwrap_err().to_string();
    let open = || right("[load.open]\nrate = 500\n[protocol]\ntime = \"60s\"\n");
    let trace = right("[load.open]\narrivals = { trace = [0.5] }\n");
    let level = right("[factor.crowd.big]\nload = { clients = 64 }\n");
    insta::assert_snapshot!(
        [
            says(open().with_clients(&[8])),
            says(open().with_workers(&[8, 8])),
            says(open().with_workers(&[0])),
            says(open().with_rate(&["fast".to_string()])),
            says(open().with_time("30")),
            says(open().with_warmup("much")),
            says(trace.with_rate(&["5".to_string()])),
            says(level.with_clients(&[8])),
            says(right("").with_rate(&["5".to_string()])),
            says(right("").with_time("30s")),
        ]
        .join("\n")
    );
}

#[test]
fn advice_is_given_for_a_series_that_does_not_begin_at_one_client() {
    let of =
        |clients: &str| crate::advice(&right(&format!("[load.closed]\nclients = {clients}\n")));
    assert_eq!(of("[8, 64]").len(), 1);
    assert!(of("[1, 8]").is_empty() && of("8").is_empty());
}

#[test]
fn arrivals_of_a_trace_after_the_end_of_the_load_are_reported() {
    let of = |trace: &str, time: &str| {
        let load = format!("[load.open]\narrivals = {{ trace = {trace} }}\n");
        right(&format!("{load}[protocol]\n{time}\nshort = true\n"))
    };
    let advice = |trace, time| crate::advice(&of(trace, time));
    let cut = "2 of the 4 arrivals of the trace are left out: the load ends at 6 s with its time, the trace at 9.5 s";
    assert_eq!(advice("[0, 5, 6, 9.5]", "time = \"6s\""), [cut]);
    assert!(advice("[0, 5, 6, 9.5]", "time = \"6s\"\nwarmup = \"4s\"").is_empty());
    let wrong = timed::check(&of("[43200, 43201]", "time = \"6s\""), true).unwrap_err();
    let says = shown(&wrong);
    assert!(
        says.contains(
            "nothing of the trace arrives in the 6 s of the load: its first arrival is at 43200 s"
        ),
        "{says}"
    );
}

#[test]
fn advice_is_given_for_rounds_that_begin_hot() {
    let of = |rounds: &str| crate::advice(&right(&format!("[protocol]\nrounds = {rounds}\n")));
    assert!(of("[\"hot\", \"hot\"]")[0].starts_with("the rounds begin with a hot one"));
    assert!(of("[\"cold\", \"hot\"]").is_empty());
}

#[test]
fn an_external_server_cannot_be_paused() {
    let of = |only: &str| {
        right(&format!(
            "[protocol]\ntime = \"60s\"\n[[event]]\nat = \"5s\"\npause = {{ for = \"1s\" }}\n{only}"
        ))
        .with_server("5.6=mysql://me@db")
        .unwrap()
    };
    insta::assert_snapshot!(refused(&of("")));
    let kinds = kinds();
    assert!(crate::events::read(&of("only = { server = \"5.5\" }\n"), &kinds).is_ok());
}

/// Kinds of events as in a run, with empty values.
fn kinds() -> [EventKind<()>; 2] {
    [
        ("dump", crate::Needs::Nothing),
        ("pause", crate::Needs::Process),
    ]
    .map(|(name, needs)| EventKind {
        name,
        in_rounds: false,
        needs,
        outage: None,
        read: |_| Some(()),
    })
}

fn refused(experiment: &Experiment) -> String {
    shown(&crate::events::read(experiment, &kinds()).unwrap_err())
}

#[test]
fn an_event_without_a_reader_is_refused() {
    let experiment = right("[[event]]\nat = \"30s\"\nsql = \"select 1\"\n");
    let says = refused(&experiment);
    assert!(
        says.contains("\"sql\" events are not available here"),
        "{says}"
    );
}

#[test]
fn an_event_of_a_timed_load_is_refused_in_rounds() {
    let experiment = right("[[event]]\nat = \"30s\"\ndump = {}\n");
    insta::assert_snapshot!(refused(&experiment));
}
