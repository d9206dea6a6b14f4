//! Texts for people: numbers, dates, what others wrote, and words that scripts rely on.

pub(crate) mod calendar;
pub mod number;
pub mod visible;
pub(crate) mod word;
