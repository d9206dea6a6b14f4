//! Boxes with the values that they sum up: one category a cell.

use super::{COLOURS, rounded};
use crate::document::Boxes;
use serde_json::{Value, json};

/// The height of a category (pixels).
const ROW: usize = 40;
/// How far the dots of a category spread, as a share of its height.
const SPREAD: f64 = 0.56;
/// The golden ratio's fraction: its multiples fill the height evenly, and are the same in every rendering.
const STEP: f64 = 0.618_033_988;

/// One row a category, because names of cells are long. Dots lie on a numeric axis of their own next to the categories, because
/// they are spread over its height.
pub(super) fn boxes(of: &Boxes) -> Value {
    let quartiles = of.boxes.iter().map(|found| match found {
        Some(five) => json!(five.map(rounded)),
        None => json!([]),
    });
    let spread = |n: usize| (n as f64 * STEP).fract() - 0.5;
    let seconds = of.seconds.iter().enumerate().map(|(n, (place, value))| {
        let y = (*place as f64 + SPREAD * spread(n)) * 1e3;
        json!([rounded(*value), y.round() / 1e3])
    });
    let blocks = of
        .blocks
        .iter()
        .map(|(place, mean)| json!([rounded(*mean), place]));
    let last = of.categories.len() as f64 - 0.5;
    let names = ["seconds, quartiles", "one second", "mean of a block"];
    json!({
        "height": 66,
        "unit": of.figure,
        "rows": { "band": ROW, "ends": [] },
        "baseOption": {
            "color": [COLOURS[0], COLOURS[4], COLOURS[5]],
            "legend": { "data": names },
            "tooltip": { "trigger": "item" },
            "grid": { "top": 6, "bottom": 50 },
            "xAxis": { "type": "value", "name": of.figure, "nameLocation": "middle", "nameGap": 32 },
            "yAxis": [
                { "type": "category", "inverse": true, "data": of.categories },
                { "type": "value", "inverse": true, "min": -0.5, "max": last, "show": false },
            ],
            "series": [
                { "type": "boxplot", "name": names[0], "color": COLOURS[0], "data": quartiles.collect::<Vec<_>>(), "itemStyle": { "color": "transparent", "borderColor": COLOURS[0] } },
                { "type": "scatter", "name": names[1], "yAxisIndex": 1, "symbolSize": 3, "color": COLOURS[4], "itemStyle": { "opacity": 0.45 }, "silent": true, "data": seconds.collect::<Vec<_>>() },
                { "type": "scatter", "name": names[2], "yAxisIndex": 1, "symbol": "diamond", "symbolSize": 10, "color": COLOURS[5], "z": 5, "data": blocks.collect::<Vec<_>>() },
            ],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_stay_within_the_height_of_their_category() {
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
            let y = dot[1].as_f64().unwrap();
            (y - (n % 2) as f64).abs() <= SPREAD / 2.0 + 1e-3
        };
        assert!(dots.iter().enumerate().all(is_near));
        assert_eq!(series[0]["data"], json!([[1, 2, 3, 4, 5], []]));
        assert_eq!(series[2]["data"], json!([[3, 1]]));
    }
}
