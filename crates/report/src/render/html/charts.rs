//! The charts, as ECharts option objects.
//!
//! Purpose: pure data, without functions, so that the same options can be drawn elsewhere. The page's script resolves three
//! words: a custom series whose `renderItem` is `"whisker"` draws the interval and the blocks of the bar series with its name, `"range"`
//! those of a point of a line, and an axis whose labels have the formatter `"percentile"` is one of percentiles.

use crate::document::{
    Axis, Band, Bars, Chart, Curve, Lines, Panel, Quantiles, Scale, Seconds, Series, Spread,
};
use record::stats::Estimate;
use serde_json::{Map, Value, json};

/// Series that a chart of bars shows at first; the others appear by a click on the legend.
const BARS_SHOWN: usize = 8;
/// By Okabe and Ito: distinct with every kind of colour vision, on white and on black.
pub(super) const COLOURS: [&str; 8] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c8c00", "#8a8a8a",
];
/// Lines that are shown at first: those with a colour of their own.
const LINES_SHOWN: usize = COLOURS.len();
/// Of a panel of seconds, in pixels.
const PANEL: usize = 200;

pub(super) fn option(chart: &Chart) -> Value {
    match &chart.series {
        Series::Bars(bars) if bars.horizontal => rows(bars),
        Series::Bars(bars) => columns(bars),
        Series::Lines(of) => lines(of),
        Series::Quantiles(of) => quantiles(&chart.title, of),
        Series::Seconds(of) => seconds(&chart.title, of),
        Series::Boxes(of) => super::boxes::boxes(of),
    }
}

fn rows(bars: &Bars) -> Value {
    let labels = |width: u32| json!({ "grid": { "left": width + 10 }, "yAxis": { "axisLabel": { "width": width } } });
    json!({
        "height": 90 + bars.categories.len() * (12 + 11 * bars.series.len()),
        "baseOption": {
            "color": COLOURS,
            "legend": { "type": "scroll", "top": 0 },
            "tooltip": { "trigger": "item", "formatter": "{b}<br>{a}: <b>{c}</b> s" },
            "grid": { "left": 230, "right": 20, "top": 36, "bottom": 44 },
            "xAxis": { "type": "value", "name": "seconds", "nameLocation": "middle", "nameGap": 26 },
            "yAxis": { "type": "category", "inverse": true, "data": bars.categories, "axisLabel": { "width": 220, "overflow": "break", "lineHeight": 14 } },
            "series": series(bars),
        },
        "media": [{ "query": { "maxWidth": 600 }, "option": labels(110) }, { "query": { "minWidth": 601 }, "option": labels(220) }],
    })
}

fn columns(bars: &Bars) -> Value {
    let hidden = bars.series.iter().skip(BARS_SHOWN).map(|(name, _)| name);
    json!({
        "height": 340,
        "wide": true,
        "baseOption": {
            "color": COLOURS,
            "legend": { "type": "scroll", "top": 0, "selected": unselected(hidden) },
            "tooltip": { "trigger": "item", "formatter": "{b}<br>{a}: <b>{c}</b> s" },
            "grid": { "containLabel": true, "left": 4, "right": 8, "top": 56, "bottom": 8 },
            "xAxis": { "type": "category", "data": bars.categories, "axisLabel": { "interval": 0 } },
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
        json!({ "type": "bar", "name": name, "data": means, "barGap": "12%", "barCategoryGap": "28%" })
    });
    let whiskers = bars.series.iter().map(|(name, estimates)| {
        let places = estimates.iter().enumerate();
        let known = places.filter_map(|(place, estimate)| Some((place as f64, estimate.as_ref()?)));
        json!({
            "type": "custom", "name": name, "renderItem": "whisker", "silent": true, "z": 4, "horizontal": horizontal,
            "encode": encode(horizontal), "blocks": BLOCKS_DRAWN, "data": spreads(known),
        })
    });
    drawn.chain(whiskers).collect()
}

/// Lines with their intervals.
fn lines(of: &Lines) -> Value {
    let drawn = of.curves.iter().enumerate().map(|(place, curve)| {
        let points = curve.points.iter();
        let points: Vec<Value> = points
            .map(|(x, estimate)| json!([rounded(*x), rounded(estimate.mean)]))
            .collect();
        let mut series = json!({
            "type": "line", "name": curve.name, "color": colour(curve), "data": points, "symbolSize": 6,
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
        "height": 380,
        "baseOption": {
            "color": COLOURS,
            "legend": { "type": "scroll", "top": 0, "data": names, "selected": unselected(hidden.map(|curve| &curve.name)) },
            "tooltip": { "trigger": "item", "formatter": "{a}: <b>{c}</b>" },
            "grid": { "containLabel": true, "left": 8, "right": 24, "top": 56, "bottom": 34 },
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
        "nameGap": if place == "end" { 10 } else { 26 }, "nameTextStyle": { "align": align },
    });
    if let Scale::Log(base) = axis.scale {
        (option["type"], option["logBase"]) = (json!("log"), json!(base));
    }
    option
}

/// More blocks of one estimate are not drawn.
const BLOCKS_DRAWN: usize = 9;

/// The place of an estimate, its interval and its blocks, null where there is none; estimates without any spread are left out.
fn spreads<'e>(estimates: impl Iterator<Item = (f64, &'e Estimate)>) -> Vec<Value> {
    let spread = |(place, estimate): (f64, &Estimate)| {
        let Spread { interval, blocks } = Spread::of(estimate);
        let ends = [interval.map(|(low, _)| low), interval.map(|(_, high)| high)];
        let blocks = (0..BLOCKS_DRAWN).map(|block| blocks.get(block).copied());
        let values: Vec<Option<f64>> = ends.into_iter().chain(blocks).collect();
        let any = values.iter().any(Option::is_some);
        let item = std::iter::once(rounded(place)).chain(values.into_iter().map(or_null));
        any.then(|| item.collect())
    };
    estimates.filter_map(spread).collect()
}

/// Which values lie on which axis.
fn encode(horizontal: bool) -> Value {
    let values: Vec<usize> = (1..3 + BLOCKS_DRAWN).collect();
    match horizontal {
        true => json!({ "x": values, "y": 0 }),
        false => json!({ "x": 0, "y": values }),
    }
}

fn quantiles(title: &str, of: &Quantiles) -> Value {
    let series = of.curves.iter().map(|(name, points)| {
        let points: Vec<Value> = points
            .iter()
            .map(|(one_in, ms)| json!([rounded(*one_in), rounded(*ms)]))
            .collect();
        json!({ "type": "line", "name": name, "symbolSize": 3, "data": points })
    });
    json!({
        "height": 380,
        "baseOption": {
            "color": COLOURS,
            "title": { "text": title, "textStyle": { "fontSize": 13 } },
            "legend": { "type": "scroll", "top": 22 },
            "tooltip": { "trigger": "item", "formatter": "{a}: 1 in, ms: {c}" },
            "grid": { "containLabel": true, "left": 8, "right": 40, "top": 70, "bottom": 34 },
            "xAxis": { "type": "log", "name": "percentile", "nameLocation": "middle", "nameGap": 26, "axisLabel": { "formatter": "percentile" } },
            "yAxis": { "type": "log", "name": "ms", "nameTextStyle": { "align": "left" } },
            "series": series.collect::<Vec<_>>(),
        },
    })
}

/// One panel below the other, each with an axis of seconds of its own.
fn seconds(title: &str, of: &Seconds) -> Value {
    let top = |n: usize| 64 + n * (PANEL + 46);
    let panels = || of.panels.iter().enumerate();
    let names: Vec<&str> = of
        .panels
        .iter()
        .flat_map(|panel| &panel.curves)
        .map(|curve| curve.name)
        .collect();
    let grids = panels()
        .map(|(n, _)| json!({ "left": 64, "right": 16, "top": top(n) + 8, "height": PANEL - 30 }));
    let x_axes = panels().map(|(n, panel)| {
        json!({
            "type": "category", "gridIndex": n, "boundaryGap": false, "name": "s", "nameGap": 4,
            "data": (0..of.seconds).step_by(panel.width).collect::<Vec<_>>(),
        })
    });
    let y_axes = panels().map(|(n, panel)| json!({
        "type": if panel.log { "log" } else { "value" }, "gridIndex": n, "name": panel.name, "nameGap": 6,
        "nameTextStyle": { "align": "left" }, "minInterval": if panel.log { 0 } else { 1 },
    }));
    json!({
        "height": top(of.panels.len()) - 30,
        "wide": true,
        "baseOption": {
            "color": COLOURS,
            "title": { "text": title, "textStyle": { "fontSize": 13 } },
            "legend": { "type": "scroll", "top": 22, "data": names },
            "tooltip": { "trigger": "axis" },
            "grid": grids.collect::<Vec<_>>(),
            "xAxis": x_axes.collect::<Vec<_>>(),
            "yAxis": y_axes.collect::<Vec<_>>(),
            "series": panels().flat_map(|(n, panel)| in_panel(n, panel, of)).collect::<Vec<_>>(),
        },
    })
}

/// The series of a panel; what happened is marked on the first curve of the first one.
fn in_panel(n: usize, panel: &Panel, of: &Seconds) -> Vec<Value> {
    let mut all = Vec::new();
    for (place, curve) in panel.curves.iter().enumerate() {
        let mut own = band(curve);
        if let (0, 0, Some(median)) = (n, place, own.last_mut()) {
            mark(median, of, panel.width);
        }
        all.extend(own);
    }
    for series in &mut all {
        (series["xAxisIndex"], series["yAxisIndex"]) = (json!(n), json!(n));
    }
    all
}

/// The span from the minimum to the maximum as two stacked series, where they differ, then the median.
fn band(curve: &Band) -> Vec<Value> {
    let (name, colour) = (curve.name, COLOURS[curve.colour]);
    let data = |of: fn([f64; 3]) -> f64| -> Vec<Value> {
        let points = curve.points.iter();
        points.map(|point| or_null(point.map(of))).collect()
    };
    let median = json!({
        "type": "line", "name": name, "symbol": "none", "color": colour, "lineStyle": { "width": 1.5 },
        "data": data(|[_, median, _]| median), "sampling": "minmax",
    });
    if curve
        .points
        .iter()
        .flatten()
        .all(|[min, _, max]| min == max)
    {
        return vec![median];
    }
    let part = |area: f64, data: Vec<Value>| {
        json!({
            "type": "line", "name": format!("{name}, min to max"), "stack": name, "symbol": "none", "silent": true, "color": colour,
            "lineStyle": { "opacity": 0 }, "areaStyle": { "opacity": area }, "tooltip": { "show": false }, "data": data,
        })
    };
    vec![
        part(0.0, data(|[min, ..]| min)),
        part(0.25, data(|[min, _, max]| max - min)),
        median,
    ]
}

/// The warm-up, the stalls and the events of all blocks, by the place of their point on the axis.
fn mark(series: &mut Value, of: &Seconds, width: usize) {
    let last = (of.seconds.max(1) - 1) / width;
    let place = |second: f64| json!(((second / width as f64) as usize).min(last));
    let area = |from: f64, until: f64, colour: &str, name: &str| {
        json!([
            { "xAxis": place(from), "name": name, "itemStyle": { "color": colour, "opacity": 0.18 } },
            { "xAxis": place(until) },
        ])
    };
    let warm_up =
        (of.warm_up_s > 0).then(|| area(0.0, f64::from(of.warm_up_s), "#808080", "warm-up"));
    let stalls = of
        .stalls
        .iter()
        .filter_map(|stall| Some(area(stall.from_s, stall.until_s?, "#d00000", &stall.name)));
    let events = of
        .events
        .iter()
        .filter_map(|event| Some(area(event.from_s, event.until_s?, "#0072b2", "")));
    let areas: Vec<Value> = warm_up.into_iter().chain(stalls).chain(events).collect();
    let starts = of.events.iter().map(|event| json!({ "xAxis": place(event.from_s), "label": { "formatter": event.name, "fontSize": 10 } }));
    let starts: Vec<Value> = starts.collect();
    if !areas.is_empty() {
        series["markArea"] = json!({ "silent": true, "label": { "fontSize": 10, "position": "insideTop" }, "data": areas });
    }
    if !starts.is_empty() {
        series["markLine"] = json!({ "silent": true, "symbol": "none", "data": starts });
    }
}

/// Five significant digits: more would only fill the tooltip.
pub(super) fn rounded(value: f64) -> Value {
    if value == 0.0 || !value.is_finite() {
        return json!(if value == 0.0 { Some(0) } else { None });
    }
    let scale = 10f64.powf(4.0 - value.abs().log10().floor());
    let rounded = (value * scale).round() / scale;
    match rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        true => json!(rounded as i64),
        false => json!(rounded),
    }
}

fn or_null(value: Option<f64>) -> Value {
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
