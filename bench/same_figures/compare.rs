//! Compares the figures that two versions of prony report for one record.

use serde_json::Value;

/// Keys and columns that hold sentences, or a name with a time. Their wording may change, but not whether they are empty. The figures of
/// a headline are compared where they come from, in the claims.
const PROSE: [&str; 18] = [
    "run_id", "headline", "sentence", "meaning", "caveat", "text", "reason", "unstable", "places",
    "note", "error", "limit", "invalid", "lateness", "question", "title", "says", "stopped",
];

/// Ends of places whose figures changed on purpose; `records/README.md` says why.
const CHANGED: [&str; 2] = ["service_ms.uncertain", "].uncertain"];

/// Relative tolerance for printed tables, which are rounded. The JSON is compared exactly.
const ROUNDING: f64 = 0.006;
/// Relative tolerance for JSON: a sum in another order may differ in its last bits.
const LAST_BITS: f64 = 1e-9;

/// The paths where `now` lacks a value of `before` or has a different one. Additional values in `now` are allowed.
pub(super) fn differences(before: &Value, now: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for part in ["json", "csv", "samples"] {
        compare(part, &before[part], &now[part], &mut found);
    }
    compare_tables(&before["tables"], &now["tables"], &mut found);
    found
}

/// The number of compared values.
pub(super) fn count(before: &Value) -> usize {
    match before {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 1,
    }
}

fn compare(place: &str, before: &Value, now: &Value, found: &mut Vec<String>) {
    if CHANGED.iter().any(|end| place.ends_with(end)) {
        return;
    }
    match (before, now) {
        (Value::Object(fields), Value::Object(others)) => {
            for (key, value) in fields {
                let place = format!("{place}.{key}");
                match others.get(key) {
                    None => found.push(format!("{place} is missing")),
                    Some(other) if PROSE.contains(&key.as_str()) && is_text(value) => {
                        if !is_text(other) || is_empty(value) != is_empty(other) {
                            found.push(format!("{place}: {value} is now {other}"));
                        }
                    }
                    Some(other) => compare(&place, value, other, found),
                }
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            for (n, (item, other)) in items.iter().zip(others).enumerate() {
                compare(&format!("{place}[{n}]"), item, other, found);
            }
        }
        (Value::Array(items), Value::Array(others)) => {
            found.push(format!(
                "{place}: {} entries are now {}",
                items.len(),
                others.len()
            ));
        }
        _ if is_same(before, now) => {}
        _ => found.push(format!("{place}: {before} is now {now}")),
    }
}

/// Text or null.
fn is_text(value: &Value) -> bool {
    value.is_string() || value.is_null()
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value == ""
}

fn is_same(before: &Value, now: &Value) -> bool {
    match (before.as_f64(), now.as_f64()) {
        (Some(a), Some(b)) => are_close(a, b, LAST_BITS),
        _ => before == now,
    }
}

fn are_close(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * a.abs().max(b.abs())
}

/// Checks that each row of a results table still exists in some table, with its numbers in order. Tables of claims, counters and
/// plans are not compared: their figures are in the JSON, and a report may show more or fewer of them.
fn compare_tables(before: &Value, now: &Value, found: &mut Vec<String>) {
    let rows_now: Vec<Vec<f64>> = rows(now).map(numbers).collect();
    for row in rows(before) {
        let is_of_results = row["of"]
            .as_str()
            .is_some_and(|name| name.starts_with("server"));
        let figures = numbers(row);
        if is_of_results && !rows_now.iter().any(|other| holds(other, &figures)) {
            found.push(format!("tables: no row has {} {figures:?}", row["row"]));
        }
    }
}

fn rows(tables: &Value) -> impl Iterator<Item = &Value> {
    tables.as_array().into_iter().flatten()
}

fn numbers(row: &Value) -> Vec<f64> {
    rows(&row["numbers"]).filter_map(Value::as_f64).collect()
}

/// Whether `row` contains all `figures` in this order.
fn holds(row: &[f64], figures: &[f64]) -> bool {
    let mut row = row.iter();
    figures
        .iter()
        .all(|figure| row.any(|other| are_close(*figure, *other, ROUNDING)))
}
