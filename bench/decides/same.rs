//! Trials one after another: a server against itself, and a planted tenth.

use super::load::Load;
use super::runs::{Answer, Job, Options, valid};
use statrs::distribution::{ContinuousCDF, StudentsT};

const SAME_SSB: &str = r#"
title    = "A server against itself: Star Schema queries"
question = "Does prony see a difference between a server and itself?"

[server.a]
build = "mariadb"
[server.b]
build = "mariadb"

[workload.ssb]
scale = 0.02

[protocol]
rounds  = ["hot", "hot", "hot"]
blocks  = 3
control = false

[[claim]]
says     = "a takes longer than b"
value    = "elapsed"
of       = { server = "a", round = "hot" }
to       = { server = "b", round = "hot" }
at_least = 1.05
"#;

const PLANTED: &str = r#"
title    = "A tenth of a processor less"
question = "Does prony see a difference of 10 % that was planted?"

[server.mariadb]
build = "mariadb"

[factor.processor."1"]
limits = { cpus = 1.0 }
[factor.processor."0.91"]
limits = { cpus = 0.91 }

[workload.oltp]
operations = "read-write"
tables     = 1
rows       = 10000

[load.closed]
clients = [4]

[protocol]
time    = "3s"
warmup  = "1s"
short   = true
blocks  = { first = 3, most = 9 }
control = false

[[claim]]
says     = "A whole processor gives a higher throughput than 0.91 of one"
value    = "throughput"
of       = { processor = "1" }
to       = { processor = "0.91" }
at_least = 1.05
"#;

/// The logarithm of the planted ratio of throughputs, 1 to 0.91 processors, if the processor limits the server.
const PLANTED_LN: f64 = 0.0943;
/// The most blocks of `PLANTED`, and the error rate of its last look: 0.3 of 5 % (docs/METHODOLOGY.md, 2).
const MOST: f64 = 9.0;
const LAST_LOOK: f64 = 0.015;

/// MariaDB against itself, oltp and ssb in turn.
pub(crate) fn same(options: &Options) {
    let oltp = Load {
        operations: "read-write",
        rows: 10_000,
        clients: 4,
        ..Load::of_servers("mariadb", "mariadb")
    };
    let keys = "time = \"3s\"\nwarmup = \"1s\"\nblocks = 3";
    summary(
        options,
        &[
            options.job("oltp", &oltp.text(keys), 40.0),
            options.job("ssb", SAME_SSB, 60.0),
        ],
    );
}

/// One processor against 0.91 of one.
pub(crate) fn tenth(options: &Options) {
    summary(options, &[options.job("planted", PLANTED, 120.0)]);
}

fn summary(options: &Options, jobs: &[Job]) {
    let answers = options.answers(jobs);
    let answers = jobs.iter().flat_map(|job| valid(&answers, &job.name));
    let answers: Vec<&Answer> = answers.collect();
    let is = |word: &str| {
        let decided = answers.iter().filter(|answer| answer.direction == word);
        decided.count()
    };
    println!(
        "{} valid runs: {} decided above 1, {} decided below 1.",
        answers.len(),
        is("above"),
        is("below")
    );
    // Of a trial: half the variance of a difference.
    let squares = answers
        .iter()
        .filter_map(|answer| Some(answer.sd()?.powi(2) / 2.0));
    let squares: Vec<f64> = squares.collect();
    if squares.is_empty() {
        return;
    }
    let pooled = super::figures::mean(&squares).sqrt();
    println!(
        "Noise of a trial over all runs: {:.1} %. With it, the last of the looks alone finds the planted difference in {:.0} % of the runs.",
        pooled * 100.0,
        power(pooled) * 100.0
    );
}

/// The probability that the paired t test of the last look sees the planted difference. Zar, "Biostatistical analysis", 5th edition, 2010.
fn power(noise: f64) -> f64 {
    let t = StudentsT::new(0.0, 1.0, MOST - 1.0).expect("degrees of freedom above 0");
    let error = noise * (2.0 / MOST).sqrt();
    t.cdf(PLANTED_LN / error - t.inverse_cdf(1.0 - LAST_LOOK / 2.0))
}
