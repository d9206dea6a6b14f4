//! `prony completions SHELL` and `prony man DIR`: what a package installs beside the binary. Only with the feature `packaging`.

use super::Cli;
use super::failure::{Failure, Status};
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct Completions {
    /// The shell; put the output where it looks for completions
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(clap::Args)]
pub(super) struct Man {
    /// A folder, such as man1 below a folder of MANPATH; it is made if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn completions(args: &Completions) -> Result<Status, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "prony", &mut text);
    super::failure::print(&String::from_utf8_lossy(&text));
    Ok(Status::Done)
}

/// Writes a page for prony and one for each verb.
pub(super) fn man(args: &Man) -> Result<Status, Failure> {
    std::fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &args.folder))
        .map_err(|error| {
            Failure::usage(format!(
                "cannot write to {}: {error}",
                args.folder.display()
            ))
        })?;
    Ok(Status::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shown_verb_has_a_page_and_a_hidden_one_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let args = Man {
            folder: folder.path().join("share/man1"),
        };
        man(&args).unwrap();
        let there = |verb: &str| args.folder.join(format!("prony-{verb}.1")).exists();
        assert!(there("compare") && there("bench") && !there("guard"));
    }
}
