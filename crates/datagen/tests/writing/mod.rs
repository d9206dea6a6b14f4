//! Checks that every generator must pass.

use std::io::{self, Write};

/// A writer that always fails with "storage full".
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn assert_returns_write_errors(write: impl FnOnce(&mut dyn Write) -> io::Result<u64>) {
    let error = write(&mut Full).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

pub(crate) fn assert_within_10_percent(table: &str, estimate: u64, written: &str) {
    let (estimate, real) = (estimate as f64, written.len() as f64);
    assert!(
        (estimate / real - 1.0).abs() < 0.1,
        "{table}: estimated {estimate}, written {real}"
    );
}
