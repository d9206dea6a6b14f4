//! A ratio drawn next to its figure: the interval on a logarithmic axis, where the claim holds, and what was published.
//!
//! Purpose: the chart of the verdicts needs no script, and its colours are those of the style sheet. Boundaries: all ratios of
//! a column share an [`Axis`]; the figures themselves are text in the same row.

use crate::document::Ratio;
use crate::format;
use maud::{Markup, html};

/// The size of a drawing (pixels).
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 38.0;
/// From the edge to the axis' ends: half a label.
const MARGIN: f64 = 16.0;
/// The distance of the interval's middle from the top.
const MIDDLE: f64 = 12.0;
/// The baseline of the labels.
const BASELINE: f64 = 35.0;
/// The smallest gap between two labels.
const GAP: f64 = 34.0;
/// The axis spans at least this factor, so that noise does not fill it.
const SPAN_MIN: f64 = 1.2;
/// The axis reaches at most this far to either side of 1; what lies beyond is drawn at its end.
const SPAN_MAX: f64 = 1e4;
/// Ticks of an axis, the coarsest first: the first set of which two or more fit is drawn in addition to 1.
const TICKS: [&[f64]; 5] = [
    &[0.001, 0.01, 0.1, 10.0, 100.0, 1000.0],
    &[0.01, 0.03, 0.1, 0.3, 3.0, 10.0, 30.0, 100.0],
    &[0.125, 0.25, 0.5, 2.0, 4.0, 8.0],
    &[0.4, 0.5, 0.6, 0.8, 1.25, 1.5, 2.0, 2.5],
    &[0.8, 0.9, 0.95, 1.05, 1.1, 1.2],
];

/// A logarithmic axis.
pub(super) struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Around 1 and all of these ratios. None without a ratio.
    pub(super) fn of<'r>(ratios: impl Iterator<Item = &'r Ratio>) -> Option<Axis> {
        let drawable = |value: &f64| value.is_finite() && *value > 0.0;
        let ends = |ratio: &Ratio| {
            let (low, high) = ratio.interval.unwrap_or((ratio.measured, ratio.measured));
            let published = ratio.published.unwrap_or(1.0);
            [
                low,
                high,
                ratio.measured,
                ratio.holds.0,
                ratio.holds.1,
                published,
            ]
        };
        let values: Vec<f64> = ratios.flat_map(ends).filter(drawable).collect();
        let within = |value: f64| value.clamp(1.0 / SPAN_MAX, SPAN_MAX);
        let low = within(values.iter().copied().reduce(f64::min)?).min(1.0);
        let high = within(values.iter().copied().reduce(f64::max)?).max(1.0);
        let missing = (SPAN_MIN / (high / low)).max(1.0).sqrt();
        // A little more, so that no mark lies on the edge.
        let air = (high / low * missing * missing).powf(0.06);
        Some(Axis {
            low: low / missing / air,
            high: high * missing * air,
        })
    }

    /// The position of a ratio (pixels). What lies outside is at the end.
    fn x(&self, ratio: f64) -> f64 {
        let share = (ratio / self.low).ln() / (self.high / self.low).ln();
        let x = MARGIN + share.clamp(0.0, 1.0) * (WIDTH - 2.0 * MARGIN);
        (x * 10.0).round() / 10.0
    }

    /// 1, and the ratios of the coarsest set of which two or more are on the axis, as far as their labels have space.
    fn ticks(&self) -> Vec<f64> {
        let on_axis = |set: &&[f64]| -> Vec<f64> {
            let within = set
                .iter()
                .filter(|tick| (self.low..=self.high).contains(tick));
            within.copied().collect()
        };
        let sets = || TICKS.iter().map(on_axis);
        let set = sets()
            .find(|set| set.len() > 1)
            .or_else(|| sets().find(|set| !set.is_empty()));
        let mut ticks = vec![1.0];
        for tick in set.unwrap_or_default() {
            if ticks
                .iter()
                .all(|known| (self.x(*known) - self.x(tick)).abs() >= GAP)
            {
                ticks.push(tick);
            }
        }
        ticks
    }
}

pub(super) fn drawing(ratio: &Ratio, axis: &Axis) -> Markup {
    let (from, until) = (axis.x(ratio.holds.0), axis.x(ratio.holds.1));
    let at = axis.x(ratio.measured);
    html! {
        svg.ratio viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT) role="img" {
            title { (in_words(ratio)) }
            rect.holds x=(from) y="2" width=(until - from) height=(2.0 * MIDDLE - 4.0) {}
            @for tick in axis.ticks() {
                line.tick.one[tick == 1.0] x1=(axis.x(tick)) x2=(axis.x(tick)) y1="2" y2=(2.0 * MIDDLE) {}
                text x=(axis.x(tick)) y=(BASELINE) text-anchor="middle" { (label(tick)) }
            }
            @if let Some((low, high)) = ratio.interval {
                line.interval x1=(axis.x(low)) x2=(axis.x(high)) y1=(MIDDLE) y2=(MIDDLE) {}
            }
            @if let Some(published) = ratio.published {
                path.published d=(diamond(axis.x(published))) {}
            }
            circle.measured cx=(at) cy=(MIDDLE) r="3.5" {}
        }
    }
}

fn diamond(x: f64) -> String {
    format!("M{x} {}l5 5l-5 5l-5 -5z", MIDDLE - 5.0)
}

/// `0.5`, `1`, `1,000`.
fn label(tick: f64) -> String {
    if tick >= 1000.0 {
        format::count(tick)
    } else {
        tick.to_string()
    }
}

/// What is drawn, for a reader that does not see it.
fn in_words(ratio: &Ratio) -> String {
    let written = format::ratio_within(ratio.interval);
    let mut text = format!("Measured {}", written(ratio.measured));
    match ratio.interval {
        Some((low, high)) if high.is_infinite() => {
            text += &format!(", 95 % CI {} or more", written(low));
        }
        Some((0.0, high)) => {
            text += &format!(", 95 % CI {} or less", written(high));
        }
        Some(ci) => text += &format!(", 95 % CI {}", format::interval(ci, written)),
        None => text += ", no interval",
    }
    if let Some(published) = ratio.published {
        text += &format!(", published {}", format::ratio(published));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(measured: f64, interval: (f64, f64)) -> Ratio {
        Ratio {
            measured,
            interval: Some(interval),
            holds: (1.05, f64::INFINITY),
            published: None,
        }
    }

    #[test]
    fn every_end_and_one_are_on_the_axis() {
        let ratios = [ratio(2.0, (1.9, 2.1)), ratio(7.5, (5.0, 12.0))];
        let axis = Axis::of(ratios.iter()).unwrap();
        assert!(axis.low < 1.0 && axis.high > 12.0);
        assert!(axis.x(1.0) < axis.x(1.9) && axis.x(12.0) < WIDTH - MARGIN);
        assert_eq!(axis.x(f64::INFINITY), WIDTH - MARGIN);
        assert!(Axis::of([].iter()).is_none());
    }

    #[test]
    fn labels_of_any_axis_have_space() {
        for high in [1.01, 1.3, 2.2, 5.0, 30.0, 400.0, 1e7] {
            for low in [1.0, 0.99, 0.6, 0.2, 1e-3] {
                let ratios = [ratio(high, (low, high))];
                let axis = Axis::of(ratios.iter()).unwrap();
                let mut x: Vec<f64> = axis.ticks().into_iter().map(|tick| axis.x(tick)).collect();
                x.sort_by(f64::total_cmp);
                assert!(
                    x.windows(2).all(|pair| pair[1] - pair[0] >= GAP),
                    "{low} {high}"
                );
                assert!(x.len() > 1, "{low} {high}");
            }
        }
    }

    #[test]
    fn a_bound_reaches_the_end_of_the_axis() {
        let bound = ratio(8.2, (8.1, f64::INFINITY));
        let axis = Axis::of([bound].iter()).unwrap();
        let drawn = drawing(&bound, &axis).into_string();
        assert!(drawn.contains("95 % CI 8.10 or more"));
        assert!(drawn.contains("x2=\"224\""), "{drawn}");
        let upper = in_words(&ratio(0.5, (0.0, 0.52)));
        assert_eq!(upper, "Measured 0.50, 95 % CI 0.52 or less");
    }
}
