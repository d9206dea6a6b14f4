//! Rows as text: `.tbl` as the reference generators write it, or CSV (RFC 4180, without a header).
//!
//! Goal: append fields to one buffer, without an allocation per field. Each benchmark adds its own kinds of fields.
//! Non-goals: other separators, other quoting.

use crate::Format;

/// A buffer of rows as text.
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    pub(crate) format: Format,
}

impl Text {
    pub(crate) fn new(format: Format, capacity: usize) -> Text {
        Text {
            bytes: Vec::with_capacity(capacity),
            format,
        }
    }

    /// Appends an integer field.
    #[inline]
    pub(crate) fn number(&mut self, value: u64) {
        self.digits(value, 1);
        self.end_field();
    }

    #[inline]
    pub(crate) fn end_field(&mut self) {
        self.bytes.push(self.format.separator());
    }

    #[inline]
    pub(crate) fn end_row(&mut self) {
        if self.format == Format::Csv {
            self.bytes.pop();
        }
        self.bytes.push(b'\n');
    }

    /// Appends at least `width` digits, without a separator.
    #[inline]
    pub(crate) fn digits(&mut self, mut value: u64, width: usize) {
        let mut digits = [b'0'; 20];
        let mut at = digits.len();
        while value > 0 {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        let from = at.min(digits.len() - width);
        self.bytes.extend_from_slice(&digits[from..]);
    }
}
