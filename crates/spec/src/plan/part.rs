//! A part of the matrix, for one of several machines: `2/4`.

use crate::text::shard::{Shard, ShardError};
use std::fmt;
use std::str::FromStr;

/// The trials that one of several runs measures. Unlike a [`Shard`], a part measures its trials alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixPart(Shard);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a part: write 2/4 for the second of four; the first number is from 1 to the second"
)]
pub struct PartError(String);

impl MatrixPart {
    /// Whether the part has this position. Points are assigned round-robin in the shuffled order of each block. So every
    /// part has about the same number of trials per block, and the machine of a point changes from block to block.
    pub fn holds(self, position: usize) -> bool {
        position % self.0.of as usize == self.0.number as usize - 1
    }
}

impl FromStr for MatrixPart {
    type Err = PartError;

    fn from_str(text: &str) -> Result<MatrixPart, PartError> {
        let refused = |_: ShardError| PartError(text.to_string());
        text.parse().map(MatrixPart).map_err(refused)
    }
}

impl fmt::Display for MatrixPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_and_shown_as_a_shard_is() {
        assert_eq!("2/4".parse::<MatrixPart>().unwrap().to_string(), "2/4");
        assert!("5/4".parse::<MatrixPart>().is_err());
    }
}
