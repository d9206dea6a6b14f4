//! Whether slices were long beside the operations in them.
//!
//! Every operation that begins in a slice counts with its whole latency, and a slice as the time in which its clients were busy. So
//! operations by busy time has no bias from cutting, however long operations are: the sum of latencies up to the first one that ends
//! after the slice has the mean of their number times the mean latency (Wald, "On cumulative sums of random variables", 1944). It has
//! one from the edges, where the load is another: all clients begin at once, and fewer and fewer finish. The share of time at the edges
//! measures how much. In a simulation of saturated servers (METHODOLOGY.md, rule 1) the throughput was too high by less than half of the
//! share, where 1 % of the operations took 50 times as long as the others by up to one and a half times.

use crate::load::percentiles::QUANTILES;
use record::load::{Loaded, Mode};
use record::{Latency, Percentiles, Slices};

/// Above this share of the clients' time at the edges, a throughput is flagged.
const NOTED: f64 = 0.05;
/// Above this one the simulation knows errors of half of the throughput.
const INVALID: f64 = 0.15;
/// Longer slices are trials.
const LONGEST_S: f64 = 30.0;

/// Which share of the clients' time was at the edges of slices, and the way out; None where it was small, and in older records. True
/// if it was so large that the trial cannot be used.
pub fn short_slices(slices: &Slices) -> Option<(String, bool)> {
    let share = slices.edges_share.filter(|share| *share > NOTED)?;
    let enough_s = (slices.length_s * share / NOTED).ceil();
    let way_out = match enough_s <= LONGEST_S {
        true => format!(
            "use slices = \"{enough_s}s\" and a time of at least {} s",
            f64::from(Slices::MIN) * enough_s
        ),
        false => "use slices = \"off\"".to_string(),
    };
    let text = format!(
        "slices of {} s are short for these operations: {:.0} % of the clients' time was in the first operation of a slice or after its \
         end, where fewer clients run at the same time than in between, so the throughput may be too high by up to twice that share; {way_out}",
        slices.length_s,
        share * 100.0,
    );
    Some((text, share > INVALID))
}

/// First operations after a pause are slower if their mean latency is this many times that of all.
const SLOWER: f64 = 1.2;
/// They may decide a percentile if they number this share of the operations above it.
const DECISIVE: f64 = 0.5;

/// The share of the operations that are the first ones of a client after a pause of its server. None without slices, and where they take no
/// longer than the others.
pub(crate) fn slow_first(load: &Loaded, operations: f64) -> Option<f64> {
    let slices = load.engine.slices.as_ref()?;
    let Mode::Closed { clients, .. } = load.mode else {
        return None;
    };
    let are_slower = slices.first_s_mean? > SLOWER * slices.operation_s_mean?;
    let first = f64::from(slices.count) * f64::from(clients);
    (are_slower && operations > 0.0).then(|| first / operations)
}

/// Marks the percentiles that this share of the operations may decide.
pub(crate) fn mark(first: f64, latency: &mut Latency) {
    let Latency {
        response, service, ..
    } = latency;
    response
        .iter_mut()
        .chain(service)
        .for_each(|found| of_pauses(first, found));
}

fn of_pauses(first: f64, found: &mut Percentiles) {
    for percentile in QUANTILES {
        let above = 1.0 - percentile.share_below();
        if found.at(percentile).is_some() && first >= DECISIVE * above {
            found.of_pauses.push(percentile);
            found.doubt(percentile);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, with_response};
    use crate::summarise;
    use record::claim::Percentile;

    /// A load of 20 slices, whose four clients do 200 operations a second; the first ones after a pause take so many times as long.
    fn marked(slower: f64) -> Vec<Percentile> {
        let load = closed(|_| 200.0, 20);
        let mut load = with_response(load, 20, |_| vec![20_000_000; 200]);
        load.mode = Mode::Closed {
            clients: 4,
            think_s: 0.0,
        };
        load.engine.slices = Some(Slices {
            length_s: 1.0,
            count: 20,
            servers: 2,
            spanned_s: 40.0,
            finishing_s_max: 0.01,
            edges_share: Some(0.04),
            first_s_mean: Some(0.02 * slower),
            operation_s_mean: Some(0.02),
            written_between_bytes: None,
        });
        let response = summarise(&load).latency.response.unwrap();
        let why = response.why_uncertain(Percentile::P99, 20).unwrap();
        assert_eq!(
            why.contains("pauses of the server"),
            slower > SLOWER,
            "{why}"
        );
        response.of_pauses
    }

    #[test]
    fn percentiles_that_the_first_operations_after_pauses_may_decide_are_uncertain() {
        // Two in a hundred operations are such first ones.
        assert_eq!(marked(3.0), [Percentile::P99]);
        assert_eq!(marked(1.1), []);
    }

    fn short(length_s: f64, edges_share: Option<f64>) -> Option<(String, bool)> {
        short_slices(&Slices {
            length_s,
            count: 20,
            servers: 2,
            spanned_s: 40.0,
            finishing_s_max: 0.01,
            edges_share,
            first_s_mean: None,
            operation_s_mean: None,
            written_between_bytes: None,
        })
    }

    #[test]
    fn slices_that_are_short_beside_their_operations_are_named_with_the_length_that_would_do() {
        assert_eq!(short(1.0, Some(0.05)), None);
        assert_eq!(short(1.0, None), None);
        let (text, is_invalid) = short(0.5, Some(0.12)).unwrap();
        assert!(text.contains("12 % of the clients' time"), "{text}");
        assert!(
            text.ends_with("use slices = \"2s\" and a time of at least 8 s") && !is_invalid,
            "{text}"
        );
    }

    #[test]
    fn a_load_that_is_mostly_edges_is_no_measurement() {
        let (text, is_invalid) = short(1.0, Some(0.9)).unwrap();
        assert!(
            text.ends_with("use slices = \"18s\" and a time of at least 72 s") && is_invalid,
            "{text}"
        );
        let (text, is_invalid) = short(10.0, Some(1.0)).unwrap();
        assert!(
            text.ends_with("use slices = \"off\"") && is_invalid,
            "{text}"
        );
    }
}
