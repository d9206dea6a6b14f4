//! Names the build: PRONY_BUILD is ` (COMMIT)`, or empty outside a repository.
//!
//! Only release builds name their commit, so that a commit does not rebuild everything during development.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let build = match is_release {
        true => commit(),
        false => Some(" (development build)".to_string()),
    };
    println!("cargo:rustc-env=PRONY_BUILD={}", build.unwrap_or_default());
}

fn commit() -> Option<String> {
    println!(
        "cargo:rerun-if-changed={}",
        git(&["rev-parse", "--git-path", "logs/HEAD"])?
    );
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let changed = if changes.is_empty() { "" } else { ", changed" };
    Some(format!(" ({commit}{changed})"))
}

/// The output of git in this folder; None without git or a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}
