//! The estimated cost of a run.
//!
//! Purpose: trials, disk space and time, from the caller's figures for one dataset and one trial. Boundaries: the caller
//! knows how fast a server loads and answers.

use super::{Plan, PlannedTrial, search};
use crate::Experiment;

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
    Expectation {
        trials: (plan.trials().count() * probes) as u64,
        disk_bytes: datasets
            .iter()
            .map(|dataset| dataset.new_bytes)
            .sum::<u64>()
            + copy_bytes,
        elapsed_s: datasets.iter().map(|dataset| dataset.load_s).sum::<f64>()
            + plan.trials().map(place_s).sum::<f64>(),
    }
}

/// Formats the estimate as three lines for the terminal.
pub fn text(experiment: &Experiment, expectation: &Expectation) -> String {
    format!(
        "trials  {}\ndisk    about {}\ntime    about {}\n",
        trials_text(experiment, expectation.trials),
        bytes_text(expectation.disk_bytes),
        seconds_text(expectation.elapsed_s)
    )
}

/// `30: 2 server x 5 variant x 2 joins x 3 blocks, less 30 excluded by "only" or assigned to other shards`
fn trials_text(experiment: &Experiment, trials: u64) -> String {
    let servers = experiment.servers.len();
    let mut counts: Vec<(&str, usize)> = Vec::new();
    counts.extend((servers > 0).then_some(("server", servers)));
    counts.extend(
        experiment
            .factors
            .iter()
            .map(|factor| (factor.name.as_str(), factor.levels.len())),
    );
    counts.push(if experiment.protocol.blocks == 1 {
        ("block", 1)
    } else {
        ("blocks", experiment.protocol.blocks as usize)
    });
    let search = experiment.search();
    let probes = search.map_or(1, |search| search::probes_usual(search.between) as u64);
    let product: u64 = counts.iter().map(|(_, count)| *count as u64).product();
    let mut factors: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    factors.extend(search.map(|_| format!("up to {probes} probes of a search")));
    let without = match (product * probes).saturating_sub(trials) {
        0 => String::new(),
        excluded => format!(", less {excluded} excluded by \"only\" or assigned to other shards"),
    };
    format!("{trials}: {}{without}", factors.join(" x "))
}

fn bytes_text(bytes: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("GiB", 1073741824.0), ("MiB", 1048576.0), ("KiB", 1024.0)];
    let bytes = bytes as f64;
    let unit = UNITS.iter().find(|(_, unit)| bytes >= *unit);
    unit.map_or(format!("{bytes} bytes"), |(name, unit)| {
        format!("{:.1} {name}", bytes / unit)
    })
}

fn seconds_text(seconds: f64) -> String {
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
            "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.oltp]\n[load.open]\n{load}\n[protocol]\ntime = '60s'\nseries = true\nblocks = 2\n"
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
        disk    about 0 bytes
        time    about 12 min
        ");
    }

    #[test]
    fn the_estimate_lists_the_factors_and_excluded_trials() {
        let expectation = Expectation {
            trials: 15,
            disk_bytes: 3 << 29,
            elapsed_s: 600.0,
        };
        insta::assert_snapshot!(text(&experiment(3), &expectation), @r#"
        trials  15: 2 server x 3 variant x 3 blocks, less 3 excluded by "only" or assigned to other shards
        disk    about 1.5 GiB
        time    about 10 min
        "#);
    }
}
