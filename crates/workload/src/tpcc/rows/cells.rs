//! Cells of the text protocol as numbers.

/// The cells of one row.
pub(in crate::tpcc) type Cells<'a> = &'a [Option<&'a [u8]>];

/// The first cells of a row as whole numbers.
pub(in crate::tpcc) fn numbers<const N: usize>(row: Cells) -> [i64; N] {
    std::array::from_fn(|column| whole(row[column]))
}

/// A whole number; NULL is 0, as in an empty sum.
pub(in crate::tpcc) fn whole(cell: Option<&[u8]>) -> i64 {
    let Some(text) = cell else { return 0 };
    let (is_negative, digits) = match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, text),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits.fold(0, |number, digit| 10 * number + i64::from(digit - b'0'));
    if is_negative { -number } else { number }
}

/// The cents of a decimal with up to two digits after the point; NULL is 0, as in an empty sum.
pub(in crate::tpcc) fn cents(cell: Option<&[u8]>) -> i64 {
    let Some(text) = cell else { return 0 };
    let point = text.iter().position(|&byte| byte == b'.');
    let (units, fraction) = text.split_at(point.unwrap_or(text.len()));
    let digit = |place: usize| i64::from(fraction.get(place).map_or(0, |digit| digit - b'0'));
    let cents = 100 * whole(Some(units)).abs() + 10 * digit(1) + digit(2);
    if text.starts_with(b"-") {
        -cents
    } else {
        cents
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_as_whole_cents() {
        for (text, expected) in [
            ("0", 0),
            ("0.00", 0),
            ("-10.00", -1_000),
            ("-0.05", -5),
            ("12.3", 1_230),
            ("300000.00", 30_000_000),
            ("123456789012.34", 12_345_678_901_234),
        ] {
            assert_eq!(cents(Some(text.as_bytes())), expected, "{text}");
        }
        assert_eq!((cents(None), whole(None)), (0, 0));
        assert_eq!(whole(Some(b"-32768")), -32_768);
    }
}
