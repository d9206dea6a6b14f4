//! The charts, as ECharts option objects.
//!
//! Goal: pure data, without functions, so that the same options can be drawn elsewhere. One word is resolved by the page's
//! script: a custom series whose `renderItem` is `"whisker"` draws the interval of the bar series with its name.

use super::rows::Rows;
use crate::matrix::Matrix;
use maud::{Markup, html};
use record::stats::Estimate;
use serde_json::{Value, json};

/// Rows that a chart of queries shows at first; the others are a click on the legend away.
const ROWS_SHOWN: usize = 8;
/// By Okabe and Ito: told apart with every kind of colour vision, on white and on black.
pub const COLOURS: [&str; 8] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c8c00", "#8a8a8a",
];

pub fn totals_section() -> Markup {
    html! { (frame("totals", "Seconds of each round by server and levels, with 95 % intervals; the table above has the same figures")) }
}

/// The place of a chart; nothing is there without JavaScript.
pub fn frame(id: &str, label: &str) -> Markup {
    html! {
        div.needs-script { div.scroll { div.chart id={ "chart-" (id) } data-chart=(id) role="img" aria-label=(label) {} } }
    }
}

/// All options, by the charts' names.
pub fn options(matrix: &Matrix, rows: &Rows) -> Value {
    json!({
        "totals": totals(matrix, rows),
        "cold": queries(rows, |query| query.cold_s.as_ref()),
        "hot": queries(rows, |query| query.hot_s.as_ref()),
    })
}

fn totals(matrix: &Matrix, rows: &Rows) -> Value {
    let names: Vec<&str> = rows.list.iter().map(|row| row.name.as_str()).collect();
    let columns = matrix.rounds.iter().enumerate().map(|(place, round)| {
        let estimates = matrix
            .lines
            .iter()
            .map(|line| line.cells[place].seconds.as_ref())
            .collect();
        (round.clone(), estimates)
    });
    let labels = |width: u32| json!({ "grid": { "left": width + 10 }, "yAxis": { "axisLabel": { "width": width } } });
    json!({
        "height": 90 + names.len() * (12 + 11 * matrix.rounds.len()),
        "baseOption": {
            "color": COLOURS,
            "legend": { "type": "scroll", "top": 0 },
            "tooltip": { "trigger": "item", "formatter": "{b}<br>{a}: <b>{c}</b> s" },
            "grid": { "left": 230, "right": 20, "top": 36, "bottom": 44 },
            "xAxis": { "type": "value", "name": "seconds", "nameLocation": "middle", "nameGap": 26 },
            "yAxis": { "type": "category", "inverse": true, "data": names, "axisLabel": { "width": 220, "overflow": "break", "lineHeight": 14 } },
            "series": series(columns.collect(), true),
        },
        "media": [{ "query": { "maxWidth": 600 }, "option": labels(110) }, { "query": { "minWidth": 601 }, "option": labels(220) }],
    })
}

fn queries(rows: &Rows, of: impl Fn(&record::stats::QueryRow) -> Option<&Estimate>) -> Value {
    let names: Vec<&str> = rows.list.first().map_or(Vec::new(), |row| {
        row.queries.iter().map(|q| q.query.as_str()).collect()
    });
    let lines: Vec<_> = rows
        .list
        .iter()
        .map(|row| (row.name.clone(), row.queries.iter().map(&of).collect()))
        .collect();
    let hidden = rows
        .list
        .iter()
        .skip(ROWS_SHOWN)
        .map(|row| (row.name.clone(), Value::Bool(false)));
    json!({
        "height": 340,
        "wide": true,
        "baseOption": {
            "color": COLOURS,
            "legend": { "type": "scroll", "top": 0, "selected": hidden.collect::<serde_json::Map<_, _>>() },
            "tooltip": { "trigger": "item", "formatter": "{b}<br>{a}: <b>{c}</b> s" },
            "grid": { "containLabel": true, "left": 4, "right": 8, "top": 56, "bottom": 8 },
            "xAxis": { "type": "category", "data": names, "axisLabel": { "interval": 0 } },
            "yAxis": { "type": "value", "name": "seconds", "nameLocation": "end", "nameGap": 8, "nameTextStyle": { "align": "left" } },
            "series": series(lines, false),
        },
    })
}

/// A bar series for each name, then a series of whiskers for each, in the same order.
fn series(lines: Vec<(String, Vec<Option<&Estimate>>)>, horizontal: bool) -> Vec<Value> {
    let bars = lines.iter().map(|(name, estimates)| {
        // A lower bound is no length of a bar: the tables have it.
        let known = |e: &&Estimate| !e.at_least;
        let mean = |e: &Option<&Estimate>| e.filter(known).map_or(Value::Null, |e| rounded(e.mean));
        let means: Vec<Value> = estimates.iter().map(mean).collect();
        json!({ "type": "bar", "name": name, "data": means, "barGap": "12%", "barCategoryGap": "28%" })
    });
    let whiskers = lines.iter().map(|(name, estimates)| {
        let ranges = estimates.iter().enumerate().filter_map(|(place, estimate)| {
            let (low, high) = estimate.as_ref()?.ci?;
            Some(if horizontal { json!([rounded(low), place, rounded(high)]) } else { json!([place, rounded(low), rounded(high)]) })
        });
        let encode = if horizontal { json!({ "x": [0, 2], "y": 1 }) } else { json!({ "x": 0, "y": [1, 2] }) };
        json!({
            "type": "custom", "name": name, "renderItem": "whisker", "silent": true, "z": 4, "encode": encode,
            "horizontal": horizontal, "data": ranges.collect::<Vec<_>>(),
        })
    });
    bars.chain(whiskers).collect()
}

/// Five significant digits: more would only fill the tooltip.
pub fn rounded(value: f64) -> Value {
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
