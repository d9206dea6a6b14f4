//! Text formats of generated rows.
//!
//! Goal: the two formats that every loader reads. Non-goals: other separators, other quoting.

/// A text format for rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Each field ends with `|`, each row with a line feed.
    Tbl,
    /// Fields are separated by commas, rows end with a line feed, and a field that contains a comma is in double quotes. There is
    /// no header, so that chunks can be concatenated.
    Csv,
}

impl Format {
    /// The file name extension of this format.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Tbl => "tbl",
            Format::Csv => "csv",
        }
    }

    /// The byte between two fields.
    pub(crate) const fn separator(self) -> u8 {
        match self {
            Format::Tbl => b'|',
            Format::Csv => b',',
        }
    }
}
