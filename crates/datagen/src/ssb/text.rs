//! Rows as text: `.tbl` as the reference generator writes it, or CSV (RFC 4180, without a header).
//!
//! Goal: append fields to one buffer, without an allocation per field. Non-goals: other separators, other quoting.
//! Rows of lineorder, nearly all of the data, use the faster `lineorder::text` instead.

use crate::Format;

/// A row that writes itself field by field.
pub(super) trait Fields {
    fn write(&self, text: &mut Text);
}

/// A buffer of rows as text.
pub(super) struct Text {
    bytes: Vec<u8>,
    format: Format,
}

impl Text {
    pub(super) fn new(format: Format, capacity: usize) -> Text {
        Text {
            bytes: Vec::with_capacity(capacity),
            format,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Appends an integer field.
    pub(super) fn number(&mut self, value: u64) {
        self.digits(value, 1);
        self.end_field();
    }

    /// Appends a field of some words, none of which contains a comma.
    pub(super) fn words(&mut self, words: &[&[u8]]) {
        for word in words {
            self.bytes.extend_from_slice(word);
        }
        self.end_field();
    }

    /// Appends a field of a word followed by a number of at least `width` digits.
    pub(super) fn numbered(&mut self, word: &[u8], number: u64, width: usize) {
        self.bytes.extend_from_slice(word);
        self.digits(number, width);
        self.end_field();
    }

    /// Appends a field of any text without double quotes and line feeds, which the benchmark does not contain.
    pub(super) fn free(&mut self, text: &[u8]) {
        if self.format == Format::Csv && text.contains(&b',') {
            self.words(&[b"\"", text, b"\""]);
        } else {
            self.words(&[text]);
        }
    }

    /// Ends the row.
    pub(super) fn end_row(&mut self) {
        if self.format == Format::Csv {
            self.bytes.pop();
        }
        self.bytes.push(b'\n');
    }

    fn end_field(&mut self) {
        self.bytes.push(self.format.separator());
    }

    fn digits(&mut self, mut value: u64, width: usize) {
        let mut digits = [b'0'; 20];
        let mut at = digits.len();
        while value > 0 {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        self.bytes
            .extend_from_slice(&digits[at.min(digits.len() - width)..]);
    }
}
