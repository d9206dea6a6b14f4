//! The fields of rows.
//!
//! Rows of lineorder, nearly all of the data, use the faster `lineorder::text` instead.

use crate::Format;
use crate::text::Text;

/// A row that writes itself field by field.
pub(super) trait Fields {
    fn write(&self, text: &mut Text);
}

impl Text {
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
}
