//! One file per verb.

pub mod guard;
