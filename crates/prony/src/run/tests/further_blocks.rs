//! How many blocks a run has: looks at undecided claims, blocks added later, and budgets from earlier runs.

use super::*;
use crate::run::plan::{budget, looks};

const PAGES_READ: &str = "Innodb_buffer_pool_reads";

/// Four variants: `slow` reads 30 times as many pages as `fast`, and which of `left` and `right` reads more changes with every block.
fn compared(blocks: &str) -> Experiment {
    let variant = |name: &str| format!("[variant.{name}]\nworkload = {{ query = '{name}' }}\n");
    let variants: String = ["slow", "fast", "left", "right"].map(variant).concat();
    let claim = |of: &str, to: &str| {
        format!(
            "[[claim]]\nsays = 's'\nvalue = '{PAGES_READ}'\nof = {{ variant = '{of}' }}\nto = {{ variant = '{to}' }}\nat_least = 1.5\n"
        )
    };
    experiment(&format!(
        "{variants}[protocol]\nrounds = ['hot']\ncontrol = false\nblocks = {blocks}\n{}{}",
        claim("slow", "fast"),
        claim("left", "right")
    ))
}

/// A server whose queries read as many pages as [`compared`] says.
fn comparable() -> Fake {
    let (mut pages, mut queries, mut left, mut right) = (0u64, 0, 0, 1);
    let alternating = |count: &mut u64| {
        *count += 1;
        300 + 700 * (*count % 2)
    };
    Fake::new("fake", move |sql| {
        let read = match sql {
            "SHOW GLOBAL STATUS" => return Ok(status(pages)),
            sql if sql.starts_with("SELECT 'slow'") => 3000,
            sql if sql.starts_with("SELECT 'fast'") => 100,
            sql if sql.starts_with("SELECT 'left'") => alternating(&mut left),
            sql if sql.starts_with("SELECT 'right'") => alternating(&mut right),
            _ => return Ok(Reply::default()),
        };
        queries += 1;
        pages += read + queries % 3;
        Ok(Reply::default())
    })
}

fn status(pages: u64) -> Reply {
    let row = [PAGES_READ.to_string(), pages.to_string()];
    Reply {
        columns: vec!["Variable_name".into(), "Value".into()],
        rows: vec![row.map(|cell| Some(cell.into_bytes())).to_vec()],
        ..Reply::default()
    }
}

/// The toy with the query that the section names.
fn toy_of_section(_: &str, section: &toml::Table) -> Toy {
    let names = ["slow", "fast", "left", "right"];
    let query = section["query"].as_str();
    Toy {
        queries: names
            .into_iter()
            .filter(|name| Some(*name) == query)
            .collect(),
        ..Toy::rounds()
    }
}

fn request_to_compare(setup: &Setup, experiment: Experiment) -> Request {
    Request {
        workloads: Workloads::opened_by(|name, section| {
            Ok(Arc::new(toy_of_section(name, section)))
        }),
        ..setup.request(experiment, Toy::rounds)
    }
}

fn blocks_of(conducted: &Conducted, variant: &str) -> usize {
    let of_variant = |trial: &&Trial| trial.key.level("variant") == Some(variant);
    conducted.trials.iter().filter(of_variant).count()
}

fn keys(conducted: &Conducted) -> Vec<&record::TrialKey> {
    conducted.trials.iter().map(|trial| &trial.key).collect()
}

#[test]
fn the_cells_of_undecided_claims_go_on_and_a_killed_run_resumes_the_same_plan() {
    let setup = Setup::with(comparable());
    let experiment = compared("{ first = 3, most = 5 }");
    let conducted = setup
        .conduct(&request_to_compare(&setup, experiment.clone()))
        .unwrap();
    let blocks = ["slow", "fast", "left", "right"].map(|name| blocks_of(&conducted, name));
    assert_eq!(blocks, [3, 3, 5, 5]);
    let looks = conducted.run.question.looks.as_ref().unwrap();
    assert_eq!(looks.ended, Some(record::Ended::Most));
    assert_eq!(conducted.run.question.trials, 16);

    // Simulates a run that was killed in its fourth block.
    let store = conducted.folder.join("run.sqlite");
    rusqlite::Connection::open(&store)
        .unwrap()
        .execute("DELETE FROM trial WHERE id > 13", ())
        .unwrap();
    let resumed = setup.resume(&conducted, request_to_compare(&setup, experiment));
    assert_eq!(keys(&resumed), keys(&conducted));
}

#[test]
fn a_finished_run_gets_further_blocks_as_a_labelled_look() {
    let setup = Setup::with(comparable());
    let conducted = setup
        .conduct(&request_to_compare(&setup, compared("3")))
        .unwrap();
    let mut extended = compared("3");
    let looks = conducted.run.question.looks().with_added(3, 4, true);
    extended.protocol.set_looks(looks);
    let conducted = setup.resume(&conducted, request_to_compare(&setup, extended));
    let blocks = ["slow", "fast", "left", "right"].map(|name| blocks_of(&conducted, name));
    assert_eq!(blocks, [3, 3, 4, 4]);
    let document = report::Document::of(&conducted.run, &conducted.trials, report::Detail::Brief);
    let screen = report::Screen {
        width: 100,
        colour: false,
        unicode: true,
        verbose: true,
    };
    let text = report::terminal(&document, &screen);
    for expected in [
        "4 blocks (50 % of the error rate",
        "added to the finished run",
        "decided after 3 blocks",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&report::json(&document)).unwrap();
    assert_eq!(json["blocks"]["ended"], "most");
    assert_eq!(json["blocks"]["looks"][1]["added"], true);
    let went_on = json["blocks"]["cells"].as_array().unwrap().iter();
    let went_on: Vec<_> = went_on.map(|cell| cell["went_on"] == true).collect();
    assert_eq!(went_on, [false, false, true, true]);
    assert_eq!(json["claims"][0]["decided_after"]["threshold"], 3);
    let page = std::fs::read_to_string(conducted.folder.join("report.html")).unwrap();
    assert!(page.contains("Looks at the claims after 3 blocks"));
}

#[test]
fn the_newest_run_of_the_same_experiment_predicts_what_the_next_one_sees() {
    let setup = Setup::with(comparable());
    let request = request_to_compare(&setup, compared("3"));
    let planned = spec::plan::expand(&request.experiment, request.seed).unwrap();
    let sees_in =
        |own: Option<&str>| budget::sees(&request, &planned, setup.folder.path(), own).unwrap();
    let sees = || sees_in(None);
    assert!(sees().contains("has no comparable run of t"), "{}", sees());
    let mut runs = Vec::new();
    for _ in 0..2 {
        let conducted = setup.conduct(&request).unwrap();
        let from = format!("by the noise of {}", conducted.run.id);
        assert!(sees().ends_with(&from), "{}, not {from}", sees());
        runs.push(conducted.run.id);
    }
    let resumed = sees_in(Some(&runs[1]));
    assert!(
        resumed.ends_with(&runs[0]),
        "a run does not predict itself: {resumed}"
    );
    let mut changed = request_to_compare(&setup, compared("3"));
    changed.experiment.source = request.experiment.source.replace("'slow'", "'slower'");
    let sees = budget::sees(&changed, &planned, setup.folder.path(), None).unwrap();
    assert!(
        sees.contains("has no comparable run of t"),
        "of a query with another text: {sees}"
    );
}

#[test]
fn earlier_runs_are_read_once_for_a_budget_and_what_it_finds() {
    let setup = Setup::new();
    let sliced = experiment(
        "[variant.x]\n[variant.y]\n[load.closed]\nclients = 1\n[protocol]\nslices = '1s'\nwithin = '10m'\n",
    );
    let mut request = setup.request(sliced, Toy::timed);
    budget::spend(&mut request, setup.folder.path()).unwrap();
    let planned = spec::plan::expand(&request.experiment, request.seed).unwrap();
    // Reading again would name this folder.
    request.results = "elsewhere".into();
    let sees = budget::sees(&request, &planned, setup.folder.path(), None).unwrap();
    assert!(
        sees.contains("This noise is assumed: the folder ") && !sees.contains("elsewhere"),
        "{sees}"
    );
}

#[test]
fn a_budget_that_is_too_small_names_what_it_leaves_to_give() {
    let setup = Setup::new();
    for (keys, way_out) in [
        ("", "or give a shorter \"time\" or fewer \"blocks\""),
        ("blocks = 4", "or give fewer \"blocks\""),
        ("time = '60s'", "or give a shorter \"time\""),
    ] {
        let sliced = experiment(&format!(
            "[variant.x]\n[variant.y]\n[load.closed]\nclients = 1\n[protocol]\nslices = '1s'\nwithin = '1m'\n{keys}\n"
        ));
        let mut request = setup.request(sliced, Toy::timed);
        let refused = budget::spend(&mut request, setup.folder.path());
        let says = refused.unwrap_err().to_string();
        assert!(says.ends_with(way_out), "{keys}: {says}");
    }
}

#[test]
fn what_slices_find_counts_the_share_of_the_error_rate_that_the_last_look_has() {
    let setup = Setup::new();
    let finds_percent = |blocks: &str| -> f64 {
        let sliced = experiment(&format!(
            "[variant.x]\n[variant.y]\n[load.closed]\nclients = 1\n[protocol]\nslices = '1s'\ntime = '20s'\nblocks = {blocks}\n\
             [[claim]]\nsays = 's'\nvalue = 'throughput'\nof = {{ variant = 'x' }}\nto = {{ variant = 'y' }}\nat_least = 1.1\n"
        ));
        let request = setup.request(sliced, Toy::timed);
        let planned = spec::plan::expand(&request.experiment, request.seed).unwrap();
        let sees = budget::sees(&request, &planned, setup.folder.path(), None).unwrap();
        let (_, effect) = sees.split_once("in throughput of ").unwrap();
        effect.split_once(" %").unwrap().0.parse().unwrap()
    };
    assert_eq!(finds_percent("9"), 2.1);
    assert!(finds_percent("{ first = 3, most = 9 }") > 2.3);
}

#[test]
fn a_look_is_taken_again_after_a_trial_that_it_judges_was_measured_again() {
    let setup = Setup::with(comparable());
    let experiment = compared("{ first = 3, most = 5 }");
    let conducted = setup
        .conduct(&request_to_compare(&setup, experiment))
        .unwrap();
    let path = conducted.folder.join("run.sqlite");
    let open = || store::Store::open(&path).unwrap();
    let taken = looks::Taken::of(&open()).unwrap();
    let undecided = || taken.undecided(&open(), 3);
    assert_eq!(undecided(), [false, true]);
    // One block decides nothing.
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute("DELETE FROM trial WHERE block IN (1, 2)", ())
        .unwrap();
    // It does not judge a fourth block.
    taken.forget(3);
    assert_eq!(undecided(), [false, true]);
    taken.forget(2);
    assert_eq!(undecided(), [true, true]);
}
