//! Reduces EXPLAIN's JSON to what the server does.
//!
//! A keyword found in the result is an action of the plan. The statement's text (with its hints), unused alternatives, false
//! members and estimates are removed. The structure still differs between servers.

use serde_json::Value;

/// Members that are not actions, in MySQL's two formats and MariaDB's.
const LEFT_OUT: [&str; 12] = [
    "query",
    "possible_keys",
    "potential_range_indexes",
    "used_columns",
    "cost_info",
    "cost",
    "loops",
    "filtered",
    "rows",
    "rows_examined_per_scan",
    "rows_produced_per_join",
    "json_schema_version",
];

/// Reduces a plan and formats it on one line. Text that is not JSON is returned unchanged.
pub(super) fn decisive(text: &str) -> String {
    match serde_json::from_str(text) {
        Ok(value) => reduced(value).to_string(),
        Err(_) => text.to_string(),
    }
}

fn reduced(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(name, value)| {
                !LEFT_OUT.contains(&name.as_str())
                    && !name.starts_with("estimated_")
                    && *value != Value::Bool(false)
            });
            Value::Object(kept.map(|(name, value)| member(name, value)).collect())
        }
        Value::Array(elements) => Value::Array(elements.into_iter().map(reduced).collect()),
        other => other,
    }
}

/// A condition becomes `true`: that it is attached or pushed down is an action, but its text may contain any word.
fn member(name: String, value: Value) -> (String, Value) {
    if name.ends_with("condition") && value.is_string() {
        (name, Value::Bool(true))
    } else {
        (name, reduced(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn alternatives_false_members_and_estimates_are_removed() {
        let text = r#"{"query": "/*+ MRR(a) */", "table": {"possible_keys": ["k"], "key": "k", "rows": 5,
            "estimated_rows": 5.0, "using_filesort": false, "using_MRR": true, "cost_info": {"query_cost": "1"}}}"#;
        assert_eq!(decisive(text), r#"{"table":{"key":"k","using_MRR":true}}"#);
    }

    #[test]
    fn the_text_of_a_condition_is_removed() {
        let text = r#"{"table": {"attached_condition": "a.c = 'using_MRR'", "index_condition": "a.d > 1"}}"#;
        assert_eq!(
            decisive(text),
            r#"{"table":{"attached_condition":true,"index_condition":true}}"#
        );
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(text in ".{0,60}") {
            decisive(&text);
        }
    }
}
