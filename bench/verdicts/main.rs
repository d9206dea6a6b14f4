//! Simulates how often the verdicts of prony are right: the plain and the moderated paired t in several shapes of noise.
//!
//! nice cargo bench -p stats --bench verdicts -- 20000 > bench/results/verdicts.md
//!
//! The argument is the number of experiments per row; the looks take a tenth of it. The seeds are fixed, so that the tables can be
//! repeated; they do not depend on the machine.

mod score;
mod sequential;
mod shapes;

use score::{Score, score};
use shapes::SHAPES;

const BLOCKS: [usize; 3] = [3, 5, 8];
/// Several looks take longer to simulate.
const FEWER: u64 = 10;
/// The goal for the moderated t, in percent.
const MOST_FALSE: f64 = 5.5;

fn main() {
    // cargo adds --bench.
    let experiments = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok());
    match experiments {
        Some(experiments) => {
            print(experiments);
            sequential::print(experiments / FEWER);
        }
        None => eprintln!(
            "skipped: give a number of experiments, see the top of bench/verdicts/main.rs"
        ),
    }
}

fn print(experiments: u64) {
    println!("{}", HEAD.replace("EXPERIMENTS", &experiments.to_string()));
    for (_, name, definition) in SHAPES {
        println!("| {name} | {definition} |");
    }
    println!("\nPercent, plain t → moderated t:\n");
    println!("| noise | blocks | {} |", Score::COLUMNS.join(" | "));
    println!("| --- | ---: |{}", " ---: |".repeat(Score::COLUMNS.len()));
    let mut over = Vec::new();
    for (shape, name, _) in SHAPES {
        for blocks in BLOCKS {
            let [plain, moderated] =
                score(shape, blocks, experiments).map(|score| score.percents());
            let both = plain.iter().zip(&moderated);
            let cells: Vec<String> = both.map(|(a, b)| format!("{a:.1} → {b:.1}")).collect();
            println!("| {name} | {blocks} | {} |", cells.join(" | "));
            if moderated[0] > MOST_FALSE {
                over.push(format!("{name} ({blocks} blocks: {:.1} %)", moderated[0]));
            }
        }
    }
    println!(
        "\nMore than {MOST_FALSE} % false calls with the moderated t: {}.",
        over.join("; ")
    );
}

const HEAD: &str = "# False calls, coverage and power of the verdicts

    nice cargo bench -p stats --bench verdicts -- EXPERIMENTS > bench/results/verdicts.md

Each row is EXPERIMENTS simulated experiments with fixed seeds, each a matrix of 42 cells (8 in *few cells*) and its disjoint pairs. *False calls*:
equal pairs that one test at 5 % calls different. *Coverage*: 95 % intervals that hold the truth. *Power*: differences of this size that are found.
*Family error*: experiments with a false call among 7 claims (4 in *few cells*) after Holm. *Power of a claim*: claims found when
all of them differ by 20 %, after Holm.

| noise | definition |
| --- | --- |";
