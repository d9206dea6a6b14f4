//! The command line: one file per verb.
//!
//! Purpose: parse arguments, print tables to stdout and progress to stderr, set the exit status. Outside this module: the work itself.

mod bench;
mod cache;
mod check;
mod compare;
mod crash;
mod data;
mod disk;
mod doctor;
#[cfg(test)]
mod documents;
mod embedded;
pub mod experiment;
mod failure;
mod gate;
mod gauge;
#[cfg(feature = "packaging")]
mod generate;
mod guard;
mod hints;
mod list;
mod merge;
mod null;
mod pack;
mod report;
mod run;
mod server;
mod setting;
mod shard;
mod show;
mod supervise;
mod terminal;

use clap::{Parser, Subcommand};
use failure::Failure;
use host::{Home, Leases};
use std::path::PathBuf;
use workload::AllowDrop;

/// Benchmarks MySQL-family servers and reports how certain the answer is.
#[derive(Parser)]
#[command(name = "prony", version = host::machine::VERSION, about, max_term_width = 100, after_help = gate::EXIT)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the built-in experiments, or the recorded runs
    List(list::Args),
    /// Run an experiment, or resume a run
    // Without this line, here and at `bench`, errors show `--shard` as if it were required.
    #[command(override_usage = "prony run [OPTIONS] [FILE|NAME]")]
    Run(run::Args),
    /// Check an experiment; print its trials and the expected disk space and time
    Check(check::Args),
    /// Print the tables and verdicts of a run
    Show(show::Args),
    /// Compare the same cells of different runs
    Compare(compare::Args),
    /// Combine the records of the shards of a load (run --shard) into one run
    Merge(merge::Args),
    /// Write report.html
    Report(report::Args),
    /// Write the record of a run as one compressed file; --slim leaves out the seconds of its loads
    Pack(pack::Args),
    /// Benchmark without an experiment file: prony bench oltp-update-index --server mysql@5.6.14 --clients 1,8,64 --time 30s
    #[command(override_usage = "prony bench [OPTIONS] <WORKLOAD>")]
    Bench(Box<bench::Args>),
    /// Show what a disk can do for a database, in 20 seconds: prony doctor /var/lib/mysql
    Doctor(doctor::Args),
    /// Download server builds, and start a server by hand
    #[command(subcommand)]
    Server(server::Command),
    /// List or remove server builds and loaded datasets in the cache
    #[command(subcommand)]
    Cache(cache::Command),
    /// Write a workload's data as text files
    Data(data::Args),
    /// Replay a recorded disk at each of its flushes
    #[command(subcommand)]
    Crash(crash::Command),
    /// Print completions for a shell
    #[cfg(feature = "packaging")]
    Completions(generate::Completions),
    /// Write the man pages into a folder
    #[cfg(feature = "packaging")]
    Man(generate::Man),
    /// Serve the null server until stdin closes; prony starts this process itself
    #[command(hide = true)]
    Null(null::Args),
    /// Clean up after a prony process that died; prony starts this process itself
    #[command(hide = true)]
    Guard(guard::Args),
    /// Kill a server when its prony process is gone; prony starts this process itself
    #[command(hide = true)]
    Supervise(supervise::Args),
    /// Measure the limits of a control group from inside it; prony starts this process itself
    #[command(hide = true)]
    Gauge(gauge::Args),
    /// Serve a disk that forgets what was not flushed; prony starts this process itself
    #[command(hide = true)]
    Disk(disk::Args),
}

/// The results folder, the same option for all verbs.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Results {
    /// Folder that holds the runs
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub(crate) results: PathBuf,
}

/// What a run may do on an external server.
#[derive(clap::Args)]
struct Allow {
    /// Allow dropping the tables that prony made on an external server; your own tables in prony's schema only if they are named here
    /// (--allow-drop=part,supplier)
    #[arg(long, value_name = "TABLES", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    allow_drop: Option<String>,
    /// Allow setups, dumps, operations and queries to leave prony's own schema on an external server
    #[arg(long)]
    allow_setup: bool,
}

impl Allow {
    fn droppable(&self) -> AllowDrop {
        match self.allow_drop.as_deref() {
            None => AllowDrop::No,
            Some("") => AllowDrop::Pronys,
            Some(names) => AllowDrop::Named(names.split(',').map(String::from).collect()),
        }
    }
}

/// Runs the verb. Prints an error to stderr.
pub fn main() -> std::process::ExitCode {
    // SAFETY: this is the first statement of the program, which has no other thread yet.
    unsafe { ::server::take_password() };
    let cli = Cli::try_parse().unwrap_or_else(|error| hints::hinted(error).exit());
    let arguments = std::env::args_os().filter_map(|argument| argument.into_string().ok());
    if let Some(hint) = hints::about_passwords(arguments) {
        crate::screen::say(hint);
    }
    let outcome = match cli.verb {
        Verb::List(args) => list::run(&args),
        Verb::Run(args) => run::run(args),
        Verb::Check(args) => check::run(args),
        Verb::Show(args) => show::run(args),
        Verb::Compare(args) => compare::run(args),
        Verb::Merge(args) => merge::run(&args),
        Verb::Report(args) => report::run(args),
        Verb::Pack(args) => pack::run(&args),
        Verb::Server(command) => server::run(command),
        Verb::Cache(command) => cache::run(command),
        Verb::Data(args) => data::run(args),
        Verb::Bench(args) => bench::run(*args),
        Verb::Doctor(args) => doctor::run(&args),
        Verb::Crash(command) => crash::run(command),
        #[cfg(feature = "packaging")]
        Verb::Completions(args) => generate::completions(&args),
        #[cfg(feature = "packaging")]
        Verb::Man(args) => generate::man(&args),
        Verb::Null(args) => null::run(&args),
        Verb::Guard(args) => guard::run(args),
        Verb::Supervise(args) => supervise::run(&args),
        Verb::Gauge(args) => gauge::run(args),
        Verb::Disk(args) => disk::run(args),
    };
    match outcome {
        Ok(status) => status.into(),
        Err(failure) => failure.print(),
    }
}

/// Opens this prony's leases, and warns of what a dead one has left and this one does not remove.
fn leases(home: &Home) -> Result<Leases, Failure> {
    let leases = Leases::open(home).map_err(Failure::failed)?;
    for problem in &leases.swept().problems {
        crate::screen::say(&format!("warning: {problem}"));
    }
    Ok(leases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::error::ErrorKind;

    #[test]
    fn flags_that_would_have_no_effect_are_refused() {
        for line in [
            "prony bench oltp-point-select --dry --format json",
            "prony bench oltp-point-select --dry --gate",
            "prony bench oltp-point-select --dry --junit x.xml",
            "prony bench oltp-point-select --dry --shard 1/2",
            "prony bench oltp-point-select --dry --server mariadb",
            "prony bench oltp-point-select --dry --set sync_binlog=0",
            "prony bench oltp-point-select --dry --blocks 3",
            "prony bench oltp-point-select --dry --slices 1s",
            "prony run --resume @latest --accept-warnings",
            "prony run --resume @latest --no-limits",
        ] {
            let refused = Cli::try_parse_from(line.split(' ')).err();
            let kind = refused.map(|error| error.kind());
            assert_eq!(kind, Some(ErrorKind::ArgumentConflict), "{line}");
        }
        let dry = "prony bench oltp-point-select --dry --clients 1 --time 1s";
        assert!(Cli::try_parse_from(dry.split(' ')).is_ok());
    }
}
