//! Effects that are planted in the server and known without prony (planted.rs), and the gate.

use super::figures::mean;
use super::load::Load;
use super::median::median;
use super::planted::Planted;
use super::runs::{Answer, Job, Options, counted, valid};

const SHARES: [f64; 4] = [0.02, 0.03, 0.05, 0.10];
/// The build that the gate has to find.
const GATED: f64 = 0.03;

/// Whether prony finds them. `--minutes` limits all runs, `--within` is the budget of each.
pub(crate) fn effects(options: &Options) {
    let (slices, within) = (
        options.flag("--slices", "250ms"),
        options.flag("--within", "5m"),
    );
    let keys = format!("slices = \"{slices}\"\nwarmup = \"3s\"\nwithin = \"{within}\"");
    let names = SHARES.map(name);
    let is_wanted = |name: &str| name.contains(options.flag("--only", ""));
    let plain = Planted::new(options, 0.0);
    let jobs = SHARES
        .iter()
        .zip(&names)
        .filter(|(_, name)| is_wanted(name));
    let jobs = jobs.map(|(share, name)| {
        let planted = Planted::new(options, *share);
        let load = Load {
            clients: 1,
            ..Load::of_servers(&plain.name(), &planted.name())
        };
        Job {
            accounts: Some([plain.account.clone(), planted.account]),
            ..options.job(name, &load.text(&keys), seconds(within))
        }
    });
    let answers = options.answers(&jobs.collect::<Vec<_>>());
    println!(
        "| planted | runs | s a run | planted in fact | median ratio found | found | wrong direction | interval holds it |"
    );
    println!("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |");
    for name in &names {
        let own = valid(&answers, name);
        if !own.is_empty() {
            println!("| {name} | {} | {} |", counted(&answers, name), row(&own));
        }
    }
}

fn row(answers: &[&Answer]) -> String {
    let count = |is: &dyn Fn(&Answer) -> bool| answers.iter().filter(|answer| is(answer)).count();
    let truths = || answers.iter().filter_map(|answer| answer.truth);
    let holds = |answer: &Answer| answer.truth.is_some_and(|truth| holds(answer, truth));
    let seconds: Vec<f64> = answers.iter().map(|answer| answer.seconds).collect();
    format!(
        "{:.0} | {:.4} to {:.4} | {:.4} | {} | {} | {}",
        mean(&seconds),
        truths().fold(f64::MAX, f64::min),
        truths().fold(0.0, f64::max),
        median(answers.iter().filter_map(|answer| answer.ratio)),
        count(&|answer| answer.direction == "above"),
        count(&|answer| answer.direction == "below"),
        count(&holds),
    )
}

/// Whether the interval of a run holds a ratio.
fn holds(answer: &Answer, ratio: f64) -> bool {
    let holds = |(low, high)| low <= ratio && ratio <= high;
    answer.ci.is_some_and(holds)
}

/// Whether the gate fails an equal build, and one that is slower.
pub(crate) fn gate(options: &Options) {
    let (slices, time, within) = (
        options.flag("--slices", "250ms"),
        options.flag("--time", "10s"),
        options.flag("--within", "5m"),
    );
    let old = Planted::new(options, 0.0);
    let names = ["equal".to_string(), name(GATED)];
    let jobs = names.each_ref().map(|name| {
        let new = Planted::new(options, if name == "equal" { 0.0 } else { GATED });
        let words = format!(
            "bench oltp-point-select --rows 100000 --clients 1 --slices {slices} --time {time} --warmup 3s --within {within} --gate --tolerance 0% --server a={} --server b={}",
            old.name(),
            new.name()
        );
        options.described(name, &words);
        Job {
            name: name.clone(),
            arguments: words.split(' ').map(String::from).collect(),
            expected_s: seconds(within),
            accounts: Some([old.account.clone(), new.account]),
        }
    });
    let answers = options.answers(&jobs);
    let holds_truth =
        |answer: &&&Answer| answer.truth.is_some_and(|truth| holds(answer, 1.0 / truth));
    println!(
        "| new build | tries | longest, s | planted in fact | gate failed | median ratio, new to old | interval holds it |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for name in &names {
        let own = valid(&answers, name);
        if own.is_empty() {
            continue;
        }
        println!(
            "| {name} | {} | {:.0} | {:.4} | {} | {:.4} | {} |",
            counted(&answers, name),
            own.iter().map(|answer| answer.seconds).fold(0.0, f64::max),
            median(own.iter().filter_map(|answer| answer.truth)),
            own.iter().filter(|answer| answer.exit == 1).count(),
            median(own.iter().filter_map(|answer| answer.ratio)),
            own.iter().filter(holds_truth).count()
        );
    }
}

fn name(share: f64) -> String {
    format!("{:.0}% slower", share * 100.0)
}

/// A budget, which is given in minutes.
fn seconds(within: &str) -> f64 {
    let minutes = within.trim_end_matches('m').parse::<f64>();
    60.0 * minutes.expect("--within is in minutes, such as 10m")
}
