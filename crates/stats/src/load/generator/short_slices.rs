//! Whether slices were long beside the operations in them.
//!
//! Every operation that begins in a slice counts with its whole latency, and a slice as the time in which its clients were busy. So
//! operations by busy time has no bias from cutting, however long operations are: the sum of latencies up to the first one that ends
//! after the slice has the mean of their number times the mean latency (Wald, "On cumulative sums of random variables", 1944). It has
//! one from the edges, where the load is another: all clients begin at once, and fewer and fewer finish. The share of time at the edges
//! measures how much. In a simulation of saturated servers (METHODOLOGY.md, rule 1) the throughput was too high by less than half of the
//! share, where 1 % of the operations took 50 times as long as the others by up to one and a half times.

use record::claim::Percentile;
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
/// The longest operation of a histogram is one that lasted at least this share of it.
const SAME: f64 = 0.99;

/// The first operations of clients after pauses of their server.
pub(crate) struct First {
    /// Their share of all operations, where they take longer than the others.
    slow_share: Option<f64>,
    /// The longest of them (ms); none in older records.
    longest_ms: Option<f64>,
}

impl First {
    /// None without slices.
    pub(crate) fn of(load: &Loaded, operations: f64) -> Option<First> {
        let slices = load.engine.slices.as_ref()?;
        Some(First {
            slow_share: slow_share(slices, &load.mode, operations),
            longest_ms: slices.first_s_max.map(|longest_s| 1e3 * longest_s),
        })
    }

    /// Marks the percentiles that they may decide, and the max if it is one of them.
    pub(crate) fn mark(&self, latency: &mut Latency) {
        for found in latency.response.iter_mut().chain(&mut latency.service) {
            for percentile in Percentile::ALL {
                if found.at(percentile).is_some() && self.may_decide(percentile, found) {
                    found.of_pauses.push(percentile);
                    found.doubt(percentile);
                }
            }
        }
    }

    fn may_decide(&self, percentile: Percentile, found: &Percentiles) -> bool {
        let above = DECISIVE * (1.0 - percentile.share_below());
        let longest_ms = SAME * found.max_ms;
        match percentile {
            Percentile::Max => self.longest_ms.is_some_and(|own| own >= longest_ms),
            _ => self.slow_share.is_some_and(|share| share >= above),
        }
    }
}

/// Which share of the operations they are, where their mean latency is longer than that of all.
fn slow_share(slices: &Slices, mode: &Mode, operations: f64) -> Option<f64> {
    let Mode::Closed { clients, .. } = mode else {
        return None;
    };
    let are_slower = slices.first_s_mean? > SLOWER * slices.operation_s_mean?;
    let first = f64::from(slices.count) * f64::from(*clients);
    (are_slower && operations > 0.0).then(|| first / operations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, with_response};
    use crate::summarise;

    /// A load of 20 slices, whose four clients do 200 operations of 20 ms a second; the first ones after a pause take so many times as long in
    /// the mean, and the longest of them this long.
    fn response(slower: f64, first_s_max: Option<f64>) -> Percentiles {
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
            first_s_max,
            operation_s_mean: Some(0.02),
            written_between_bytes: None,
        });
        summarise(&load).latency.response.unwrap()
    }

    fn marked(slower: f64) -> Vec<Percentile> {
        let response = response(slower, None);
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

    #[test]
    fn a_max_that_is_of_a_first_operation_after_a_pause_is_uncertain() {
        let of_first = response(1.0, Some(0.02));
        assert_eq!(of_first.of_pauses, [Percentile::Max]);
        assert!(of_first.is_uncertain(Percentile::Max));
        let why = of_first.why_uncertain(Percentile::Max, 20).unwrap();
        assert!(why.contains("slices = \"off\""), "{why}");
        assert_eq!(response(1.0, Some(0.01)).of_pauses, []);
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
            first_s_max: None,
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
