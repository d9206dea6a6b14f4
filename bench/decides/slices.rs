//! A server against itself: trials one after another, and slices of several lengths.

use super::figures::{Spread, mean, ratio};
use super::load::{Load, Times};
use super::runs::{Answer, Options, counted, valid};

const LOADS: [&str; 3] = ["point-select", "update-index", "read-write"];

pub(crate) fn measure(options: &Options) {
    let times = Times::new(options, "10s", "5");
    let loads: Vec<&str> = options
        .flag("--loads", "point-select,update-index,read-write")
        .split(',')
        .collect();
    let ways: Vec<&str> = ["off"]
        .into_iter()
        .chain(options.flag("--slices", "1s").split(','))
        .collect();
    let name = |operations: &str, way: &str| format!("{operations} {way}");
    let mut jobs = Vec::new();
    for operations in &loads {
        assert!(LOADS.contains(operations), "{operations}: one of {LOADS:?}");
        for way in &ways {
            let load = Load {
                operations,
                ..Load::of_servers("mariadb", "mariadb")
            };
            jobs.push(options.job(
                &name(operations, way),
                &load.text(&times.keys(way)),
                times.expected_s,
            ));
        }
    }
    let answers = options.answers(&jobs);
    println!(
        "| load | way | runs | s a run | decided | ratio of all blocks (95 % CI) | sd of a block's log ratio | trials in turn have how many times that sd (95 % CI) | at the edges |"
    );
    println!("| --- | --- | ---: | ---: | ---: | --- | ---: | --- | ---: |");
    for operations in &loads {
        let of = |way: &str| valid(&answers, &name(operations, way));
        let runs = |way: &str| counted(&answers, &name(operations, way));
        let in_turn = spread(&of("off"));
        for way in ways.iter().filter(|way| !of(way).is_empty()) {
            println!(
                "| {operations} | {} | {} | {} |",
                title(way),
                runs(way),
                row(&of(way), in_turn)
            );
        }
    }
}

pub(crate) fn title(way: &str) -> String {
    match way {
        "off" => "trials in turn".into(),
        length => format!("slices of {length}"),
    }
}

fn spread(answers: &[&Answer]) -> Spread {
    Spread::of(answers.iter().map(|answer| &answer.logs[..]))
}

fn row(answers: &[&Answer], in_turn: Spread) -> String {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let own = spread(answers);
    let seconds: Vec<f64> = answers.iter().map(|answer| answer.seconds).collect();
    let edges: Vec<f64> = answers.iter().filter_map(|answer| answer.edges).collect();
    let blocks: Vec<f64> = answers
        .iter()
        .flat_map(|answer| answer.logs.clone())
        .collect();
    let decided = answers.iter().filter(|answer| answer.decides()).count();
    format!(
        "{:.0} | {decided} | {} | {} | {} | {}",
        mean(&seconds),
        or_dash(ratio(&blocks).map(|ratio| ratio.to_string())),
        or_dash(own.sd().map(|sd| format!("{sd:.4}"))),
        or_dash(in_turn.factor(own).map(|factor| factor.to_string())),
        or_dash((!edges.is_empty()).then(|| format!("{:.1} %", mean(&edges) * 100.0))),
    )
}
