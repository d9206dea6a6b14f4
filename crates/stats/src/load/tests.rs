//! The three shapes that Vadim Tkachenko published of SSDs in 2012 (P4), as made-up series with the published figures: each is found in its own
//! series, and in no other.

use crate::fixture::{closed, noisy};
use crate::summarise;
use record::Summary;

/// Operations of 16 KiB in a MiB.
const OPERATIONS: f64 = 64.0;
/// Noise of each second, as a share of the throughput.
const NOISE: f64 = 0.02;

/// The summary of a series in MiB/s, around `usual`.
fn summary(seconds: usize, usual: f64, mib: impl Fn(usize) -> f64) -> Summary {
    let noise = noisy(seconds, 7, |_| 0.0, usual * NOISE);
    // A second without any operation has no noise.
    let value = |second: usize| match mib(second) {
        0.0 => 0.0,
        mib => ((mib + noise[second]) * OPERATIONS).max(0.0),
    };
    summarise(&closed(value, seconds))
}

/// The seconds of the level shifts, the period, and the (start, seconds) of the stalls.
type Shapes = (Vec<u32>, Option<f64>, Vec<(u32, u32)>);

fn shapes(of: &Summary) -> Shapes {
    let stalls = of.stalls.iter();
    (
        of.shifts.iter().map(|shift| shift.at_s).collect(),
        of.period.as_ref().map(|period| period.every_s),
        stalls.map(|stall| (stall.start_s, stall.seconds)).collect(),
    )
}

#[test]
fn garbage_collection_that_begins_is_a_level_shift_alone() {
    // Intel 520: 380 MiB/s, 300 after 4,000 s.
    let of = summary(18_000, 380.0, |s| if s < 4_000 { 380.0 } else { 300.0 });
    let (shifts, period, stalls) = shapes(&of);
    assert_eq!((shifts.len(), period, stalls), (1, None, Vec::new()));
    // The search averages a series of 18,000 s over 9 s.
    assert!(shifts[0].abs_diff(4_000) <= 45, "{shifts:?}");
    let sentence = of.shifts[0].sentence();
    assert!(
        sentence.starts_with("the throughput falls from 24"),
        "{sentence}"
    );
}

#[test]
fn drops_at_equal_intervals_are_a_period_alone() {
    // STEC MACH16: 148 MiB/s, every 20 s a drop to 87.
    let of = summary(3_600, 148.0, |s| if s % 20 == 7 { 87.0 } else { 148.0 });
    assert_eq!(shapes(&of), (Vec::new(), Some(20.0), Vec::new()));
}

#[test]
fn complete_stops_are_stalls_alone() {
    // Samsung 830: 323 MiB/s, with stops of 20 to 30 s.
    let stops = [(300, 25), (810, 21), (1_500, 30), (2_600, 22)];
    let is_stopped = |s: usize| {
        let mut stops = stops.iter();
        stops.any(|(start, seconds)| (*start..start + seconds).contains(&s))
    };
    let of = summary(3_600, 323.0, |s| if is_stopped(s) { 0.0 } else { 323.0 });
    let expected = stops.map(|(start, seconds)| (start as u32, seconds as u32));
    assert_eq!(shapes(&of), (Vec::new(), None, expected.to_vec()));
}

#[test]
fn a_series_with_all_three_shapes_has_all_three_found() {
    let of = summary(3_600, 300.0, |s| match s {
        2_500..2_525 => 0.0,
        _ => {
            let level = if s < 1_200 { 380.0 } else { 300.0 };
            level - if s % 20 == 7 { 120.0 } else { 0.0 }
        }
    });
    let (shifts, period, stalls) = shapes(&of);
    assert_eq!(period, Some(20.0));
    assert_eq!(shifts.len(), 1, "{shifts:?}");
    assert!(shifts[0].abs_diff(1_200) <= 20, "{shifts:?}");
    let is_ours =
        |(start, seconds): &(u32, u32)| start.abs_diff(2_500) <= 1 && seconds.abs_diff(25) <= 3;
    assert!(stalls.iter().any(is_ours), "{stalls:?}");
}

#[test]
fn a_disk_without_a_shape_has_none_found() {
    let of = summary(3_600, 370.0, |_| 370.0);
    assert_eq!(shapes(&of), (Vec::new(), None, Vec::new()));
}
