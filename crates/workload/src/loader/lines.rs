//! A writer that passes on whole lines, for servers that take rows rather than a stream.

use super::Piece;
use super::tally::Tally;
use server::ServerError;
use std::io::{self, Write};

/// Generates the rows of a piece, and hands each line to `take`.
///
/// # Errors
/// Those of `take`. The load was stopped.
pub(super) fn each_line(
    piece: Piece,
    tally: &Tally,
    mut take: impl FnMut(&[u8]) -> Result<(), ServerError>,
) -> Result<(), ServerError> {
    for part in piece.parts {
        let mut failed = None;
        let mut lines = Lines::new(|line: &[u8]| {
            take(line).map_err(|error| {
                failed = Some(error);
                io::Error::other("a row was refused")
            })
        });
        let written = tally.write(piece.table, part, &mut lines);
        if let Some(error) = failed {
            return Err(error);
        }
        written.map_err(|error| ServerError::Lost(error.to_string()))?;
    }
    Ok(())
}

struct Lines<F> {
    /// An incomplete line.
    rest: Vec<u8>,
    line: F,
}

impl<F: FnMut(&[u8]) -> io::Result<()>> Lines<F> {
    /// `line` gets each line without its line feed.
    fn new(line: F) -> Lines<F> {
        Lines {
            rest: Vec::new(),
            line,
        }
    }
}

impl<F: FnMut(&[u8]) -> io::Result<()>> Write for Lines<F> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let mut left = buffer;
        while let Some(end) = left.iter().position(|&byte| byte == b'\n') {
            if self.rest.is_empty() {
                (self.line)(&left[..end])?;
            } else {
                self.rest.extend_from_slice(&left[..end]);
                (self.line)(&self.rest)?;
                self.rest.clear();
            }
            left = &left[end + 1..];
        }
        self.rest.extend_from_slice(left);
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The fields of a line of .tbl text: each ends with `|`.
pub(super) fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.strip_suffix(b"|")
        .unwrap_or(line)
        .split(|&byte| byte == b'|')
}

/// Whether a field stands for NULL, as LOAD DATA reads it.
pub(super) fn is_null(field: &[u8]) -> bool {
    field == b"\\N"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_has_a_field_before_each_bar() {
        assert_eq!(
            fields(b"1|a b||").collect::<Vec<_>>(),
            [&b"1"[..], b"a b", b""]
        );
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_are_cut(lines in prop::collection::vec("[a-z|]{0,8}", 0..9), cut in 1usize..7) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let mut seen = Vec::new();
            let mut writer = Lines::new(|line: &[u8]| {
                seen.push(String::from_utf8(line.to_vec()).unwrap());
                Ok(())
            });
            for piece in text.as_bytes().chunks(cut) {
                writer.write_all(piece).unwrap();
            }
            prop_assert_eq!(seen, lines);
        }
    }
}
