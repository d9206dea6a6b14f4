//! `prony report RUN`

use super::Results;
use super::failure::{Failure, Status, print};
use crate::run::results::folder;
use report::{Detail, Document};
use std::path::{Path, PathBuf};
use store::Store;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The run's folder, its name in the results folder, @latest, or a kept record (.sqlite, .sqlite.gz, .sqlite.zst)
    run: String,
    /// The page to write [default: report.html in the run's folder; for quick.sqlite.gz: quick.html in the same folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    results: Results,
}

pub(super) fn run(args: Args) -> Result<Status, Failure> {
    let record = folder::record(&args.results.results, &args.run)?;
    let path = args.out.unwrap_or_else(|| page_of(&record));
    let store = Store::open(&record)?;
    let (run, trials) = (store.run()?, store.trials_whole()?);
    let controls = store.controls_whole()?;
    let document = Document::with_control(&run, &trials, &controls, Detail::Full);
    folder::write_aside(&path, &report::html(&document)).map_err(|error| {
        Failure::failed(format!(
            "cannot write {}: {error}; name another file with --out",
            path.display()
        ))
    })?;
    print(&path.display().to_string());
    Ok(Status::Done)
}

/// `report.html` beside `run.sqlite`, which may be compressed; the page of another record has its name.
fn page_of(record: &Path) -> PathBuf {
    let name = record.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split(".sqlite").next().unwrap_or_default();
    let page = match stem {
        "run" | "" => "report.html".to_string(),
        stem => format!("{stem}.html"),
    };
    record.with_file_name(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lies_beside_its_record_under_the_records_name() {
        for (record, page) in [
            ("results/x/run.sqlite", "results/x/report.html"),
            ("kept/run.sqlite.zst", "kept/report.html"),
            ("p3/quick.sqlite.gz", "p3/quick.html"),
            ("p1/scale-0.25.sqlite", "p1/scale-0.25.html"),
        ] {
            assert_eq!(page_of(Path::new(record)), Path::new(page));
        }
    }
}
