//! `slices` of a timed load, and the budget `within`.

use super::{RIGHT, read, shown};
use crate::Experiment;
use std::time::Duration;

fn sliced(keys: &str) -> String {
    format!("{RIGHT}[load.closed]\nclients = 8\n[protocol]\n{keys}")
}

#[test]
fn a_budget_chooses_the_time_and_the_blocks_that_the_file_does_not_state() {
    let of = |keys: &str| {
        let keys = format!("slices = \"1s\"\nwithin = \"10m\"\n{keys}");
        let protocol = read(&sliced(&keys)).unwrap().protocol;
        let within = protocol.within.unwrap();
        assert_eq!(within.budget, Duration::from_secs(600));
        let chooses = (within.chooses_time, within.chooses_blocks);
        (protocol.time.unwrap().as_secs(), protocol.blocks, chooses)
    };
    assert_eq!(of(""), (20, 3, (true, true)));
    for warmed in ["warmup = \"3s\"", "preload = true"] {
        assert_eq!(of(warmed), (10, 3, (true, true)), "{warmed}");
    }
    assert_eq!(of("short = true"), (4, 3, (true, true)));
    assert_eq!(of("time = \"45s\""), (45, 3, (false, true)));
    assert_eq!(of("blocks = 8"), (20, 8, (true, false)));
}

#[test]
fn a_budget_chooses_no_short_time_where_a_percentile_decides() {
    let time_s = |text: &str| read(text).unwrap().protocol.time.unwrap().as_secs();
    let budget = sliced("slices = \"1s\"\nwarmup = \"3s\"\nwithin = \"10m\"\n");
    let claim = |value: &str| {
        format!(
            "{budget}[[claim]]\nsays = \"s\"\nvalue = \"{value}\"\nof = {{ server = \"5.5\" }}\nto = {{ server = \"5.6\", variant = \"small pool\" }}\nat_least = 1.1\n"
        )
    };
    assert_eq!(time_s(&claim("throughput")), 10);
    assert_eq!(time_s(&claim("p99")), 20);
    let think = budget.replace("clients = 8\n", "clients = 8\nthink = \"10ms\"\n");
    assert_eq!(time_s(&think), 20);
    let short = claim("p99").replace("within", "short = true\nwithin");
    assert_eq!(time_s(&short), 4);
    let given = claim("p99").replace("within", "time = \"15s\"\nwithin");
    assert_eq!(time_s(&given), 15);
}

#[test]
fn the_command_line_takes_the_choice_from_a_budget() {
    let experiment = read(&sliced("slices = \"1s\"\nwithin = \"10m\"\n")).unwrap();
    let given = experiment
        .with_time("45s")
        .and_then(|one| one.with_blocks(5));
    let within = given.unwrap().protocol.within.unwrap();
    assert!(!within.chooses_time && !within.chooses_blocks);
}

#[test]
fn the_least_time_of_a_budget_follows_a_warmup_of_the_command_line() {
    let time_s = |keys: &str, warmup: &str| {
        let keys = format!("slices = \"1s\"\nwithin = \"10m\"\n{keys}\n");
        let changed = read(&sliced(&keys)).unwrap().with_warmup(warmup);
        changed.unwrap().protocol.time.unwrap().as_secs()
    };
    assert_eq!(time_s("warmup = \"3s\"", "0s"), 20);
    assert_eq!(time_s("", "3s"), 10);
    assert_eq!(time_s("time = \"45s\"", "3s"), 45);
}

#[test]
fn slices_of_no_stated_length_may_become_as_long_as_a_quarter_of_the_time() {
    let of = |keys: &str| {
        let protocol = read(&sliced(keys)).unwrap().protocol;
        (protocol.slice_length().unwrap(), protocol.slice_longest())
    };
    let (short, second) = (Duration::from_millis(250), Duration::from_secs(1));
    assert_eq!(of("slices = \"1s\"\ntime = \"60s\"\n"), (second, None));
    let auto = |time: &str| of(&format!("slices = \"auto\"\nwarmup = \"5s\"\n{time}\n"));
    assert_eq!(auto("time = \"60s\""), (short, Some(15 * second)));
    assert_eq!(auto("time = \"10m\""), (short, Some(30 * second)));
    assert_eq!(auto("within = \"10m\""), (short, Some(10 * short)));
}

#[test]
fn what_a_budget_cannot_plan_is_known_after_the_command_line_too() {
    let experiment = read(&sliced("slices = \"1s\"\nwithin = \"10m\"\n")).unwrap();
    let refused = |one: &Experiment| one.protocol.refused_within().map(|(says, _)| says);
    assert_eq!(refused(&experiment), None);
    let share = experiment.clone().with_warmup("50%").unwrap();
    assert!(refused(&share).unwrap().contains("a share of the time"));
    let single = experiment.with_blocks(1).unwrap();
    assert!(refused(&single).unwrap().contains("at least two"));
}

#[test]
fn a_budget_that_cannot_choose_is_refused() {
    for (keys, says) in [
        ("within = \"10m\"\n", "plans loads in slices only"),
        (
            "slices = \"off\"\nwithin = \"10m\"\ntime = \"60s\"\n",
            "plans loads in slices only",
        ),
        (
            "slices = \"1s\"\nwithin = \"10m\"\ntime = \"60s\"\nblocks = 3\n",
            "has nothing to choose",
        ),
        (
            "slices = \"1s\"\nwithin = \"10m\"\nblocks = 1\n",
            "at least two",
        ),
        (
            "slices = \"1s\"\nwithin = \"10m\"\nblocks = { first = 3, most = 9 }\n",
            "a fixed number of blocks",
        ),
        (
            "slices = \"1s\"\nwithin = \"10m\"\nwarmup = \"50%\"\n",
            "a share of the time",
        ),
        ("slices = \"1s\"\nwithin = \"ten\"\n", "ten"),
        (
            "within = \"10m\"\nslices = \"1s\"\nrounds = [\"hot\"]\n",
            "\"within\" requests a timed load",
        ),
    ] {
        let error = read(&sliced(keys)).unwrap_err();
        assert!(shown(&error).contains(says), "{keys}: {}", shown(&error));
    }
}
