//! Reading a workload's section: values of a kind, each mistake by its key.
//!
//! Goal: one wording for what every section checks. Non-goal: places in the file (`spec` finds them by the key).

use super::KeyMistake;
use std::ops::RangeInclusive;
use toml::Value;

/// A mistake in a key. Keys of tables within the section are joined by dots: `operation.transfer.weight`.
pub fn mistake(key: &str, says: impl Into<String>, help: impl Into<String>) -> KeyMistake {
    KeyMistake {
        key: key.into(),
        says: says.into(),
        help: help.into(),
    }
}

/// The last part of a joined key, as messages call it.
fn short(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// An article and the word that says what a value is.
fn kind(value: &Value) -> String {
    let name = value.type_str();
    let article = if name.starts_with(['a', 'i']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {name}")
}

pub fn text<'v>(key: &str, value: &'v Value, help: &str) -> Result<&'v str, KeyMistake> {
    let says = || format!("{} is a text, not {}", short(key), kind(value));
    value.as_str().ok_or_else(|| mistake(key, says(), help))
}

pub fn truth(key: &str, value: &Value) -> Result<bool, KeyMistake> {
    let says = || format!("{} is true or false, not {}", short(key), kind(value));
    let help = || format!("write {} = true", short(key));
    value.as_bool().ok_or_else(|| mistake(key, says(), help()))
}

/// A whole number of a range.
pub fn whole(key: &str, value: &Value, range: RangeInclusive<i64>) -> Result<i64, KeyMistake> {
    let help = format!("a whole number from {} to {}", range.start(), range.end());
    let Some(number) = value.as_integer() else {
        let says = format!("{} is a whole number, not {}", short(key), kind(value));
        return Err(mistake(key, says, help));
    };
    if range.contains(&number) {
        Ok(number)
    } else {
        let says = format!("{} cannot be {number}", short(key));
        Err(mistake(key, says, help))
    }
}

/// A number, whole or not.
pub fn number(key: &str, value: &Value, help: &str) -> Result<f64, KeyMistake> {
    match value {
        Value::Integer(whole) => Ok(*whole as f64),
        Value::Float(number) if number.is_finite() => Ok(*number),
        Value::Float(number) => {
            let says = format!("{} cannot be {number}", short(key));
            Err(mistake(key, says, help))
        }
        other => {
            let says = format!("{} is a number, not {}", short(key), kind(other));
            Err(mistake(key, says, help))
        }
    }
}

/// A number above 0 and at most `largest`.
pub fn scale(key: &str, value: &Value, largest: f64) -> Result<f64, KeyMistake> {
    let help = format!("a number above 0 and at most {largest}: scale = 0.1");
    let scale = number(key, value, &help)?;
    if scale > 0.0 && scale <= largest {
        Ok(scale)
    } else {
        Err(mistake(key, format!("{scale} is no scale"), help))
    }
}

/// Any name will do: only a server knows its engines. The usual ones are accepted in any case.
pub fn engine(key: &str, value: &Value) -> Result<String, KeyMistake> {
    const HELP: &str = "a storage engine by its name: engine = \"InnoDB\", \"MyISAM\", \"Aria\"";
    let name = text(key, value, HELP)?;
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_part) {
        let says = format!("{name:?} is no name of an engine");
        return Err(mistake(key, says, HELP));
    }
    let usual = ["InnoDB", "MyISAM", "Aria"]
        .into_iter()
        .find(|usual| usual.eq_ignore_ascii_case(name));
    Ok(usual.unwrap_or(name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_a_number_above_0_and_at_most_the_largest() {
        assert_eq!(scale("scale", &Value::Integer(3), 10.0), Ok(3.0));
        assert_eq!(scale("scale", &Value::Float(0.01), 10.0), Ok(0.01));
        for wrong in [0.0, -1.0, 10.5, f64::NAN, f64::INFINITY] {
            let mistake = scale("scale", &Value::Float(wrong), 10.0).unwrap_err();
            assert!(mistake.says.contains(&wrong.to_string()), "{mistake}");
            assert!(mistake.help.contains("at most 10"), "{mistake}");
        }
    }

    #[test]
    fn a_mistake_has_the_whole_key_and_calls_it_by_its_last_part() {
        let mistake = whole("operation.pay.weight", &Value::from("1"), 1..=9).unwrap_err();
        assert_eq!(mistake.key, "operation.pay.weight");
        assert_eq!(mistake.says, "weight is a whole number, not a string");
    }
}
