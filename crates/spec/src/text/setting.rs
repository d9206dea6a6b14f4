//! The name and the value of a server setting; a value is literal, or relative to the size of the loaded data.
//!
//! Purpose: one spelling of names, `"data / 8"`, sizes with fractions, and checks of units. Boundaries: `check::known` holds what a
//! server knows.

use super::unit::{UnitError, size_bytes};
use std::fmt;

/// Relative sizes are whole mebibytes, the finest step that every server accepts for its pools.
const STEP_BYTES: f64 = (1u64 << 20) as f64;

/// (key, value) in file order.
pub type Pairs<V> = Vec<(String, V)>;

/// The value of a server setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// Passed to the server verbatim: `1`, `64M`, `ON`.
    Literal(String),
    /// A multiple of the size of the loaded data: `"data / 8"`, `"data * 4"`.
    OfData(f64),
}

/// The name of a setting as servers list it: with underscores, in lower case. `Innodb-Buffer-Pool-Size` is the same setting.
pub fn plain(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}

/// The name behind the prefix `loose_`, with which a server ignores a setting that it does not know; None without the prefix.
pub fn without_loose(name: &str) -> Option<&str> {
    name.strip_prefix("loose_")
}

/// The name under which a server lists a setting: `innodb_page_size` for `loose-innodb-page-size`.
pub fn listed(name: &str) -> String {
    let name = plain(name);
    without_loose(&name).unwrap_or(&name).to_string()
}

/// The setting of this name, which is written as servers write it, however the file writes it. Servers take the last of several.
pub fn setting_of<'s>(settings: &'s Pairs<Setting>, wanted: &str) -> Option<&'s Setting> {
    let mut settings = settings.iter();
    let found = settings.rfind(|(name, _)| listed(name) == wanted);
    found.map(|(_, setting)| setting)
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    #[error(
        "\"{0}\" is not a fraction of the data: write \"data\", \"data / 8\" or \"data * 4\", with a number above 0"
    )]
    OfData(String),
    #[error("\"{0}\": only \"data\" can be divided or multiplied, as in \"data / 8\"")]
    NotData(String),
    #[error(transparent)]
    Size(#[from] UnitError),
}

impl Setting {
    /// Parses a setting written as a string.
    pub fn from_text(text: &str) -> Result<Setting, SettingError> {
        if let Some((word, factor)) = arithmetic(text) {
            return match (word, factor) {
                ("data", Some(factor)) => Ok(Setting::OfData(factor)),
                ("data", None) => Err(SettingError::OfData(text.to_string())),
                _ => Err(SettingError::NotData(text.to_string())),
            };
        }
        match text {
            "data" => Ok(Setting::OfData(1.0)),
            _ if looks_like_a_size(text) => Ok(Setting::Literal(server_size(text)?)),
            _ => Ok(Setting::Literal(text.to_string())),
        }
    }

    /// The value for the server. Relative sizes are rounded to whole mebibytes, at least one.
    pub fn resolve(&self, data_bytes: u64) -> String {
        match self {
            Setting::Literal(text) => text.clone(),
            Setting::OfData(factor) => {
                let steps = (data_bytes as f64 * factor / STEP_BYTES).round().max(1.0);
                ((steps * STEP_BYTES) as u64).to_string()
            }
        }
    }

    /// Whether it turns the setting off: a timeout of 0 never ends anything.
    pub fn is_off(&self) -> bool {
        let value = self.to_string().to_ascii_lowercase();
        ["0", "off", "false", "disabled"].contains(&value.as_str())
    }

    /// The value in bytes (or in the unit of the setting), if it is a number.
    pub fn bytes(&self, data_bytes: u64) -> Option<u64> {
        size_bytes(&self.resolve(data_bytes)).ok()
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Literal(text) => f.write_str(text),
            Setting::OfData(factor) if *factor < 1.0 => write!(f, "data / {}", 1.0 / factor),
            Setting::OfData(factor) => write!(f, "data * {factor}"),
        }
    }
}

/// `data / 8` as (`data`, 0.125); the factor is None if it is not a number above 0. Returns None for any other text.
fn arithmetic(text: &str) -> Option<(&str, Option<f64>)> {
    let operator = text.find(['/', '*'])?;
    let (word, number) = (text[..operator].trim(), text[operator + 1..].trim());
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let number = number.parse::<f64>().ok();
    if word != "data" && !(is_word && number.is_some()) {
        return None;
    }
    let factor = number.map(|number| {
        if text.as_bytes()[operator] == b'/' {
            1.0 / number
        } else {
            number
        }
    });
    Some((
        word,
        factor.filter(|factor| factor.is_finite() && *factor > 0.0),
    ))
}

/// Whether the text is digits followed by letters: a number with a valid or invalid unit.
fn looks_like_a_size(text: &str) -> bool {
    let unit = text
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
        .trim_start();
    text.starts_with(|c: char| c.is_ascii_digit())
        && !unit.is_empty()
        && unit.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// The size for the server: whole numbers with K, M or G stay as they are, all others become bytes.
fn server_size(text: &str) -> Result<String, UnitError> {
    let bytes = size_bytes(text)?;
    let taken = !text.contains('.') && text.ends_with(['K', 'M', 'G', 'k', 'm', 'g']);
    Ok(if taken {
        text.to_string()
    } else {
        bytes.to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn literal(text: &str) -> Setting {
        Setting::Literal(text.to_string())
    }

    #[test]
    fn a_loose_setting_is_found_by_the_name_that_servers_list() {
        let settings = vec![("loose-Max-connections".to_string(), literal("500"))];
        let found = setting_of(&settings, "max_connections");
        assert_eq!(found, Some(&literal("500")));
    }

    #[test]
    fn the_last_of_two_spellings_of_a_setting_counts() {
        let pool = |name: &str, size: &str| (name.to_string(), literal(size));
        let settings = vec![
            pool("innodb_buffer_pool_size", "1G"),
            pool("loose_innodb_buffer_pool_size", "2G"),
        ];
        let found = setting_of(&settings, "innodb_buffer_pool_size");
        assert_eq!(found, Some(&literal("2G")));
    }

    #[test]
    fn sizes_relative_to_the_data_are_divided_or_multiplied() {
        assert_eq!(Setting::from_text("data / 8"), Ok(Setting::OfData(0.125)));
        assert_eq!(Setting::from_text("data*4"), Ok(Setting::OfData(4.0)));
        assert_eq!(Setting::from_text("data * 0.5"), Ok(Setting::OfData(0.5)));
        assert_eq!(Setting::from_text("data"), Ok(Setting::OfData(1.0)));
    }

    #[test]
    fn relative_sizes_become_whole_mebibytes() {
        assert_eq!(
            Setting::OfData(0.125).resolve(1_000_000_000),
            (119u64 << 20).to_string()
        );
        assert_eq!(Setting::OfData(0.125).resolve(10), (1u64 << 20).to_string());
    }

    #[test]
    fn values_that_are_not_sizes_are_unchanged() {
        for text in [
            "ON",
            "O_DIRECT",
            "mrr=on,mrr_cost_based=off",
            "ibdata1:12M:autoextend",
            "/tmp/x",
            "utf8mb4",
            "+00:00",
            "1",
        ] {
            assert_eq!(Setting::from_text(text), Ok(literal(text)));
        }
    }

    #[test]
    fn a_fractional_size_is_converted_to_bytes_for_the_server() {
        assert_eq!(Setting::from_text("64M"), Ok(literal("64M")));
        assert_eq!(Setting::from_text("1.5G"), Ok(literal("1610612736")));
    }

    #[test]
    fn invalid_units_and_unknown_base_sizes_are_rejected() {
        for wrong in [
            "1 Gb",
            "64MB",
            "data / 0",
            "data / x",
            "data * -1",
            "date / 8",
        ] {
            assert!(Setting::from_text(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_setting_survives_a_round_trip(text in "data [*/] [1-9][0-9]{0,3}") {
            let setting = Setting::from_text(&text).unwrap();
            let again = Setting::from_text(&setting.to_string()).unwrap();
            prop_assert_eq!(setting.resolve(1 << 40), again.resolve(1 << 40));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = Setting::from_text(&text);
        }
    }
}
