//! The charts, as ECharts option objects.
//!
//! Purpose: pure data, without functions, so that the same options can be drawn elsewhere. Next to `baseOption` is what the page's
//! script (charts.js) needs: the height, the unit of the tooltips, `direct` where lines carry their names at their ends, `rows`
//! where categories have rows. It resolves these words: a custom series whose `renderItem` is `"whisker"` draws the interval and
//! the blocks of the bar series with its name, `"range"` those of a point of a line; the formatters `"percentile"` and `"second"`.

mod boxes;
mod seconds;

use crate::document::{Axis, Bars, Chart, Curve, Lines, Quantiles, Scale, Series, Spread};
use crate::format;
use seconds::seconds;
use serde_json::{Map, Value, json};
use stats::Estimate;

/// Series that a chart of bars shows at first; the others appear by a click on the legend.
const BARS_SHOWN: usize = 8;
/// The palette of Okabe and Ito: distinct with every kind of colour vision, on white and on black.
pub(super) const COLOURS: [&str; 8] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c8c00", "#8a8a8a",
];
/// Lines that are shown at first: those with a colour of their own.
const LINES_SHOWN: usize = COLOURS.len();
/// The height of a bar with its label, and of the gap between two categories (pixels).
const BAR: usize = 18;
const BETWEEN: usize = 14;

pub(super) fn option(chart: &Chart) -> Value {
    match &chart.series {
        Series::Bars(bars) if bars.horizontal => rows(bars),
        Series::Bars(bars) => columns(bars),
        Series::Lines(of) => lines(of),
        Series::Quantiles(of) => quantiles(of),
        Series::Seconds(of) => seconds(of),
        Series::Boxes(of) => boxes::boxes(of),
    }
}

/// Bars that carry their names and figures.
fn rows(bars: &Bars) -> Value {
    let labels: Vec<Vec<String>> = labels(bars);
    let ends: Vec<&String> = labels.iter().flatten().collect();
    let mut series = series(bars);
    for (whiskers, labels) in series[bars.series.len()..].iter_mut().zip(&labels) {
        whiskers["labels"] = json!(labels);
    }
    json!({
        "height": 66,
        "unit": "s",
        "rows": { "band": BETWEEN + BAR * bars.series.len(), "ends": ends },
        "baseOption": {
            "color": COLOURS,
            "legend": { "data": names(bars) },
            "tooltip": { "trigger": "item" },
            "grid": { "top": 6, "bottom": 50 },
            "xAxis": { "type": "value", "name": "seconds", "nameLocation": "middle", "nameGap": 32 },
            "yAxis": { "type": "category", "inverse": true, "data": bars.categories },
            "series": series,
        },
    })
}

/// The label of each estimate, by series: `hot 2 324.25 s`.
fn labels(bars: &Bars) -> Vec<Vec<String>> {
    let estimates = || {
        bars.series
            .iter()
            .flat_map(|(_, estimates)| estimates)
            .flatten()
    };
    let decimals = format::decimals(estimates().map(|estimate| estimate.mean));
    let label = |name: &str, estimate: &Estimate| match estimate.at_least {
        true => format!("{name} {}", format::at_least(estimate.mean, decimals)),
        false => format!("{name} {} s", format::seconds(estimate.mean, decimals)),
    };
    let of_series = |(name, estimates): &(String, Vec<Option<Estimate>>)| {
        let known = estimates.iter().flatten();
        known.map(|estimate| label(name, estimate)).collect()
    };
    bars.series.iter().map(of_series).collect()
}

fn names(bars: &Bars) -> Vec<&String> {
    bars.series.iter().map(|(name, _)| name).collect()
}

fn columns(bars: &Bars) -> Value {
    let hidden = bars.series.iter().skip(BARS_SHOWN).map(|(name, _)| name);
    json!({
        "height": 320,
        "wide": true,
        "unit": "s",
        "baseOption": {
            "color": COLOURS,
            "legend": { "data": names(bars), "selected": unselected(hidden) },
            "tooltip": { "trigger": "item" },
            "grid": { "containLabel": true, "left": 4, "right": 8, "top": 28, "bottom": 8 },
            "xAxis": { "type": "category", "data": bars.categories },
            "yAxis": { "type": "value", "name": "seconds", "nameLocation": "end", "nameGap": 8, "nameTextStyle": { "align": "left" } },
            "series": series(bars),
        },
    })
}

/// The state of a legend that hides these series.
fn unselected<'n>(names: impl Iterator<Item = &'n String>) -> Map<String, Value> {
    names
        .map(|name| (name.clone(), Value::Bool(false)))
        .collect()
}

/// A bar series for each name, then a series of whiskers for each, in the same order.
fn series(bars: &Bars) -> Vec<Value> {
    let horizontal = bars.horizontal;
    let drawn = bars.series.iter().map(|(name, estimates)| {
        // A lower bound is not the length of a bar; the tables have it.
        let known = |e: &&Estimate| !e.at_least;
        let mean = |e: &Option<Estimate>| or_null(e.as_ref().filter(known).map(|e| e.mean));
        let means: Vec<Value> = estimates.iter().map(mean).collect();
        let ci: Vec<Value> = estimates.iter().map(|e| interval(e.as_ref())).collect();
        json!({ "type": "bar", "name": name, "data": means, "ci": ci, "barGap": "12%", "barCategoryGap": "28%" })
    });
    let whiskers = bars.series.iter().map(|(name, estimates)| {
        let places = estimates.iter().enumerate();
        let known = places.filter_map(|(place, estimate)| Some((place as f64, estimate.as_ref()?)));
        json!({
            "type": "custom", "name": name, "renderItem": "whisker", "silent": true, "z": 4, "horizontal": horizontal,
            "encode": encode(horizontal), "blocks": BLOCKS_DRAWN, "data": known.map(whisker).collect::<Vec<_>>(),
        })
    });
    drawn.chain(whiskers).collect()
}

/// What a bar's interval, blocks and label need: the place, the spread and the mean, if a bar is drawn.
fn whisker((place, estimate): (f64, &Estimate)) -> Value {
    let mean = Some(estimate.mean).filter(|_| !estimate.at_least);
    let mut item = spread(place, estimate);
    item.push(or_null(mean));
    item.into()
}

/// For the tooltip.
fn interval(estimate: Option<&Estimate>) -> Value {
    let ci = estimate.and_then(|estimate| estimate.ci);
    ci.map_or(Value::Null, |(low, high)| {
        json!([rounded(low), rounded(high)])
    })
}

/// Lines with their intervals.
fn lines(of: &Lines) -> Value {
    let drawn = of.curves.iter().enumerate().map(|(place, curve)| {
        let points = curve.points.iter();
        let points: Vec<Value> = points
            .map(|(x, estimate)| json!([rounded(*x), rounded(estimate.mean)]))
            .collect();
        let estimates = curve.points.iter().map(|(_, estimate)| Some(estimate));
        let mut series = json!({
            "type": "line", "name": curve.name, "color": colour(curve), "data": points, "symbolSize": 6,
            "ci": estimates.map(interval).collect::<Vec<_>>(),
            "lineStyle": { "type": if curve.dashed { "dashed" } else { "solid" } },
        });
        if let (0, Some((at, name))) = (place, of.mark) {
            series["markLine"] = json!({
                "silent": true, "symbol": "none",
                "data": [{ "xAxis": rounded(at), "label": { "formatter": name } }],
            });
        }
        series
    });
    let ranges = of.curves.iter().filter_map(|curve| {
        let points = curve.points.iter().map(|(x, estimate)| (*x, estimate));
        let spreads = spreads(points);
        (!spreads.is_empty()).then(|| {
            json!({
                "type": "custom", "name": curve.name, "color": colour(curve), "renderItem": "range", "silent": true,
                "encode": encode(false), "blocks": BLOCKS_DRAWN, "data": spreads,
            })
        })
    });
    let names: Vec<&String> = of.curves.iter().map(|curve| &curve.name).collect();
    let hidden = of.curves.iter().filter(|curve| curve.colour >= LINES_SHOWN);
    json!({
        "height": 360,
        "unit": of.y.name,
        "x": of.x.name,
        "direct": of.curves.len() <= LINES_SHOWN,
        "baseOption": {
            "color": COLOURS,
            "legend": { "data": names, "selected": unselected(hidden.map(|curve| &curve.name)) },
            "tooltip": { "trigger": "item" },
            "grid": { "containLabel": true, "left": 8, "right": 24, "top": 32, "bottom": 36 },
            "xAxis": axis(&of.x, "middle"),
            "yAxis": axis(&of.y, "end"),
            "series": drawn.chain(ranges).collect::<Vec<_>>(),
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
        "nameGap": if place == "end" { 10 } else { 32 }, "nameTextStyle": { "align": align },
    });
    if let Scale::Log(base) = axis.scale {
        (option["type"], option["logBase"]) = (json!("log"), json!(base));
    }
    option
}

/// More blocks of one estimate are not drawn.
const BLOCKS_DRAWN: usize = 9;

/// The spreads of estimates, without those that have none.
fn spreads<'e>(estimates: impl Iterator<Item = (f64, &'e Estimate)>) -> Vec<Value> {
    let items = estimates.map(|(place, estimate)| spread(place, estimate));
    let any = items.filter(|item| item[1..].iter().any(|value| !value.is_null()));
    any.map(Value::from).collect()
}

/// The place of an estimate, its interval and its blocks, null for what is missing.
fn spread(place: f64, estimate: &Estimate) -> Vec<Value> {
    let Spread { interval, blocks } = Spread::of(estimate);
    let ends = [interval.map(|(low, _)| low), interval.map(|(_, high)| high)];
    let blocks = (0..BLOCKS_DRAWN).map(|block| blocks.get(block).copied());
    let values = ends.into_iter().chain(blocks).map(or_null);
    std::iter::once(rounded(place)).chain(values).collect()
}

/// Which values lie on which axis.
fn encode(horizontal: bool) -> Value {
    let values: Vec<usize> = (1..3 + BLOCKS_DRAWN).collect();
    if horizontal {
        json!({ "x": values, "y": 0 })
    } else {
        json!({ "x": 0, "y": values })
    }
}

fn quantiles(of: &Quantiles) -> Value {
    let series = of.curves.iter().enumerate().map(|(place, (name, points))| {
        let points: Vec<Value> = points
            .iter()
            .map(|(one_in, ms)| json!([rounded(*one_in), rounded(*ms)]))
            .collect();
        json!({ "type": "line", "name": name, "color": COLOURS[place % COLOURS.len()], "symbolSize": 3, "data": points })
    });
    let names: Vec<&String> = of.curves.iter().map(|(name, _)| name).collect();
    let hidden = names.iter().copied().skip(LINES_SHOWN);
    json!({
        "height": 360,
        "unit": "ms",
        "x": "percentile",
        "direct": of.curves.len() <= LINES_SHOWN,
        "baseOption": {
            "color": COLOURS,
            "legend": { "data": names, "selected": unselected(hidden) },
            "tooltip": { "trigger": "item" },
            "grid": { "containLabel": true, "left": 8, "right": 40, "top": 32, "bottom": 36 },
            "xAxis": { "type": "log", "name": "percentile", "nameLocation": "middle", "nameGap": 32, "axisLabel": { "formatter": "percentile" } },
            "yAxis": { "type": "log", "name": "ms", "nameTextStyle": { "align": "left" } },
            "series": series.collect::<Vec<_>>(),
        },
    })
}

/// Five significant digits: more would only fill the tooltip.
pub(super) fn rounded(value: f64) -> Value {
    if value == 0.0 || !value.is_finite() {
        return json!(if value == 0.0 { Some(0) } else { None });
    }
    let scale = 10f64.powf(4.0 - value.abs().log10().floor());
    let rounded = (value * scale).round() / scale;
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        json!(rounded as i64)
    } else {
        json!(rounded)
    }
}

pub(super) fn or_null(value: Option<f64>) -> Value {
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
            values: vec![ci.0, mean, ci.1],
            at_least: false,
        }
    }

    #[test]
    fn a_wide_interval_leaves_only_its_blocks() {
        let drawn = |ci| {
            let estimate = estimate(50.0, ci);
            let item = &spreads([(4.0, &estimate)].into_iter())[0];
            item.as_array().unwrap()[..6].to_vec()
        };
        assert_eq!(
            json!(drawn((40.0, 62.5))),
            json!([4, 40, 62.5, 40, 50, 62.5])
        );
        assert_eq!(
            json!(drawn((2.0, 900.0))),
            json!([4, null, null, 2, 50, 900])
        );
    }

    #[test]
    fn lines_beyond_the_colours_are_hidden_at_first() {
        let axis = |name| Axis {
            name,
            scale: Scale::Linear,
        };
        let curve = |colour: usize| Curve {
            name: format!("line {colour}"),
            colour,
            dashed: false,
            points: Vec::new(),
        };
        let option = lines(&Lines {
            x: axis("x"),
            y: axis("y"),
            curves: (0..10).map(curve).collect(),
            mark: None,
        });
        let selected = &option["baseOption"]["legend"]["selected"];
        assert_eq!(*selected, json!({ "line 8": false, "line 9": false }));
    }

    #[test]
    fn a_lower_bound_is_not_drawn_as_a_bar() {
        let bound = Estimate {
            at_least: true,
            ci: None,
            ..estimate(600.0, (1.0, 1.0))
        };
        let drawn = series(&Bars {
            horizontal: true,
            categories: vec!["5.6".to_string()],
            series: vec![("hot".to_string(), vec![Some(bound)])],
        });
        assert_eq!(drawn[0]["data"], json!([null]));
    }
}
