//! What is compared, by how much it differs, and in which direction.

pub(crate) mod answer;
mod common;
pub(crate) mod contrasts;
mod ratio;
