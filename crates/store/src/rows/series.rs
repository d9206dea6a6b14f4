//! Series in the file: one blob for all seconds of one name.
//!
//! Form: deflate over a head (how the values are written, how many there are), a bitmap of those that are there (left
//! out where all are), and the values. Numbers of up to six decimals are scaled to integers and written as the zigzag
//! varints of their differences, the others as the varints of the bits in which neighbours differ.

use super::value::deflated;
use flate2::read::DeflateDecoder;
use std::io::Read;

/// Values are bits, not scaled integers.
const BITS: u8 = 0x40;
/// Some are missing.
const GAPS: u8 = 0x80;
const DECIMALS_MAX: u8 = 6;
/// Larger integers cannot be represented in a double.
const EXACT_MAX: f64 = (1u64 << 53) as f64;
/// A year of seconds: an upper bound for the length in a damaged header.
const SECONDS_MAX: u64 = 366 * 24 * 3600;

/// A value that is not a number is written as missing.
pub(super) fn pack(values: &[Option<f64>]) -> Vec<u8> {
    let there: Vec<f64> = present(values).collect();
    let gaps = there.len() < values.len();
    let form = (0..=DECIMALS_MAX).find_map(|decimals| Some((decimals, scaled(&there, decimals)?)));
    let head = form.as_ref().map_or(BITS, |(decimals, _)| *decimals) | if gaps { GAPS } else { 0 };
    let mut bytes = vec![head];
    varint(&mut bytes, values.len() as u64);
    if gaps {
        bitmap(&mut bytes, values);
    }
    match form {
        Some((_, integers)) => differences(&mut bytes, &integers),
        None => changed_bits(&mut bytes, &there),
    }
    deflated(&bytes)
}

pub(super) fn unpack(packed: &[u8]) -> Result<Vec<Option<f64>>, String> {
    let mut bytes = Vec::new();
    DeflateDecoder::new(packed)
        .read_to_end(&mut bytes)
        .map_err(|e| format!("a series cannot be read: {e}"))?;
    unpack_plain(&bytes).ok_or_else(|| "a series ends too early".to_string())
}

fn unpack_plain(mut bytes: &[u8]) -> Option<Vec<Option<f64>>> {
    let head = take(&mut bytes, 1)?[0];
    let count = read_varint(&mut bytes).filter(|count| *count <= SECONDS_MAX)? as usize;
    let there = match head & GAPS {
        0 => vec![true; count],
        _ => bits(take(&mut bytes, count.div_ceil(8))?, count),
    };
    let scale = scale(head & !GAPS & !BITS);
    let mut before = 0u64;
    let mut next = || {
        let code = read_varint(&mut bytes)?;
        if head & BITS != 0 {
            before ^= code.reverse_bits();
            return Some(f64::from_bits(before));
        }
        before = before.wrapping_add(unzigzag(code) as u64);
        Some(before as i64 as f64 / scale)
    };
    there
        .into_iter()
        .map(|there| if there { next().map(Some) } else { Some(None) })
        .collect()
}

fn present(values: &[Option<f64>]) -> impl Iterator<Item = f64> {
    values
        .iter()
        .flatten()
        .copied()
        .filter(|value| !value.is_nan())
}

fn scale(decimals: u8) -> f64 {
    10f64.powi(decimals.into())
}

/// The values as integers with this number of decimals; None if that would not give each back to the last bit.
fn scaled(values: &[f64], decimals: u8) -> Option<Vec<i64>> {
    let scale = scale(decimals);
    let integer = |value: &f64| {
        let integer = (value * scale).round();
        let exact = integer.abs() <= EXACT_MAX
            && (integer as i64 as f64 / scale).to_bits() == value.to_bits();
        exact.then_some(integer as i64)
    };
    values.iter().map(integer).collect()
}

fn differences(bytes: &mut Vec<u8>, integers: &[i64]) {
    let mut before = 0;
    for integer in integers {
        varint(bytes, zigzag(integer.wrapping_sub(before)));
        before = *integer;
    }
}

/// Neighbours agree in sign, exponent and first digits; turned around, what differs is a small number.
fn changed_bits(bytes: &mut Vec<u8>, values: &[f64]) {
    let mut before = 0;
    for value in values {
        varint(bytes, (value.to_bits() ^ before).reverse_bits());
        before = value.to_bits();
    }
}

fn bitmap(bytes: &mut Vec<u8>, values: &[Option<f64>]) {
    let bit = |(n, value): (usize, &Option<f64>)| {
        u8::from(value.is_some_and(|value| !value.is_nan())) << n
    };
    bytes.extend(
        values
            .chunks(8)
            .map(|eight| eight.iter().enumerate().map(bit).sum::<u8>()),
    );
}

fn bits(bytes: &[u8], count: usize) -> Vec<bool> {
    (0..count)
        .map(|n| bytes[n / 8] >> (n % 8) & 1 == 1)
        .collect()
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(code: u64) -> i64 {
    (code >> 1) as i64 ^ -((code & 1) as i64)
}

/// Seven bits per byte, lowest first; the high bit is set if more bytes follow.
fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![
            (-1000..1000i64).prop_map(|v| v as f64),
            any::<i64>().prop_map(|v| v as f64),
            (0..100_000i64).prop_map(|v| v as f64 / 1000.0),
            any::<f64>().prop_filter("a number", |v| !v.is_nan()),
            Just(-0.0),
            Just(f64::INFINITY),
        ]
    }

    fn bits_of(values: &[Option<f64>]) -> Vec<Option<u64>> {
        values.iter().map(|v| v.map(f64::to_bits)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_series_is_read_back_to_the_last_bit(values in vec(option::of(value()), 0..200)) {
            let read = unpack(&pack(&values)).unwrap();
            prop_assert_eq!(bits_of(&read), bits_of(&values));
        }

        #[test]
        fn any_bytes_are_read_or_refused_without_a_panic(bytes in vec(any::<u8>(), 0..100)) {
            let _ = unpack(&bytes);
            let _ = unpack_plain(&bytes);
        }
    }

    #[test]
    fn a_value_that_is_not_a_number_is_missing() {
        assert_eq!(
            unpack(&pack(&[Some(f64::NAN), Some(1.0)])).unwrap(),
            [None, Some(1.0)]
        );
    }

    #[test]
    fn a_constant_series_takes_almost_no_space() {
        let hours = vec![Some(0.0); 3 * 3600];
        // How little hangs on which implementation of deflate the build has.
        assert!(pack(&hours).len() < 200, "{}", pack(&hours).len());
    }

    #[test]
    fn slowly_changing_integers_take_about_a_byte_each() {
        let wander = (0..3600).map(|n| Some(10_000.0 + f64::from(n * n % 61)));
        let packed = pack(&wander.collect::<Vec<_>>());
        assert!(packed.len() < 3600, "{}", packed.len());
    }
}
