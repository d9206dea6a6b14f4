//! The latency that follows from the service times in a first-come, first-served queue with k workers.
//!
//! Purpose: percentiles by simulation of the FCFS G/G/k queue from the measured service times, and the mean by the formula of
//! Allen and Cunneen. If the measured latency differs, the service times depend on the load, or operations wait for something
//! other than the queue. Boundary: it does not predict service times at another concurrency.
//!
//! Sources: Erlang 1917 for the chance to wait in M/M/k; Allen, "Probability, statistics and queueing theory", 1990, for the
//! correction (Ca^2 + Cs^2) / 2, which is exact for M/M/k and for the mean of M/G/1.

use hdrhistogram::Histogram;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use record::Percentiles;
use record::load::Arrivals;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How the gaps between arrivals are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Exponential.
    Poisson,
    /// Constant.
    Uniform,
}

impl Gaps {
    /// None for schedules whose rate changes, which no stationary queue has.
    pub fn from_arrivals(arrivals: &Arrivals) -> Option<Gaps> {
        match arrivals {
            Arrivals::Poisson => Some(Gaps::Poisson),
            Arrivals::Uniform => Some(Gaps::Uniform),
            _ => None,
        }
    }

    /// The squared coefficient of variation.
    fn variation(self) -> f64 {
        match self {
            Gaps::Poisson => 1.0,
            Gaps::Uniform => 0.0,
        }
    }
}

/// A measured queue.
#[derive(Clone, Copy, Debug)]
pub struct Queue<'h> {
    pub workers: u32,
    /// Requests per second.
    pub rate: f64,
    pub gaps: Gaps,
    pub service_ns: &'h Histogram<u64>,
}

/// The model's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Utilisation of the workers; from 1 on the queue grows.
    pub utilisation: f64,
    /// None where the queue grows.
    pub response: Option<Percentiles>,
    /// By the formula; none where the queue grows.
    pub mean_ms: Option<f64>,
}

/// Simulated arrivals, and the warm-up arrivals before them.
const ARRIVALS: usize = 500_000;
const FILLING: usize = 50_000;

/// None where nothing was served, or nothing arrives. The same seed gives the same figures.
pub fn predict(queue: &Queue, seed: u64) -> Option<Predicted> {
    if queue.service_ns.is_empty() || queue.workers == 0 || queue.rate <= 0.0 {
        return None;
    }
    let utilisation = queue.rate * queue.service_ns.mean() / 1e9 / f64::from(queue.workers);
    let stable = utilisation < 1.0;
    Some(Predicted {
        utilisation,
        response: stable
            .then(|| crate::load::percentiles::percentiles(&simulated(queue, seed)))
            .flatten(),
        mean_ms: stable.then(|| allen_cunneen_ms(queue, utilisation)),
    })
}

/// Responses in nanoseconds.
fn simulated(queue: &Queue, seed: u64) -> Histogram<u64> {
    let mut random = Pcg64::seed_from_u64(seed);
    let service = Quantiles::of(queue.service_ns);
    let gap_ns = 1e9 / queue.rate;
    let mut free: BinaryHeap<Reverse<u64>> = (0..queue.workers).map(|_| Reverse(0)).collect();
    let mut response = Histogram::<u64>::new(3).expect("three digits are allowed");
    let mut arrival_ns = 0.0;
    for n in 0..FILLING + ARRIVALS {
        arrival_ns += match queue.gaps {
            Gaps::Poisson => -gap_ns * (1.0 - random.random::<f64>()).ln(),
            Gaps::Uniform => gap_ns,
        };
        let arrival = arrival_ns as u64;
        let mut first = free.peek_mut().expect("there is a worker");
        let ended = first.0.max(arrival) + service.at(random.random());
        first.0 = ended;
        if n >= FILLING {
            response += ended - arrival;
        }
    }
    response
}

/// The quantile function of a histogram.
struct Quantiles {
    /// (values up to and with this bucket, its least value, its width)
    buckets: Vec<(u64, u64, u64)>,
    all: u64,
}

impl Quantiles {
    fn of(histogram: &Histogram<u64>) -> Quantiles {
        let mut all = 0;
        let buckets = histogram
            .iter_recorded()
            .map(|step| {
                all += step.count_at_value();
                let least = histogram.lowest_equivalent(step.value_iterated_to());
                (all, least, histogram.equivalent_range(least))
            })
            .collect();
        Quantiles { buckets, all }
    }

    /// Evenly within a bucket.
    fn at(&self, share: f64) -> u64 {
        let rank = share * self.all as f64;
        let place = self
            .buckets
            .partition_point(|(upto, _, _)| *upto as f64 <= rank);
        let (upto, least, width) = self.buckets[place.min(self.buckets.len() - 1)];
        let before = place
            .checked_sub(1)
            .map_or(0, |before| self.buckets[before].0);
        let within = (rank - before as f64) / (upto - before) as f64;
        least + (within * width as f64) as u64
    }
}

/// The mean response: service and `ErlangC(k, a) S / (k (1 - rho)) (Ca^2 + Cs^2) / 2`.
fn allen_cunneen_ms(queue: &Queue, utilisation: f64) -> f64 {
    let service_ms = queue.service_ns.mean() / 1e6;
    let variation = (queue.service_ns.stdev() / queue.service_ns.mean()).powi(2);
    let waits = erlang_c(queue.workers, utilisation * f64::from(queue.workers));
    let wait_ms = waits * service_ms / (f64::from(queue.workers) * (1.0 - utilisation));
    service_ms + wait_ms * (queue.gaps.variation() + variation) / 2.0
}

/// The chance that an arrival at M/M/k has to wait, for an offered load of `a` workers, by the recursion of Erlang's B.
fn erlang_c(workers: u32, a: f64) -> f64 {
    let lost = (1..=workers).fold(1.0, |lost, k| a * lost / (f64::from(k) + a * lost));
    let utilisation = a / f64::from(workers);
    lost / (1.0 - utilisation * (1.0 - lost))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    /// Exponential service times of a mean of 1 ms, as evenly spaced quantiles.
    fn exponential() -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        for n in 0..200_000 {
            let share = (f64::from(n) + 0.5) / 200_000.0;
            histogram += (-MS * (1.0 - share).ln()) as u64;
        }
        histogram
    }

    fn fixed() -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        histogram.record_n(MS as u64, 1000).unwrap();
        histogram
    }

    fn predicted(
        service_ns: &Histogram<u64>,
        workers: u32,
        utilisation: f64,
        gaps: Gaps,
    ) -> Predicted {
        let rate = utilisation * 1000.0 * f64::from(workers);
        let queue = Queue {
            workers,
            rate,
            gaps,
            service_ns,
        };
        predict(&queue, 7).unwrap()
    }

    fn close(measured: f64, known: f64, within: f64) {
        assert!(
            (measured / known - 1.0).abs() < within,
            "{measured}, known {known}"
        );
    }

    #[test]
    fn one_worker_with_exponential_service_answers_as_the_formula_says() {
        // M/M/1: the response is exponential of mean 1 / (mu - lambda) = 1 ms / (1 - rho).
        for rho in [0.5, 0.8] {
            let found = predicted(&exponential(), 1, rho, Gaps::Poisson);
            let mean = 1.0 / (1.0 - rho);
            let response = found.response.unwrap();
            close(response.mean_ms, mean, 0.03);
            close(response.p50_ms.unwrap(), mean * 2f64.ln(), 0.03);
            close(response.p95_ms.unwrap(), mean * 20f64.ln(), 0.04);
            close(response.p99_ms.unwrap(), mean * 100f64.ln(), 0.05);
            close(found.mean_ms.unwrap(), mean, 0.003);
        }
    }

    #[test]
    fn several_workers_with_exponential_service_wait_as_erlang_says() {
        // M/M/4 at 0.75: C(4, 3) = 0.5094, mean response 1 + 0.5094 / (4 * 0.25) ms.
        let found = predicted(&exponential(), 4, 0.75, Gaps::Poisson);
        close(erlang_c(4, 3.0), 0.5094, 0.001);
        close(found.response.unwrap().mean_ms, 1.5094, 0.02);
        close(found.mean_ms.unwrap(), 1.5094, 0.003);
    }

    #[test]
    fn fixed_service_waits_half_as_long() {
        // M/D/1: wait = rho / (2 (1 - rho)) ms.
        let found = predicted(&fixed(), 1, 0.8, Gaps::Poisson);
        close(found.response.unwrap().mean_ms, 1.0 + 2.0, 0.03);
        close(found.mean_ms.unwrap(), 3.0, 0.003);
    }

    #[test]
    fn equal_gaps_and_fixed_service_never_wait() {
        let found = predicted(&fixed(), 2, 0.9, Gaps::Uniform);
        close(found.response.unwrap().max_ms, 1.0, 0.002);
        close(found.mean_ms.unwrap(), 1.0, 0.001);
    }

    #[test]
    fn an_overloaded_queue_has_no_predicted_latency() {
        let found = predicted(&exponential(), 2, 1.07, Gaps::Poisson);
        close(found.utilisation, 1.07, 0.001);
        assert_eq!((found.response, found.mean_ms), (None, None));
    }

    #[test]
    fn where_nothing_arrives_nothing_is_predicted() {
        let queue = Queue {
            workers: 1,
            rate: 0.0,
            gaps: Gaps::Poisson,
            service_ns: &fixed(),
        };
        assert_eq!(predict(&queue, 7), None);
    }

    #[test]
    fn the_same_seed_predicts_the_same() {
        let one = predicted(&exponential(), 3, 0.7, Gaps::Poisson);
        assert_eq!(one, predicted(&exponential(), 3, 0.7, Gaps::Poisson));
    }

    #[test]
    fn a_turned_histogram_gives_the_values_back() {
        let quantiles = Quantiles::of(&exponential());
        for share in [0.1, 0.5, 0.9, 0.99] {
            close(
                quantiles.at(share) as f64,
                -MS * (1.0f64 - share).ln(),
                0.005,
            );
        }
    }

    #[test]
    fn schedules_whose_rate_changes_have_no_model() {
        assert_eq!(Gaps::from_arrivals(&Arrivals::Poisson), Some(Gaps::Poisson));
        assert_eq!(Gaps::from_arrivals(&Arrivals::Bursts), None);
    }
}
