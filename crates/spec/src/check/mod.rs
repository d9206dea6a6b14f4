//! Checks of an experiment that was read, shown at their places in the file.
//!
//! Purpose: what cannot be measured, or has no effect, is refused before anything is loaded. Boundaries: a check is given what it needs
//! to know about servers, queries and the machine.

pub(crate) mod advice;
pub mod events;
pub mod known;
pub(crate) mod levels;
pub mod memory;
pub(crate) mod nodes;
mod outages;
pub mod queries;
pub mod settings;
pub mod slices;
pub mod timed;
mod traces;
