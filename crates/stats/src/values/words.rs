//! The words for cells, rounds and values in sentences.

use record::claim::{Cell, RoundSelector, Value};
use record::load::Kind;

/// `hot 2`
pub(crate) fn round_words(selector: &RoundSelector) -> String {
    selector.index.map_or(selector.name.clone(), |index| {
        format!("{} {index}", selector.name)
    })
}

/// `the p99 latency`
pub(crate) fn value_words(value: &Value) -> String {
    match value {
        Value::Elapsed => "the time".to_string(),
        Value::Counter(name) => name.clone(),
        Value::Quotient(over, under) => format!("{over} / {under}"),
        Value::Throughput => "the throughput".to_string(),
        Value::Variation => "the variation from second to second".to_string(),
        Value::ReadAge => "the age of reads".to_string(),
        Value::Recovery(number) => number.clone(),
        Value::Audit(figure) => figure.name().to_string(),
        Value::Latency { kind, percentile } => {
            let kind = match kind {
                Kind::Response => "latency",
                Kind::Wait => "wait time",
                Kind::Service => "service time",
                Kind::Failed => "time of failed operations",
            };
            format!("the {} {kind}", percentile.text())
        }
    }
}

/// `variant small or large`; `this run` for a cell of all rows.
pub(crate) fn cell_words(cell: &Cell) -> String {
    let levels = cell
        .levels
        .iter()
        .map(|(factor, levels)| format!("{factor} {}", levels.join(" or ")));
    let words: Vec<String> = levels.collect();
    if words.is_empty() {
        "this run".to_string()
    } else {
        words.join(", ")
    }
}
