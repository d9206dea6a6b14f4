//! The tier of this test run, for tests that do more in a higher one.

/// Each tier includes the ones before it; docs/ARCHITECTURE.md describes them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(unreachable_pub, dead_code)] // this file is a module of several test programs
pub enum Tier {
    Default,
    All,
    Long,
}

/// The tier that PRONY_TESTS names.
///
/// # Panics
/// If it names no tier.
#[allow(unreachable_pub)]
pub fn tier() -> Tier {
    match std::env::var("PRONY_TESTS").as_deref() {
        Err(_) | Ok("") => Tier::Default,
        Ok("all") => Tier::All,
        Ok("long") => Tier::Long,
        Ok(other) => panic!("PRONY_TESTS is \"{other}\"; unset it, or use \"all\" or \"long\""),
    }
}
