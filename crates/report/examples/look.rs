//! Draws a made-up run, to be looked at: the terminal's form on stdout, the page into the file that the argument names.
//! `cargo run -p report --example look -- /tmp/page.html`

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::time::Instant;

fn main() -> std::io::Result<()> {
    let (run, trials) = match std::env::args().nth(2).as_deref() {
        Some("troubled") => fixture::troubled(),
        _ => fixture::published(),
    };
    print!("{}", report::terminal(&run, &trials, true, 100));
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(path, report::html(&run, &trials))?;
    }
    let (run, trials) = fixture::long(40);
    let begun = Instant::now();
    let length = report::terminal(&run, &trials, false, 100).len();
    eprintln!(
        "{} trials as {length} bytes for the terminal in {:.2} ms",
        trials.len(),
        begun.elapsed().as_secs_f64() * 1e3
    );
    Ok(())
}
