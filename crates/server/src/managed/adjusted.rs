//! Settings that a server took otherwise than it was asked to: asked for a pool of 13 MiB, runs with 16.
//!
//! Goal: name each one, so that no figure stands beside a setting that was not in force. Non-goal: settings that the server
//! does not show under the same name.

use crate::{ServerError, Session};
use spec::known::plain;
use std::collections::BTreeMap;

/// A setting as it was asked for and as it is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjusted {
    pub name: String,
    pub asked: String,
    pub runs: String,
}

/// Compares what was asked for with SHOW GLOBAL VARIABLES.
pub fn find(
    asked: &[(String, String)],
    session: &mut Session,
) -> Result<Vec<Adjusted>, ServerError> {
    let in_force: BTreeMap<String, String> = session
        .query("SHOW GLOBAL VARIABLES")?
        .rows
        .into_iter()
        .filter_map(|row| {
            let mut texts = row
                .into_iter()
                .map(|cell| String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned());
            Some((texts.next()?, texts.next()?))
        })
        .collect();
    Ok(differences(asked, &in_force))
}

/// What is in force otherwise than it was asked for, of lists of switches the parts that are; `in_force` is by name.
pub fn differences(
    asked: &[(String, String)],
    in_force: &BTreeMap<String, String>,
) -> Vec<Adjusted> {
    // A later value of the same setting wins.
    let last: BTreeMap<String, &String> = asked
        .iter()
        .map(|(name, value)| (plain(name), value))
        .collect();
    let differs = |(name, asked): (String, &String)| {
        let runs = in_force.get(&name)?;
        let (asked, runs) = match (agree(asked, runs), asked.contains('=')) {
            (true, _) => return None,
            (false, true) => of_switches(asked, runs),
            (false, false) => (asked.clone(), runs.clone()),
        };
        Some(Adjusted { name, asked, runs })
    };
    last.into_iter().filter_map(differs).collect()
}

fn agree(asked: &str, runs: &str) -> bool {
    match (Value::parse(asked), Value::parse(runs)) {
        (Value::Number(asked), Value::Number(runs)) => asked == runs,
        // ON and OFF are shown for 1 and 0 and the other way round.
        (Value::Switch(asked), Value::Switch(runs)) => asked == runs,
        (Value::Switch(switch), Value::Number(number))
        | (Value::Number(number), Value::Switch(switch)) => number == f64::from(u8::from(switch)),
        // A list of switches names only those it changes.
        (Value::Text, Value::Text) => asked.split(',').all(|part| has(runs, part)),
        // A word by its number (concurrent_insert = 1 is AUTO), a file that is shown as ON (log_bin).
        _ => true,
    }
}

/// Whether a list has this part; what the default is, nobody says here.
fn has(runs: &str, part: &str) -> bool {
    let part = part.trim().to_ascii_lowercase();
    let is_default = part == "default" || part.ends_with("=default");
    is_default
        || runs
            .split(',')
            .any(|own| own.trim().eq_ignore_ascii_case(&part))
}

/// The flags that are in force otherwise, as they were asked for and as they are.
fn of_switches(asked: &str, runs: &str) -> (String, String) {
    let parts: Vec<&str> = asked.split(',').filter(|part| !has(runs, part)).collect();
    let flag = |part: &str| part.split('=').next().unwrap_or(part).trim().to_string();
    let flags: Vec<String> = parts.iter().map(|part| flag(part)).collect();
    let own = runs.split(',').filter(|own| flags.contains(&flag(own)));
    (parts.join(","), own.collect::<Vec<_>>().join(","))
}

enum Value {
    Number(f64),
    Switch(bool),
    Text,
}

impl Value {
    /// K, M, G and T as servers read them: powers of 1024.
    fn parse(text: &str) -> Value {
        match text.to_ascii_uppercase().as_str() {
            "ON" | "TRUE" | "YES" => return Value::Switch(true),
            "OFF" | "FALSE" | "NO" => return Value::Switch(false),
            _ => {}
        }
        let (digits, power) = match text.char_indices().last() {
            Some((at, unit)) => match "KMGT".find(unit.to_ascii_uppercase()) {
                Some(n) => (&text[..at], n as i32 + 1),
                None => (text, 0),
            },
            None => (text, 0),
        };
        match digits.parse::<f64>() {
            Ok(number) => Value::Number(number * 1024f64.powi(power)),
            Err(_) => Value::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(asked: &[(&str, &str)], in_force: &[(&str, &str)]) -> Vec<(String, String, String)> {
        let asked: Vec<_> = asked
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        let in_force = in_force
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        differences(&asked, &in_force)
            .into_iter()
            .map(|one| (one.name, one.asked, one.runs))
            .collect()
    }

    #[test]
    fn of_a_list_of_switches_only_those_are_told_that_are_not_in_force() {
        let asked = [(
            "optimizer_switch",
            "mrr=on,semijoin=default,mrr_cost_based=off",
        )];
        let runs = [(
            "optimizer_switch",
            "index_merge=on,mrr=on,mrr_cost_based=on,semijoin=on",
        )];
        let expected = [(
            "optimizer_switch",
            "mrr_cost_based=off",
            "mrr_cost_based=on",
        )];
        assert_eq!(
            found(&asked, &runs),
            expected.map(|(a, b, c)| (a.to_string(), b.to_string(), c.to_string()))
        );
        assert_eq!(found(&[("optimizer_switch", "default")], &runs), []);
    }

    #[test]
    fn a_pool_that_was_rounded_is_found() {
        let pool = [("innodb_buffer_pool_size", "16777216")];
        let expected = [(
            "innodb_buffer_pool_size".to_string(),
            "13M".to_string(),
            "16777216".to_string(),
        )];
        assert_eq!(
            found(&[("innodb-buffer-pool-size", "13M")], &pool),
            expected
        );
        assert_eq!(found(&[("innodb_buffer_pool_size", "16M")], &pool), []);
    }

    #[test]
    fn another_spelling_of_the_same_value_is_no_adjustment() {
        let same = [
            ("a", "1", "ON"),
            ("a", "off", "OFF"),
            ("a", "0.5", "0.500000"),
            ("a", "o_direct", "O_DIRECT"),
        ];
        for (name, asked, runs) in same {
            assert_eq!(
                found(&[(name, asked)], &[(name, runs)]),
                [],
                "{asked} and {runs}"
            );
        }
        assert_eq!(
            found(
                &[("optimizer_switch", "mrr=on")],
                &[("optimizer_switch", "icp=on,mrr=on")]
            ),
            []
        );
        assert_eq!(found(&[("log_bin", "binlog")], &[("log_bin", "ON")]), []);
        assert_eq!(found(&[("not_a_variable", "1")], &[]), []);
    }

    #[test]
    fn the_last_value_of_a_setting_counts() {
        assert_eq!(found(&[("a", "1"), ("a", "2")], &[("a", "2")]), []);
        assert_eq!(found(&[("a", "2"), ("a", "1")], &[("a", "2")]).len(), 1);
    }
}
