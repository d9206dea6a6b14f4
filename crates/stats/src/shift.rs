//! Level shifts: the throughput changes once and stays changed, for example when an SSD is full.

use super::change::Segment;
use record::LevelShift;

/// A level lasts for a tenth of the measured part, and for so many seconds.
const SHARE: f64 = 0.1;
const SECONDS_MIN: usize = 10;
/// Levels differ by this much of the lower one, and by more than the noise of both.
pub(super) const DIFFERENCE: f64 = 0.05;

/// Seconds of the shortest level of so many.
pub(super) fn shortest(seconds: usize) -> usize {
    SECONDS_MIN.max((seconds as f64 * SHARE) as usize)
}

/// The levels of a measured part: neighbouring segments that are alike in one, short ones left out.
pub(super) fn levels(segments: &[Segment]) -> Vec<Segment> {
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
pub(super) fn shifts(levels: &[Segment], offset_s: u32) -> Vec<LevelShift> {
    levels
        .windows(2)
        .map(|pair| LevelShift {
            at_s: offset_s + pair[1].from as u32,
            from: pair[0].mean,
            to: pair[1].mean,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::change::segments;
    use super::super::noise::noisy;
    use super::*;

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
