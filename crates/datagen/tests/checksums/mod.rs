//! Compares row counts, sizes and SHA-256 of generated tables with a file of expected values.

use std::io::{self, Write};

use ring::digest::{Context, SHA256};

/// A writer that counts and hashes its bytes.
struct Sum {
    bytes: u64,
    hash: Context,
}

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len() as u64;
        self.hash.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Compares what `write` writes with the line of `checksums` for this scale and table, and returns the number of rows. A line has
/// scale, table, rows, bytes, SHA-256.
pub(crate) fn check(
    checksums: &str,
    scale: &str,
    table: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<u64>,
) -> u64 {
    let expected = checksums
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|fields| fields.starts_with(&[scale, table]))
        .expect("the table at this scale is in the file");
    let mut sum = Sum {
        bytes: 0,
        hash: Context::new(&SHA256),
    };
    let rows = write(&mut sum).unwrap();
    let hex: String = sum
        .hash
        .finish()
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        [rows.to_string(), sum.bytes.to_string(), hex],
        expected[2..5],
        "{table}"
    );
    rows
}
