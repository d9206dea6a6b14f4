//! New against old: the servers of one run, and the same cells of different runs.

use crate::common;
use crate::common::{done, timed};
use record::*;
use stats::{Basis, Comparison, Contrast, TOLERANCE, across, against_first};
use std::sync::LazyLock;

/// A timed load with its summary, which is made once.
static LOAD: LazyLock<Trial> = LazyLock::new(|| common::with_summary(timed(0)));

/// A run of one server, with this throughput in each block.
fn loads(server: &str, throughput: &[f64]) -> (Question, Vec<Trial>) {
    let trial = |(block, throughput): (usize, &f64)| {
        let mut trial = LOAD.clone();
        trial.key.block = block as u32;
        trial.key.server = Some(server.into());
        let load = trial.load.as_mut().unwrap();
        load.summary.as_mut().unwrap().throughput = Some(*throughput);
        trial
    };
    let question = Question {
        name: "bench".into(),
        servers: vec![server.into()],
        factors: Vec::new(),
        rounds: Vec::new(),
        ..common::run().question
    };
    let trials = throughput.iter().enumerate().map(trial).collect();
    (question, trials)
}

/// The comparison of the throughputs.
fn compared(old: (Question, Vec<Trial>), new: (Question, Vec<Trial>)) -> Contrast {
    let found = across(vec![(&old.0, old.1), (&new.0, new.1)], TOLERANCE);
    assert_eq!(found.left_out, []);
    let mut gated = found
        .contrasts
        .into_iter()
        .filter(|found| found.subject.decides);
    let one = gated.next().expect("a throughput");
    assert!(gated.next().is_none());
    one
}

const OLD: [f64; 4] = [1000.0, 1010.0, 990.0, 1000.0];

fn times(factor: f64) -> Vec<f64> {
    OLD.iter().map(|throughput| throughput * factor).collect()
}

#[test]
fn a_run_that_is_slower_by_more_than_the_tolerance_fails() {
    let found = compared(loads("mariadb", &OLD), loads("mariadb", &times(0.8)));
    assert_eq!(found.verdict(), Comparison::Slower);
    assert_eq!(found.judged.verdict, Verdict::NotReproduced);
    assert!((found.judged.measured.unwrap() - 0.8).abs() < 1e-6);
    let (old, new) = (found.old_value.unwrap(), found.new_value.unwrap());
    assert!((old.mean - 1000.0).abs() < 1.0 && (new.mean - 800.0).abs() < 1.0);
}

#[test]
fn a_run_that_is_slower_by_less_than_the_tolerance_passes() {
    let found = compared(loads("mariadb", &OLD), loads("mariadb", &times(0.97)));
    assert_eq!(found.verdict(), Comparison::Slower);
    assert_eq!(found.judged.verdict, Verdict::Reproduced);
}

#[test]
fn blocks_of_different_runs_are_not_paired() {
    // The drift is the same in both runs: pairs would take it away, and show a certain 3 %.
    let drift = [1000.0, 1100.0, 1200.0, 1300.0];
    let slower = drift.map(|throughput| throughput * 0.97);
    let found = compared(loads("mariadb", &drift), loads("mariadb", &slower));
    assert_eq!(found.verdict(), Comparison::Inconclusive);
    assert_eq!(found.judged.verdict, Verdict::Inconclusive);
}

#[test]
fn one_block_gives_a_ratio_and_decides_nothing() {
    let found = compared(loads("mariadb", &OLD), loads("mariadb", &[500.0]));
    assert!((found.judged.measured.unwrap() - 0.5).abs() < 0.01);
    assert_eq!(found.judged.verdict, Verdict::Inconclusive);
    assert!(found.judged.reason.unwrap().contains("single block"));
}

#[test]
fn the_only_servers_of_two_runs_are_compared_whatever_their_names() {
    let found = compared(loads("mysql@8.0.33", &OLD), loads("mysql@9.7", &times(1.2)));
    assert_eq!(found.verdict(), Comparison::Faster);
    assert_eq!(found.server, None);
}

#[test]
fn of_several_servers_those_of_the_same_name_are_compared() {
    let (mut question, mut trials) = loads("5.6", &OLD);
    trials.extend(loads("8.0", &times(0.5)).1);
    question.servers = vec!["5.6".into(), "8.0".into()];
    let new = loads("8.0", &times(0.5));
    let found = across(vec![(&question, trials), (&new.0, new.1)], TOLERANCE);
    let servers: Vec<_> = found
        .contrasts
        .iter()
        .map(|found| found.server.clone())
        .collect();
    assert!(!servers.is_empty());
    assert!(
        servers
            .iter()
            .all(|server| server.as_deref() == Some("8.0"))
    );
    let left_out: Vec<_> = found
        .left_out
        .iter()
        .map(|row| (row.run, row.row.as_str()))
        .collect();
    assert_eq!(left_out, [(1, "server 5.6")]);
    assert_eq!(found.contrasts[0].verdict(), Comparison::Equivalent);
}

#[test]
fn different_loads_are_not_comparable() {
    let old = loads("mariadb", &OLD);
    let mut new = loads("mariadb", &OLD);
    for trial in &mut new.1 {
        trial.load.as_mut().unwrap().mode = Mode::Open {
            rate: 500.0,
            arrivals: Arrivals::Poisson,
            workers: 8,
            queue: 100,
            when_full: "stop".into(),
            range: None,
        };
    }
    let found = across(vec![(&old.0, old.1), (&new.0, new.1)], TOLERANCE);
    assert!(found.contrasts.is_empty());
    assert_eq!(
        found.left_out[0].why,
        "not comparable: closed loop, clients 8 against open loop, 500.0 requests/s (poisson), workers 8, queue 100 (stop)"
    );
}

#[test]
fn runs_with_and_without_their_limits_are_not_comparable() {
    let run = |is_unlimited: bool| {
        let (question, mut trials) = loads("mariadb", &OLD);
        for trial in trials.iter_mut().filter(|_| is_unlimited) {
            trial.flag(FlagKind::LimitsNotApplied, "--no-limits: memory");
        }
        (question, trials)
    };
    let compared = |old: bool, new: bool| {
        let (old, new) = (run(old), run(new));
        across(vec![(&old.0, old.1), (&new.0, new.1)], TOLERANCE)
    };
    let found = compared(false, true);
    assert!(found.contrasts.is_empty());
    assert_eq!(
        found.left_out[0].why,
        "not comparable: limits applied against limits not applied (--no-limits)"
    );
    assert!(!compared(true, true).contrasts.is_empty());
}

#[test]
fn the_length_of_a_queue_matters_only_if_the_load_goes_on_when_it_is_full() {
    let run = |queue: u64, when_full: &str| {
        let (question, mut trials) = loads("mariadb", &OLD);
        for trial in &mut trials {
            trial.load.as_mut().unwrap().mode = Mode::Open {
                rate: 500.0,
                arrivals: Arrivals::Poisson,
                workers: 8,
                queue,
                when_full: when_full.into(),
                range: None,
            };
        }
        (question, trials)
    };
    let is_compared = |when_full: &str| {
        let (old, new) = (run(10_000, when_full), run(5_000, when_full));
        let found = across(vec![(&old.0, old.1), (&new.0, new.1)], TOLERANCE);
        found.left_out.is_empty()
    };
    assert!(is_compared("stop"));
    assert!(!is_compared("drop"));
}

#[test]
fn another_number_of_clients_another_workload_other_limits_and_other_data_are_not_comparable() {
    let why = |change: &dyn Fn(&mut Question, &mut Trial)| {
        let old = loads("mariadb", &OLD);
        let (mut question, mut trials) = loads("mariadb", &OLD);
        trials
            .iter_mut()
            .for_each(|trial| change(&mut question, trial));
        let found = across(vec![(&old.0, old.1), (&question, trials)], TOLERANCE);
        assert!(found.contrasts.is_empty());
        found.left_out[0].why.clone()
    };
    let clients = why(&|_, trial| {
        let (clients, think_s) = (64, 0.0);
        trial.load.as_mut().unwrap().mode = Mode::Closed { clients, think_s };
    });
    assert!(
        clients.ends_with("clients 8 against closed loop, clients 64"),
        "{clients}"
    );
    let workload = why(&|question, _| question.workload.name = "tpcc".into());
    assert_eq!(workload, "not comparable: ssb against tpcc");
    let operations = why(&|question, _| question.workload.operations = vec!["Q9".into()]);
    assert_eq!(operations, "not comparable: Q1.1 against Q9");
    let limits = why(&|_, trial| trial.limits[0].asked = 800.0);
    assert_eq!(limits, "not comparable: limit read_iops 400 against 800");
    let data = why(&|_, trial| trial.data_bytes *= 10);
    assert!(data.contains("bytes of data against"), "{data}");
    let rounds = why(&|_, trial| *trial = done(trial.key.block));
    assert_eq!(
        rounds,
        "not comparable: a timed load against rounds of queries"
    );
}

#[test]
fn a_query_that_failed_on_a_side_is_left_out_of_both_sums() {
    let question = common::run().question;
    let blocks = || (0..3).map(done).collect::<Vec<Trial>>();
    let mut new = blocks();
    for round in new.iter_mut().flat_map(|trial| &mut trial.rounds) {
        round.queries[0].error = Some(QueryError::Failed {
            code: Some(1054),
            message: "Unknown column".into(),
        });
    }
    let found = across(vec![(&question, blocks()), (&question, new)], TOLERANCE);
    let totals = found.contrasts.iter().filter(|found| found.subject.decides);
    for total in totals {
        assert_eq!(total.subject.without, ["Q0"]);
        assert!((total.judged.measured.unwrap() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_round_that_one_run_alone_has_is_left_out_by_name() {
    let question = common::run().question;
    let blocks = || (0..3).map(done).collect::<Vec<Trial>>();
    let mut hot = blocks();
    for trial in &mut hot {
        trial.rounds.retain(|round| round.name == "hot");
    }
    for (runs, run) in [((blocks(), hot.clone()), 1), ((hot, blocks()), 2)] {
        let found = across(vec![(&question, runs.0), (&question, runs.1)], TOLERANCE);
        let left_out = found.left_out.iter();
        let left_out: Vec<_> = left_out.map(|one| (one.run, &one.why)).collect();
        let why = "only this run has the round cold".to_string();
        assert_eq!(left_out, [(run, &why)]);
        assert!(!found.contrasts.is_empty());
    }
}

#[test]
fn rounds_are_compared_by_name_and_their_queries_beside_them() {
    let blocks = || (0..3).map(done).collect::<Vec<Trial>>();
    let question = common::run().question;
    let found = across(
        vec![(&question, blocks()), (&question, blocks())],
        TOLERANCE,
    );
    let names = |decides: bool| -> Vec<String> {
        let of_kind = found
            .contrasts
            .iter()
            .filter(|found| found.subject.decides == decides);
        let name = |found: &Contrast| {
            let query = found.subject.query.clone().unwrap_or_default();
            format!("{} {query}", found.subject.round.clone().unwrap())
        };
        of_kind.map(name).collect()
    };
    assert_eq!(names(true), ["cold ", "hot "]);
    assert_eq!(names(false), ["cold Q0", "cold Q1", "hot Q0", "hot Q1"]);
    assert!(
        found
            .contrasts
            .iter()
            .all(|found| found.verdict() == Comparison::Equivalent)
    );
}

#[test]
fn a_value_that_one_run_lacks_is_not_available_with_the_reason() {
    let mut new = loads("mariadb", &OLD);
    for trial in &mut new.1 {
        trial.state = TrialState::Failed;
        trial.flag(FlagKind::TrialFailed, "the server did not start");
    }
    let found = compared(loads("mariadb", &OLD), new);
    assert_eq!(found.judged.verdict, Verdict::NotAvailable);
    let reason = found.judged.reason.unwrap();
    assert!(
        reason.contains("run 2") && reason.contains("the server did not start"),
        "{reason}"
    );
}

#[test]
fn the_servers_of_one_run_are_compared_in_pairs_of_blocks() {
    let drift = [1000.0, 1100.0, 1200.0, 1300.0];
    let slower = drift.map(|throughput| throughput * 0.9);
    let (mut question, mut trials) = loads("old", &drift);
    trials.extend(loads("new", &slower).1);
    question.servers = vec!["old".into(), "new".into()];
    let found = against_first(&question, &trials, TOLERANCE);
    let throughput = found.iter().find(|found| found.subject.decides).unwrap();
    assert_eq!(
        (throughput.old.as_str(), throughput.new.as_str()),
        ("old", "new")
    );
    assert_eq!(throughput.verdict(), Comparison::Slower);
    assert_eq!(throughput.judged.verdict, Verdict::NotReproduced);
}

/// The throughputs of two servers in one run.
fn of_one_run(old: Vec<Trial>, new: Vec<Trial>, tolerance: f64) -> Contrast {
    let (mut question, _) = loads("old", &OLD);
    question.servers = vec!["old".into(), "new".into()];
    let found = against_first(&question, &[old, new].concat(), tolerance);
    let mut gated = found.into_iter().filter(|found| found.subject.decides);
    gated.next().expect("a throughput")
}

#[test]
fn servers_of_one_run_that_had_other_loads_are_not_compared() {
    let mut new = loads("new", &times(1.5)).1;
    for trial in &mut new {
        trial.load.as_mut().unwrap().mode = Mode::Closed {
            clients: 16,
            think_s: 0.0,
        };
    }
    let found = of_one_run(loads("old", &OLD).1, new, TOLERANCE);
    assert_eq!(found.judged.verdict, Verdict::NotAvailable);
    let why = "not comparable: closed loop, clients 8 against closed loop, clients 16";
    assert_eq!(found.judged.reason.as_deref(), Some(why));
    assert_eq!(found.basis.unmeasured.as_deref(), Some(why));
    assert!(found.old_value.is_some() && found.judged.measured.is_none());
}

#[test]
fn with_think_times_a_gate_tests_the_response_too() {
    let tested = |think_s: f64| {
        let side = |server: &str, p99_ms: f64| {
            let mut trials = loads(server, &OLD).1;
            for load in trials.iter_mut().filter_map(|trial| trial.load.as_mut()) {
                load.mode = Mode::Closed {
                    clients: 8,
                    think_s,
                };
                let response = load.summary.as_mut().unwrap().latency.response.as_mut();
                response.unwrap().p99_ms = Some(p99_ms);
            }
            trials
        };
        let (mut question, _) = loads("old", &OLD);
        question.servers = vec!["old".into(), "new".into()];
        let trials = [side("old", 1.0), side("new", 10.0)].concat();
        let found = against_first(&question, &trials, TOLERANCE).into_iter();
        let found = found.filter(|found| found.subject.decides);
        found
            .map(|found| found.judged.verdict)
            .collect::<Vec<Verdict>>()
    };
    assert_eq!(tested(0.0), [Verdict::Reproduced]);
    let with_think_times = [Verdict::Reproduced, Verdict::NotReproduced];
    assert_eq!(tested(1.0), with_think_times);
}

/// Records of loads name no operations in their question.
#[test]
fn loads_of_other_operations_are_not_compared_between_runs_nor_within_one() {
    let sides = [("old", "read-write"), ("new", "point-select")];
    let [old, new] = sides.map(|(server, operation)| {
        let (mut question, mut trials) = loads(server, &OLD);
        question.workload.operations.clear();
        for trial in &mut trials {
            trial.load.as_mut().unwrap().operations = vec![operation.into()];
        }
        (question, trials)
    });
    let why = "not comparable: read-write against point-select";
    let found = of_one_run(old.1.clone(), new.1.clone(), TOLERANCE);
    assert_eq!(found.basis.unmeasured.as_deref(), Some(why));
    let found = across(vec![(&old.0, old.1), (&new.0, new.1)], TOLERANCE);
    assert!(found.contrasts.is_empty());
    assert_eq!(found.left_out[0].why, why);
}

#[test]
fn rounds_of_fewer_queries_are_not_compared_within_a_run() {
    let side = |server: &str, queries: usize| {
        let mut trials: Vec<Trial> = (0..3).map(done).collect();
        for trial in &mut trials {
            trial.key.server = Some(server.into());
            for round in &mut trial.rounds {
                round.queries.truncate(queries);
            }
        }
        trials
    };
    let unmeasured = |queries: usize| {
        let (old, new) = (side("old", 2), side("new", queries));
        of_one_run(old, new, TOLERANCE).basis.unmeasured
    };
    let why = "not comparable: Q0, Q1 against Q0";
    assert_eq!(unmeasured(1).as_deref(), Some(why));
    assert_eq!(unmeasured(2), None);
}

#[test]
fn the_values_of_servers_of_one_run_are_those_of_the_blocks_that_both_have() {
    let mut old = loads("old", &[1000.0, 1000.0, 1000.0, 4000.0]).1;
    let new = loads("new", &[1000.0, 1000.0, 1000.0]).1;
    let found = of_one_run(old.clone(), new.clone(), TOLERANCE);
    assert!((found.old_value.unwrap().mean - 1000.0).abs() < 1e-6);
    assert!((found.judged.measured.unwrap() - 1.0).abs() < 1e-6);
    old.drain(..3);
    let found = of_one_run(old, new, TOLERANCE);
    assert!((found.old_value.unwrap().mean - 4000.0).abs() < 1e-6);
}

#[test]
fn nothing_is_equivalent_that_a_gate_of_less_than_two_percent_fails() {
    let of = |tolerance| {
        let new = loads("new", &times(1.0 / 1.015)).1;
        of_one_run(loads("old", &OLD).1, new, tolerance)
    };
    assert_eq!(of(TOLERANCE).verdict(), Comparison::Equivalent);
    let strict = of(0.005);
    assert_eq!(strict.verdict(), Comparison::Slower);
    assert_eq!(strict.judged.verdict, Verdict::NotReproduced);
}

#[test]
fn what_makes_one_side_alone_another_measurement_is_named() {
    for kind in [
        FlagKind::CharsetIgnored,
        FlagKind::DataNotHeld,
        FlagKind::EventsOff,
        FlagKind::HintIgnored,
        FlagKind::LoopVolume,
        FlagKind::NotRecovered,
        FlagKind::QuorumLost,
        FlagKind::SettingAdjusted,
        FlagKind::SmallerThanCaches,
        FlagKind::SwitchIgnored,
        FlagKind::WarmUpBacklog,
    ] {
        let of = |is_flagged: bool| {
            let mut run = loads("files", &OLD);
            for trial in run.1.iter_mut().filter(|_| is_flagged) {
                trial.flag(kind.clone(), "not alike");
            }
            run
        };
        let named = |old: bool, new: bool| compared(of(old), of(new)).basis.one_sided;
        assert!(named(false, true).is_some_and(|why| why.contains("not alike")));
        assert!(named(true, false).is_some());
        assert_eq!(named(true, true), None);
        let mut failed = of(false);
        (failed.1.iter_mut()).for_each(|trial| trial.fail("the server ended"));
        assert_eq!(compared(of(true), failed).basis.one_sided, None);
    }
}

#[test]
fn conditions_are_compared_between_runs_whose_only_variants_have_other_names() {
    let of = |variant: &str| {
        let mut run = loads("mariadb", &OLD);
        for trial in &mut run.1 {
            trial.key.levels = vec![("variant".into(), variant.into())];
        }
        run
    };
    let mut new = of("branch");
    for trial in &mut new.1 {
        trial.flag(FlagKind::QueryCache, "the query cache answered");
    }
    let found = compared(of("main"), new).basis.one_sided;
    assert!(found.is_some_and(|why| why.contains("query cache")));
}

#[test]
fn an_event_of_one_server_alone_is_named() {
    let of = |server: &str, has_event: bool| {
        let mut trials = loads(server, &OLD).1;
        for trial in trials.iter_mut().filter(|_| !has_event) {
            trial.events.clear();
        }
        trials
    };
    let one_sided = |old, new| of_one_run(old, new, TOLERANCE).basis.one_sided;
    let named = |old: bool, new: bool| one_sided(of("old", old), of("new", new));
    let says = "a \"restart\" event ran";
    assert!(named(false, true).is_some_and(|why| why.contains(says)));
    assert!(named(true, false).is_some());
    assert_eq!(named(true, true), None);
    let mut once = of("new", true);
    for trial in &mut once[1..] {
        trial.events.clear();
    }
    assert_eq!(one_sided(of("old", false), once), None);
}

#[test]
fn an_event_that_one_variant_missed_is_named_in_its_claim_and_a_volume_is_not() {
    let named = |kind: &FlagKind| {
        let mut trials = [loads("a", &OLD).1, loads("a", &OLD).1].concat();
        for (place, trial) in trials.iter_mut().enumerate() {
            let is_first = place < OLD.len();
            let variant = if is_first { "with" } else { "without" };
            trial.key.levels = vec![("variant".into(), variant.into())];
            if is_first {
                trial.flag(kind.clone(), "not alike");
            }
        }
        let cell = |variant: &str| Cell {
            levels: vec![("variant".into(), vec![variant.into()])],
            ..Cell::default()
        };
        let claim = Claim {
            says: "the event costs nothing".into(),
            subject: Subject::Ratio {
                value: Value::Throughput,
                of: cell("with"),
                to: cell("without"),
                bound: Bound::AtLeast(0.9),
            },
            published: None,
        };
        Basis::of(&claim, &trials).one_sided
    };
    let missed = named(&FlagKind::EventMissed);
    assert!(missed.is_some_and(|why| why.contains("not alike")));
    assert_eq!(named(&FlagKind::LoopVolume), None);
}

/// Six blocks in which new is 5 % slower: p is 0.036, and 0.21 in the first three.
const SLOWER: [f64; 6] = [-0.002, -0.102, -0.052, -0.002, -0.102, -0.052];

#[test]
fn a_run_that_got_further_blocks_is_compared_at_a_share_of_the_error_rate() {
    let at = |looks: Option<Looks>| {
        let old = loads("mariadb", &[1000.0; 6]);
        let mut new = loads("mariadb", &SLOWER.map(|log| 1000.0 * log.exp()));
        new.0.looks = looks;
        let found = across(vec![(&old.0, old.1), (&new.0, new.1)], 0.0);
        let gated = found.contrasts.into_iter();
        let mut gated = gated.filter(|found| found.subject.decides);
        gated.next().expect("a throughput").judged
    };
    let planned = at(Some(Looks::until_decided(3, 6, None)));
    assert_eq!(planned.verdict, Verdict::NotReproduced);
    let added = at(Some(Looks::fixed(3).with_added(3, 6, false)));
    assert_eq!(added.verdict, Verdict::Inconclusive);
    assert!(planned.ci.unwrap().1 < added.ci.unwrap().1);
}

#[test]
fn blocks_added_to_a_finished_run_share_its_error_rate() {
    let (mut question, mut trials) = loads("old", &[1000.0; 6]);
    trials.extend(loads("new", &SLOWER.map(|log| 1000.0 * log.exp())).1);
    question.servers = vec!["old".into(), "new".into()];
    let mut at = |looks: Option<Looks>| {
        question.looks = looks;
        let found = against_first(&question, &trials, 0.0);
        let mut gated = found.into_iter().filter(|found| found.subject.decides);
        gated.next().expect("a throughput")
    };
    let once = at(None);
    let twice = at(Some(Looks::fixed(3).with_added(3, 6, false)));
    assert_eq!(once.judged.verdict, Verdict::NotReproduced);
    assert_eq!(once.verdict(), Comparison::Slower);
    assert_eq!(twice.judged.verdict, Verdict::Inconclusive);
    assert_eq!(twice.verdict(), Comparison::Inconclusive);
    let width = |found: &Contrast| {
        let (low, high) = found.judged.ci.unwrap();
        high / low
    };
    assert!(width(&twice) > width(&once));
}

#[test]
fn one_server_is_compared_with_nothing() {
    let (question, trials) = loads("old", &OLD);
    assert!(against_first(&question, &trials, TOLERANCE).is_empty());
}
