//! The steady state of the SNIA Solid State Storage Performance Test Specification (PTS 2.0.2, 2020), as a function of rounds.
//!
//! Purpose: decide when a device is preconditioned, and compare that with prony's own change points. Boundaries: `run` measures the
//! rounds. The rule: the last five rounds stay within 20 % of their mean, the least squares line through them rises or falls by at most
//! 10 % of it, and there are at most 25 rounds.

use super::line::Line;
use super::{change, shift};
use record::LevelShift;

/// Rounds that are judged together.
pub const WINDOW_ROUNDS: usize = 5;
/// After so many rounds, a steady state is not expected any more.
pub const ROUNDS_MAX: usize = 25;
/// The largest difference between two rounds of the window, as a share of its mean.
const RANGE_MAX: f64 = 0.20;
/// The largest rise or fall of the line from the first to the last round of the window, as a share of its mean.
const RISE_MAX: f64 = 0.10;

/// The last five rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Operations per second.
    pub mean: f64,
    /// Highest minus lowest round, as a share of the mean.
    pub range: f64,
    /// What the least squares line gains from the first to the last round, as a share of the mean. Negative where it falls.
    pub rise: f64,
}

impl Window {
    /// The last rounds of these. None while there are fewer than five, or if nothing was done in them.
    pub fn of(rounds: &[f64]) -> Option<Window> {
        let last = &rounds[rounds.len().checked_sub(WINDOW_ROUNDS)?..];
        let mean = last.iter().sum::<f64>() / WINDOW_ROUNDS as f64;
        let highest = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = last.iter().copied().fold(f64::INFINITY, f64::min);
        (mean > 0.0).then(|| Window {
            mean,
            range: (highest - lowest) / mean,
            rise: Line::through(last).slope * (WINDOW_ROUNDS - 1) as f64 / mean,
        })
    }

    pub fn is_steady(&self) -> bool {
        self.range <= RANGE_MAX && self.rise.abs() <= RISE_MAX
    }
}

/// Whether no further round is needed: the state is steady, or cannot be reached any more.
pub fn is_over(rounds: &[f64]) -> bool {
    rounds.len() >= ROUNDS_MAX || Window::of(rounds).is_some_and(|window| window.is_steady())
}

/// The result in one sentence, for people: `steady after 7 rounds of 60 s by the SNIA rule: ...`.
pub fn sentence(rounds: &[f64], round_s: f64) -> String {
    let count = rounds.len();
    let measured = format!("{count} rounds of {round_s} s");
    match Window::of(rounds) {
        None if count >= WINDOW_ROUNDS => {
            format!("a steady state was not reached in {measured}: nothing was done in the last 5")
        }
        None => format!("a steady state was not reached in {measured}: the SNIA rule needs 5"),
        Some(window) => {
            let verdict = match window.is_steady() {
                true => format!("steady after {measured} by the SNIA rule"),
                false => format!("a steady state was not reached in {measured} by the SNIA rule"),
            };
            format!(
                "{verdict}: the last 5 lie within {:.0} % of their mean of {:.0} ops/s (20 % allowed), and the line through them changes by {:+.0} % (10 % allowed)",
                100.0 * window.range,
                window.mean,
                100.0 * window.rise
            )
        }
    }
}

/// Where prony's change points say something else about the same rounds, in one sentence. `seconds` is the throughput of each second of
/// all rounds, in order.
pub fn difference(rounds: &[f64], seconds: &[f64]) -> Option<String> {
    if rounds.len() < WINDOW_ROUNDS {
        return None;
    }
    let window_from_s = seconds.len() * (rounds.len() - WINDOW_ROUNDS) / rounds.len();
    let levels = shift::levels(&change::segments(seconds));
    let shifts = shift::shifts(&levels, 0);
    let last = shifts.last();
    let in_window = |shift: &&LevelShift| shift.at_s as usize > window_from_s;
    match (Window::of(rounds)?.is_steady(), last.filter(in_window)) {
        (true, Some(shift)) => Some(format!(
            "the change points differ: within the last 5 rounds {}",
            shift.sentence()
        )),
        (false, None) => {
            let from_s = last.map_or(0, |shift| shift.at_s);
            Some(format!(
                "the change points differ: they find one level from {from_s} s on"
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::noisy;

    /// The round at which a made-up series becomes steady.
    fn steady_at(rounds: &[f64]) -> Option<usize> {
        (1..=rounds.len()).find(|count| {
            let window = Window::of(&rounds[..*count]);
            window.is_some_and(|window| window.is_steady())
        })
    }

    #[test]
    fn equal_rounds_are_steady_at_the_fifth() {
        assert_eq!(steady_at(&[100.0; 8]), Some(5));
        assert!(!is_over(&[100.0; 4]) && is_over(&[100.0; 5]));
    }

    #[test]
    fn a_device_that_slows_down_is_steady_five_rounds_after_its_last_fall() {
        let falling = [400.0, 380.0, 300.0, 200.0, 110.0];
        let rounds: Vec<f64> = falling.into_iter().chain([100.0; 8]).collect();
        // The round of 110 is still in the window of the ninth: it differs by 10 % and bends the line by 8 %.
        assert_eq!(steady_at(&rounds), Some(9));
    }

    #[test]
    fn the_limits_of_the_rule_belong_to_it() {
        let window = |last: [f64; 5]| Window::of(&last).unwrap();
        // 20 % apart, and without a slope.
        let wide = window([100.0, 90.0, 110.0, 90.0, 110.0]);
        assert_eq!((wide.range, wide.mean), (0.2, 100.0));
        assert!(wide.rise <= RISE_MAX && wide.is_steady());
        assert!(!window([100.0, 89.0, 111.0, 89.0, 111.0]).is_steady());
        // A rise of 10 % over four steps.
        let rising = window([95.0, 97.5, 100.0, 102.5, 105.0]);
        assert!((rising.rise - 0.1).abs() < 1e-12 && rising.range < RANGE_MAX);
        assert!(!window([94.0, 97.0, 100.0, 103.0, 106.0]).is_steady());
    }

    #[test]
    fn a_slow_slope_is_refused_though_the_rounds_lie_close_together() {
        let falling = Window::of(&[108.0, 104.0, 100.0, 96.0, 92.0]).unwrap();
        assert!(falling.range < RANGE_MAX && falling.rise < -RISE_MAX);
        assert!(!falling.is_steady());
    }

    #[test]
    fn rounds_that_never_settle_end_after_25_and_say_so() {
        let swinging: Vec<f64> = (0..25)
            .map(|round| if round % 2 == 0 { 80.0 } else { 120.0 })
            .collect();
        assert_eq!(steady_at(&swinging), None);
        assert!(!is_over(&swinging[..24]) && is_over(&swinging));
        assert_eq!(
            sentence(&swinging, 60.0),
            "a steady state was not reached in 25 rounds of 60 s by the SNIA rule: the last 5 lie within 42 % of their mean of 96 ops/s (20 % allowed), and the line through them changes by +0 % (10 % allowed)"
        );
    }

    #[test]
    fn rounds_without_an_operation_are_not_steady() {
        assert_eq!(Window::of(&[0.0; 6]), None);
        assert!(!is_over(&[0.0; 6]));
        assert!(sentence(&[0.0; 25], 60.0).ends_with("nothing was done in the last 5"));
        assert!(sentence(&[1.0; 3], 1.0).ends_with("the SNIA rule needs 5"));
    }

    #[test]
    fn the_change_points_agree_about_a_level_that_lasts() {
        let level = |second: usize| if second < 60 { 1000.0 } else { 500.0 };
        let seconds = noisy(200, 1, level, 10.0);
        let rounds: Vec<f64> = seconds
            .chunks(20)
            .map(|round| round.iter().sum::<f64>() / 20.0)
            .collect();
        assert!(Window::of(&rounds).unwrap().is_steady());
        assert_eq!(difference(&rounds, &seconds), None);
    }

    #[test]
    fn a_level_shift_within_the_window_of_a_steady_state_is_reported() {
        // A fall by 9 % in the middle of the last round: too little for the rule.
        let level = |second: usize| if second < 180 { 1000.0 } else { 910.0 };
        let seconds = noisy(200, 2, level, 5.0);
        let rounds: Vec<f64> = seconds
            .chunks(20)
            .map(|round| round.iter().sum::<f64>() / 20.0)
            .collect();
        assert!(Window::of(&rounds).unwrap().is_steady());
        let says = difference(&rounds, &seconds).unwrap();
        let expected = "the change points differ: within the last 5 rounds the throughput falls from 1,000 to 91";
        assert!(says.starts_with(expected), "{says}");
    }

    #[test]
    fn rounds_that_scatter_around_one_level_are_reported_too() {
        let seconds: Vec<f64> = noisy(250, 3, |_| 1000.0, 200.0);
        let rounds: Vec<f64> = (0..25)
            .map(|round| if round % 2 == 0 { 800.0 } else { 1200.0 })
            .collect();
        let says = difference(&rounds, &seconds).unwrap();
        assert_eq!(
            says,
            "the change points differ: they find one level from 0 s on"
        );
    }
}
