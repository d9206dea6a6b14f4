//! Random names and passwords from the kernel's generator. The seeded generators of schedules and data are elsewhere.

use std::fs::File;
use std::io::{self, Read};

/// Returns `2 * bytes` random hexadecimal digits.
pub fn hex(bytes: usize) -> io::Result<String> {
    let mut drawn = vec![0; bytes];
    File::open("/dev/urandom")?.read_exact(&mut drawn)?;
    Ok(drawn.iter().map(|byte| format!("{byte:02x}")).collect())
}
