//! One cell second by second: panels below each other, with what happened marked in the first.

use super::{COLOURS, or_null};
use crate::document::{Band, Panel, Seconds, Span};
use serde_json::{Value, json};

/// The height of a panel (pixels).
const HEIGHT: usize = 170;
/// The gap between two panels.
const BETWEEN: usize = 66;
/// Above the first panel: its name, and the names of the events.
const TOP: usize = 40;
/// A name of a mark needs this share of the axis.
const NAME_SHARE: f64 = 0.09;

/// Each panel has its own axis of seconds.
pub(super) fn seconds(of: &Seconds) -> Value {
    let top = |n: usize| TOP + n * (HEIGHT + BETWEEN);
    let panels = || of.panels.iter().enumerate();
    let curves = of.panels.iter().flat_map(|panel| &panel.curves);
    let names: Vec<&str> = curves.map(|curve| curve.name).collect();
    let grids =
        panels().map(|(n, _)| json!({ "left": 64, "right": 16, "top": top(n), "height": HEIGHT }));
    let x_axes = panels().map(|(n, panel)| {
        json!({
            "type": "category", "gridIndex": n, "boundaryGap": false, "axisLabel": { "formatter": "second" },
            "data": (0..of.seconds).step_by(panel.width).collect::<Vec<_>>(),
        })
    });
    // The names of the events are between the first panel and its name.
    let gap = |n: usize| if n == 0 { 22 } else { 14 };
    let y_axes = panels().map(|(n, panel)| json!({
        "type": if panel.log { "log" } else { "value" }, "gridIndex": n, "name": panel.name, "nameGap": gap(n),
        "nameTextStyle": { "align": "left", "padding": [0, 0, 0, -48] }, "minInterval": if panel.log { 0 } else { 1 },
    }));
    json!({
        "height": top(of.panels.len()) - BETWEEN + 30,
        "panel": HEIGHT,
        "direct": true,
        "baseOption": {
            "color": COLOURS,
            "legend": { "data": names },
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

/// The colour of level shifts and periodic drops.
const SHAPE: &str = "#e69f00";

/// The warm-up, the stalls, the shapes and the events of all blocks, by the place of their point on the axis.
fn mark(series: &mut Value, of: &Seconds, width: usize) {
    let last = (of.seconds.max(1) - 1) / width;
    let place = |second: f64| json!(((second / width as f64) as usize).min(last));
    let area = |from: f64, until: f64, colour: &str, name: &str| {
        json!([
            { "xAxis": place(from), "name": name, "itemStyle": { "color": colour, "opacity": 0.18 } },
            { "xAxis": place(until) },
        ])
    };
    let warm_up_s = f64::from(of.warm_up_s);
    let least = NAME_SHARE * of.seconds as f64;
    let warm_up = (of.warm_up_s > 0).then(|| {
        let name = if warm_up_s < least { "" } else { "warm-up" };
        area(0.0, warm_up_s, "#808080", name)
    });
    let stalls = named(&of.stalls, least, warm_up_s / 2.0);
    let stalls = stalls
        .into_iter()
        .filter_map(|(stall, name)| Some(area(stall.from_s, stall.until_s?, "#d00000", &name)));
    let ended = of
        .events
        .iter()
        .filter_map(|event| Some(area(event.from_s, event.until_s?, "#0072b2", "")));
    let drops = of
        .shapes
        .iter()
        .filter_map(|drop| Some(area(drop.from_s, drop.until_s?, SHAPE, "")));
    let areas = warm_up.into_iter().chain(stalls).chain(drops);
    let areas: Vec<Value> = areas.chain(ended).collect();
    let start = |(event, name): (&Span, String)| {
        let label = json!({ "show": !name.is_empty(), "formatter": name, "fontSize": 10 });
        json!({ "xAxis": place(event.from_s), "label": label })
    };
    let starts = named(&of.events, least, f64::NEG_INFINITY).into_iter();
    // Along the line, where no event is named.
    let shift = |shift: &Span| {
        let label =
            json!({ "formatter": shift.name, "fontSize": 10, "position": "insideMiddleTop" });
        json!({ "xAxis": place(shift.from_s), "lineStyle": { "color": SHAPE }, "label": label })
    };
    let shifts = of.shapes.iter().filter(|shape| shape.until_s.is_none());
    let starts: Vec<Value> = starts.map(start).chain(shifts.map(shift)).collect();
    if !areas.is_empty() {
        series["markArea"] = json!({ "silent": true, "label": { "fontSize": 10, "position": "insideTop" }, "data": areas });
    }
    if !starts.is_empty() {
        series["markLine"] = json!({ "silent": true, "symbol": "none", "data": starts });
    }
}

/// The spans in their order in time, each with the name that is written next to it: that of the spans of the next `least` seconds, and
/// nothing for those. `before`: the position of a name that is there already.
fn named(spans: &[Span], least: f64, before: f64) -> Vec<(&Span, String)> {
    let mut spans: Vec<&Span> = spans.iter().collect();
    spans.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let mut named: Vec<(&Span, Vec<&str>)> = Vec::new();
    let mut leader: Option<usize> = None;
    for span in spans {
        let is_near = |at: usize| span.from_s - named[at].0.from_s < least;
        match leader.filter(|at| is_near(*at)) {
            Some(at) => {
                if !named[at].1.contains(&span.name.as_str()) {
                    named[at].1.push(&span.name);
                }
                named.push((span, Vec::new()));
            }
            None if span.from_s - before < least => named.push((span, Vec::new())),
            None => {
                leader = Some(named.len());
                named.push((span, vec![&span.name]));
            }
        }
    }
    let joined = named.into_iter();
    joined
        .map(|(span, names)| (span, names.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from_s: f64, name: &str) -> Span {
        Span {
            from_s,
            until_s: None,
            name: name.to_string(),
        }
    }

    #[test]
    fn a_level_shift_is_drawn_as_a_line_and_a_periodic_drop_as_an_area() {
        let drop = Span {
            until_s: Some(61.0),
            ..span(60.0, "")
        };
        let of = Seconds {
            seconds: 100,
            panels: Vec::new(),
            warm_up_s: 0,
            stalls: Vec::new(),
            shapes: vec![span(40.0, "level shift"), drop],
            events: Vec::new(),
        };
        let mut drawn = json!({});
        mark(&mut drawn, &of, 1);
        let line = &drawn["markLine"]["data"][0];
        let name = &line["label"]["formatter"];
        assert_eq!((&line["xAxis"], name), (&json!(40), &json!("level shift")));
        let drop = &drawn["markArea"]["data"][0];
        assert_eq!(
            (&drop[0]["xAxis"], &drop[1]["xAxis"]),
            (&json!(60), &json!(61))
        );
    }

    #[test]
    fn names_of_marks_that_lie_close_together_are_written_once() {
        let spans = [
            span(30.2, "kill"),
            span(30.0, "kill"),
            span(31.0, "start"),
            span(50.0, "kill"),
        ];
        let names = named(&spans, 5.0, f64::NEG_INFINITY);
        let names: Vec<(f64, &str)> = (names.iter())
            .map(|(span, name)| (span.from_s, name.as_str()))
            .collect();
        let expected = [
            (30.0, "kill, start"),
            (30.2, ""),
            (31.0, ""),
            (50.0, "kill"),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_mark_beside_a_name_that_stands_already_has_none() {
        let spans = [span(6.0, "stall"), span(20.0, "stall")];
        let names = named(&spans, 5.0, 2.5);
        assert_eq!(names[0].1, "");
        assert_eq!(names[1].1, "stall");
    }
}
