//! The experiment file: reading it with the place of each key, and the mistakes in it.
//!
//! Boundaries: which keys there are and what they mean (`server`, `machine`, `load`, `sections`, `claims`).

pub(crate) mod differing;
mod excerpt;
pub(crate) mod input;
pub(crate) mod lists;
pub mod mistake;
pub(crate) mod option_file;
pub(crate) mod read;
