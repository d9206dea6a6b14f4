//! Skips tests whose server or privilege is not available: prints the reason, or fails where skipping is forbidden.

use std::io::Write;

/// Prints that a test is skipped, and why. It writes to standard error directly, because cargo hides what a passing test
/// prints with macros.
///
/// # Panics
/// If PRONY_REQUIRE_SERVERS is set, as in .ci/run.
#[allow(unreachable_pub)] // this file is a module of several test crates
pub fn skipped(reason: &str) {
    assert!(
        std::env::var_os("PRONY_REQUIRE_SERVERS").is_none(),
        "{reason}"
    );
    let test = std::thread::current();
    let name = test.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "skipped: {name}: {reason}");
}
