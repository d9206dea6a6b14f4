//! The estimated cost of a run.
//!
//! Purpose: trials, disk space and time, from the caller's figures for one dataset and one trial. Boundaries: the caller
//! knows how fast a server loads and answers.

use super::{Plan, PlannedTrial, search};
use crate::Experiment;
use crate::text::unit::duration_text;
use record::number::binary_size;
use record::{Looks, listed};
use std::time::Duration;

/// The estimated cost of one server's dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetCost {
    /// The server's name in the file.
    pub server: String,
    /// Size of the snapshot on disk; 0 if it already exists.
    pub new_bytes: u64,
    /// Size of the copy that a trial works on.
    pub copy_bytes: u64,
    /// Time to download the server and load the data; 0 if the snapshot already exists.
    pub load_s: f64,
}

/// The estimated cost of a whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    pub trials: u64,
    /// Trials and time until the first look at the claims, after which the others are measured only where a claim is undecided. The
    /// same as of the whole run for a fixed number of blocks.
    pub first: (u64, f64),
    /// Those of them that are the control.
    pub controls: u64,
    /// Size of the missing snapshots plus the largest copy, since trials run one after another.
    pub disk_bytes: u64,
    pub elapsed_s: f64,
}

/// `trial_s` returns the seconds of one trial, including server starts and copies; a trial that continues a series has
/// none. A search counts as the maximum number of probes without contradictions.
pub fn expect(
    plan: &Plan,
    datasets: &[DatasetCost],
    trial_s: &dyn Fn(&PlannedTrial) -> f64,
) -> Expectation {
    let copy_bytes = datasets
        .iter()
        .map(|dataset| dataset.copy_bytes)
        .max()
        .unwrap_or(0);
    let search = plan.experiment.search();
    let probes = search.map_or(1, |search| search::probes_usual(search.between));
    let place_s = |first: PlannedTrial| {
        let further = PlannedTrial {
            continues: plan.experiment.protocol.series,
            ..first.clone()
        };
        trial_s(&first) + (probes - 1) as f64 * trial_s(&further)
    };
    let load_s = datasets.iter().map(|dataset| dataset.load_s).sum::<f64>();
    let until = |blocks: u32| {
        let trials = || plan.trials().filter(|trial| trial.key.block < blocks);
        let trials_s: f64 = trials().map(place_s).sum();
        ((trials().count() * probes) as u64, load_s + trials_s)
    };
    let (trials, elapsed_s) = until(plan.looks.most());
    Expectation {
        trials,
        first: until(plan.looks.first()),
        controls: plan.trials().filter(|trial| trial.key.is_control()).count() as u64,
        disk_bytes: datasets
            .iter()
            .map(|dataset| dataset.new_bytes)
            .sum::<u64>()
            + copy_bytes,
        elapsed_s,
    }
}

/// Formats the estimate as lines for the terminal: three, and one more where the number of blocks depends on the claims.
pub fn text(experiment: &Experiment, expectation: &Expectation) -> String {
    let looks = experiment.protocol.looks.as_ref();
    let (_, first_s) = expectation.first;
    let time = match first_s < expectation.elapsed_s {
        true => format!(
            "{} to {}",
            seconds_text(first_s),
            seconds_text(longest_s(looks, expectation))
        ),
        false => seconds_text(expectation.elapsed_s),
    };
    format!(
        "trials  {}\n{}disk    about {}\ntime    about {time}\n",
        trials_text(experiment, expectation),
        looks.map(looks_text).unwrap_or_default(),
        binary_size(expectation.disk_bytes),
    )
}

/// A limit of time does not shorten the first blocks.
fn longest_s(looks: Option<&Looks>, expectation: &Expectation) -> f64 {
    let (_, first_s) = expectation.first;
    let limit = looks.and_then(|looks| looks.within_s);
    limit.map_or(expectation.elapsed_s, |within_s| {
        expectation.elapsed_s.min(within_s.max(first_s))
    })
}

/// `looks   after 3, 5 and 9 blocks (0.4, 0.3 and 0.3 of the error rate); after the first only cells of undecided claims go on, for at most 2h`
fn looks_text(looks: &Looks) -> String {
    let all = looks.all().iter();
    let blocks: Vec<String> = all.clone().map(|look| look.blocks.to_string()).collect();
    let weights: Vec<String> = all.map(|look| look.weight.to_string()).collect();
    let within = looks.within_s.map(Duration::from_secs_f64);
    let within = within.map(|within| format!(", for at most {}", duration_text(within)));
    match looks.all().len() {
        1 => format!("looks   after {} blocks\n", looks.first()),
        _ => format!(
            "looks   after {} blocks ({} of the error rate); after the first only cells of undecided claims go on{}\n",
            listed(&blocks),
            listed(&weights),
            within.unwrap_or_default()
        ),
    }
}

/// `33: 2 server x 5 variant x 2 joins x 3 blocks, less 30 excluded by "only" or assigned to other parts, and 3 of the control`
fn trials_text(experiment: &Experiment, expectation: &Expectation) -> String {
    let (trials, controls) = (expectation.trials, expectation.controls);
    let servers = experiment.servers.len();
    let mut counts: Vec<(&str, usize)> = Vec::new();
    counts.extend((servers > 0).then_some(("server", servers)));
    counts.extend(
        experiment
            .factors
            .iter()
            .map(|factor| (factor.name.as_str(), factor.levels.len())),
    );
    let first = match expectation.first.0 {
        first if first < trials => format!("{first} to "),
        _ => String::new(),
    };
    let blocks = experiment.protocol.blocks as usize;
    counts.push((record::for_count(blocks, "block", "blocks"), blocks));
    let search = experiment.search();
    let probes = search.map_or(1, |search| search::probes_usual(search.between) as u64);
    let product: u64 = counts.iter().map(|(_, count)| *count as u64).product();
    let mut factors: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    factors.extend(search.map(|_| format!("up to {probes} probes of a search")));
    let without = match (product * probes).saturating_sub(trials - controls) {
        0 => String::new(),
        excluded => format!(", less {excluded} excluded by \"only\" or assigned to other parts"),
    };
    let control = match controls {
        0 => String::new(),
        controls => format!(", and {controls} of the control"),
    };
    format!("{first}{trials}: {}{without}{control}", factors.join(" x "))
}

/// `85 s`, `12 min`, `1.5 h`.
pub fn seconds_text(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{experiment, parse};

    #[test]
    fn snapshots_add_up_and_copies_do_not() {
        let dataset = |bytes: u64| DatasetCost {
            server: "5.6".to_string(),
            new_bytes: bytes,
            copy_bytes: bytes,
            load_s: 30.0,
        };
        let experiment = experiment(2);
        let plan = Plan::new(&experiment, 7).unwrap();
        let expected = expect(&plan, &[dataset(1 << 30), dataset(2 << 30)], &|_| 10.0);
        assert_eq!(expected.disk_bytes, 5 << 30);
        assert_eq!(expected.elapsed_s, 60.0 + plan.len() as f64 * 10.0);
    }

    fn timed(load: &str) -> Experiment {
        parse(&format!(
            "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.oltp]\n[load.open]\n{load}\n[protocol]\ntime = '60s'\nseries = true\nblocks = 2\ncontrol = false\n"
        ))
    }

    fn of_starts(experiment: &Experiment) -> Expectation {
        let plan = Plan::new(experiment, 7).unwrap();
        let trial_s = |trial: &PlannedTrial| if trial.continues { 60.0 } else { 63.0 };
        expect(&plan, &[], &trial_s)
    }

    #[test]
    fn a_series_starts_its_server_once() {
        let expected = of_starts(&timed("rate = ['50% of max', 100]\nworkers = [1, 8]"));
        assert_eq!(expected.elapsed_s, 2.0 * (6.0 * 60.0 + 3.0));
    }

    #[test]
    fn a_search_is_estimated_without_contradictions() {
        let experiment = timed("find = { max_rate = [100, 20000], where = 'p99 <= 10ms' }");
        let expected = of_starts(&experiment);
        assert_eq!(expected.elapsed_s, 2.0 * (15.0 * 60.0 + 3.0));
        insta::assert_snapshot!(text(&experiment, &expected));
    }

    #[test]
    fn every_number_of_workers_has_its_maximum() {
        let experiment = timed("rate = ['50% of max', 100]\nworkers = [1, 8]");
        insta::assert_snapshot!(text(&experiment, &of_starts(&experiment)), @r"
        trials  12: 1 server x 3 rate x 2 workers x 2 blocks
        disk    about 0 B
        time    about 12 min
        ");
    }

    #[test]
    fn the_looks_are_shown_with_their_weights_and_the_range_of_trials_and_time() {
        let experiment = parse(
            "title = 't'\n[server.a]\nbuild = 'mariadb'\n[server.b]\nbuild = 'mariadb'\n[workload.ssb]\n\
             [protocol]\ncontrol = false\nblocks = { first = 3, most = 9, within = '3m' }\n\
             [[claim]]\nsays = 's'\nvalue = 'elapsed'\nof = { server = 'a' }\nto = { server = 'b' }\nat_least = 2\n",
        );
        let plan = Plan::new(&experiment, 7).unwrap();
        let expected = expect(&plan, &[], &|_| 20.0);
        insta::assert_snapshot!(text(&experiment, &expected), @r"
        trials  6 to 18: 2 server x 9 blocks
        looks   after 3, 5 and 9 blocks (0.4, 0.3 and 0.3 of the error rate); after the first only cells of undecided claims go on, for at most 3m
        disk    about 0 B
        time    about 2 min to 3 min
        ");
    }

    #[test]
    fn the_estimate_lists_the_factors_and_excluded_trials() {
        let expectation = Expectation {
            trials: 18,
            controls: 3,
            first: (18, 600.0),
            disk_bytes: 3 << 29,
            elapsed_s: 600.0,
        };
        insta::assert_snapshot!(text(&experiment(3), &expectation), @r#"
        trials  18: 2 server x 3 variant x 3 blocks, less 3 excluded by "only" or assigned to other parts, and 3 of the control
        disk    about 1.5 GiB
        time    about 10 min
        "#);
    }
}
