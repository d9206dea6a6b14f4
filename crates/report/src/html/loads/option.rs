//! What the charts of timed loads share.

use record::stats::Estimate;
use serde_json::{Value, json};

pub use super::super::charts::{COLOURS, rounded};

/// A line in a chart of several: (x, estimate).
pub struct Curve {
    pub name: String,
    pub dashed: bool,
    pub points: Vec<(f64, Estimate)>,
}

/// How an axis is named and divided.
pub struct Axis {
    pub name: &'static str,
    pub log: bool,
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
            "type": "line", "name": curve.name, "data": points, "symbolSize": 6,
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
                .filter_map(|(x, estimate)| {
                    let (low, high) = estimate.ci?;
                    Some(json!([rounded(*x), rounded(low), rounded(high)]))
                })
                .collect();
            json!({
                "type": "custom", "name": curve.name, "renderItem": "range", "silent": true,
                "encode": { "x": 0, "y": [1, 2] }, "data": ranges,
            })
        });
    json!({
        "height": 380,
        "baseOption": {
            "color": COLOURS,
            "legend": { "type": "scroll", "top": 0, "data": curves.iter().map(|curve| &curve.name).collect::<Vec<_>>() },
            "tooltip": { "trigger": "item", "formatter": "{a}: <b>{c}</b>" },
            "grid": { "containLabel": true, "left": 8, "right": 24, "top": 56, "bottom": 34 },
            "xAxis": axis(&x, "middle"),
            "yAxis": axis(&y, "end"),
            "series": drawn.chain(whiskers).collect::<Vec<_>>(),
        },
    })
}

fn axis(axis: &Axis, place: &str) -> Value {
    let align = if place == "end" { "left" } else { "center" };
    json!({
        "type": if axis.log { "log" } else { "value" }, "name": axis.name, "nameLocation": place,
        "nameGap": if place == "end" { 10 } else { 26 }, "nameTextStyle": { "align": align },
    })
}

pub fn rounded_or_null(value: Option<f64>) -> Value {
    value.map_or(Value::Null, rounded)
}
