//! `--shard K/N|auto` of `run` and `bench`.

use super::failure::Failure;
use crate::run::{Shards, shards};
use spec::{Shard, ShardError};

#[derive(clap::Args)]
#[command(next_help_heading = "Load from several machines")]
pub(super) struct Sharing {
    /// Run this share of the load of every trial, together with prony on other machines (same command, K from 1 to N), on a server
    /// given by a DSN; auto: K and N from the variables of Slurm, MPI or a Kubernetes Indexed Job (total in PRONY_SHARDS). `prony merge`
    /// makes one run of their records
    #[arg(long, value_name = "K/N|auto")]
    shard: Option<Choice>,
    /// How long to wait for the other shards before each load [default: 5m]
    #[arg(long, value_name = "TIME", requires = "shard")]
    meet_within: Option<String>,
}

#[derive(Clone, Copy, Debug)]
enum Choice {
    Given(Shard),
    Auto,
}

impl std::str::FromStr for Choice {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Choice, ShardError> {
        match text {
            "auto" => Ok(Choice::Auto),
            text => text.parse().map(Choice::Given),
        }
    }
}

impl Sharing {
    /// The shard of this process; None for the whole load. The launchers' variables are read for `auto` alone.
    pub(super) fn shards(&self) -> Result<Option<Shards>, Failure> {
        let shard = match self.shard {
            None => return Ok(None),
            Some(Choice::Given(shard)) => shard,
            Some(Choice::Auto) => {
                shards::of_launcher(&|name| std::env::var(name).ok()).map_err(Failure::usage)?
            }
        };
        let meet_within = match &self.meet_within {
            None => shards::MEET_WITHIN,
            Some(text) => spec::duration(text)
                .map_err(|error| Failure::usage(format!("--meet-within: {error}")))?,
        };
        Ok(Some(Shards { shard, meet_within }))
    }
}
