//! How rows are written as text.
//!
//! Goal: the two formats that every loader reads. Non-goal: other separators and other quotes.

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Fields end with `|`, rows with a line feed.
    Tbl,
    /// Fields are separated by commas, rows end with a line feed; a field that has a comma is in double quotes. There is no header,
    /// so that chunks can be put one after another.
    Csv,
}

impl Format {
    /// The extension of a file of this format.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Tbl => "tbl",
            Format::Csv => "csv",
        }
    }

    /// The byte after a field that is not the last one.
    pub(crate) const fn separator(self) -> u8 {
        match self {
            Format::Tbl => b'|',
            Format::Csv => b',',
        }
    }
}
