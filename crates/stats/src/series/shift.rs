//! Level shifts: the throughput changes once and stays changed, for example when an SSD is full.

use super::change::{Segment, least_deviation};
use super::running::median;
use record::LevelShift;

/// A level lasts for at least this share of the measured part, and this many seconds.
const SHARE: f64 = 0.1;
const SECONDS_MIN: usize = 10;
/// Levels differ by this much of the lower one, and by more than the noise of both.
pub(crate) const DIFFERENCE: f64 = 0.05;

/// The seconds of the shortest level in a measured part of this length.
pub(crate) fn shortest(seconds: usize) -> usize {
    SECONDS_MIN.max((seconds as f64 * SHARE) as usize)
}

/// The levels of a measured part: neighbouring segments that are alike in one, short ones left out.
pub(crate) fn levels(segments: &[Segment]) -> Vec<Segment> {
    let shortest = shortest(segments.iter().map(Segment::len).sum());
    let mut levels: Vec<Segment> = Vec::new();
    for segment in segments.iter().filter(|segment| segment.len() >= shortest) {
        match levels.last_mut() {
            Some(last) if !differ(last, segment) => *last = joined(last, segment),
            _ => levels.push(*segment),
        }
    }
    levels
}

fn differ(one: &Segment, other: &Segment) -> bool {
    let distance = (one.mean - other.mean).abs();
    distance > DIFFERENCE * one.mean.min(other.mean)
        && distance > one.deviation.max(other.deviation)
}

fn joined(one: &Segment, other: &Segment) -> Segment {
    let (a, b) = (one.len() as f64, other.len() as f64);
    let mean = (one.mean * a + other.mean * b) / (a + b);
    let square = |s: &Segment| s.deviation.powi(2) + (s.mean - mean).powi(2);
    Segment {
        from: one.from,
        until: other.until,
        mean,
        deviation: ((square(one) * a + square(other) * b) / (a + b)).sqrt(),
    }
}

/// The shifts between levels; seconds count from `offset_s`.
pub(crate) fn shifts(levels: &[Segment], offset_s: u32) -> Vec<LevelShift> {
    levels
        .windows(2)
        .map(|pair| LevelShift {
            at_s: offset_s + pair[1].from as u32,
            from: pair[0].mean,
            to: pair[1].mean,
        })
        .collect()
}

/// A level at the edge of a measured part has at least this many seconds; fewer may be a drop.
const EDGE_MIN: usize = 3;
/// It also differs from the rest by this many standard errors of its median.
const EDGE_ERRORS: f64 = 5.0;
/// The standard error of a median over that of a mean, for normal values.
const OF_MEDIAN: f64 = 1.25;

/// The largest change that leaves at most `longest` seconds on one side of it, where change points see little. A beginning that is too short for a level
/// is a warm-up. `dependent` is the variance of a mean over that of independent seconds. Seconds count from the first value.
pub(crate) fn at_edge(values: &[f64], longest: usize, dependent: f64) -> Option<LevelShift> {
    let all = values.len();
    let lengths = |least: usize| {
        let longer = |length: &usize| Some(length + 1 + length / 10);
        std::iter::successors(Some(least), longer).take_while(move |length| *length <= longest)
    };
    let ends = lengths(EDGE_MIN).map(|length| (all - length, all - length..all));
    let beginnings = lengths(shortest(all)).map(|length| (length, 0..length));
    let changes = ends.chain(beginnings).filter_map(|(at, edge)| {
        let level = median(&values[edge.clone()]);
        let mean = Segment::of(values, edge.start, edge.end).mean;
        let rest = match edge.start {
            0 => Segment::of(values, edge.end, all),
            start => Segment::of(values, 0, start),
        };
        let deviation = rest.deviation.max(least_deviation(rest.mean));
        let error = OF_MEDIAN * deviation * (dependent / edge.len() as f64).sqrt();
        let apart = (level - rest.mean).abs();
        let differs = apart > EDGE_ERRORS * error && apart > DIFFERENCE * rest.mean.min(level);
        let (from, to) = match edge.start {
            0 => (level, rest.mean),
            _ => (rest.mean, level),
        };
        let shift = LevelShift {
            at_s: at as u32,
            from,
            to,
        };
        // The variance that the change explains.
        let explained = (mean - rest.mean).powi(2) * (edge.len() * rest.len()) as f64;
        differs.then_some((explained, shift))
    });
    let most = changes.max_by(|a, b| a.0.total_cmp(&b.0));
    most.map(|(_, shift)| shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::noisy;
    use crate::series::change::segments;

    #[test]
    fn a_change_near_the_end_is_seen_at_the_edge_and_noise_is_not() {
        for (seconds, tail) in [(40, 6), (60, 4), (120, 12), (600, 50)] {
            for seed in 0..20 {
                let step = |s: usize| if s + tail < seconds { 1000.0 } else { 800.0 };
                let seen = at_edge(&noisy(seconds, seed, step, 40.0), seconds / 4, 1.0).unwrap();
                assert!(
                    seen.at_s.abs_diff((seconds - tail) as u32) <= 3 + tail as u32 / 2,
                    "{seen:?}"
                );
                let calm = noisy(seconds, seed, |_| 1000.0, 40.0);
                assert_eq!(at_edge(&calm, seconds / 4, 1.0), None, "{seconds} {seed}");
            }
        }
    }

    #[test]
    fn one_deep_second_at_the_end_is_no_level() {
        let drop = |s: usize| if s == 59 { 100.0 } else { 1000.0 };
        assert_eq!(at_edge(&noisy(60, 1, drop, 20.0), 15, 1.0), None);
    }

    fn found(values: &[f64]) -> Vec<LevelShift> {
        shifts(&levels(&segments(values)), 0)
    }

    #[test]
    fn a_device_that_fills_up_shows_one_shift() {
        // P4: 380 MiB/s, 300 after 4,000 s.
        let values = noisy(18_000, 1, |s| if s < 4000 { 380.0 } else { 300.0 }, 25.0);
        let shifts = found(&values);
        assert_eq!(shifts.len(), 1, "{shifts:?}");
        assert!(shifts[0].at_s.abs_diff(4000) <= 20);
        assert!((shifts[0].from - 380.0).abs() < 2.0 && (shifts[0].to - 300.0).abs() < 2.0);
    }

    #[test]
    fn noise_has_no_levels() {
        for seed in 0..50 {
            assert!(
                found(&noisy(600, seed, |_| 300.0, 30.0)).is_empty(),
                "{seed}"
            );
        }
    }

    #[test]
    fn a_stall_is_not_a_level() {
        let values = noisy(
            600,
            2,
            |s| if (300..325).contains(&s) { 0.0 } else { 300.0 },
            10.0,
        );
        assert!(found(&values).is_empty());
    }

    #[test]
    fn a_shift_is_described_in_a_sentence() {
        let shift = LevelShift {
            at_s: 4000,
            from: 380.0,
            to: 300.0,
        };
        assert_eq!(
            shift.sentence(),
            "the throughput falls from 380 to 300 ops/s at 4000 s (-21 %)"
        );
    }

    #[test]
    fn a_shift_from_zero_has_no_percentage() {
        let shift = LevelShift {
            at_s: 40,
            from: 0.0,
            to: 300.0,
        };
        let expected = "the throughput rises from 0 to 300 ops/s at 40 s";
        assert_eq!(shift.sentence(), expected);
    }
}
