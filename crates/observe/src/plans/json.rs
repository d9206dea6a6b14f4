//! What of EXPLAIN's JSON says what the server does.
//!
//! Goal: a word that is found in it is something done. The statement's own text (with its hints), what is only possible,
//! what is false, and estimates are left out. Non-goal: one structure for all servers.

use serde_json::Value;

/// Members that say nothing of what is done, in MySQL's two forms and MariaDB's.
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

/// On one line; a text that is no JSON is left as it is.
pub fn decisive(text: &str) -> String {
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

/// That a condition is attached or pushed is something done; its text is the statement's own, in which any word may stand.
fn member(name: String, value: Value) -> (String, Value) {
    match name.ends_with("condition") && value.is_string() {
        true => (name, Value::Bool(true)),
        false => (name, reduced(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_possible_false_or_estimated_is_left_out() {
        let text = r#"{"query": "/*+ MRR(a) */", "table": {"possible_keys": ["k"], "key": "k", "rows": 5,
            "estimated_rows": 5.0, "using_filesort": false, "using_MRR": true, "cost_info": {"query_cost": "1"}}}"#;
        assert_eq!(decisive(text), r#"{"table":{"key":"k","using_MRR":true}}"#);
    }

    #[test]
    fn a_word_of_a_condition_is_nothing_that_is_done() {
        let text = r#"{"table": {"attached_condition": "a.c = 'using_MRR'", "index_condition": "a.d > 1"}}"#;
        assert_eq!(
            decisive(text),
            r#"{"table":{"attached_condition":true,"index_condition":true}}"#
        );
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in ".{0,60}") {
            decisive(&text);
        }
    }
}
