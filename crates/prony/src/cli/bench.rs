//! `prony bench WORKLOAD`: a benchmark without an experiment file.
//!
//! Purpose: the flags become the text of an experiment file, which is run and recorded like any other. `--dry` runs the same
//! load on null servers, which shows the limit of the load engine (see `dry`).

mod dry;

use super::Results;
use super::experiment::{self, Overrides};
use super::failure::{Failure, Status, print};
use super::run;
use super::setting::setting;
use super::show::Format;
use crate::run::{Request, Workloads};
use spec::{BenchRequest, bench};

#[derive(clap::Args)]
pub(super) struct Args {
    /// tpcc, or oltp and an operation: oltp-point-select, oltp-update-index, oltp-read-write, ...
    workload: String,
    /// Server to measure: mariadb, mysql@5.6.14, a DSN, or NAME=BUILD; repeatable
    #[arg(long, value_name = "BUILD|DSN", default_value = "mariadb")]
    server: Vec<String>,
    /// Concurrent clients (closed loop); several numbers give several trials
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["rate", "workers"])]
    clients: Vec<u32>,
    /// Requests per second (open loop), whether or not the server keeps up: 500, or 60% of max
    #[arg(long, value_delimiter = ',')]
    rate: Vec<String>,
    /// Workers that serve the requests of an open loop
    #[arg(long, value_delimiter = ',', requires = "rate")]
    workers: Vec<u32>,
    /// Measured time of each trial
    #[arg(long, default_value = "10s")]
    time: String,
    /// Warm-up before the measured time: 2s, 50%, find
    #[arg(long)]
    warmup: Option<String>,
    /// Warehouses of tpcc, about 86 MB each [default: 1]
    #[arg(long)]
    scale: Option<String>,
    /// Number of tables of oltp
    #[arg(long)]
    tables: Option<u64>,
    /// Rows per table of oltp
    #[arg(long)]
    rows: Option<u64>,
    /// Storage engine
    #[arg(long)]
    engine: Option<String>,
    /// Repetitions of all trials; confidence intervals need at least two
    #[arg(long)]
    blocks: Option<u32>,
    /// Setting that the servers start with; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Run on null servers, to measure the limit of the load engine on this machine
    #[arg(long)]
    dry: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    #[command(flatten)]
    results: Results,
    /// Allow dropping prony's own schemas on an external server
    #[arg(long)]
    allow_drop: bool,
}

pub(super) fn run(args: Args) -> Result<Status, Failure> {
    let source = bench(&args.request());
    let experiment = experiment::parse("bench", "the flags", &source, &Overrides::default())?;
    if args.dry {
        print(&dry::table(&experiment)?);
        return Ok(Status::Done);
    }
    let request = Request {
        experiment,
        overrides: Vec::new(),
        seed: run::rand_seed(),
        shard: None,
        results: args.results.results,
        resume: None,
        allow_drop: args.allow_drop,
        workloads: Workloads::default(),
    };
    let conducted = run::carry_out(&request)?;
    let document = run::document(&conducted);
    match args.format {
        Format::Table => run::print_result(&conducted, &document),
        format => print(&format.of(&document)),
    }
    Ok(run::status(&conducted, &document, false))
}

impl Args {
    fn request(&self) -> BenchRequest {
        BenchRequest {
            workload: self.workload.clone(),
            servers: self.server.clone(),
            clients: self.clients.clone(),
            rate: self.rate.clone(),
            workers: self.workers.clone(),
            time: self.time.clone(),
            warmup: self.warmup.clone(),
            scale: self.scale.clone(),
            tables: self.tables,
            rows: self.rows,
            engine: self.engine.clone(),
            blocks: self.blocks,
            settings: self.set.clone(),
        }
    }
}
