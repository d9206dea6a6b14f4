//! The protocol of a run and the command line. docs/ARCHITECTURE.md shows how the crates fit together.

pub mod cli;
mod doctor;
pub mod run;
mod screen;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ignores poisoning: no panic leaves such a value half-written.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
