//! The records in bench/results, read by today's code: claims, tables, queries and explanations keep their figures.

use explain::{Finding, Why, explain_claim, judge};
use record::{Run, Trial};
use stats::{Estimate, plan_changes, queries, table};
use std::borrow::Cow;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use store::Store;

/// Folders of kept records below `bench`: of earlier versions, and small whole ones of timed loads.
const FOLDERS: [&str; 5] = [
    "results/before",
    "results/p1",
    "results/p2",
    "results/p6",
    "same_figures/records",
];

/// The records, packed or not, by names such as `p6-mrr`.
fn records(bench: &Path) -> Vec<(String, PathBuf)> {
    let in_folder = |folder: &str| -> Vec<(String, PathBuf)> {
        let entries = std::fs::read_dir(bench.join(folder)).unwrap().flatten();
        let record = |entry: std::fs::DirEntry| {
            let file = entry.file_name().into_string().unwrap();
            let (stem, _) = file.split_once(".sqlite")?;
            let folder = folder.rsplit('/').next().unwrap();
            Some((format!("{folder}-{stem}"), entry.path()))
        };
        entries.filter_map(record).collect()
    };
    let mut found: Vec<_> = FOLDERS.into_iter().flat_map(in_folder).collect();
    found.sort();
    found
}

/// Nine digits: what a change of the code would move, and no rounding of a platform.
fn figure(value: f64) -> String {
    format!("{value:.8e}")
}

fn interval(ci: Option<(f64, f64)>) -> String {
    ci.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", figure(low), figure(high))
    })
}

fn estimate(found: &Option<Estimate>) -> String {
    found.as_ref().map_or("-".to_string(), |found| {
        let bound = if found.at_least { ">" } else { "" };
        format!("{bound}{}{}", figure(found.mean), interval(found.ci))
    })
}

fn levels(levels: &[(String, String)]) -> String {
    let levels: Vec<String> = levels
        .iter()
        .map(|(name, level)| format!("{name} {level}"))
        .collect();
    levels.join(", ")
}

fn write_claims(text: &mut String, run: &Run, trials: &[Trial]) {
    for judged in judge(&run.question, trials) {
        let measured = judged.measured.map(figure).unwrap_or_default();
        writeln!(text, "claim: {}", judged.claim.says).unwrap();
        writeln!(
            text,
            "  {} {measured}{} {}",
            judged.verdict.text(),
            interval(judged.ci),
            judged.threshold
        )
        .unwrap();
        for reason in judged.reason.iter() {
            writeln!(text, "  {reason}").unwrap();
        }
        let why = explain_claim(&judged.claim, run, trials, 3);
        for difference in why.iter().flat_map(|why| &why.differences) {
            let side = |value: Option<f64>| value.map_or("-".to_string(), figure);
            writeln!(
                text,
                "  {}: {}, {}",
                difference.counter,
                side(difference.of),
                side(difference.to)
            )
            .unwrap();
        }
        if let Some(why) = &why {
            writeln!(text, "  {}", found(why)).unwrap();
        }
    }
}

/// What explains the claim: a counter with its share and its causes, a limit, or nothing.
fn found(why: &Why) -> String {
    let settings = why.unintended.iter().map(|one| one.name.as_str());
    let settings: Vec<&str> = settings.collect();
    let found = match &why.finding {
        Finding::Counter(reason) => {
            let words = reason.because.iter().map(|because| because.words);
            let words: Vec<&str> = words.collect();
            let (counter, share) = (&reason.counter, figure(reason.cost.share));
            format!("{counter} explains {share} because {words:?}")
        }
        Finding::Limit(limit) => format!("{} explains {}", limit.name, figure(limit.share)),
        Finding::Unexplained(times) => format!("unexplained: {times:?}"),
        Finding::Nothing(times) => format!("nothing to explain: {times:?}"),
    };
    match settings.is_empty() {
        true => found,
        false => format!("{found}; not intended: {settings:?}"),
    }
}

fn write_rows(text: &mut String, run: &Run, trials: &[Trial]) {
    for row in table(&run.question, trials) {
        writeln!(
            text,
            "row: {:?} {}",
            row.server.as_deref().unwrap_or_default(),
            levels(&row.levels)
        )
        .unwrap();
        for round in &row.rounds {
            writeln!(
                text,
                "  {} {}: {}",
                round.name,
                round.index,
                estimate(&round.elapsed_s)
            )
            .unwrap();
        }
        for query in queries(&run.question, trials, row.server.as_deref(), &row.levels) {
            writeln!(
                text,
                "  {}: {}; {}",
                query.query,
                estimate(&query.cold_s),
                estimate(&query.hot_s)
            )
            .unwrap();
        }
    }
}

/// A slim record has its summaries alone; of a whole one they are made anew.
fn write_loads(text: &mut String, run: &Run, trials: &[Trial]) {
    let timed = trials
        .iter()
        .filter_map(|trial| Some((&trial.key, trial.load.as_ref()?)));
    for (key, load) in timed {
        let summary = match run.slim {
            Some(_) => stats::summary(load),
            None => Cow::Owned(stats::summarise(load)),
        };
        let throughput = summary.throughput.map(figure).unwrap_or_default();
        let counts = [
            summary.operations,
            summary.retried,
            summary.errors,
            summary.unknown,
        ];
        writeln!(text, "load: {key}: {throughput} {counts:?}").unwrap();
        let measured = summary.steady.from_s..summary.steady.until_s;
        let found = [
            summary.stalls.len(),
            summary.shifts.len(),
            summary.period.iter().len(),
        ];
        writeln!(text, "  {measured:?} {found:?} {:?}", summary.offered).unwrap();
        for (name, latency) in &summary.by_operation {
            writeln!(text, "  {name}: {:?}", latency.response).unwrap();
        }
        writeln!(text, "  {:?}", summary.latency).unwrap();
    }
}

/// How often each flag was raised, and in how many rows a plan changed.
fn write_notes(text: &mut String, run: &Run, trials: &[Trial]) {
    let mut kinds: Vec<&str> = trials
        .iter()
        .flat_map(|trial| &trial.flags)
        .map(|flag| flag.kind.as_str())
        .collect();
    kinds.sort_unstable();
    for same in kinds.chunk_by(|a, b| a == b) {
        writeln!(text, "flag: {} of {}", same.len(), same[0]).unwrap();
    }
    writeln!(
        text,
        "plan changes: {}",
        plan_changes(&run.question, trials).len()
    )
    .unwrap();
}

#[test]
fn recorded_runs_keep_their_figures() {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench");
    let records = records(&bench);
    assert!(!records.is_empty());
    for (name, path) in records {
        let store = Store::open(&path).unwrap();
        let (run, trials) = (store.run().unwrap(), store.trials_whole().unwrap());
        let mut text = String::new();
        write_claims(&mut text, &run, &trials);
        write_rows(&mut text, &run, &trials);
        write_loads(&mut text, &run, &trials);
        write_notes(&mut text, &run, &trials);
        insta::assert_snapshot!(name, text);
        let quick = store.trials_with(&explain::telling_settings()).unwrap();
        let differ = judge(&run.question, &quick) != judge(&run.question, &trials);
        assert!(
            !differ || stats::needs_query_counters(&run.question),
            "{}",
            path.display()
        );
    }
}
