//! The arithmetic of the benchmark `decides`, which has no tests of its own.
//!
//! Tier: default.

// The benchmark uses all of it.
#[allow(dead_code)]
#[path = "../bench/decides/figures.rs"]
mod figures;

use figures::*;

fn assert_near(known: Known, expected: [f64; 3]) {
    let found = [known.value, known.low, known.high];
    for (found, expected) in found.into_iter().zip(expected) {
        assert!(
            (found - expected).abs() < 1e-3 * expected.abs(),
            "{known:?}"
        );
    }
}

#[test]
fn a_spread_has_one_degree_of_freedom_less_per_run() {
    let spread = Spread::of([&[1.0, 3.0][..], &[10.0, 12.0, 14.0][..], &[7.0][..]]);
    assert_eq!(
        spread,
        Spread {
            squares: 2.0 + 8.0,
            freedom: 3.0
        }
    );
    assert_eq!(Spread::of([&[7.0][..]]).sd(), None);
    assert_eq!(Spread::of([]).sd(), None);
}

#[test]
fn the_factor_of_two_spreads_has_the_interval_of_the_f_distribution() {
    // F(0.975; 10, 20) is 2.7737 and F(0.975; 20, 10) is 3.4185.
    let of = |squares, freedom| Spread { squares, freedom };
    let factor = of(90.0, 10.0).factor(of(20.0, 20.0)).unwrap();
    assert_near(
        factor,
        [3.0, 3.0 / 2.7737_f64.sqrt(), 3.0 * 3.4185_f64.sqrt()],
    );
    assert_eq!(of(1.0, 1.0).factor(Spread::default()), None);
}

#[test]
fn a_ratio_is_that_of_the_logarithms_with_students_interval() {
    // t(0.975; 2) is 4.3027.
    let blocks = [0.01, 0.02, 0.03];
    let half: f64 = 4.3027 * 0.01 / 3.0_f64.sqrt();
    let expected = [0.02_f64, 0.02 - half, 0.02 + half].map(f64::exp);
    assert_near(ratio(&blocks).unwrap(), expected);
    assert!(ratio(&blocks).unwrap().holds(1.02) && !ratio(&blocks).unwrap().holds(1.06));
    assert_eq!(ratio(&blocks[..1]), None);
}

#[test]
fn a_ratio_of_ratios_has_the_interval_of_welch() {
    // Variances of the means 1/3 and 4/3 of 1e-4, so 25/9 / (1/9 / 2 + 16/9 / 2) = 2.94 degrees of freedom; t(0.975; 2.941) is 3.2190.
    let (of, to) = ([0.01, 0.02, 0.03], [-0.02, 0.0, 0.02]);
    let half: f64 = 3.2190 * (5.0_f64 / 3.0).sqrt() * 0.01;
    let found = ratio_of_ratios(&of, &to).unwrap();
    assert_near(found, [0.02_f64, 0.02 - half, 0.02 + half].map(f64::exp));
    assert!(!found.is_within(0.05) && found.is_within(0.07));
    assert_eq!(ratio_of_ratios(&of, &to[..1]), None);
}
#[test]
fn what_was_planted_is_the_ratio_of_the_longer_cycles_since_the_run_began() {
    let account = |cycles, burned| Account { cycles, burned };
    let before = [account(100.0, 50.0), account(0.0, 0.0)];
    let after = [account(1100.0, 60.0), account(500.0, 15.0)];
    assert!((planted(before, after) - 1.03 / 1.01).abs() < 1e-12);
}
