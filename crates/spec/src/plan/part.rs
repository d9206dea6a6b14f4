//! A shard of the matrix, for one of several machines: `2/4`.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    part: u32,
    of: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a shard: write 2/4 for the second of four; the first number is from 1 to the second"
)]
pub struct ShardError(String);

impl Shard {
    /// Whether the shard has this position. Points are assigned round-robin in the shuffled order of each block. So every
    /// shard has about the same number of trials per block, and the machine of a point changes from block to block.
    pub fn holds(self, position: usize) -> bool {
        position % self.of as usize == self.part as usize - 1
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let numbers = text
            .split_once('/')
            .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part, of)) if 1 <= part && part <= of => Ok(Shard { part, of }),
            _ => Err(ShardError(text.to_string())),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_survives_a_round_trip() {
        assert_eq!("2/4".parse::<Shard>().unwrap().to_string(), "2/4");
    }

    #[test]
    fn a_part_beyond_the_number_of_shards_is_refused() {
        for wrong in ["0/4", "5/4", "1/0", "2", "a/b", "-1/4", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
