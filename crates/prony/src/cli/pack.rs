//! `prony pack RUN`

use super::Results;
use super::failure::{Failure, Status, print};
use crate::run::results::folder;
use crate::screen;
use flate2::Compression;
use flate2::write::GzEncoder;
use record::{Run, Slim};
use std::io::Write;
use std::path::{Path, PathBuf};
use store::Store;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The run's folder, its name in the results folder, @latest, or a kept record (.sqlite, .sqlite.gz, .sqlite.zst)
    run: String,
    /// Leave out the series and histograms of timed loads; summaries, verdicts and everything else stay
    #[arg(long)]
    slim: bool,
    /// The file to write: compressed if its name ends with .gz, plain if with .sqlite [default: the run's name with .sqlite.gz, with
    /// --slim -slim.sqlite.gz]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    results: Results,
}

pub(super) fn run(args: &Args) -> Result<Status, Failure> {
    let store = Store::open(&folder::record(&args.results.results, &args.run)?)?;
    let run = store.run()?;
    if args.slim && run.slim.is_some() {
        return Err(Failure::usage(format!("{} is slim already", args.run)));
    }
    let out = args.out.clone().unwrap_or_else(|| name(&run, args.slim));
    let form = Form::from_path(&out)?;
    if out.exists() {
        return Err(Failure::usage(format!(
            "{} exists; name another file with --out",
            out.display()
        )));
    }
    let failed = |error: std::io::Error| {
        Failure::failed(format!(
            "cannot write {}: {error}; name another file with --out",
            out.display()
        ))
    };
    let folder = tempfile::tempdir_in(folder_of(&out)).map_err(failed)?;
    let record = folder.path().join("run.sqlite");
    store.copy(&record)?;
    if args.slim && !make_slim(&store, &run, &record)? {
        screen::say("note: the run has no timed loads, so nothing is left out");
    }
    form.write(&record, &folder.path().join("packed"))
        .and_then(|packed| std::fs::rename(packed, &out))
        .map_err(failed)?;
    print(&out.display().to_string());
    Ok(Status::Done)
}

fn name(run: &Run, slim: bool) -> PathBuf {
    let slim = if slim { "-slim" } else { "" };
    PathBuf::from(format!("{}{slim}.sqlite.gz", run.id))
}

fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    folder.unwrap_or(Path::new("."))
}

/// With the verdicts of the whole record. False if there is nothing to leave out.
fn make_slim(store: &Store, run: &Run, record: &Path) -> Result<bool, Failure> {
    let trials = if stats::needs_query_counters(&run.question) {
        store.trials_whole()?
    } else {
        store.trials()?
    };
    let slim = Slim {
        prony_version: host::machine::VERSION.to_string(),
        rules: stats::RULES,
        verdicts: explain::judge(&run.question, &trials),
    };
    Ok(store::slim(record, &slim)?)
}

/// How the file is written, by its name.
enum Form {
    Plain,
    Gzip,
}

impl Form {
    fn from_path(out: &Path) -> Result<Form, Failure> {
        match out.extension().and_then(|extension| extension.to_str()) {
            Some("sqlite") => Ok(Form::Plain),
            Some("gz") => Ok(Form::Gzip),
            _ => Err(Failure::usage(format!(
                "{}: the name of a record ends with .sqlite or .sqlite.gz",
                out.display()
            ))),
        }
    }

    /// Returns the file to keep.
    fn write<'p>(&self, record: &'p Path, packed: &'p Path) -> std::io::Result<&'p Path> {
        if let Form::Gzip = self {
            let file = std::fs::File::create_new(packed)?;
            let mut gzip = GzEncoder::new(file, Compression::best());
            std::io::copy(&mut std::fs::File::open(record)?, &mut gzip)?;
            gzip.finish()?.flush()?;
            return Ok(packed);
        }
        Ok(record)
    }
}
