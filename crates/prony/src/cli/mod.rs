//! The command line: one file per verb.
//!
//! Purpose: parse arguments, print tables to stdout and progress to stderr, set the exit status. Outside this module: the work itself.

mod bench;
mod check;
mod crash;
mod data;
mod disk;
mod embedded;
pub mod experiment;
mod failure;
mod gauge;
mod guard;
mod list;
mod null;
mod report;
mod run;
mod server;
mod setting;
mod show;
mod terminal;

use clap::{Parser, Subcommand};
use failure::Status;
use std::path::PathBuf;

/// Benchmarks MySQL-family servers and reports how certain the answer is.
#[derive(Parser)]
#[command(name = "prony", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the built-in experiments
    List,
    /// Run an experiment, or resume a run
    Run(run::Args),
    /// Check an experiment; print its trials and the expected disk space and time
    Check(check::Args),
    /// Print the tables and verdicts of a run
    Show(show::Args),
    /// Write report.html
    Report(report::Args),
    /// Benchmark without an experiment file: prony bench oltp-update-index --server mysql@5.6.14 --clients 1,8,64 --time 30s
    Bench(Box<bench::Args>),
    /// Download server builds, and start a server by hand
    #[command(subcommand)]
    Server(server::Command),
    /// Write a workload's data as text files
    Data(data::Args),
    /// Replay a recorded disk at each of its flushes
    #[command(subcommand)]
    Crash(crash::Command),
    /// Serve the null server until stdin closes; prony starts this process itself
    #[command(hide = true)]
    Null(null::Args),
    /// Clean up after a prony process that died; prony starts this process itself
    #[command(hide = true)]
    Guard(guard::Args),
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

/// Runs the verb. Prints an error to stderr.
pub fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.verb {
        Verb::List => list::run(),
        Verb::Run(args) => run::run(args),
        Verb::Check(args) => check::run(args),
        Verb::Show(args) => show::run(args),
        Verb::Report(args) => report::run(args),
        Verb::Server(command) => server::run(command),
        Verb::Data(args) => data::run(args).map(|()| Status::Done).map_err(Into::into),
        Verb::Bench(args) => bench::run(*args),
        Verb::Crash(command) => crash::run(command),
        Verb::Null(args) => null::run(&args),
        Verb::Guard(args) => guard::run(args),
        Verb::Gauge(args) => gauge::run(args),
        Verb::Disk(args) => disk::run(args),
    };
    match outcome {
        Ok(status) => status.into(),
        Err(failure) => failure.print(),
    }
}
