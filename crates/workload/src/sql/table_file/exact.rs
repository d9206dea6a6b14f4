//! Values of a file that servers store as others, without a warning.
//!
//! Purpose: a price in a column of whole numbers, a date that begins with the day, a time without colons, or a second's fraction that
//! has no place is an error with its line. Boundaries: what the server itself warns of, such as a text in a column of numbers, is left to it.
//!
//! Sources: "Numeric Type Attributes" and "Floating-Point Types" on rounding, "Fractional Seconds in Time Values", "String and Numeric
//! Literals in Date and Time Context", "The TIME Type", "Two-Digit Years in Dates" and "The ENUM Type" in the MySQL manual;
//! `bench/results/field.md` has what each server does.

/// What a column keeps of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exact {
    /// Whatever the server does not warn of.
    Any,
    Whole,
    /// So many digits behind the point: FLOAT(7,2).
    Digits(usize),
    /// The nearest number of FLOAT or DOUBLE. Of fractions nobody expects more.
    Single,
    Double,
    Moment(Moment),
    Year,
    /// Bytes, which some programs write as hexadecimal digits.
    Bytes,
    /// The bytes of a number: a BIT column, where the server takes them from a file with tabs.
    Bits,
    /// One of the members, or several of a SET. As the server writes the type: `enum('a','b')`.
    Member(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    has_date: bool,
    has_time: bool,
    /// Of a second's fraction.
    digits: usize,
}

const FRACTION: &str = "has decimal places, and the column holds whole numbers";
const DIGITS: &str = "has more decimal places than the column keeps";
const NEAREST: &str = "is a whole number of which the column keeps only the first digits";
const DAY_FIRST: &str = "does not begin with a year of four digits, and servers read a date from the year on; write it as 2026-11-25";
const TIME_OF_DAY: &str = "has a time of day, and the column holds dates";
const NO_COLON: &str = "has no colons, and servers take its last two digits for seconds and those before them for minutes; write it as 01:00:00";
const SECONDS: &str = "has more fractional digits of a second than the column keeps";
const OFFSET: &str = "has a time zone, and the column keeps none";
const SHORT_YEAR: &str = "is not a year of four digits";
const HEXADECIMAL: &str = "is written in hexadecimal digits, which servers do not decode (options = \"... (id, @c) SET photo = UNHEX(SUBSTRING(@c, 3))\" does)";
const BITS: &str = "is written in digits, whose bytes the server takes for the number, so that 1 becomes 49 (separator = \"\\t\" reads numbers)";
const POSITION: &str =
    "is not a member of the column, and servers take a number for the position of one";

impl Exact {
    /// `column_type` as information_schema has it: `datetime(3)`.
    pub(super) fn from_column_type(column_type: &str) -> Exact {
        let column_type = column_type.to_ascii_lowercase();
        let (word, rest) = word_and_rest(&column_type);
        let moment = |has_date, has_time| {
            let digits = rest.trim_start_matches('(').split(')').next();
            Exact::Moment(Moment {
                has_date,
                has_time,
                digits: digits.and_then(|digits| digits.parse().ok()).unwrap_or(0),
            })
        };
        match word {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => Exact::Whole,
            "float" => digits_of(rest).map_or(Exact::Single, Exact::Digits),
            "double" => digits_of(rest).map_or(Exact::Double, Exact::Digits),
            "date" => moment(true, false),
            "datetime" | "timestamp" => moment(true, true),
            "time" => moment(false, true),
            "year" => Exact::Year,
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
                Exact::Bytes
            }
            "enum" | "set" => Exact::Member(column_type),
            _ => Exact::Any,
        }
    }

    /// Why a server would store another value than this text; None if it would not, or would say so.
    pub(super) fn doubt(&self, text: &[u8]) -> Option<&'static str> {
        // Texts can be long.
        match self {
            Exact::Any => return None,
            Exact::Bytes => return is_hexadecimal(text).then_some(HEXADECIMAL),
            _ => {}
        }
        let text = std::str::from_utf8(text).ok()?.trim();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match self {
            Exact::Any | Exact::Bytes => None,
            Exact::Bits => is_number.then_some(BITS),
            Exact::Whole if is_number => None,
            Exact::Whole => {
                let number = text.parse::<f64>().ok()?;
                (number.is_finite() && has_fraction(text)).then_some(FRACTION)
            }
            Exact::Digits(digits) => {
                let (_, fraction) = text.split_once('.').unwrap_or_default();
                let is_plain = fraction.bytes().all(|byte| byte.is_ascii_digit());
                let beyond = fraction.get(*digits..).unwrap_or_default();
                let is_lost = is_plain && beyond.bytes().any(|digit| digit != b'0');
                is_lost.then_some(DIGITS)
            }
            Exact::Single | Exact::Double => {
                let whole: i128 = text.parse().ok()?;
                let kept = match self {
                    Exact::Single => f64::from(whole as f32),
                    _ => whole as f64,
                };
                // FLOAT keeps 1234569984 of 1234570000, which servers write as 1234570000 again.
                let written = || match self {
                    Exact::Single => (kept as f32).to_string(),
                    _ => kept.to_string(),
                };
                (kept as i128 != whole && written() != whole.to_string()).then_some(NEAREST)
            }
            Exact::Moment(moment) => moment.doubt(text),
            Exact::Year => (is_number && text.len() < 4).then_some(SHORT_YEAR),
            Exact::Member(members) => {
                let is_member = || members.contains(&format!("'{text}'"));
                (is_number && !is_member()).then_some(POSITION)
            }
        }
    }
}

/// Whether bytes are written as `0x4865` or `\x4865`, each with two digits. `0x10c` is a text.
fn is_hexadecimal(text: &[u8]) -> bool {
    match text {
        [b'0' | b'\\', b'x' | b'X', digits @ ..] => {
            !digits.is_empty()
                && digits.len().is_multiple_of(2)
                && digits.iter().all(u8::is_ascii_hexdigit)
        }
        _ => false,
    }
}

/// Whether a number has a digit other than 0 behind its point. Its f64 has none above 2^53.
fn has_fraction(number: &str) -> bool {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches(['+', '-']);
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let point = exponent.saturating_add(whole.len() as i64).max(0) as usize;
    let mut behind = whole.bytes().chain(fraction.bytes()).skip(point);
    behind.any(|digit| digit != b'0')
}

/// The second number of `(7,2)`.
fn digits_of(rest: &str) -> Option<usize> {
    let (inner, _) = rest.strip_prefix('(')?.split_once(')')?;
    let (_, digits) = inner.split_once(',')?;
    digits.trim().parse().ok()
}

/// The word of a column's type, and what is behind it: `datetime` and `(3)`.
pub(super) fn word_and_rest(column_type: &str) -> (&str, &str) {
    let end = column_type.find(|letter: char| !letter.is_ascii_alphanumeric());
    column_type.split_at(end.unwrap_or(column_type.len()))
}

impl Moment {
    fn doubt(self, text: &str) -> Option<&'static str> {
        let text = match self.has_date {
            true => text,
            // A time may be negative.
            false => text.trim_start_matches('-'),
        };
        // The server says what is wrong with the rest.
        let first = text.bytes().next()?;
        if !first.is_ascii_digit() {
            return None;
        }
        let time = if self.has_date {
            let (date, time) = halves(text);
            let (length, is_alone) = leading_digits(date);
            if length != 4 && !(is_alone && matches!(length, 8 | 14)) {
                return Some(DAY_FIRST);
            }
            time
        } else {
            text
        };
        let has_digit = |text: &str| text.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
        let (whole, fraction) = time.split_once('.').unwrap_or((time, ""));
        let (length, is_number) = leading_digits(whole);
        let beyond = fraction.get(self.digits..).unwrap_or_default();
        match () {
            () if !self.has_time && has_digit(time) => Some(TIME_OF_DAY),
            () if time.contains(['+', '-', 'Z']) && self.has_date => Some(OFFSET),
            // 093000 has the form of a time.
            () if !self.has_date && is_number && length < 6 && has_digit(whole) => Some(NO_COLON),
            () if has_digit(beyond) => Some(SECONDS),
            () => None,
        }
    }
}

/// The date, and the time of day behind it.
fn halves(text: &str) -> (&str, &str) {
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, ""));
    match date.split_once('.') {
        // 20261125101112.5
        Some((compact, _)) if compact.len() == 14 => (compact, &date[14..]),
        _ => (date, time),
    }
}

/// How many digits the text begins with, and whether it has nothing else.
fn leading_digits(text: &str) -> (usize, bool) {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (length, length == text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_a_server_would_change_without_a_word_are_in_doubt() {
        for (column_type, text, doubt) in [
            ("int(11)", "19.99", FRACTION),
            ("bigint unsigned", "1.5e0", FRACTION),
            ("bigint", "9007199254740993.5", FRACTION),
            ("bigint", "-12345678901234567891e-1", FRACTION),
            ("float(7,2)", "19.999", DIGITS),
            ("double(9,0) unsigned", "1.5", DIGITS),
            ("float", "16777217", NEAREST),
            ("double", "-9007199254740993", NEAREST),
            ("date", "10.11.12", DAY_FIRST),
            ("date", "1/2/15", DAY_FIRST),
            ("datetime", "12/24/2020 10:00", DAY_FIRST),
            ("date", "201224", DAY_FIRST),
            ("date", "2020-12-24 10:00:00", TIME_OF_DAY),
            ("datetime", "2020-12-24 23:59:59.9", SECONDS),
            ("timestamp(3)", "2020-12-24 23:59:59.1234", SECONDS),
            ("datetime", "20201224235959.9", SECONDS),
            ("time", "12:00:00.6", SECONDS),
            ("time", "-12:00:00.6", SECONDS),
            ("time", "3600", NO_COLON),
            ("time(3)", "-90.5", NO_COLON),
            ("datetime", "2020-12-24T12:00:00+02:00", OFFSET),
            ("datetime", "2020-12-24T12:00:00Z", OFFSET),
            ("year(4)", "15", SHORT_YEAR),
            ("blob", "0x48656C6c6F", HEXADECIMAL),
            ("varbinary(16)", "\\x4865", HEXADECIMAL),
            ("enum('a','b')", "2", POSITION),
            ("set('a','b')", "3", POSITION),
        ] {
            let found = Exact::from_column_type(column_type).doubt(text.as_bytes());
            assert_eq!(found, Some(doubt), "{column_type} {text}");
        }
    }

    #[test]
    fn digits_are_in_doubt_where_their_bytes_are_taken() {
        assert_eq!(Exact::Bits.doubt(b"1"), Some(BITS));
        for bytes in [&b"\x01"[..], b"\xff\xfe", b""] {
            assert_eq!(Exact::Bits.doubt(bytes), None);
        }
    }

    #[test]
    fn values_that_stay_as_they_are_or_that_the_server_refuses_are_not() {
        for (column_type, text) in [
            ("int(11)", "-7"),
            ("int", "7.00"),
            ("int", "1e3"),
            ("bigint", "9007199254740993.0"),
            ("bigint", "92233720368547758.07e2"),
            ("int", "0e9223372036854775807"),
            ("int", "many"),
            ("int", ""),
            ("decimal(10,2)", "1.005"),
            ("double", "0.1"),
            ("double", "16777217"),
            ("float", "16777216"),
            ("float", "1234570000"),
            ("double", "100000000000000000000000"),
            ("float", "0.123456789"),
            ("float(7,2)", "19.9900"),
            ("float(7,2)", "1.9e-3"),
            ("float(7,2)", "20"),
            ("date", "2020-12-24"),
            ("date", "2020/2/4"),
            ("date", "20201224"),
            ("date", "2020-12-24 00:00:00"),
            ("date", "0000-00-00"),
            ("date", ""),
            ("datetime", "20201224235959"),
            ("datetime", "2020-12-24T23:59:59.000"),
            ("datetime(6)", "2020-12-24 23:59:59.123456"),
            ("time", "-12:00:00"),
            ("time", "09:30"),
            ("time", "093000"),
            ("time", "1 12:00:00"),
            ("time", "0"),
            ("time(1)", "12:00:00.6"),
            ("year", "2015"),
            ("blob", "0x4865 and more"),
            ("binary(2)", "0x"),
            ("varbinary(255)", "0x10c"),
            ("text", "0x4865"),
            ("enum('1','2')", "2"),
            ("enum('a','b')", "a"),
            ("varchar(9)", "1.5"),
        ] {
            let found = Exact::from_column_type(column_type).doubt(text.as_bytes());
            assert_eq!(found, None, "{column_type} {text}");
        }
    }
}
