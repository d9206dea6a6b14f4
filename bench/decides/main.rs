//! How often prony decides a difference: between a server and itself, and between two that differ by a planted effect.
//!
//! cargo bench -p prony --bench decides -- KIND RUNS FOLDER [--minutes 45] [FLAG VALUE ...]
//!
//! RUNS is the number of runs of each experiment, in alternation. FOLDER gets the experiment files and the runs. Each run is kept when it
//! ends, and the same command goes on with what is left; `--minutes` stops it between two runs. A row is printed for each run, and at the end
//! the table. Servers are MariaDB. The results are in bench/results/decides.md and bench/results/slices.md.
//!
//! | KIND | what is measured | flags |
//! | --- | --- | --- |
//! | `same` | a server against itself, oltp and ssb, three blocks in turn. At most a tenth of the runs may decide a difference | |
//! | `planted` | oltp, where the server may use one processor or 0.91 of it, three to nine blocks in turn. At least 80 % of the runs must find it where the noise of a trial is at most 5 %, else as many as the power formula predicts | |
//! | `slices` | a server against itself, in turn and in slices of the same measured time | `--loads`, `--slices 250ms,1s`, `--time`, `--warmup`, `--blocks` |
//! | `effects` | builds that are 2, 3, 5 and 10 % slower, in slices | `--only "3% slower"`, `--within 5m` of each run, `--slices` |
//! | `gate` | `prony bench --gate` with an equal build and one that is 3 % slower | `--within`, `--slices`, `--time` of a trial |
//! | `settings` | eight settings in turn and in slices: whether both give one answer | `--only NAME`, `--time`, `--warmup`, `--blocks`, `--slices` |

mod effects;
mod figures;
mod load;
#[path = "../median.rs"]
mod median;
mod planted;
mod runs;
mod same;
mod settings;
mod slices;

use runs::Options;

/// What a kind does with the command line, and the flags that it knows.
type Kind = (&'static str, fn(&Options), &'static [&'static str]);

const KINDS: [Kind; 6] = [
    ("same", same::same, &[]),
    ("planted", same::tenth, &[]),
    (
        "slices",
        slices::measure,
        &["--loads", "--slices", "--time", "--warmup", "--blocks"],
    ),
    (
        "effects",
        effects::effects,
        &["--only", "--within", "--slices"],
    ),
    ("gate", effects::gate, &["--within", "--slices", "--time"]),
    (
        "settings",
        settings::measure,
        &["--only", "--time", "--warmup", "--blocks", "--slices"],
    ),
];

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let named = arguments.next();
    let kind = KINDS
        .iter()
        .find(|(name, ..)| named.as_deref() == Some(*name));
    let Some((_, measure, flags)) = kind else {
        let names: Vec<&str> = KINDS.iter().map(|(name, ..)| *name).collect();
        eprintln!("skipped: give one of {}, RUNS and FOLDER", names.join(", "));
        return;
    };
    let known = [&["--minutes"], *flags].concat();
    match Options::new(&arguments.collect::<Vec<_>>(), &known) {
        Ok(options) => measure(&options),
        Err(says) => {
            eprintln!("{says}");
            std::process::exit(2);
        }
    }
}
