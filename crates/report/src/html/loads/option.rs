//! What the charts of timed loads share.

use record::stats::Estimate;
use serde_json::{Map, Value, json};

pub use super::super::charts::{COLOURS, rounded};

/// A line in a chart of several: (x, estimate).
pub struct Curve {
    pub name: String,
    /// Which of the colours; two lines of one may differ in their dashes.
    pub colour: usize,
    pub dashed: bool,
    pub points: Vec<(f64, Estimate)>,
}

/// How an axis is named and divided.
pub struct Axis {
    pub name: &'static str,
    pub scale: Scale,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Scale {
    Linear,
    /// With labels at the powers of this base.
    Log(u32),
}

impl Scale {
    /// For numbers that are doubled from level to level. The chart library leaves labels out from ten of them on, so
    /// there the base is 4.
    pub fn doublings(curves: &[Curve]) -> Scale {
        let all = || {
            let points = curves.iter().flat_map(|curve| &curve.points);
            points.map(|(x, _)| *x)
        };
        let span = all().fold(1.0, f64::max) / all().fold(f64::INFINITY, f64::min);
        Scale::Log(if span > 500.0 { 4 } else { 2 })
    }
}

/// Lines that are shown at first: those with a colour of their own. The others are a click on the legend away.
pub const LINES_SHOWN: usize = COLOURS.len();

/// Intervals are drawn so many times up and down from their figure, lest one leave the others no room.
pub const REACH: f64 = 10.0;

/// `[x, low, high, whether they are cut off]`
fn whisker(x: f64, estimate: &Estimate) -> Option<Value> {
    let (low, high) = estimate.ci?;
    let (least, most) = (estimate.mean / REACH, estimate.mean * REACH);
    let is_cut = low < least || high > most;
    Some(json!([
        rounded(x),
        rounded(low.max(least)),
        rounded(high.min(most)),
        u8::from(is_cut)
    ]))
}

/// Lines with their intervals; `mark` is a place on the x axis with its name.
pub fn lines(x: Axis, y: Axis, curves: &[Curve], mark: Option<(f64, &str)>) -> Value {
    let drawn = curves.iter().enumerate().map(|(place, curve)| {
        let points: Vec<Value> = curve
            .points
            .iter()
            .map(|(x, estimate)| json!([rounded(*x), rounded(estimate.mean)]))
            .collect();
        let mut series = json!({
            "type": "line", "name": curve.name, "color": colour(curve), "data": points, "symbolSize": 6,
            "lineStyle": { "type": if curve.dashed { "dashed" } else { "solid" } },
        });
        if let (0, Some((at, name))) = (place, mark) {
            series["markLine"] = json!({
                "silent": true, "symbol": "none",
                "data": [{ "xAxis": rounded(at), "label": { "formatter": name } }],
            });
        }
        series
    });
    let whiskers = curves
        .iter()
        .filter(|curve| curve.points.iter().any(|(_, e)| e.ci.is_some()))
        .map(|curve| {
            let ranges: Vec<Value> = curve
                .points
                .iter()
                .filter_map(|(x, estimate)| whisker(*x, estimate))
                .collect();
            json!({
                "type": "custom", "name": curve.name, "color": colour(curve), "renderItem": "range", "silent": true,
                "encode": { "x": 0, "y": [1, 2] }, "data": ranges,
            })
        });
    let names: Vec<&String> = curves.iter().map(|curve| &curve.name).collect();
    let hidden = curves.iter().filter(|curve| curve.colour >= LINES_SHOWN);
    let hidden = hidden.map(|curve| (curve.name.clone(), Value::Bool(false)));
    json!({
        "height": 380,
        "baseOption": {
            "color": COLOURS,
            "legend": { "type": "scroll", "top": 0, "data": names, "selected": hidden.collect::<Map<_, _>>() },
            "tooltip": { "trigger": "item", "formatter": "{a}: <b>{c}</b>" },
            "grid": { "containLabel": true, "left": 8, "right": 24, "top": 56, "bottom": 34 },
            "xAxis": axis(&x, "middle"),
            "yAxis": axis(&y, "end"),
            "series": drawn.chain(whiskers).collect::<Vec<_>>(),
        },
    })
}

fn colour(curve: &Curve) -> &'static str {
    COLOURS[curve.colour % COLOURS.len()]
}

fn axis(axis: &Axis, place: &str) -> Value {
    let align = if place == "end" { "left" } else { "center" };
    let mut option = json!({
        "type": "value", "name": axis.name, "nameLocation": place,
        "nameGap": if place == "end" { 10 } else { 26 }, "nameTextStyle": { "align": align },
    });
    if let Scale::Log(base) = axis.scale {
        (option["type"], option["logBase"]) = (json!("log"), json!(base));
    }
    option
}

pub fn rounded_or_null(value: Option<f64>) -> Value {
    value.map_or(Value::Null, rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64, ci: (f64, f64)) -> Estimate {
        Estimate {
            mean,
            ci: Some(ci),
            min: ci.0,
            max: ci.1,
            blocks: 3,
            at_least: false,
        }
    }

    fn curve(name: &str, colour: usize, clients: &[f64]) -> Curve {
        let points = clients.iter();
        Curve {
            name: name.to_string(),
            colour,
            dashed: false,
            points: points
                .map(|clients| (*clients, estimate(1.0, (1.0, 1.0))))
                .collect(),
        }
    }

    #[test]
    fn an_interval_beyond_ten_times_its_figure_is_cut_off_and_marked() {
        let drawn = |ci| whisker(4.0, &estimate(50.0, ci)).unwrap();
        assert_eq!(drawn((40.0, 62.5)), json!([4, 40, 62.5, 0]));
        assert_eq!(drawn((0.2, 12_500.0)), json!([4, 5, 500, 1]));
    }

    #[test]
    fn lines_beyond_the_colours_are_a_click_away() {
        let axis = |name| Axis {
            name,
            scale: Scale::Linear,
        };
        let curves: Vec<Curve> = (0..10)
            .map(|n| curve(&format!("line {n}"), n, &[]))
            .collect();
        let option = lines(axis("x"), axis("y"), &curves, None);
        let selected = &option["baseOption"]["legend"]["selected"];
        assert_eq!(*selected, json!({ "line 8": false, "line 9": false }));
    }

    #[test]
    fn an_axis_of_many_doublings_has_labels_at_every_other_one() {
        let scale = |clients: &[f64]| Scale::doublings(&[curve("", 0, clients)]);
        assert!(scale(&[1.0, 8.0, 64.0, 256.0]) == Scale::Log(2));
        assert!(scale(&[1.0, 32.0, 1024.0]) == Scale::Log(4));
    }
}
