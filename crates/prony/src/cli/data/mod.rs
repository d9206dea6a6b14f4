//! `prony data`: a workload's tables as files.
//!
//! Purpose: writes the same files as the reference generator, or a shard of them, at the speed of the disk. A file gets its name
//! when it is complete. Outside this module: loading, which streams rows from the generator and needs no file.

mod files;

use std::path::PathBuf;
use std::time::Instant;

use datagen::oltp::Oltp;
use datagen::ssb::{self, Ssb};
use datagen::tpcc::{self, SEED, Tpcc};
use datagen::tpch::{self, Tpch};
use datagen::{Benchmark, Format};
use indicatif::{ProgressBar, ProgressStyle};

use super::failure::{Failure, Status};
use files::{Output, Rows, Written};

/// Writes a workload's tables to files.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Workload whose tables are written
    workload: Workload,
    /// Scale of ssb, tpch or tpcc; scale 1 of ssb is 600 MB and 6 million rows, of tpch 1.1 GB and 8.7 million rows, of tpcc one
    /// warehouse, 79 MB and 0.6 million rows
    #[arg(long, value_parser = number, required_if_eq_any([("workload", "ssb"), ("workload", "tpch"), ("workload", "tpcc")]))]
    scale: Option<f64>,
    /// Number of oltp tables [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "scale")]
    tables: Option<u32>,
    /// Rows per oltp table; a million rows are 200 MB
    #[arg(long, value_parser = rows, conflicts_with = "scale", required_if_eq("workload", "oltp"))]
    rows: Option<u64>,
    /// Folder for the files; created if it does not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// tbl: each field ends with |; csv: no header
    #[arg(long, default_value = "tbl")]
    format: FileFormat,
    /// Only a part of each table: 2/4 is the second quarter, in files such as lineorder.2-of-4.tbl
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<Shard>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Workload {
    /// The Star Schema Benchmark
    Ssb,
    /// TPC-H
    Tpch,
    /// TPC-C
    Tpcc,
    /// sysbench's tables
    Oltp,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum FileFormat {
    Tbl,
    Csv,
}

/// Part `index` (from 1) of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shard {
    index: u64,
    of: u64,
}

/// A table with its name.
type Named = (String, Box<dyn Rows>);

fn number(text: &str) -> Result<f64, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a number, such as 0.1 or 10"))
}

fn rows(text: &str) -> Result<u64, String> {
    let rows = text
        .parse()
        .map_err(|_| format!("`{text}` is not a whole number, such as 100000"))?;
    Oltp::new(1, rows)
        .map(|_| rows)
        .map_err(|error| error.to_string())
}

fn shard(text: &str) -> Result<Shard, String> {
    text.split_once('/')
        .and_then(|(index, of)| {
            Some(Shard {
                index: index.parse().ok()?,
                of: of.parse().ok()?,
            })
        })
        .filter(|shard| (1..=shard.of).contains(&shard.index))
        .ok_or_else(|| format!("`{text}` is not a shard I/N with I from 1 to N, such as 2/4"))
}

/// Writes the files, on all cores. Prints the summary to stdout and the progress to stderr.
///
/// # Errors
/// The workload does not have this scale, or a file cannot be written (disk full, for instance). Unfinished files are removed.
pub(super) fn run(args: Args) -> Result<Status, Failure> {
    let started = Instant::now();
    let tables = args.tables()?;
    let outputs = outputs(&args, &tables).map_err(Failure::usage)?;
    let bar = bar(outputs.iter().map(Output::bytes_estimate).sum());
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let written = files::write(outputs, args.format(), cores, &|bytes| bar.inc(bytes))
        .map_err(Failure::usage)?;
    bar.finish_and_clear();
    print!("{}", summary(&written, started.elapsed().as_secs_f64()));
    Ok(Status::Done)
}

impl Args {
    fn format(&self) -> Format {
        match self.format {
            FileFormat::Tbl => Format::Tbl,
            FileFormat::Csv => Format::Csv,
        }
    }

    /// The complete tables with their names.
    fn tables(&self) -> Result<Vec<Named>, Failure> {
        let scale = || self.scale.expect("clap requires it");
        Ok(match self.workload {
            Workload::Ssb => {
                let ssb = Ssb::new(scale()).map_err(Failure::usage)?;
                all(ssb, ssb::Table::ALL)
            }
            Workload::Tpch => {
                let tpch = Tpch::new(scale()).map_err(Failure::usage)?;
                all(tpch, tpch::Table::ALL)
            }
            Workload::Tpcc => all(Tpcc::new(warehouses(scale())?, SEED), tpcc::Table::ALL),
            Workload::Oltp => {
                let rows = self.rows.expect("clap requires them");
                let oltp = Oltp::new(self.tables.unwrap_or(1), rows).map_err(Failure::usage)?;
                all(oltp, 1..=oltp.tables())
            }
        })
    }

    fn file_name(&self, table: &str) -> String {
        let extension = self.format().extension();
        match self.shard {
            Some(Shard { index, of }) => format!("{table}.{index}-of-{of}.{extension}"),
            None => format!("{table}.{extension}"),
        }
    }
}

fn all<B: Benchmark>(benchmark: B, tables: impl IntoIterator<Item = B::Table>) -> Vec<Named> {
    let rows = |table| -> Box<dyn Rows> { Box::new(benchmark.whole(table)) };
    let named = |table| (B::name(table), rows(table));
    tables.into_iter().map(named).collect()
}

/// A whole number of warehouses, as `[workload.tpcc]` accepts it.
fn warehouses(scale: f64) -> Result<u32, Failure> {
    let range = 1.0..=f64::from(::workload::tpcc::LARGEST_SCALE);
    if range.contains(&scale) && scale.fract() == 0.0 {
        Ok(scale as u32)
    } else {
        Err(Failure::usage(format!(
            "scale {scale} of tpcc must be a whole number of warehouses from {} to {}",
            range.start(),
            range.end()
        )))
    }
}

fn outputs(args: &Args, tables: &[Named]) -> Result<Vec<Output>, files::Failure> {
    let Shard { index, of } = args.shard.unwrap_or(Shard { index: 1, of: 1 });
    files::make_folder(&args.out)?;
    let output = |(name, rows): &Named| {
        let path = args.out.join(args.file_name(name));
        Output::create(rows.part(index - 1, of), path)
    };
    tables.iter().map(output).collect()
}

/// A progress bar of written bytes on stderr, if stderr is a terminal.
fn bar(bytes_estimate: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:40} {bytes} of about {total_bytes}, {bytes_per_sec}, {eta} left",
    );
    ProgressBar::new(bytes_estimate).with_style(style.expect("the template is valid"))
}

fn summary(written: &[Written], elapsed_s: f64) -> String {
    let line =
        |what: &str, rows: u64, bytes: u64| format!("{rows:>14} rows {bytes:>16} bytes  {what}\n");
    let rows = written.iter().map(|file| file.rows).sum::<u64>();
    let bytes = written.iter().map(|file| file.bytes).sum::<u64>();
    let rates = format!(
        "in {elapsed_s:.2} s ({:.0} rows/s, {:.0} MB/s)",
        rows as f64 / elapsed_s,
        bytes as f64 / elapsed_s / 1e6
    );
    let files = written
        .iter()
        .map(|file| line(&file.path.display().to_string(), file.rows, file.bytes));
    files.chain([line(&rates, rows, bytes)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use ssb::Table;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        data: Args,
    }

    fn parse(line: &[&str]) -> Result<Args, String> {
        let words = std::iter::once("data").chain(line.iter().copied());
        Cli::try_parse_from(words)
            .map(|cli| cli.data)
            .map_err(|error| error.to_string())
    }

    fn write(folder: &std::path::Path, more: &[&str]) {
        let out = folder.to_str().unwrap();
        run(parse(&[&["ssb", "--scale", "0.002", "--out", out], more].concat()).unwrap()).unwrap();
    }

    fn read(folder: &std::path::Path, name: &str) -> Vec<u8> {
        std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn generated(table: Table, format: Format) -> Vec<u8> {
        let mut bytes = Vec::new();
        Ssb::new(0.002)
            .unwrap()
            .whole(table)
            .write(&mut bytes, format)
            .unwrap();
        bytes
    }

    #[test]
    fn files_hold_the_generated_tables_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &[]);
        write(folder.path(), &["--format", "csv"]);
        for table in Table::ALL {
            assert_eq!(
                read(folder.path(), &format!("{}.tbl", table.name())),
                generated(table, Format::Tbl)
            );
            assert_eq!(
                read(folder.path(), &format!("{}.csv", table.name())),
                generated(table, Format::Csv)
            );
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 10);
    }

    #[test]
    fn concatenated_shards_equal_the_whole_table() {
        let folder = tempfile::tempdir().unwrap();
        for index in 1..=3 {
            write(folder.path(), &["--shard", &format!("{index}/3")]);
        }
        for table in Table::ALL {
            let shard = |index| read(folder.path(), &format!("{}.{index}-of-3.tbl", table.name()));
            assert_eq!([1, 2, 3].map(shard).concat(), generated(table, Format::Tbl));
        }
    }

    #[test]
    fn oltp_writes_the_requested_tables_and_rows() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().to_str().unwrap();
        let size = ["oltp", "--tables", "2", "--rows", "700", "--out", out];
        run(parse(&size).unwrap()).unwrap();
        for name in ["sbtest1.tbl", "sbtest2.tbl"] {
            let lines = read(folder.path(), name)
                .split(|&byte| byte == b'\n')
                .count();
            assert_eq!(lines, 701, "{name}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_wrong_command_line_is_explained() {
        let mistake = |more: &[&str]| parse(&[&["--out", "/nowhere"], more].concat()).unwrap_err();
        assert!(mistake(&["sbb", "--scale", "1"]).contains("ssb"));
        assert!(mistake(&["ssb", "--scale", "many"]).contains("not a number"));
        assert!(mistake(&["ssb"]).contains("--scale"));
        assert!(mistake(&["tpch"]).contains("--scale"));
        assert!(mistake(&["ssb", "--scale", "1", "--rows", "9"]).contains("cannot be used with"));
        assert!(mistake(&["oltp", "--scale", "1"]).contains("--rows"));
        assert!(mistake(&["oltp", "--rows", "0"]).contains("give 1 to 2147483647"));
        assert!(mistake(&["oltp", "--rows", "9", "--tables", "0"]).contains("--tables"));
        for shard in ["0/4", "5/4", "2", "a/b", "1/0", "-1/4"] {
            assert!(
                mistake(&["ssb", "--scale", "1", &format!("--shard={shard}")])
                    .contains("such as 2/4"),
                "{shard}"
            );
        }
    }

    #[test]
    fn an_unsupported_scale_is_refused_before_a_file_is_created() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("new");
        for (workload, scale, says) in [
            ("ssb", "0", "above 0"),
            ("tpch", "-1", "above 0"),
            ("tpch", "0.002", "0.01"),
            ("tpcc", "0", "from 1 to 30000"),
            ("tpcc", "1.5", "whole number of warehouses"),
            ("tpcc", "1e9", "from 1 to 30000"),
        ] {
            let scale = format!("--scale={scale}");
            let args = parse(&[workload, &scale, "--out", out.to_str().unwrap()]).unwrap();
            let refused = format!("{:?}", run(args).unwrap_err());
            assert!(refused.contains(says), "{refused}");
            assert!(!out.exists());
        }
    }

    #[test]
    fn concatenated_tpch_shards_equal_its_tables() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().to_str().unwrap();
        for shard in ["1/2", "2/2"] {
            let line = ["tpch", "--scale", "0.01", "--out", out, "--shard", shard];
            run(parse(&line).unwrap()).unwrap();
        }
        for table in tpch::Table::ALL {
            let shard = |index| read(folder.path(), &format!("{}.{index}-of-2.tbl", table.name()));
            let mut whole = Vec::new();
            let chunk = Tpch::new(0.01).unwrap().whole(table);
            chunk.write(&mut whole, Format::Tbl).unwrap();
            assert!([shard(1), shard(2)].concat() == whole, "{}", table.name());
        }
    }

    #[test]
    fn tpcc_writes_nine_tables_and_null_as_load_data_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().to_str().unwrap();
        run(parse(&["tpcc", "--scale", "1", "--out", out]).unwrap()).unwrap();
        for table in tpcc::Table::ALL {
            let mut whole = Vec::new();
            let chunk = Tpcc::new(1, SEED).whole(table);
            chunk.write(&mut whole, Format::Tbl).unwrap();
            assert!(read(folder.path(), &format!("{}.tbl", table.name())) == whole);
        }
        let last = read(folder.path(), "orders.tbl");
        assert!(
            last[last.len() - 60..]
                .windows(4)
                .any(|part| part == br"|\N|")
        );
    }

    #[test]
    fn an_output_path_that_is_a_file_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let out = file.path().to_str().unwrap();
        let error = run(parse(&["ssb", "--scale", "0.001", "--out", out]).unwrap()).unwrap_err();
        assert!(format!("{error:?}").contains(out));
    }
}
