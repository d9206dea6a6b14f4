//! What reads on the nodes of a server returned, in a few figures.
//!
//! Purpose: the beats of a trial in one note. Boundaries: crate `prony` makes the series of each node.

use super::measured::known;
use record::load::Loaded;
use record::names::{READ_AGE, READS_BACK};
use record::{StaleReads, Steady, Trial};
use std::collections::BTreeSet;

/// A node that was read in a smaller share of the measured seconds shows no absence of stale reads.
const READ_SHARE_MIN: f64 = 0.5;

/// The first node that was hardly read: `node 3 could be read in 4 of 60 seconds`.
pub(crate) fn hardly_read(trial: &Trial, load: &Loaded, steady: &Steady) -> Option<String> {
    let of_series = load.node_series.keys();
    let nodes = of_series.chain(trial.node_settings.keys()).copied();
    let nodes: BTreeSet<u32> = nodes.collect();
    let all = steady.seconds();
    let read_s = |node: &u32| {
        let series = load.node_series.get(node);
        let ages = series.and_then(|series| series.get(READ_AGE));
        ages.map_or(0, |ages| known(ages, steady).len())
    };
    let mut read = nodes.into_iter().map(|node| (node, read_s(&node)));
    let (node, read_s) = read.find(|(_, read)| (*read as f64) < READ_SHARE_MIN * f64::from(all))?;
    Some(format!(
        "node {node} could be read in {read_s} of {all} seconds"
    ))
}

/// Of the nodes from 2 on: the first one is written. None without beats.
pub(crate) fn stale_reads(load: &Loaded, steady: &Steady) -> Option<StaleReads> {
    let of = |name: &str| -> Vec<f64> {
        let named = (load.node_series.values()).filter_map(|series| series.get(name));
        named.flat_map(|seconds| known(seconds, steady)).collect()
    };
    let ages_ms = of(READ_AGE);
    (!ages_ms.is_empty()).then(|| StaleReads {
        read_s: ages_ms.len() as u64,
        stale_s: ages_ms.iter().filter(|age_ms| **age_ms > 0.0).count() as u64,
        age_ms_mean: ages_ms.iter().sum::<f64>() / ages_ms.len() as f64,
        age_ms_max: ages_ms.iter().copied().fold(0.0, f64::max),
        back: (of(READS_BACK).iter().sum::<f64>()
            + known(load.seconds(READS_BACK), steady).iter().sum::<f64>()) as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, series};
    use crate::load::summary::summarise;
    use record::TrialKey;
    use std::collections::BTreeMap;

    /// Twenty seconds with three nodes; the ages are those of the second one.
    fn with_ages(age_ms: impl Fn(usize) -> f64) -> Loaded {
        let mut load = closed(|_| 100.0, 20);
        load.series
            .insert(READS_BACK.to_string(), series(20, |_| 0.0));
        let of_node = |age_ms: &dyn Fn(usize) -> f64| {
            BTreeMap::from([
                (READ_AGE.to_string(), series(20, age_ms)),
                (
                    READS_BACK.to_string(),
                    series(20, |second| f64::from(age_ms(second) > 0.0)),
                ),
            ])
        };
        load.node_series.insert(2, of_node(&age_ms));
        load.node_series.insert(3, of_node(&|_| 0.0));
        load
    }

    #[test]
    fn stale_seconds_their_ages_and_steps_back_are_counted_over_the_further_nodes() {
        let load = with_ages(|second| if second < 4 { 10.0 } else { 0.0 });
        let reads = summarise(&load).stale_reads.unwrap();
        let expected = StaleReads {
            read_s: 40,
            stale_s: 4,
            age_ms_mean: 1.0,
            age_ms_max: 10.0,
            back: 4,
        };
        assert_eq!(reads, expected);
        assert_eq!(
            reads.sentence(),
            "reads on further nodes were stale in 4 of 40 seconds, by 10.0 ms at most; 4 went back in time"
        );
    }

    #[test]
    fn reads_without_an_age_are_not_stale() {
        let reads = summarise(&with_ages(|_| 0.0)).stale_reads.unwrap();
        assert_eq!(reads.sentence(), "no read on a further node was stale");
    }

    #[test]
    fn a_node_that_was_hardly_read_is_named_also_without_any_read() {
        let mut trial = Trial::unmeasured(TrialKey::default(), 0);
        let mut load = with_ages(|_| 0.0);
        let summary = summarise(&load);
        let hardly = |trial: &Trial, load: &Loaded| hardly_read(trial, load, &summary.steady);
        assert_eq!(hardly(&trial, &load), None);
        trial.node_settings.insert(4, BTreeMap::new());
        let says = hardly(&trial, &load).unwrap();
        assert!(says.starts_with("node 4 could be read in 0 of "), "{says}");
        let ages = load.node_series.get_mut(&2).unwrap();
        ages.get_mut(READ_AGE).unwrap()[1..].fill(None);
        let says = hardly(&trial, &load).unwrap();
        assert!(says.starts_with("node 2 could be read in "), "{says}");
    }

    #[test]
    fn without_beats_nothing_is_said() {
        assert_eq!(summarise(&closed(|_| 100.0, 20)).stale_reads, None);
    }
}
