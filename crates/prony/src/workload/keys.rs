//! Keys that the sections of several workloads have.
//!
//! Goal: the same key is read, and a mistake in it answered, alike everywhere. Non-goal: which keys a workload has.

use super::KeyMistake;

/// A number above 0 and at most `largest`.
pub(super) fn scale(value: &toml::Value, largest: f64) -> Result<f64, KeyMistake> {
    let help = format!("a number above 0 and at most {largest}: scale = 0.1");
    let number = match value {
        toml::Value::Integer(whole) => *whole as f64,
        toml::Value::Float(number) => *number,
        other => {
            let says = format!("scale is a number, not a {}", other.type_str());
            return Err(mistake("scale", says, &help));
        }
    };
    if number > 0.0 && number <= largest {
        Ok(number)
    } else {
        Err(mistake("scale", format!("{number} is no scale"), &help))
    }
}

/// Any name will do: only a server knows its engines. The two usual ones are accepted in any case.
pub(super) fn engine(value: &toml::Value) -> Result<String, KeyMistake> {
    const HELP: &str = "a storage engine by its name: engine = \"InnoDB\", \"MyISAM\", \"Aria\"";
    let Some(name) = value.as_str() else {
        let says = format!("engine is a text, not a {}", value.type_str());
        return Err(mistake("engine", says, HELP));
    };
    if name.is_empty()
        || !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        return Err(mistake(
            "engine",
            format!("{name:?} is no name of an engine"),
            HELP,
        ));
    }
    let usual = ["InnoDB", "MyISAM", "Aria"]
        .into_iter()
        .find(|usual| usual.eq_ignore_ascii_case(name));
    Ok(usual.unwrap_or(name).to_owned())
}

/// Yes or no.
pub(super) fn flag(key: &str, value: &toml::Value) -> Result<bool, KeyMistake> {
    value.as_bool().ok_or_else(|| {
        let says = format!("{key} is true or false, not a {}", value.type_str());
        mistake(key, says, &format!("{key} = true"))
    })
}

pub(super) fn mistake(key: &str, says: String, help: &str) -> KeyMistake {
    KeyMistake {
        key: key.into(),
        says,
        help: help.into(),
    }
}
