//! Exact decimals as whole numbers: amounts in cents, taxes and discounts in 1/10,000.

/// Parses a decimal as the server writes it, with `digits` digits after the point: `-12.50` with 2 is -1250. None if it has another
/// form.
pub(super) fn parse(text: &[u8], digits: usize) -> Option<i64> {
    let (sign, text) = match text {
        [b'-', rest @ ..] => (-1, rest),
        _ => (1, text),
    };
    let point = text.len().checked_sub(digits + 1)?;
    let (whole, fraction) = (&text[..point], &text[point + 1..]);
    if text[point] != b'.' {
        return None;
    }
    let mut value = 0i64;
    for &byte in whole.iter().chain(fraction) {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    Some(sign * value)
}

/// The total of an order in cents, rounded: the sum of its lines less the customer's discount, plus both taxes (2.4.3.5).
/// Taxes and the discount are in 1/10,000.
pub(super) fn total(cents: i64, discount: i64, warehouse_tax: i64, district_tax: i64) -> i64 {
    const ONE: i64 = 10_000;
    let exact = cents * (ONE - discount) * (ONE + warehouse_tax + district_tax);
    (exact + ONE * ONE / 2) / (ONE * ONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_decimal_of_another_form_is_refused() {
        for text in [
            "",
            "1",
            "1.2",
            "12.345",
            "1,20",
            "1.2x",
            "--1.20",
            "99999999999999999999.00",
        ] {
            assert_eq!(parse(text.as_bytes(), 2), None, "{text}");
        }
    }

    #[test]
    fn the_total_has_the_discount_and_both_taxes() {
        // 100.00 less 50 %, plus 10 % and 20 %.
        assert_eq!(total(10_000, 5_000, 1_000, 2_000), 6_500);
        assert_eq!(total(10_000, 0, 0, 0), 10_000);
        // 0.01 less 50 % is rounded up.
        assert_eq!(total(1, 5_000, 0, 0), 1);
    }

    proptest! {
        #[test]
        fn decimals_are_parsed_exactly(cents in -1_000_000_000_000i64..1_000_000_000_000) {
            let sign = if cents < 0 { "-" } else { "" };
            let text = format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100);
            prop_assert_eq!(parse(text.as_bytes(), 2), Some(cents));
        }
    }
}
