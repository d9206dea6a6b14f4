//! A test whose server or right cannot be had here: said aloud, or a failure where it must not happen.

use std::io::Write;

/// Says that a test is skipped, and why. cargo hides what a passing test prints with macros, so this goes past them.
///
/// Where PRONY_REQUIRE_SERVERS is set (as in .ci/run) a skip is a failure.
pub fn skipped(reason: &str) {
    assert!(
        std::env::var_os("PRONY_REQUIRE_SERVERS").is_none(),
        "{reason}"
    );
    let test = std::thread::current();
    let name = test.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "skipped: {name}: {reason}");
}
