//! Sizes ("64M"), durations ("30s") and shares ("50%") in experiment files and on the command line.
//!
//! Purpose: exact values, and messages that explain the form. Boundaries: `load::rate` parses rates.

use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    #[error(
        "\"{0}\" is not a size: write it as \"64M\" or \"1.5G\" (K, M, G, T are powers of 1024; no space, no B)"
    )]
    Size(String),
    #[error(
        "\"{0}\" is not a duration: write it as \"200us\", \"500ms\", \"30s\", \"2m\" or \"1h\" (no space)"
    )]
    Duration(String),
    #[error("\"{0}\" is not a share: write it as \"50%\"")]
    Share(String),
    #[error(
        "\"{0}\" is not the speed of a link: write it as \"100mbit\" or \"1gbit\" (kbit, mbit, gbit are powers of 1000 bits per second)"
    )]
    BitsPerS(String),
}

const SIZE_UNITS: [(&str, u64); 5] = [
    ("", 1),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
];
const DURATION_UNITS_US: [(&str, u64); 5] = [
    ("us", 1),
    ("ms", 1000),
    ("s", 1_000_000),
    ("m", 60_000_000),
    ("h", 3_600_000_000),
];

/// As `tc` writes them (tc(8), "PARAMETERS", rates).
const LINK_UNITS: [(&str, u64); 3] = [
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
];

/// Parses the speed of a link to bits per second, above 0.
pub(crate) fn bits_per_s(text: &str) -> Result<u64, UnitError> {
    amount(text, &LINK_UNITS, |name, unit| name == unit)
        .filter(|bits| *bits > 0)
        .ok_or_else(|| UnitError::BitsPerS(text.to_string()))
}

/// The shortest exact form in kbit or more: `100mbit`.
pub(crate) fn link_text(bits_per_s: u64) -> String {
    match largest(&LINK_UNITS, bits_per_s) {
        Some((name, unit)) => format!("{}{name}", bits_per_s / unit),
        None => format!("{bits_per_s}bit"),
    }
}

/// Parses a size to bytes; units are powers of 1024, in upper or lower case, as in server settings.
pub(crate) fn size_bytes(text: &str) -> Result<u64, UnitError> {
    amount(text, &SIZE_UNITS, str::eq_ignore_ascii_case)
        .ok_or_else(|| UnitError::Size(text.to_string()))
}

/// The shortest exact form: `1G`, `1536M`, `12345`.
pub fn size_text(bytes: u64) -> String {
    match largest(&SIZE_UNITS, bytes) {
        Some((name, unit)) => format!("{}{name}", bytes / unit),
        None => "0".to_string(),
    }
}

/// Parses a duration, to the microsecond.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    amount(text, &DURATION_UNITS_US, |name, unit| name == unit)
        .map(Duration::from_micros)
        .ok_or_else(|| UnitError::Duration(text.to_string()))
}

/// The shortest exact form: `30s`, `1500ms`, `2m`.
pub(crate) fn duration_text(duration: Duration) -> String {
    let us = duration.as_micros() as u64;
    let (name, unit) = largest(&DURATION_UNITS_US, us).unwrap_or(("ms", 1000));
    format!("{}{name}", us / unit)
}

/// The largest of these units of which an amount above 0 is a multiple.
fn largest(units: &[(&'static str, u64)], amount: u64) -> Option<(&'static str, u64)> {
    let mut units = units.iter().rev().filter(|_| amount > 0);
    units
        .find(|(_, unit)| amount.is_multiple_of(*unit))
        .copied()
}

/// `60%` as 0.6.
pub(crate) fn share(text: &str) -> Result<f64, UnitError> {
    let number = text
        .strip_suffix('%')
        .and_then(|number| number.parse().ok());
    number
        .filter(|percent: &f64| percent.is_finite() && *percent >= 0.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| UnitError::Share(text.to_string()))
}

/// Converts 0.6 to 60, without rounding errors of the division.
pub(crate) fn percent(share: f64) -> f64 {
    (share * 100.0 * 1e9).round() / 1e9
}

/// Parses a number with an optional fraction and a unit; whole numbers are exact. `is` compares the name of a unit with the text.
fn amount(text: &str, units: &[(&str, u64)], is: fn(&str, &str) -> bool) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number = &text[..end];
    let (_, unit) = *units.iter().find(|(name, _)| is(name, &text[end..]))?;
    match number.split_once('.') {
        None => number.parse::<u64>().ok()?.checked_mul(unit),
        Some((whole, part)) if !whole.is_empty() && !part.is_empty() => {
            let exact = number.parse::<f64>().ok()? * unit as f64;
            (exact < u64::MAX as f64).then(|| exact.round() as u64)
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(size_bytes("64M"), Ok(64 << 20));
        assert_eq!(size_bytes("1.5g"), Ok(3 << 29));
        assert_eq!(size_bytes("12345"), Ok(12345));
    }

    #[test]
    fn a_size_has_no_space_and_no_b() {
        for wrong in [
            "1 G",
            "1Gb",
            "G",
            "",
            "-1M",
            "1.",
            ".5G",
            "1.2.3M",
            "99999999999T",
        ] {
            assert!(size_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_have_five_units() {
        assert_eq!(duration("0.4ms"), Ok(Duration::from_micros(400)));
        assert_eq!(duration("150us"), Ok(Duration::from_micros(150)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("1h"), Ok(Duration::from_secs(3600)));
    }

    #[test]
    fn a_duration_needs_its_unit() {
        for wrong in ["30", "30 s", "30 sec", "30S", "s", "", "-1s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_size_survives_a_round_trip(bytes in any::<u64>()) {
            prop_assert_eq!(size_bytes(&size_text(bytes)), Ok(bytes));
        }

        #[test]
        fn every_duration_survives_a_round_trip(us in 0..u64::MAX / 3_600_000_000) {
            let written = duration_text(Duration::from_micros(us));
            prop_assert_eq!(duration(&written), Ok(Duration::from_micros(us)));
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC*") {
            let _ = (size_bytes(&text), duration(&text));
        }
    }
}
