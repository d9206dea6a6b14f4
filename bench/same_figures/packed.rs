//! The compact form of a reference: lists of objects are stored by column, and repeated parts once.

use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Keys with a special meaning. prony's own keys do not contain `#`.
const COLUMNS: &str = "#columns";
const PART: &str = "#part";

/// Minimum size of a part that is stored once and referred to.
const PART_BYTES: usize = 48;

pub(super) fn pack(value: Value) -> Value {
    let mut parts = Parts::default();
    let whole = parts.shared(to_columns(value));
    json!([parts.texts, whole])
}

pub(super) fn unpack(packed: Value) -> Value {
    let (parts, whole): (Vec<Value>, Value) = serde_json::from_value(packed).expect("two values");
    from_columns(resolved(&parts, whole))
}

/// Converts lists of objects with the same keys to one list per key.
fn to_columns(value: Value) -> Value {
    match value {
        Value::Array(items) if have_the_same_keys(&items) => {
            let mut columns = Map::new();
            for (key, _) in items[0].as_object().expect("an object") {
                let column: Value = items.iter().map(|item| item[key].clone()).collect();
                columns.insert(key.clone(), to_columns(column));
            }
            json!({ COLUMNS: items.len(), "of": columns })
        }
        other => with_children(other, &mut to_columns),
    }
}

fn have_the_same_keys(items: &[Value]) -> bool {
    let Some(Value::Object(first)) = items.first() else {
        return false;
    };
    let is_alike =
        |item: &Value| matches!(item, Value::Object(fields) if fields.keys().eq(first.keys()));
    items.len() > 1 && items.iter().all(is_alike)
}

fn from_columns(value: Value) -> Value {
    let Some(length) = value.get(COLUMNS).and_then(Value::as_u64) else {
        return with_children(value, &mut from_columns);
    };
    let mut items = vec![Map::new(); length as usize];
    for (key, column) in value["of"].as_object().expect("columns") {
        let Value::Array(column) = from_columns(column.clone()) else {
            panic!("{key} is not a column");
        };
        for (item, value) in items.iter_mut().zip(column) {
            item.insert(key.clone(), value);
        }
    }
    items.into_iter().map(Value::Object).collect()
}

/// Texts, lists and objects, each stored once, by their serialised form. Parts can refer to earlier parts.
#[derive(Default)]
struct Parts {
    places: HashMap<String, usize>,
    texts: Vec<Value>,
}

impl Parts {
    fn shared(&mut self, value: Value) -> Value {
        let value = with_children(value, &mut |child| self.shared(child));
        let text = value.to_string();
        if text.len() < PART_BYTES {
            return value;
        }
        let place = *self.places.entry(text).or_insert_with(|| {
            self.texts.push(value);
            self.texts.len() - 1
        });
        json!({ PART: place })
    }
}

fn resolved(parts: &[Value], value: Value) -> Value {
    match value.get(PART).and_then(Value::as_u64) {
        Some(place) => resolved(parts, parts[place as usize].clone()),
        None => with_children(value, &mut |child| resolved(parts, child)),
    }
}

fn with_children(value: Value, change: &mut dyn FnMut(Value) -> Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(change).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| (key, change(value)));
            Value::Object(fields.collect())
        }
        other => other,
    }
}
