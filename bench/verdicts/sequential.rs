//! How often looks at 3, 5 and 9 blocks decide, against five blocks for all cells.

use crate::score::{ALPHA, CLAIMS, ratio};
use crate::shapes::{Pair, SHAPES, Shape};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use record::Looks;
use stats::moderated::{Noise, Row};
use stats::{LogMean, rejected};

/// Blocks of the comparison.
const FIXED: u32 = 5;
const FIRST: u32 = 3;
const MOST: u32 = 9;

/// Several looks at the claims of one experiment, whose truth is compared with `value`.
struct Claims<'e> {
    rows: &'e [Row],
    pairs: &'e [Pair],
    /// Of the first look.
    noise: Noise,
    value: f64,
}

/// What came of the claims.
struct Outcome {
    decided: Vec<bool>,
    /// Blocks of the cells of each claim.
    blocks: Vec<u32>,
    /// Whether the last interval of each claim holds the true ratio, 1.
    covered: Vec<bool>,
}

impl Claims<'_> {
    fn moderated(&self, rows: &[Row], [of, to]: Pair) -> LogMean {
        let contrast = [(of.0, 1.0), (to.0, -1.0)];
        self.noise.moderate(ratio(rows, [of, to]), &contrast)
    }

    fn judged(&self, looks: &Looks) -> Outcome {
        let count = self.pairs.len();
        let mut outcome = Outcome {
            decided: vec![false; count],
            blocks: vec![0; count],
            covered: vec![false; count],
        };
        let mut smallest = vec![1.0f64; count];
        for look in looks.all() {
            let rows = until(self.rows, look.blocks);
            for claim in (0..count).filter(|claim| !outcome.decided[*claim]) {
                let ratio = self.moderated(&rows, self.pairs[claim]);
                let p = ratio.p_other_than(self.value) / look.weight;
                smallest[claim] = smallest[claim].min(p);
                outcome.blocks[claim] = look.blocks;
                outcome.covered[claim] = ratio.p_other_than(1.0) > ALPHA * look.weight;
            }
            // A decided claim stays decided: a smallest p never rises.
            outcome.decided = rejected(&smallest, ALPHA);
        }
        outcome
    }
}

fn until(rows: &[Row], blocks: u32) -> Vec<Row> {
    let cell = |cell: &Vec<f64>| cell[..blocks as usize].to_vec();
    rows.iter()
        .map(|row| row.iter().map(cell).collect())
        .collect()
}

/// Sums over experiments.
#[derive(Default)]
struct Sums {
    experiments: u64,
    claims: u64,
    false_families: u64,
    found: u64,
    covered: u64,
    /// Of equal cells, and of those that differ by 20 %.
    blocks: [u64; 2],
}

impl Sums {
    fn add(&mut self, equal: &Outcome, different: &Outcome) {
        let count = |all: &[bool]| all.iter().filter(|one| **one).count() as u64;
        let sum = |blocks: &[u32]| blocks.iter().map(|blocks| u64::from(*blocks)).sum::<u64>();
        self.experiments += 1;
        self.claims += equal.decided.len() as u64;
        self.false_families += u64::from(count(&equal.decided) > 0);
        self.found += count(&different.decided);
        self.covered += count(&equal.covered);
        self.blocks[0] += sum(&equal.blocks);
        self.blocks[1] += sum(&different.blocks);
    }
}

fn row((shape, name, _): (Shape, &str, &str), times: f64, experiments: u64) -> String {
    let mut random = Pcg64::seed_from_u64(4100 + shape as u64 * 100 + times as u64);
    let sequential = Looks::until_decided(FIRST, MOST, None);
    let fixed = Looks::fixed(FIXED);
    let mut sums = [Sums::default(), Sums::default()];
    let all = shape.pairs();
    let pairs = &all[..CLAIMS.min(all.len())];
    for _ in 0..experiments {
        let mut rows = shape.matrix(MOST as usize, &mut random);
        let logs = rows.iter_mut().flatten().flatten();
        logs.for_each(|log| *log *= times);
        for (sums, looks) in sums.iter_mut().zip([&fixed, &sequential]) {
            let noise =
                Noise::of(&until(&rows, looks.first())).expect("the matrix is large enough");
            let judged = |value: f64| {
                let claims = Claims {
                    rows: &rows,
                    pairs,
                    noise,
                    value,
                };
                claims.judged(looks)
            };
            sums.add(&judged(1.0), &judged(1.0 / 1.2));
        }
    }
    let [fixed, sequential] = sums;
    let percent = |of: fn(&Sums) -> (u64, u64)| {
        let share = |sums: &Sums| {
            let (count, all) = of(sums);
            100.0 * count as f64 / all as f64
        };
        format!("{:.1} → {:.1}", share(&fixed), share(&sequential))
    };
    let blocks = sequential
        .blocks
        .map(|sum| sum as f64 / sequential.claims as f64);
    let scale = if times == 1.0 {
        ""
    } else {
        ", twice the noise"
    };
    format!(
        "| {name}{scale} | {} | {} | {} | {:.2} | {:.2} |",
        percent(|sums| (sums.false_families, sums.experiments)),
        percent(|sums| (sums.covered, sums.claims)),
        percent(|sums| (sums.found, sums.claims)),
        blocks[0],
        blocks[1],
    )
}

/// Prints the table.
pub(crate) fn print(experiments: u64) {
    println!("{}", HEAD.replace("EXPERIMENTS", &experiments.to_string()));
    for times in [1.0, 2.0] {
        for shape in SHAPES {
            println!("{}", row(shape, times, experiments));
        }
    }
}

const HEAD: &str = "
## Looks at 3, 5 and 9 blocks

`blocks = { first = 3, most = 9 }` against five blocks for all cells, both with the moderated t, EXPERIMENTS experiments per row, 7 claims (4 in *few cells*)
after Holm. *Family error*, *coverage* and *power* as above; coverage is that of the interval that the report prints, the last look's. *Blocks*: the mean number
of blocks of a claim's cells, where the cells are equal and where they differ by 20 %.

| noise, five blocks → looks at 3, 5 and 9 | family error | coverage | power of a claim, 20 % | blocks, equal | blocks, 20 % |
| --- | ---: | ---: | ---: | ---: | ---: |";
