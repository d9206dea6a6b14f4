//! `[workload.sql.parameter.NAME]`: what a parameter's values are.

use crate::KeyMistake;
use crate::keys::{mistake, whole};
use crate::oltp::distribution;
use crate::script::{Generator, Literal, name_length};
use datagen::oltp::{Distribution, Keys};
use toml::{Table, Value};

const KINDS: &str = "one of: uniform = [1, 1000], zipfian, gaussian, pareto, latest, special, sequence (each with first and last), text = 20 or text = [5, 20], one_of = [\"a\", \"b\"]";
const TEXT_BYTES_MAX: i64 = 1 << 20;
/// Beyond it, keys are no longer exact in the floating point of a distribution.
const KEYS_MAX: u64 = 1 << 53;

/// The parameters in the file's order.
pub fn all(value: &Value) -> Result<Vec<(String, Generator)>, KeyMistake> {
    let example = "[workload.sql.parameter.id] with uniform = [1, 1000]";
    let tables = value
        .as_table()
        .ok_or_else(|| mistake("parameter", "parameter is a table of parameters", example))?;
    let mut parameters = Vec::new();
    for (name, value) in tables {
        let key = format!("parameter.{name}");
        if name.is_empty() || name_length(name) != name.len() {
            let says = format!("{name:?} is no name of a parameter");
            return Err(mistake(&key, says, "a letter, then letters, digits and _"));
        }
        let table = value
            .as_table()
            .ok_or_else(|| mistake(&key, format!("{name} is a table"), example))?;
        parameters.push((name.clone(), generator(&key, table)?));
    }
    Ok(parameters)
}

fn generator(key: &str, table: &Table) -> Result<Generator, KeyMistake> {
    let mut kinds = table
        .iter()
        .filter(|(part, _)| !distribution::is_figure(part));
    let (kind, value) = match (kinds.next(), kinds.next()) {
        (Some(kind), None) => kind,
        (Some(_), Some((second, _))) => {
            let says = "a parameter has one kind of values";
            return Err(mistake(&format!("{key}.{second}"), says, KINDS));
        }
        _ => return Err(mistake(key, "it does not say what its values are", KINDS)),
    };
    let (within, place) = (format!("{key}."), format!("{key}.{kind}"));
    let values = match kind.as_str() {
        "sequence" => sequence(&place, value)?,
        "text" => text(&place, value)?,
        "one_of" => one_of(&place, value)?,
        name => match distribution::read(name, table, &within)? {
            Some(distribution) => keys(distribution, &place, value)?,
            None => {
                let says = format!("there are no values {name:?}");
                return Err(mistake(&place, says, KINDS));
            }
        },
    };
    distribution::no_other_figure(kind, table, &within)?;
    Ok(values)
}

fn sequence(place: &str, value: &Value) -> Result<Generator, KeyMistake> {
    let (first, last) = range(place, value)?;
    let count = last.abs_diff(first).saturating_add(1);
    Ok(Generator::Sequence { first, count })
}

fn keys(distribution: Distribution, place: &str, value: &Value) -> Result<Generator, KeyMistake> {
    let (first, last) = range(place, value)?;
    if last.abs_diff(first) >= KEYS_MAX - 1 {
        let says = format!("{first} to {last} are too many values");
        return Err(mistake(place, says, "fewer than 2^53"));
    }
    Ok(Generator::Keys(Keys::new(distribution, first, last)))
}

/// `[first, last]`
fn range(place: &str, value: &Value) -> Result<(i64, i64), KeyMistake> {
    let help = "the first and the last value: [1, 100000]";
    let numbers: Option<Vec<i64>> = value
        .as_array()
        .and_then(|list| list.iter().map(Value::as_integer).collect());
    match numbers.as_deref() {
        Some([first, last]) if first <= last => Ok((*first, *last)),
        Some([first, last]) => Err(mistake(place, format!("{first} is above {last}"), help)),
        _ => Err(mistake(place, "it is a list of two whole numbers", help)),
    }
}

/// `20`, `[5, 20]`
fn text(place: &str, value: &Value) -> Result<Generator, KeyMistake> {
    let (bytes_min, bytes_max) = match value {
        Value::Array(_) => range(place, value)?,
        value => {
            let bytes = whole(place, value, 0..=TEXT_BYTES_MAX)?;
            (bytes, bytes)
        }
    };
    if bytes_min < 0 || bytes_max > TEXT_BYTES_MAX {
        let says = "a text has 0 to 1048576 digits";
        return Err(mistake(place, says, "text = 20 or text = [5, 20]"));
    }
    Ok(Generator::Digits {
        bytes_min: bytes_min as u32,
        bytes_max: bytes_max as u32,
    })
}

fn one_of(place: &str, value: &Value) -> Result<Generator, KeyMistake> {
    let help = "a list of texts or numbers: one_of = [\"open\", \"closed\"]";
    let list = value
        .as_array()
        .filter(|list| !list.is_empty())
        .ok_or_else(|| mistake(place, "one_of is a list of values", help))?;
    let literal = |value: &Value| match value {
        Value::Integer(number) => Some(Literal::Int(*number)),
        Value::Float(number) => Some(Literal::Double(*number)),
        Value::String(text) => Some(Literal::Text(text.clone())),
        _ => None,
    };
    let literals: Option<Vec<Literal>> = list.iter().map(literal).collect();
    literals
        .map(Generator::OneOf)
        .ok_or_else(|| mistake(place, "its values are texts or numbers", help))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, Generator)>, KeyMistake> {
        all(&Value::Table(text.parse().unwrap()))
    }

    #[test]
    fn every_kind_of_values_is_read() {
        let text = "a.uniform = [1, 9]\nb = { zipfian = [1, 9], zipf_exponent = 1 }\nc.gaussian = [-5, 5]\nd = { pareto = [1, 9], pareto_share = 0.1 }\ne.latest = [1, 9]\nf.special = [1, 9]\ng.sequence = [5, 5]\nh.text = 20\ni.text = [5, 20]\nj.one_of = [\"x\", 1, 0.5]";
        let names: Vec<String> = read(text)
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names.concat(), "abcdefghij");
    }

    #[test]
    fn a_mistake_names_its_key() {
        for (text, key) in [
            ("a = 1", "parameter.a"),
            ("a = {}", "parameter.a"),
            ("\"1a\".text = 1", "parameter.1a"),
            ("a = { uniform = [1, 2], text = 1 }", "parameter.a.text"),
            ("a.normal = [1, 2]", "parameter.a.normal"),
            ("a.uniform = [2, 1]", "parameter.a.uniform"),
            ("a.uniform = [1]", "parameter.a.uniform"),
            (
                "a.uniform = [-9223372036854775808, 9223372036854775807]",
                "parameter.a.uniform",
            ),
            (
                "a = { zipfian = [1, 2], zipf_exponent = -1 }",
                "parameter.a.zipf_exponent",
            ),
            (
                "a = { pareto = [1, 2], pareto_share = 2 }",
                "parameter.a.pareto_share",
            ),
            (
                "a = { uniform = [1, 2], zipf_exponent = 1 }",
                "parameter.a.zipf_exponent",
            ),
            (
                "a = { sequence = [1, 2], pareto_share = 0.1 }",
                "parameter.a.pareto_share",
            ),
            ("a.text = -1", "parameter.a.text"),
            ("a.text = [0, 2000000]", "parameter.a.text"),
            ("a.one_of = []", "parameter.a.one_of"),
            ("a.one_of = [true]", "parameter.a.one_of"),
        ] {
            assert_eq!(read(text).unwrap_err().key, key, "{text}");
        }
    }
}
