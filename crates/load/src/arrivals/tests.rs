use super::*;
use proptest::prelude::*;

const SECOND_NS: u64 = 1_000_000_000;

fn times(arrivals: &Arrivals, seed: u64, count: usize) -> Vec<u64> {
    Schedule::new(arrivals, seed).take(count).collect()
}

fn count_between(times: &[u64], from_s: f64, to_s: f64) -> f64 {
    let inside = |at: &&u64| (**at as f64) >= from_s * 1e9 && (**at as f64) < to_s * 1e9;
    times.iter().filter(inside).count() as f64
}

/// Kolmogorov-Smirnov statistic: the largest distance of the gaps' distribution from 1 - exp(-rate gap), times sqrt(n).
fn kolmogorov(times: &[u64], rate: f64) -> f64 {
    let mut gaps: Vec<f64> = times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as f64 / 1e9)
        .collect();
    gaps.sort_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let distance = gaps.iter().enumerate().map(|(place, gap)| {
        let expected = 1.0 - (-rate * gap).exp();
        let (below, above) = (place as f64 / n, (place + 1) as f64 / n);
        (expected - below).abs().max((above - expected).abs())
    });
    distance.fold(0.0, f64::max) * n.sqrt()
}

/// Index of dispersion, the variance over the mean of the counts per second: 1 for a Poisson process.
fn dispersion(times: &[u64], seconds: usize) -> f64 {
    let mut counts = vec![0.0; seconds];
    for second in times.iter().map(|at| (at / SECOND_NS) as usize) {
        if second < seconds {
            counts[second] += 1.0;
        }
    }
    let mean = counts.iter().sum::<f64>() / seconds as f64;
    let squares: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
    squares / (seconds - 1) as f64 / mean
}

#[test]
fn poisson_gaps_are_exponential() {
    // 1.36 / sqrt(n) is the critical value at 5 %.
    for (seed, rate) in [(1, 1.0), (2, 500.0), (3, 20_000.0)] {
        let arrivals = times(&Arrivals::Poisson { rate }, seed, 100_000);
        let distance = kolmogorov(&arrivals, rate);
        assert!(distance < 1.36, "rate {rate}: {distance}");
    }
}

#[test]
fn the_test_for_exponential_gaps_rejects_equal_gaps() {
    let arrivals = times(&Arrivals::Uniform { rate: 500.0 }, 1, 10_000);
    assert!(kolmogorov(&arrivals, 500.0) > 10.0);
}

#[test]
fn poisson_counts_per_second_have_a_variance_equal_to_their_mean() {
    let seconds = 2_000;
    let arrivals = times(&Arrivals::Poisson { rate: 100.0 }, 4, 100 * seconds);
    let dispersion = dispersion(&arrivals, seconds - 20);
    assert!((0.9..1.1).contains(&dispersion), "{dispersion}");
}

#[test]
fn two_poisson_processes_with_different_seeds_add_up_to_one() {
    let half = Arrivals::Poisson { rate: 250.0 };
    let mut both = times(&half, 5, 50_000);
    both.extend(times(&half, 6, 50_000));
    both.sort_unstable();
    both.truncate(98_000);
    assert!(kolmogorov(&both, 500.0) < 1.36);
}

#[test]
fn schedules_are_reproducible_and_depend_on_the_seed() {
    let arrivals = Arrivals::Poisson { rate: 1_000.0 };
    assert_eq!(times(&arrivals, 7, 1_000), times(&arrivals, 7, 1_000));
    assert_ne!(times(&arrivals, 7, 1_000), times(&arrivals, 8, 1_000));
}

#[test]
fn uniform_arrivals_start_at_zero_and_are_equidistant() {
    let arrivals = times(&Arrivals::Uniform { rate: 200.0 }, 0, 2_001);
    assert_eq!(arrivals[..3], [0, 5_000_000, 10_000_000]);
    assert_eq!(arrivals[2_000], 10 * SECOND_NS);
    let arrivals = times(&Arrivals::Uniform { rate: 2.5 }, 0, 3);
    assert_eq!(arrivals, [0, 400_000_000, 800_000_000]);
}

#[test]
fn bursts_have_their_own_rate_and_repeat() {
    let bursts = Arrivals::Bursts {
        rate: 100.0,
        burst_rate: 2_000.0,
        every_s: 10.0,
        burst_s: 1.0,
    };
    let arrivals = times(&bursts, 9, 29_000);
    for period in 0..9 {
        let begun_s = f64::from(period) * 10.0;
        let burst = count_between(&arrivals, begun_s, begun_s + 1.0);
        let between = count_between(&arrivals, begun_s + 1.0, begun_s + 10.0);
        assert!((burst - 2_000.0).abs() < 4.0 * 2_000f64.sqrt(), "{burst}");
        assert!((between - 900.0).abs() < 4.0 * 900f64.sqrt(), "{between}");
    }
}

#[test]
fn nothing_arrives_between_bursts_where_the_rate_is_zero() {
    let bursts = Arrivals::Bursts {
        rate: 0.0,
        burst_rate: 1_000.0,
        every_s: 2.0,
        burst_s: 0.5,
    };
    assert_eq!(bursts.check(), Ok(()));
    for at in times(&bursts, 10, 10_000) {
        assert!(at % (2 * SECOND_NS) <= SECOND_NS / 2, "{at}");
    }
}

#[test]
fn a_ramp_matches_its_integrated_rate() {
    for (from, to) in [(0.0, 1_000.0), (1_000.0, 100.0), (500.0, 500.0)] {
        let ramp = Arrivals::Ramp {
            from,
            to,
            over_s: 60.0,
        };
        let arrivals = times(&ramp, 11, 80_000);
        let expected = |at_s: f64| from * at_s + (to - from) * at_s * at_s / 120.0;
        for (begin, end) in [(0.0, 10.0), (10.0, 30.0), (30.0, 60.0)] {
            let mean = expected(end) - expected(begin);
            let counted = count_between(&arrivals, begin, end);
            assert!(
                (counted - mean).abs() < 4.0 * mean.sqrt(),
                "{from} to {to}, {begin} to {end} s: {counted} of {mean}"
            );
        }
        let after = count_between(&arrivals, 60.0, 70.0);
        assert!((after - 10.0 * to).abs() < 4.0 * (10.0 * to).sqrt());
    }
}

#[test]
fn a_trace_is_replayed_and_ends() {
    let at_ns: Arc<[u64]> = Arc::new([0, 5, 5, 90]);
    let trace = Arrivals::Trace {
        at_ns: at_ns.clone(),
    };
    assert_eq!(times(&trace, 0, 10), at_ns.to_vec());
}

#[test]
fn invalid_arrivals_are_refused_with_the_value() {
    let refused = |arrivals: Arrivals| arrivals.check().expect_err("refused");
    let poisson = |rate| refused(Arrivals::Poisson { rate });
    assert!(poisson(0.0).contains("the rate is 0"));
    assert!(poisson(-3.0).contains("-3"));
    assert!(poisson(f64::NAN).contains("NaN"));
    assert!(poisson(2e9).contains("nanoseconds"));
    let trace = |at_ns: &[u64]| {
        refused(Arrivals::Trace {
            at_ns: at_ns.into(),
        })
    };
    assert!(trace(&[]).contains("empty"));
    assert!(trace(&[1, 5, 3]).contains("entry 3: 3 ns after 5 ns"));
    let bursts = refused(Arrivals::Bursts {
        rate: 1.0,
        burst_rate: 2.0,
        every_s: 1.0,
        burst_s: 2.0,
    });
    assert!(bursts.contains("2 s is longer"));
    let ramp = refused(Arrivals::Ramp {
        from: 1.0,
        to: 2.0,
        over_s: 0.0,
    });
    assert!(ramp.contains("the ramp lasts 0 s"));
}

fn any_arrivals() -> impl Strategy<Value = Arrivals> {
    let rate = 1e-3..1e9f64;
    let seconds = 1e-3..1e4f64;
    prop_oneof![
        rate.clone().prop_map(|rate| Arrivals::Poisson { rate }),
        rate.clone().prop_map(|rate| Arrivals::Uniform { rate }),
        (rate.clone(), rate.clone(), seconds.clone(), 0.01..1.0f64).prop_map(
            |(rate, burst_rate, every_s, share)| Arrivals::Bursts {
                rate,
                burst_rate,
                every_s,
                burst_s: every_s * share,
            }
        ),
        (rate.clone(), rate, seconds).prop_map(|(from, to, over_s)| Arrivals::Ramp {
            from,
            to,
            over_s
        }),
    ]
}

proptest! {
    #[test]
    fn valid_arrivals_give_ascending_times(arrivals in any_arrivals(), seed: u64) {
        prop_assert_eq!(arrivals.check(), Ok(()));
        let arrived = times(&arrivals, seed, 300);
        prop_assert_eq!(arrived.len(), 300);
        prop_assert!(arrived.is_sorted());
    }

    #[test]
    fn one_seed_gives_the_same_gaps_scaled_by_the_rate(seed: u64, rate in 1.0..1e6f64) {
        let slow = times(&Arrivals::Poisson { rate: 1.0 }, seed, 50);
        let fast = times(&Arrivals::Poisson { rate }, seed, 50);
        for (slow, fast) in slow.iter().zip(fast) {
            prop_assert!((*slow as f64 / rate - fast as f64).abs() <= 1.0);
        }
    }
}

#[test]
fn the_rates_of_bursts_and_ramps_are_those_of_the_part_that_is_measured() {
    // 20/s, and 525/s for 2 s of every 10 s.
    let bursts = Arrivals::Bursts {
        rate: 20.0,
        burst_rate: 525.0,
        every_s: 10.0,
        burst_s: 2.0,
    };
    let rates = |arrivals: &Arrivals, from_s, until_s| {
        let found = arrivals.rates(from_s, until_s);
        (found.mean, found.range)
    };
    assert_eq!(rates(&bursts, 0.0, 20.0), (121.0, Some((20.0, 525.0))));
    assert_eq!(rates(&bursts, 5.0, 10.0), (20.0, Some((20.0, 20.0))));
    assert_eq!(rates(&bursts, 1.0, 2.0), (525.0, Some((525.0, 525.0))));
    let ramp = Arrivals::Ramp {
        from: 20.0,
        to: 400.0,
        over_s: 20.0,
    };
    assert_eq!(rates(&ramp, 0.0, 20.0), (210.0, Some((20.0, 400.0))));
    assert_eq!(rates(&ramp, 20.0, 30.0), (400.0, Some((400.0, 400.0))));
    let at_ns = (1..=10).map(|half| half * 500_000_000).collect();
    let trace = Arrivals::Trace { at_ns };
    assert_eq!(rates(&trace, 0.0, 5.0), (1.8, None));
    assert_eq!(rates(&trace, 1.0, 6.0), (1.8, None));
    assert_eq!(
        rates(&Arrivals::Uniform { rate: 7.0 }, 3.0, 4.0),
        (7.0, None)
    );
}

#[test]
fn the_mean_rate_of_whole_periods_is_that_of_one_period_however_long_it_is() {
    for (every_s, until_s) in [(1.1, 11.0), (0.1, 1.0), (0.8, 60.0), (1.5, 60.0)] {
        let bursts = Arrivals::Bursts {
            rate: 100.0,
            burst_rate: 2_000.0,
            every_s,
            burst_s: every_s / 4.0,
        };
        let mean = bursts.rates(0.0, until_s).mean;
        assert!((mean - 575.0).abs() < 1e-6, "{every_s}: {mean}");
    }
}

proptest! {
    #[test]
    fn the_mean_rate_is_that_of_the_schedule(seed: u64, from_s in 0.0..40.0f64, ramp: bool) {
        let arrivals = if ramp {
            Arrivals::Ramp { from: 500.0, to: 100.0, over_s: 30.0 }
        } else {
            Arrivals::Bursts { rate: 50.0, burst_rate: 1_000.0, every_s: 7.0, burst_s: 2.0 }
        };
        let until_s = from_s + 60.0;
        let part = (from_s * 1e9) as u64..(until_s * 1e9) as u64;
        let times = Schedule::new(&arrivals, seed).take_while(|at_ns| *at_ns < part.end);
        let counted = times.filter(|at_ns| part.contains(at_ns)).count() as f64;
        let expected = arrivals.rates(from_s, until_s).mean * 60.0;
        prop_assert!((counted - expected).abs() < 6.0 * expected.sqrt(), "{counted} of {expected}");
    }
}
