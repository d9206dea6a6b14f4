//! A shard of the load of every trial, for one of several machines: `2/4`.
//!
//! Purpose: its number and how many there are. Boundaries: crate `load` divides the load, `run` brings the shards together; a part of
//! the matrix of trials is `plan::MatrixPart`.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub number: u32,
    pub of: u32,
}

/// The maximum number of shards.
pub const SHARDS_MAX: u32 = 1_000;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a shard: write 2/4 for the second of four, or auto; the first number is from 1 to the second, which is at most {SHARDS_MAX}"
)]
pub struct ShardError(String);

impl Shard {
    /// Whether it does what only one of the shards does, such as creating the tables.
    pub fn is_first(self) -> bool {
        self.number == 1
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if 1 <= number && number <= of && of <= SHARDS_MAX => {
                Ok(Shard { number, of })
            }
            _ => Err(ShardError(text.to_string())),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
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
    fn a_number_beyond_the_number_of_shards_is_refused() {
        for wrong in ["0/4", "5/4", "1/0", "2", "a/b", "-1/4", "", "1/1001"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
