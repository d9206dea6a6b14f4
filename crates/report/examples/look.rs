//! Renders a run for a look at it: the terminal's form on stdout, the page into the file that the first argument names.
//! `cargo run -p report --example look -- /tmp/page.html`, followed by the name of another made-up run or the path of a record.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use fixture::timed;
use record::{Run, Trial};
use report::{Detail, Document};
use std::error::Error;
use std::path::Path;
use std::time::Instant;
use store::Store;

fn main() -> Result<(), Box<dyn Error>> {
    let (run, trials) = match std::env::args().nth(2).as_deref() {
        None => fixture::published(),
        Some("troubled") => fixture::troubled(),
        Some("closed") => timed::troubled(),
        Some("open") => timed::open(),
        Some("searched") => timed::searched(),
        Some(path) => recorded(Path::new(path))?,
    };
    let document = Document::of(&run, &trials, Detail::Full);
    let screen = report::Screen {
        width: 100,
        colour: true,
        unicode: true,
        verbose: false,
    };
    print!("{}", report::terminal(&document, &screen));
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(path, report::html(&document))?;
    }
    let (run, trials) = fixture::long(40);
    let begun = Instant::now();
    let document = Document::of(&run, &trials, Detail::Brief);
    let length = report::terminal(&document, &screen).len();
    eprintln!(
        "{} trials as {length} bytes for the terminal in {:.2} ms",
        trials.len(),
        begun.elapsed().as_secs_f64() * 1e3
    );
    Ok(())
}

fn recorded(path: &Path) -> Result<(Run, Vec<Trial>), Box<dyn Error>> {
    let store = Store::open(path)?;
    Ok((store.run()?, store.trials_whole()?))
}
