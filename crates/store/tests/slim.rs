//! Slim records: what stays, what they refuse.

use crate::common::{audited, control, done, place, run, timed, with_summary};
use record::*;
use std::path::Path;
use store::merge::merge;
use store::{Store, StoreError};

fn kept(rules: u32) -> Slim {
    Slim {
        prony_version: "0.1.0 (abc)".into(),
        rules,
        verdicts: Vec::new(),
    }
}

/// Two trials and their control, made slim.
fn slim_record(path: &Path) {
    let mut store = Store::create(path, &run()).unwrap();
    for trial in [audited(0), done(1), control(0)] {
        store.save(&trial).unwrap();
    }
    drop(store);
    assert!(store::slim(path, &kept(stats::RULES)).unwrap());
}

fn without_seconds(trial: Trial) -> Trial {
    let mut trial = with_summary(trial);
    if let Some(load) = &mut trial.load {
        load.series.clear();
        load.histograms.clear();
    }
    trial
}

fn tamper(path: &Path, sql: &str) {
    let at = rusqlite::Connection::open(path).unwrap();
    at.execute_batch(sql).unwrap();
}

#[test]
fn all_but_series_and_histograms_stays() {
    let (_folder, path) = place();
    slim_record(&path);
    let store = Store::open(&path).unwrap();
    let slim = Some(kept(stats::RULES));
    assert_eq!(store.run().unwrap(), Run { slim, ..run() });
    let trials = [without_seconds(audited(0)), done(1)];
    assert_eq!(store.trials_whole().unwrap(), trials);
    assert_eq!(store.controls_whole().unwrap(), [control(0)]);
    let summary = |trials: &[Trial]| trials[0].load.as_ref().unwrap().summary.clone();
    assert_eq!(summary(&store.trials().unwrap()), summary(&trials));
}

#[test]
fn a_copy_is_made_slim_and_the_whole_record_stays() {
    let (folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    store.save(&timed(0)).unwrap();
    let copy = folder.path().join("copy.sqlite");
    store.copy(&copy).unwrap();
    assert!(matches!(store.copy(&copy), Err(StoreError::Exists(_))));
    assert!(store::slim(&copy, &kept(stats::RULES)).unwrap());
    assert_eq!(store.trials_whole().unwrap(), [with_summary(timed(0))]);
    assert_eq!(store.run().unwrap(), run());
    let files: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("copy"))
        .collect();
    assert_eq!(files, ["copy.sqlite"], "one plain file");
}

#[test]
fn a_record_without_timed_loads_stays_whole() {
    let (_folder, path) = place();
    Store::create(&path, &run())
        .unwrap()
        .save(&done(0))
        .unwrap();
    assert!(!store::slim(&path, &kept(stats::RULES)).unwrap());
    assert_eq!(Store::open(&path).unwrap().run().unwrap(), run());
    Store::resume(&path).unwrap().save(&done(1)).unwrap();
}

#[test]
fn the_summaries_of_older_rules_are_shown_because_none_can_be_made_again() {
    let (_folder, path) = place();
    slim_record(&path);
    tamper(
        &path,
        "update load set rules = 1; update slim set rules = 1",
    );
    let store = Store::open(&path).unwrap();
    assert_eq!(
        store.trials_whole().unwrap()[0],
        without_seconds(audited(0))
    );
    let slim = store.run().unwrap().slim.unwrap();
    assert_eq!(slim.text(), "slim record, figures by rules 1");
}

#[test]
fn a_summary_of_another_form_is_refused() {
    let (_folder, path) = place();
    slim_record(&path);
    tamper(&path, "update load set summary_json = '{}'");
    let refused = Store::open(&path).unwrap().trials().unwrap_err();
    assert!(
        matches!(refused, StoreError::Unreadable { .. }),
        "{refused}"
    );
}

#[test]
fn a_slim_record_is_not_continued_merged_or_made_slim_again() {
    let (folder, path) = place();
    slim_record(&path);
    let says = "use the whole record";
    let resumed = Store::resume(&path).err().unwrap().to_string();
    assert!(resumed.contains(says), "{resumed}");
    let to = folder.path().join("merged.sqlite");
    let merged = merge(&[path.clone(), path.clone()], &to, "merged").unwrap_err();
    assert!(merged.to_string().contains(says), "{merged}");
    let again = store::slim(&path, &kept(stats::RULES)).unwrap_err();
    assert!(again.to_string().contains(says), "{again}");
}
