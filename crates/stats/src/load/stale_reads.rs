//! What reads on the nodes of a server returned, in a few figures.
//!
//! Purpose: the beats of a trial in one note. Boundaries: crate `prony` makes the series of each node.

use super::measured::{known, sum};
use record::load::Loaded;
use record::names::{READ_AGE, READS_BACK};
use record::{StaleReads, Steady};

/// A node that was read in a smaller share of the measured seconds shows no absence of stale reads.
const READ_SHARE_MIN: f64 = 0.5;

/// The first node that was hardly read: `reads on node 3 have a known age in 4 of 60 seconds`.
fn hardly_read(load: &Loaded, steady: &Steady) -> Option<String> {
    let all = steady.seconds();
    let mut read = load.node_series.iter().map(|(node, series)| {
        let ages = series.get(READ_AGE);
        (node, ages.map_or(0, |ages| known(ages, steady).len()))
    });
    let (node, read_s) = read.find(|(_, read)| (*read as f64) < READ_SHARE_MIN * f64::from(all))?;
    Some(format!(
        "reads on node {node} have a known age in {read_s} of {all} seconds"
    ))
}

/// Of the nodes from 2 on: the first one is written. None without beats, which the first node has too.
pub(crate) fn stale_reads(load: &Loaded, steady: &Steady) -> Option<StaleReads> {
    let of = |name: &str| -> Vec<f64> {
        let named = (load.node_series.values()).filter_map(|series| series.get(name));
        named.flat_map(|seconds| known(seconds, steady)).collect()
    };
    let mut nodes = load.node_series.values().chain([&load.series]);
    let has_beats = nodes.any(|series| series.contains_key(READ_AGE));
    let ages_ms = of(READ_AGE);
    let none = "no further node could be read";
    let none = ages_ms.is_empty().then(|| none.to_string());
    (has_beats && steady.seconds() > 0).then(|| StaleReads {
        read_s: ages_ms.len() as u64,
        stale_s: ages_ms.iter().filter(|age_ms| **age_ms > 0.0).count() as u64,
        age_ms_mean: ages_ms.iter().sum::<f64>() / ages_ms.len().max(1) as f64,
        age_ms_max: ages_ms.iter().copied().fold(0.0, f64::max),
        back: (of(READS_BACK).iter().sum::<f64>() + sum(load, READS_BACK, steady)) as u64,
        hardly_read: hardly_read(load, steady).or(none),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, series};
    use crate::load::summary::summarise;
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
            hardly_read: None,
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
        let mut load = with_ages(|_| 0.0);
        let hardly = |load: &Loaded| summarise(load).stale_reads.unwrap().hardly_read;
        assert_eq!(hardly(&load), None);
        load.node_series.insert(4, BTreeMap::new());
        let says = hardly(&load).unwrap();
        assert_eq!(says, "reads on node 4 have a known age in 0 of 20 seconds");
        let ages = load.node_series.get_mut(&2).unwrap();
        ages.get_mut(READ_AGE).unwrap()[1..].fill(None);
        let reads = summarise(&load).stale_reads.unwrap();
        assert_eq!(
            reads.sentence(),
            "no read on a further node was stale, but reads on node 2 have a known age in 1 of 20 seconds"
        );
    }

    #[test]
    fn further_nodes_that_were_never_read_are_named_where_the_first_one_was() {
        let mut load = closed(|_| 100.0, 20);
        let first = series(20, |_| 0.0);
        load.series.insert(READ_AGE.to_string(), first);
        let reads = |load: &Loaded| summarise(load).stale_reads.unwrap();
        let none = Some("no further node could be read".to_string());
        assert_eq!(reads(&load).hardly_read, none);
        load.node_series.insert(2, BTreeMap::new());
        let found = reads(&load);
        assert_eq!((found.read_s, found.age_ms_mean), (0, 0.0));
        let says = found.hardly_read.unwrap();
        assert_eq!(says, "reads on node 2 have a known age in 0 of 20 seconds");
    }

    #[test]
    fn without_beats_nothing_is_said() {
        assert_eq!(summarise(&closed(|_| 100.0, 20)).stale_reads, None);
    }
}
