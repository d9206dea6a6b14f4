//! `prony server list|get`: the builds that prony can have, and those that it has.
//!
//! Goal: get a build before a run (on a machine that goes offline later), and check one that is there.

use crate::host::{Home, Leases};
use crate::server::ServerError;
use crate::server::builds::{Cache, Held, catalogue};
use crate::spec::BuildSpec;
use std::process::ExitCode;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// The builds that can be had, and what the cache holds of them.
    List,
    /// Fetch a build into the cache, unless it is there.
    Get {
        /// mysql@5.6.14, mariadb, mariadb@11.4.5, path:BASEDIR, ...
        build: BuildSpec,
        /// Compare every byte of a build that is there with what was fetched.
        #[arg(long)]
        verify: bool,
    },
}

/// Exit status 0, or 2 with the reason on standard error.
pub fn run(command: &Command) -> ExitCode {
    let done = match command {
        Command::List => list(),
        Command::Get { build, verify } => get(build, *verify),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn list() -> Result<(), ServerError> {
    let held = Cache::new(&home()?).held();
    for (name, _) in catalogue::BUILDS {
        println!("{}", line(name, held.iter().find(|held| held.name == name)));
    }
    Ok(())
}

/// `mysql@5.6.14     cached    88 MB`
fn line(name: &str, held: Option<&Held>) -> String {
    match held {
        Some(held) => format!("{name:<16} cached {:>6} MB", held.bytes / 1_000_000),
        None => format!("{name:<16} to be fetched"),
    }
}

fn get(build: &BuildSpec, verify: bool) -> Result<(), ServerError> {
    let home = home()?;
    let leases = Leases::open(&home).map_err(|error| ServerError::Unusable(error.to_string()))?;
    let cache = Cache::new(&home);
    let progress = |text: &str| eprintln!("{text}");
    let found = match verify {
        true => cache.get_verified(build, &leases, &progress)?,
        false => cache.get(build, &leases, &progress)?,
    };
    println!(
        "{}: {} in {}",
        found.build,
        found.version_text,
        found.basedir.display()
    );
    Ok(())
}

fn home() -> Result<Home, ServerError> {
    Home::from_environment().map_err(|error| ServerError::Unusable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_tells_what_is_there() {
        let held = Held {
            name: "mariadb".into(),
            origin: Vec::new(),
            bytes: 88_400_000,
        };
        assert_eq!(
            line("mariadb", Some(&held)),
            "mariadb          cached     88 MB"
        );
        assert_eq!(line("mysql@5.6.14", None), "mysql@5.6.14     to be fetched");
    }
}
