//! What a run is expected to take, before it begins.
//!
//! Goal: trials, disk and time from the caller's figures for one dataset and one trial, in words. Non-goal: knowing how
//! fast a server loads or answers.

use super::PlannedTrial;
use crate::spec::Experiment;

/// What one server's dataset is expected to take.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetCost {
    /// The server's name in the file.
    pub server: String,
    /// Of the snapshot on disk; 0 where one is there already.
    pub new_bytes: u64,
    /// Of the copy that a trial works on.
    pub copy_bytes: u64,
    /// Getting the server and loading; 0 where the snapshot is there already.
    pub load_s: f64,
}

/// What a whole run is expected to take.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    pub trials: u64,
    /// Snapshots that are still to be made, and the largest copy: trials run one after another.
    pub disk_bytes: u64,
    pub elapsed_s: f64,
}

/// `trial_s` gives the seconds of one trial, its starts and copies included.
pub fn expect(
    trials: &[PlannedTrial],
    datasets: &[DatasetCost],
    trial_s: &dyn Fn(&PlannedTrial) -> f64,
) -> Expectation {
    let copy_bytes = datasets
        .iter()
        .map(|dataset| dataset.copy_bytes)
        .max()
        .unwrap_or(0);
    Expectation {
        trials: trials.len() as u64,
        disk_bytes: datasets
            .iter()
            .map(|dataset| dataset.new_bytes)
            .sum::<u64>()
            + copy_bytes,
        elapsed_s: datasets.iter().map(|dataset| dataset.load_s).sum::<f64>()
            + trials.iter().map(trial_s).sum::<f64>(),
    }
}

/// Three lines for the terminal.
pub fn text(experiment: &Experiment, expectation: &Expectation) -> String {
    format!(
        "trials  {}\ndisk    about {}\ntime    about {}\n",
        trials_text(experiment, expectation.trials),
        bytes_text(expectation.disk_bytes),
        seconds_text(expectation.elapsed_s)
    )
}

/// `30: 2 server x 5 variant x 2 joins x 3 blocks, without the 30 that "only" excludes or another shard has`
fn trials_text(experiment: &Experiment, trials: u64) -> String {
    let mut counts = vec![("server", experiment.servers.len())];
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
    let product: u64 = counts.iter().map(|(_, count)| *count as u64).product();
    let factors: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let without = match product.saturating_sub(trials) {
        0 => String::new(),
        excluded => format!(", without the {excluded} that \"only\" excludes or another shard has"),
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
    use crate::plan::tests::{experiment, planned};

    #[test]
    fn snapshots_add_up_and_copies_do_not() {
        let dataset = |bytes: u64| DatasetCost {
            server: "5.6".to_string(),
            new_bytes: bytes,
            copy_bytes: bytes,
            load_s: 30.0,
        };
        let trials = planned(2);
        let expected = expect(&trials, &[dataset(1 << 30), dataset(2 << 30)], &|_| 10.0);
        assert_eq!(expected.disk_bytes, 5 << 30);
        assert_eq!(expected.elapsed_s, 60.0 + trials.len() as f64 * 10.0);
    }

    #[test]
    fn the_text_names_the_factors_and_what_is_left_out() {
        let expectation = Expectation {
            trials: 15,
            disk_bytes: 3 << 29,
            elapsed_s: 600.0,
        };
        insta::assert_snapshot!(text(&experiment(3), &expectation), @r#"
        trials  15: 2 server x 3 variant x 3 blocks, without the 3 that "only" excludes or another shard has
        disk    about 1.5 GiB
        time    about 10 min
        "#);
    }
}
