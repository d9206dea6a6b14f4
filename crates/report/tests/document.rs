//! The document of made-up runs with published figures, against golden files; and that it is built in one place.

use crate::fixture;
use crate::fixture::outline::outline;
use crate::fixture::timed;
use report::{Detail, Document};
use std::path::{Path, PathBuf};

#[test]
fn the_document_of_rounds() {
    let (run, trials) = fixture::small();
    insta::assert_snapshot!(outline(&Document::of(&run, &trials, Detail::Full)));
}

#[test]
fn the_document_of_rounds_with_several_clients() {
    let (run, trials) = fixture::clients::by_clients();
    insta::assert_snapshot!(outline(&Document::of(&run, &trials, Detail::Brief)));
}

#[test]
fn the_document_of_a_closed_load() {
    let (run, trials) = timed::troubled();
    insta::assert_snapshot!(outline(&Document::of(&run, &trials, Detail::Full)));
}

#[test]
fn the_document_of_an_open_load() {
    let (run, trials) = timed::open();
    insta::assert_snapshot!(outline(&Document::of(&run, &trials, Detail::Full)));
}

/// As `prony pack --slim` leaves it.
#[test]
fn the_document_of_a_slim_record_has_its_verdicts_and_says_what_it_lacks() {
    let (mut run, mut trials) = timed::troubled();
    let mut verdicts = explain::judge(&run.question, &trials);
    verdicts[0].reason = Some("as the whole record said".into());
    run.slim = Some(record::Slim {
        prony_version: "0.1.0 (abc)".into(),
        rules: 6,
        verdicts,
    });
    for trial in &mut trials {
        trial.events.clear();
        let Some(load) = &mut trial.load else {
            continue;
        };
        load.series.clear();
        load.node_series.clear();
        load.histograms.clear();
    }
    insta::assert_snapshot!(outline(&Document::of(&run, &trials, Detail::Full)));
}

/// For 5 s the server does what the warm-up left.
#[test]
fn the_seconds_count_what_the_throughput_counts() {
    let (run, mut trials) = timed::open();
    let load = trials[2].load.as_mut().unwrap();
    let throughput = load.series.get_mut("throughput").unwrap();
    let mut carried = throughput.clone();
    carried[..5].fill(Some(0.0));
    carried[10..].fill(Some(0.0));
    throughput[5..10].fill(Some(0.0));
    load.series.insert(record::CARRIED.into(), carried);
    load.summary = Some(stats::summarise(load));
    let text = outline(&Document::of(&run, &trials, Detail::Full));
    let seconds = "4 workers, open loop | 2 | 5 | 1,805 | 1,821 | 1,843 | 1,822 |";
    assert!(text.contains(seconds), "{text}");
}

#[test]
fn the_document_of_a_rate_search() {
    let (run, trials) = timed::searched();
    insta::assert_snapshot!(outline(&Document::of(&run, &trials, Detail::Brief)));
}

#[test]
fn a_single_trial_is_in_the_singular() {
    let (run, trials) = timed::long(30);
    let subtitle = |trials: &[record::Trial]| Document::of(&run, trials, Detail::Brief).subtitle;
    assert!(subtitle(&trials).contains("; 1 of 1 trial; "));
    assert!(subtitle(&[]).contains("; 0 of 1 trial; "));
}

#[test]
fn the_document_of_a_matrix_of_tpcc() {
    let (run, trials) = fixture::tpcc::matrix();
    insta::assert_snapshot!(outline(&Document::of(&run, &trials, Detail::Full)));
}

#[test]
fn the_headline_of_a_single_row_names_its_queries_its_server_and_its_interval() {
    let (mut run, mut trials) = fixture::published();
    let question = &mut run.question;
    question.claims.clear();
    question.servers.retain(|name| name == "5.6");
    question.factors[0]
        .levels
        .retain(|name| name == "large pool");
    trials.retain(|trial| trial.key.server_name() == "5.6");
    trials.retain(|trial| trial.key.level("variant") == Some("large pool"));
    let headline = |trials: &[record::Trial]| {
        let document = Document::of(&run, trials, Detail::Brief);
        document.headline.to_string()
    };
    assert_eq!(
        headline(&trials),
        "Hot 3, the 13 queries take 14.50 s ±2.8% on 5.6; cold 194.59 s. The run is incomplete: 3 of 15 trials."
    );
    let single = headline(&trials[..1]);
    assert!(
        single.contains(" s on 5.6 (one block, no interval); cold "),
        "{single}"
    );
}

/// 5.6 does 1.5 to 1.6 % more than 5.5.
#[test]
fn a_difference_that_a_claim_is_about_is_not_called_the_same() {
    let of_side = |block: u32, server: &str, rate: f64| {
        let clients = record::Mode::Closed {
            clients: 8,
            think_s: 0.0,
        };
        timed::trial(server, &[], block, timed::load(clients, rate, 30))
    };
    let of_block = |block: u32| {
        let more = 1.015 + 0.0005 * f64::from(block);
        [("5.5", 40_000.0), ("5.6", 40_000.0 * more)]
            .map(|(server, rate)| of_side(block, server, rate))
    };
    let trials: Vec<record::Trial> = (0..3).flat_map(of_block).collect();
    let headline = |at_least: f64| {
        let mut run = timed::run("two-servers", "P8", Vec::new(), 3, trials.len());
        run.question.claims = vec![more_throughput(at_least)];
        let document = Document::of(&run, &trials, Detail::Brief);
        document.headline.to_string()
    };
    let held = headline(1.01);
    assert!(held.contains(" higher than with 5.5"), "{held}");
    assert!(held.contains("1 of 1 claim holds"), "{held}");
    let same = headline(0.9);
    assert!(same.contains("is the same as with 5.5"), "{same}");
}

/// The claim that 5.6 does so many times the operations of 5.5.
fn more_throughput(at_least: f64) -> record::Claim {
    let side = |server: &str| record::Cell {
        levels: vec![("server".to_string(), vec![server.to_string()])],
        ..record::Cell::default()
    };
    record::Claim {
        says: "5.6 does more".to_string(),
        subject: record::Subject::Ratio {
            value: record::Value::Throughput,
            of: side("5.6"),
            to: side("5.5"),
            bound: record::Bound::AtLeast(at_least),
        },
        published: None,
    }
}

#[test]
fn a_brief_document_is_a_full_one_without_evidence() {
    for (run, trials) in [fixture::small(), timed::searched(), fixture::tpcc::matrix()] {
        let ids = |detail| -> Vec<&'static str> {
            let document = Document::of(&run, &trials, detail);
            document.sections.iter().map(|section| section.id).collect()
        };
        let (brief, full) = (ids(Detail::Brief), ids(Detail::Full));
        assert!(brief.len() < full.len());
        let mut kept = full.clone();
        kept.retain(|id| brief.contains(id));
        assert_eq!(brief, kept);
    }
}

/// Every function that judges, explains or compares is called in one place of the crate, and no renderer calls any of them.
#[test]
fn judgements_explanations_and_comparisons_are_computed_in_one_place() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    for call in [
        "judge(",
        "explain_claim(",
        "explain_largest(",
        "query_plans(",
        "best_workers(",
        "round_scaling(",
        "stats::scaling(",
        "predictions(",
        "stats::table(",
        "stats::loads(",
        "stats::summary(",
        "stats::summary)",
        "summarise(",
    ] {
        let holds = |file: &&PathBuf| {
            let text = std::fs::read_to_string(file).unwrap();
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            code.filter(|line| line.contains(call)).count() > 0
        };
        let callers: Vec<&PathBuf> = files.iter().filter(holds).collect();
        assert!(callers.len() <= 1, "{call} in {callers:?}");
        let is_renderer = |file: &&&PathBuf| file.starts_with(source.join("render"));
        assert_eq!(callers.iter().filter(is_renderer).count(), 0, "{call}");
    }
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}
