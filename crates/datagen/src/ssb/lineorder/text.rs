//! Writes orders as text.
//!
//! Goal: few instructions per row and no branch per field. Most fields are prepared with their separators and copied at a fixed
//! width, of which only the field's own length is kept. Non-goal: quoting, which no field of lineorder needs.

use super::order::{MOST_LINES, Order, PRIORITIES, SHIP_MODES};
use crate::Format;
use crate::ssb::calendar::DIGITS;

/// More bytes than the longest row, with the width of a piece to spare.
const LONGEST_ROW: usize = 256;

/// A buffer of orders as text.
pub(crate) struct OrderText {
    bytes: Box<[u8]>,
    at: usize,
    separator: u8,
    /// Numbers up to 99, each with its separator.
    small: [Piece<4>; 100],
    /// Each followed by the ship priority, which is always 0.
    priorities: [Piece<24>; PRIORITIES.len()],
    /// Each followed by the end of the row.
    ship_modes: [Piece<16>; SHIP_MODES.len()],
}

impl OrderText {
    /// Makes a buffer that holds `capacity` bytes before it is full.
    pub(crate) fn new(format: Format, capacity: usize) -> OrderText {
        let separator = format.separator();
        let end: &[u8] = match format {
            Format::Tbl => b"|\n",
            Format::Csv => b"\n",
        };
        OrderText {
            bytes: vec![0; capacity + LONGEST_ROW * MOST_LINES].into_boxed_slice(),
            at: 0,
            separator,
            small: std::array::from_fn(|value| {
                Piece::new(&[value.to_string().as_bytes(), &[separator]])
            }),
            priorities: PRIORITIES
                .map(|name| Piece::new(&[name.as_bytes(), &[separator, b'0', separator]])),
            ship_modes: SHIP_MODES.map(|name| Piece::new(&[name.as_bytes(), end])),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.at + LONGEST_ROW * MOST_LINES > self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.at]
    }

    pub(crate) fn clear(&mut self) {
        self.at = 0;
    }

    /// Appends the rows of an order. The buffer must not be full, see [`OrderText::is_full`].
    #[inline(always)]
    pub(crate) fn push(&mut self, order: &Order) {
        let separator = self.separator;
        let key: Piece<24> = Piece::built(|row| row.number(order.key, separator));
        let customer: Piece<16> =
            Piece::built(|row| row.number(u64::from(order.customer), separator));
        let total: Piece<16> =
            Piece::built(|row| row.number(u64::from(order.total_price), separator));
        let date: Piece<40> = Piece::built(|row| {
            row.date(order.day, separator);
            row.piece(&self.priorities[order.priority as usize]);
        });
        for (number, line) in order.lines().iter().enumerate() {
            let mut row = Cursor::new(&mut self.bytes[self.at..self.at + LONGEST_ROW]);
            row.piece(&key);
            row.piece(&self.small[number + 1]);
            row.piece(&customer);
            row.number_below_100_million(line.part, separator);
            row.number_below_100_million(line.supplier, separator);
            row.piece(&date);
            row.piece(&self.small[line.quantity as usize]);
            row.number_below_100_million(line.extended_price, separator);
            row.piece(&total);
            row.piece(&self.small[line.discount as usize]);
            row.number_below_100_million(line.revenue, separator);
            row.number_below_100_million(line.supply_cost, separator);
            row.piece(&self.small[line.tax as usize]);
            row.date(line.commit_day, separator);
            row.piece(&self.ship_modes[line.ship_mode as usize]);
            self.at += row.at;
        }
    }
}

/// Bytes in an array of fixed width.
#[derive(Clone, Copy)]
struct Piece<const WIDTH: usize> {
    bytes: [u8; WIDTH],
    length: usize,
}

impl<const WIDTH: usize> Piece<WIDTH> {
    fn new(parts: &[&[u8]]) -> Piece<WIDTH> {
        let text = parts.concat();
        let mut bytes = [0; WIDTH];
        bytes[..text.len()].copy_from_slice(&text);
        Piece {
            bytes,
            length: text.len(),
        }
    }

    #[inline(always)]
    fn built(build: impl FnOnce(&mut Cursor)) -> Piece<WIDTH> {
        let mut bytes = [0; WIDTH];
        let mut cursor = Cursor::new(&mut bytes);
        build(&mut cursor);
        let length = cursor.at;
        Piece { bytes, length }
    }
}

/// A write position in a row. A write may spill past the end of its field; the next field overwrites the spill.
struct Cursor<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    fn new(bytes: &'a mut [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    #[inline(always)]
    fn put<const WIDTH: usize>(&mut self, bytes: [u8; WIDTH], length: usize) {
        self.bytes[self.at..self.at + WIDTH].copy_from_slice(&bytes);
        self.at += length;
    }

    #[inline(always)]
    fn piece<const WIDTH: usize>(&mut self, piece: &Piece<WIDTH>) {
        self.put(piece.bytes, piece.length);
    }

    #[inline(always)]
    fn date(&mut self, day: u32, separator: u8) {
        self.put(DIGITS[day as usize], 8);
        self.put([separator], 1);
    }

    #[inline(always)]
    fn number_below_100_million(&mut self, value: u32, separator: u8) {
        let digits = eight_digits(value);
        // Leading zeros are the lowest bytes. The last digit stays even if it is 0.
        let zeros = (digits | 1 << 56).trailing_zeros() / 8;
        let text = (digits | 0x3030_3030_3030_3030) >> (8 * zeros);
        self.put(text.to_le_bytes(), 8 - zeros as usize);
        self.put([separator], 1);
    }

    #[inline(always)]
    fn number(&mut self, value: u64, separator: u8) {
        match u32::try_from(value) {
            Ok(value) if value < 100_000_000 => self.number_below_100_million(value, separator),
            _ => self.large_number(value, separator),
        }
    }

    #[cold]
    fn large_number(&mut self, value: u64, separator: u8) {
        let text = value.to_string();
        self.bytes[self.at..self.at + text.len()].copy_from_slice(text.as_bytes());
        self.at += text.len();
        self.put([separator], 1);
    }
}

/// The decimal digits of a number below 10^8, one per byte, with the first digit in the lowest byte.
///
/// Splits the number in half three times, all halves in parallel, with multiplications instead of divisions (after D. Lemire,
/// "Converting integers to fix-digit representations quickly", 2021).
#[inline(always)]
fn eight_digits(value: u32) -> u64 {
    let fours = u64::from(value / 10_000) | u64::from(value % 10_000) << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | (fours - 100 * hundreds) << 16;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (twos - 10 * tens) << 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: u64) -> String {
        let mut bytes = [0; 32];
        let mut cursor = Cursor::new(&mut bytes);
        cursor.number(value, b'|');
        let length = cursor.at;
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    #[test]
    fn numbers_match_the_standard_library() {
        let edges = (0..20)
            .map(|power| 10u64.pow(power))
            .flat_map(|ten| [ten - 1, ten, ten + 1]);
        let spread = (0..100_000u64).map(|i| i * 1_013);
        for value in edges.chain(0..20_000).chain(spread) {
            assert_eq!(written(value), format!("{value}|"));
        }
    }
}
