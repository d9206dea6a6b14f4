//! How runs on several machines share the load of their trials.
//!
//! Purpose: what a reader of one shard, or of a run merged from several, must know. Boundaries: when each shard began is in
//! `load::ShardStart`; adding the records up is in `merge`.

use serde::{Deserialize, Serialize};

/// What a run has to do with the shards of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// It is one of the shards: its figures are those of a part of the load.
    Shard(ShardNote),
    /// It was merged from these shards, in the order of their numbers.
    Merged(Vec<ShardNote>),
}

/// One shard of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardNote {
    /// The number of the shard, from 1.
    pub number: u32,
    pub of: u32,
    /// The name of the shard's own run.
    pub run: String,
    /// The name of its machine.
    pub machine: String,
    /// Identifies the experiment, the command line and the release of prony. The shards of one run have the same.
    pub experiment: String,
}

impl Sharing {
    /// `shard 2/4`, `merged from 4 shards`, `merged from 3 of 4 shards`
    pub fn text(&self) -> String {
        match self {
            Sharing::Shard(shard) => format!("shard {}/{}", shard.number, shard.of),
            Sharing::Merged(shards) => {
                let of = shards.first().map_or(0, |shard| shard.of);
                if shards.len() as u32 == of {
                    format!("merged from {of} shards")
                } else {
                    format!("merged from {} of {of} shards", shards.len())
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(number: u32) -> ShardNote {
        ShardNote {
            number,
            of: 2,
            run: format!("bench-{number}"),
            machine: "host".into(),
            experiment: "abc".into(),
        }
    }

    #[test]
    fn a_missing_shard_shows_in_the_text() {
        assert_eq!(Sharing::Shard(shard(2)).text(), "shard 2/2");
        let whole = Sharing::Merged(vec![shard(1), shard(2)]);
        assert_eq!(whole.text(), "merged from 2 shards");
        assert_eq!(
            Sharing::Merged(vec![shard(2)]).text(),
            "merged from 1 of 2 shards"
        );
    }
}
