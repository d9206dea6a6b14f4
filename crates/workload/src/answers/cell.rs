//! One value of a result in its canonical form.
//!
//! Purpose: equal values of a type have the same bytes on every server, different ones never do. Boundaries: floating-point numbers are
//! compared to ten digits only, because their last digits depend on the order of the operations.

use server::ColumnKind;
use std::borrow::Cow;

/// A canonical value; None is NULL.
pub type Cell = Option<Vec<u8>>;

/// Significant digits of floating-point numbers. A DOUBLE has 15 that are exact; sums in another order differ in the last.
const DIGITS: usize = 10;

/// The canonical form of a value of a column of this kind, as a server sent it.
pub(super) fn canonical(kind: ColumnKind, cell: Option<&[u8]>) -> Cell {
    let bytes = cell?;
    let number = match kind {
        ColumnKind::Other => None,
        ColumnKind::Exact => str::from_utf8(bytes).ok().and_then(exact),
        ColumnKind::Approximate => str::from_utf8(bytes).ok().and_then(rounded),
    };
    Some(number.map_or_else(|| bytes.to_vec(), String::into_bytes))
}

/// The canonical form of a value of a reference, whose columns have no types: numbers as such, text without the spaces at its end.
pub(crate) fn of_reference(text: &str) -> String {
    exact(text).unwrap_or_else(|| text.trim_end_matches(' ').into())
}

/// A row for people.
pub(crate) fn shown_row(row: &[Cell]) -> String {
    row.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// A value for people.
pub(super) fn shown(cell: &Cell) -> Cow<'_, str> {
    match cell {
        None => "NULL".into(),
        Some(bytes) => match str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => {
                let digits = bytes.iter().map(|byte| format!("{byte:02X}"));
                format!("x'{}'", digits.collect::<String>()).into()
            }
        },
    }
}

/// A floating-point number with the digits that do not depend on the order of the operations.
fn rounded(text: &str) -> Option<String> {
    Some(match text.parse::<f64>().ok()? {
        0.0 => "0".into(),
        number => format!("{number:.*e}", DIGITS - 1),
    })
}

/// `446268068091.0000` and `446268068091` are the same SUM. None if the text is not a plain decimal number.
fn exact(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        rest => rest,
    };
    let fraction = fraction.trim_end_matches('0');
    Some(match (whole, fraction) {
        ("0", "") => "0".into(),
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ColumnKind::{Approximate, Exact, Other};
    use proptest::prelude::*;

    fn of(kind: ColumnKind, cell: &str) -> Vec<u8> {
        canonical(kind, Some(cell.as_bytes())).unwrap()
    }

    #[test]
    fn an_exact_number_is_the_same_with_and_without_its_zeroes() {
        assert_eq!(of(Exact, "446268068091.0000"), b"446268068091");
        assert_eq!(of(Exact, "00042"), b"42");
        assert_eq!(of(Exact, "-0.50"), b"-0.5");
    }

    #[test]
    fn text_keeps_every_byte_even_if_it_looks_like_a_number() {
        for text in ["00001234", "1.50", "a  ", "1e5", "-0", "\\N"] {
            assert_eq!(of(Other, text), text.as_bytes());
        }
        let bytes: &[u8] = &[0x81, 0xff, 0];
        for kind in [Other, Exact, Approximate] {
            assert_eq!(canonical(kind, Some(bytes)).as_deref(), Some(bytes));
        }
        assert_eq!(canonical(Other, None), None);
    }

    #[test]
    fn floating_point_numbers_are_compared_to_ten_digits() {
        let float = |text| of(Approximate, text);
        assert_eq!(float("0.30000000000000004"), float("0.3"));
        assert_eq!(float("-0"), float("0"));
        assert_eq!(float("1e22"), float("10000000000000000000000"));
        assert_ne!(float("0.30000001"), float("0.3"));
        assert_ne!(of(Exact, "0.30000000000000004"), of(Exact, "0.3"));
    }

    #[test]
    fn a_value_of_a_reference_is_trimmed_at_its_end_only() {
        assert_eq!(of_reference(" a b  "), " a b");
        assert_eq!(of_reference("7.10"), "7.1");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_in_hexadecimal() {
        assert_eq!(shown(&Some(vec![0x81, 0])), "x'8100'");
        assert_eq!(shown(&Some(b"a".to_vec())), "a");
        assert_eq!(shown(&None), "NULL");
    }

    proptest! {
        #[test]
        fn equal_numbers_in_different_forms_are_equal(number in any::<i64>(), zeroes in 0usize..6) {
            let plain = number.to_string();
            let long = format!("{plain}.{}", "0".repeat(zeroes));
            prop_assert_eq!(exact(&long).unwrap(), exact(&plain).unwrap());
            prop_assert_eq!(exact(&plain).unwrap(), plain);
        }
    }
}
