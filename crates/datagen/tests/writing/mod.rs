//! What the writing of every generator's tables is held to.

use std::io::{self, Write};

/// A target that takes nothing.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn ends_with_the_error_of_a_full_target(write: impl FnOnce(&mut dyn Write) -> io::Result<u64>) {
    let error = write(&mut Full).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

pub fn is_within_a_tenth(table: &str, estimate: u64, written: &str) {
    let (estimate, real) = (estimate as f64, written.len() as f64);
    assert!(
        (estimate / real - 1.0).abs() < 0.1,
        "{table}: {estimate} for {real}"
    );
}
