//! Chooses the tests to build, by PRONY_TESTS, and how many of them run at once.

use std::fmt::Display;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(tier_all, tier_long)");
    for tier in tiers() {
        println!("cargo::rustc-cfg=tier_{tier}");
    }
    if variable("RUST_TEST_THREADS").is_none() {
        set("RUST_TEST_THREADS", tests_at_once());
    }
}

/// The tiers beyond the default one; docs/ARCHITECTURE.md describes them.
fn tiers() -> &'static [&'static str] {
    match variable("PRONY_TESTS").as_deref() {
        None | Some("") => &[],
        Some("all") => &["all"],
        Some("long") => &["all", "long"],
        Some(other) => panic!("PRONY_TESTS is \"{other}\"; unset it, or use \"all\" or \"long\""),
    }
}

/// Most tests with real servers wait for them, so that more tests than cores keep the cores busy.
fn tests_at_once() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    4 * cores
}

/// The value of an environment variable; a change of it runs this script again.
fn variable(name: &str) -> Option<String> {
    println!("cargo::rerun-if-env-changed={name}");
    std::env::var(name).ok()
}

/// Cargo passes it to the test programs, too.
fn set(name: &str, value: impl Display) {
    println!("cargo::rustc-env={name}={value}");
}
