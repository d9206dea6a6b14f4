//! Random names and passwords from the kernel's generator. Non-goal: the seeded streams of schedules and data.

use std::fs::File;
use std::io::{self, Read};

/// `2 * bytes` hexadecimal digits.
pub fn hex(bytes: usize) -> io::Result<String> {
    let mut drawn = vec![0; bytes];
    File::open("/dev/urandom")?.read_exact(&mut drawn)?;
    Ok(drawn.iter().map(|byte| format!("{byte:02x}")).collect())
}
