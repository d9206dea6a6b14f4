//! Boxes with the values that they sum up: one category a cell.

use super::charts::{COLOURS, rounded};
use crate::document::Boxes;
use serde_json::{Value, json};

/// How far the dots of a category spread, as a share of its width.
const SPREAD: f64 = 0.56;
/// The golden ratio's fraction: its multiples fill the width evenly, and are the same in every rendering.
const STEP: f64 = 0.618_033_988;

/// Dots lie on a numeric axis of their own below the categories, because they are spread sideways.
pub(super) fn boxes(of: &Boxes) -> Value {
    let quartiles = of.boxes.iter().map(|found| match found {
        Some(five) => json!(five.map(rounded)),
        None => json!([]),
    });
    let spread = |n: usize| (n as f64 * STEP).fract() - 0.5;
    let seconds = of.seconds.iter().enumerate().map(|(n, (place, value))| {
        let x = (*place as f64 + SPREAD * spread(n)) * 1e3;
        json!([x.round() / 1e3, rounded(*value)])
    });
    let blocks = of
        .blocks
        .iter()
        .map(|(place, mean)| json!([place, rounded(*mean)]));
    let last = of.categories.len() as f64 - 0.5;
    json!({
        "height": 420,
        "wide": true,
        "baseOption": {
            "color": COLOURS,
            "legend": { "type": "scroll", "top": 0 },
            "tooltip": { "trigger": "item" },
            "grid": { "containLabel": true, "left": 8, "right": 8, "top": 56, "bottom": 8 },
            "xAxis": [
                { "type": "category", "data": of.categories, "axisLabel": { "interval": 0, "width": 90, "overflow": "break", "fontSize": 10 } },
                { "type": "value", "min": -0.5, "max": last, "show": false },
            ],
            "yAxis": { "type": "value", "name": of.figure, "nameTextStyle": { "align": "left" } },
            "series": [
                { "type": "boxplot", "name": "seconds, quartiles", "data": quartiles.collect::<Vec<_>>(), "itemStyle": { "color": "transparent", "borderColor": COLOURS[0] } },
                { "type": "scatter", "name": "one second", "xAxisIndex": 1, "symbolSize": 3, "color": COLOURS[4], "itemStyle": { "opacity": 0.45 }, "silent": true, "data": seconds.collect::<Vec<_>>() },
                { "type": "scatter", "name": "mean of a block", "xAxisIndex": 1, "symbol": "diamond", "symbolSize": 10, "color": COLOURS[5], "z": 5, "data": blocks.collect::<Vec<_>>() },
            ],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_stay_within_the_width_of_their_category() {
        let option = boxes(&Boxes {
            figure: "ops/s".to_string(),
            categories: vec!["a".to_string(), "b".to_string()],
            boxes: vec![Some([1.0, 2.0, 3.0, 4.0, 5.0]), None],
            seconds: (0..100).map(|n| (n % 2, 10.0)).collect(),
            blocks: vec![(1, 3.0)],
        });
        let series = &option["baseOption"]["series"];
        let dots = series[1]["data"].as_array().unwrap();
        let is_near = |(n, dot): (usize, &Value)| {
            let x = dot[0].as_f64().unwrap();
            (x - (n % 2) as f64).abs() <= SPREAD / 2.0 + 1e-3
        };
        assert!(dots.iter().enumerate().all(is_near));
        assert_eq!(series[0]["data"], json!([[1, 2, 3, 4, 5], []]));
        assert_eq!(series[2]["data"], json!([[1, 3]]));
    }
}
