//! `prony bench WORKLOAD`: a benchmark without an experiment file.
//!
//! Purpose: the flags become the text of an experiment file, which is run and recorded like any other. `--dry` runs the same
//! load on null servers, which shows the limit of the load engine (see `dry`).

mod dry;

use super::experiment::{self, Overrides};
use super::failure::{Failure, Status, print};
use super::setting::{once, pair, setting};
use super::shard::Sharing;
use super::show::Format;
use super::{Allow, Results, gate, run, terminal};
use crate::run::Request;
use host::machine::VERSION;
use spec::{BenchRequest, FileioRequest, SqlRequest, bench};
use workload::{AfterLoad, TargetKind, Workload};

/// What a workload on a server runs on without `--server`.
const DEFAULT_SERVER: &str = "mariadb";

#[derive(clap::Args)]
#[command(after_help = gate::EXIT)]
pub(super) struct Args {
    /// tpcc, or oltp and an operation: oltp-point-select, oltp-update-index, oltp-read-write, ...; ssb and tpch run their
    /// queries in rounds, and sql runs yours; fileio needs no server
    workload: String,
    /// Server to measure: mariadb, mysql@5.6.14, a DSN, or NAME=BUILD; further ones are compared with the first [default: mariadb]
    #[arg(long, value_name = "BUILD|DSN")]
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
    /// Measured time of each trial of a timed load [default: 10s]
    #[arg(long)]
    time: Option<String>,
    /// Rounds of queries [default: cold,hot,hot,hot]
    #[arg(
        long,
        value_name = "cold|hot",
        value_delimiter = ',',
        conflicts_with = "time"
    )]
    rounds: Vec<String>,
    /// Warm-up before the measured time: 2s, 50%, find
    #[arg(long)]
    warmup: Option<String>,
    /// Servers take turns in slices of about this length and are compared within the same seconds: auto, 1s; in rounds: query
    #[arg(long, conflicts_with = "rate")]
    slices: Option<String>,
    /// Time for all blocks with --slices, without loading the data: 10m; it chooses those of --time and --blocks that are not given
    #[arg(long, value_name = "TIME", requires = "slices", conflicts_with = "dry")]
    within: Option<String>,
    /// Scale of ssb and tpch; warehouses of tpcc, about 86 MB each [default: 1]
    #[arg(long)]
    scale: Option<String>,
    /// Number of tables of oltp
    #[arg(long)]
    tables: Option<u64>,
    /// Rows per table of oltp
    #[arg(long)]
    rows: Option<u64>,
    /// Storage engine; of fileio: sync, io_uring or libaio
    #[arg(long)]
    engine: Option<String>,
    /// Repetitions of all trials; confidence intervals need at least two
    #[arg(long)]
    blocks: Option<u32>,
    /// Setting that the servers start with; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Run on null servers, to measure the limit of the load engine on this machine
    #[arg(long, conflicts_with_all = ["server", "set", "blocks", "slices", "rounds", "format", "gate", "junit", "summary", "shard"])]
    dry: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    #[command(flatten)]
    detail: terminal::Detail,
    #[command(flatten)]
    gate: gate::Gating,
    #[command(flatten)]
    results: Results,
    #[command(flatten)]
    allow: Allow,
    // Last, because their headings go on to what follows.
    #[command(flatten)]
    sharing: Sharing,
    #[command(flatten)]
    sql: Sql,
    #[command(flatten)]
    fileio: Fileio,
}

/// Your own SQL: `prony bench sql --dump shop.sql --queries q.sql`.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of bench sql")]
struct Sql {
    /// A .sql file whose statements are run once per round; lines like -- name: by_region name them
    #[arg(long, value_name = "FILE", conflicts_with = "operations")]
    queries: Option<String>,
    /// A .sql file with the operations of a timed load, each under a line like -- operation: transfer
    #[arg(long, value_name = "FILE")]
    operations: Option<String>,
    /// A dump of mysqldump, mariadb-dump or another program: .sql, .sql.gz, .sql.zst
    #[arg(long, value_name = "FILE", conflicts_with_all = ["setup", "schema"])]
    dump: Option<String>,
    /// A .sql file that creates the tables
    #[arg(long, value_name = "FILE", conflicts_with = "schema")]
    setup: Option<String>,
    /// Rows of a table: .csv, .tsv, .tbl; repeatable, also for one table
    #[arg(long, value_name = "TABLE=FILE", value_parser = pair, conflicts_with = "schema")]
    load: Vec<(String, String)>,
    /// Character set of tables that name none, or "server" for the server's own [default: that of the dump, else utf8mb4]
    #[arg(long, conflicts_with = "schema")]
    charset: Option<String>,
    /// A schema that the external server already has; it is only read
    #[arg(long)]
    schema: Option<String>,
    /// Replace a text in the statements of the dump, not in its rows; repeatable
    #[arg(long, value_name = "TEXT=TEXT", value_parser = pair, requires = "dump")]
    replace: Vec<(String, String)>,
    /// Load even if the server stores some values differently than written
    #[arg(long, conflicts_with = "schema")]
    accept_warnings: bool,
}

/// Reads and writes of files: `prony bench fileio --directory /mnt/disk`.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of bench fileio")]
struct Fileio {
    /// Folder on the disk to measure; prony makes a folder of its own in it [default: below PRONY_HOME]
    #[arg(long, value_name = "DIR")]
    directory: Option<String>,
    /// Imitate a part of a server: redo, page-cleaner, binlog, recovery or scan; the other options override its values
    #[arg(long)]
    preset: Option<String>,
    /// random-read, random-write, sequential-read, sequential-write, mixed or ascending-read [default: random-read]
    #[arg(long)]
    pattern: Option<String>,
    /// Bytes per operation [default: 16K]
    #[arg(long)]
    io_size: Option<String>,
    /// Bytes of all files together [default: 1G]
    #[arg(long)]
    size: Option<String>,
    /// Number of files [default: 1]
    #[arg(long)]
    files: Option<u64>,
    /// Bypass the page cache [default: true]
    #[arg(long, value_name = "true|false")]
    direct: Option<bool>,
    /// When writes are made durable: never, each, group (each, but waiting clients share a sync), end (of the load), or N: after every N operations [default: never]
    #[arg(long)]
    fsync: Option<String>,
    /// Operations in flight per client, with --engine io_uring or libaio [default: 1]
    #[arg(long)]
    depth: Option<u64>,
}

pub(super) fn run(args: Args) -> Result<Status, Failure> {
    once(&args.set).map_err(Failure::usage)?;
    let source = bench(&args.request());
    let experiment = experiment::parse("bench", "the flags", &source, &Overrides::default());
    let experiment = experiment.map_err(Failure::of_flags)?;
    if args.dry {
        print(&format!("{}\nprony: {VERSION}", dry::table(&experiment)?));
        return Ok(Status::Done);
    }
    let gate = args.gate;
    gate.check_size(experiment.claims.len(), experiment.servers.len())?;
    let mut request = Request {
        shard: args.sharing.shards()?,
        allow_drop: args.allow.droppable(),
        allow_setup: args.allow.allow_setup,
        tolerance: gate.tolerance,
        ..Request::new(experiment, run::rand_seed(), args.results.results)
    };
    run::plan(&mut request).map_err(Failure::of_flags)?;
    let conducted = run::carry_out(&request).map_err(Failure::of_flags)?;
    let document = run::document(&conducted, &gate);
    match args.format {
        Format::Table => run::print_result(&conducted, &document, args.detail),
        format => print(&format.of(&document, args.detail)),
    }
    run::status(&document, &gate)
}

impl Args {
    fn request(&self) -> BenchRequest {
        let mut request = BenchRequest {
            // sysbench writes oltp_read_write.
            workload: self.workload.replace('_', "-"),
            servers: self.server.clone(),
            clients: self.clients.clone(),
            rate: self.rate.clone(),
            workers: self.workers.clone(),
            time: self.time.clone(),
            warmup: self.warmup.clone(),
            slices: self.slices.clone(),
            within: self.within.clone(),
            scale: self.scale.clone(),
            tables: self.tables,
            rows: self.rows,
            engine: self.engine.clone(),
            blocks: self.blocks,
            settings: self.set.clone(),
            rounds: self.rounds.clone(),
            sql: self.sql.request(),
            fileio: self.fileio.request(),
            ..BenchRequest::default()
        };
        complete(&mut request);
        request
    }
}

/// Adds what follows from the kind of the workload, whose defaults tell. One that does not open has none: `sql` needs its flags, and the
/// reader of the file names the mistake in others.
fn complete(request: &mut BenchRequest) {
    let workload = workload::open(request.named().0, &toml::Table::new()).ok();
    let is = |what: fn(&dyn Workload) -> bool| workload.as_deref().is_some_and(what);
    request.has_queries = is(|workload| workload.queries().is_some());
    request.changes_its_data = is(|workload| {
        let data = workload.data();
        data.is_some_and(|data| data.after_load() != AfterLoad::Keep)
    });
    if request.servers.is_empty() && !is(|workload| workload.target() == TargetKind::Folder) {
        request.servers.push(DEFAULT_SERVER.to_string());
    }
    if request.sql.schema.is_none() {
        request.sql.schema = request.schema_of_a_dsn();
    }
}

impl Fileio {
    fn request(&self) -> FileioRequest {
        FileioRequest {
            directory: self.directory.clone(),
            preset: self.preset.clone(),
            pattern: self.pattern.clone(),
            io_size: self.io_size.clone(),
            size: self.size.clone(),
            files: self.files,
            direct: self.direct,
            fsync: self.fsync.clone(),
            depth: self.depth,
        }
    }
}

impl Sql {
    fn request(&self) -> SqlRequest {
        SqlRequest {
            queries: self.queries.clone(),
            operations: self.operations.clone(),
            setup: self.setup.clone(),
            dump: self.dump.clone(),
            schema: self.schema.clone(),
            charset: self.charset.clone(),
            load: self.load.clone(),
            replace: self.replace.clone(),
            accept_warnings: self.accept_warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(workload: &str) -> BenchRequest {
        let mut request = BenchRequest {
            workload: workload.into(),
            ..BenchRequest::default()
        };
        complete(&mut request);
        request
    }

    #[test]
    fn a_workload_tells_whether_it_has_queries_changes_its_data_and_needs_a_server() {
        for (workload, has_queries, changes_its_data, servers) in [
            ("ssb", true, false, 1),
            ("tpch", true, false, 1),
            ("oltp-read-write", false, false, 1),
            ("sql", false, false, 1),
            ("tpcc", false, true, 1),
            ("fileio", false, false, 0),
        ] {
            let request = of(workload);
            assert_eq!(request.has_queries, has_queries, "{workload}");
            assert_eq!(request.changes_its_data, changes_its_data, "{workload}");
            assert_eq!(request.servers.len(), servers, "{workload}");
        }
    }
}
