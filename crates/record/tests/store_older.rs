//! Files of older schemas: read as they are, raised where they are gone on with.

mod common;

use common::{done, place, run, timed, with_summary};
use record::*;
use std::path::{Path, PathBuf};

/// Takes away what each schema added to the one before it.
const BEFORE_3: &str =
    "drop table trial_limit; drop table plan_form; alter table plan drop column steps_json;
    alter table trial drop column dataset_json; alter table query drop column client;
    pragma user_version = 2";
const BEFORE_2: &str =
    "drop table live; drop table error; drop table histogram; drop table series; drop table load;
    alter table event drop column ended_ns; pragma user_version = 1";

fn of_schema_2(path: &Path) {
    let mut store = Store::create(path, &run()).unwrap();
    store.save(&done(0)).unwrap();
    drop(store);
    tamper(path, BEFORE_3);
}

fn of_schema_1(path: &Path) {
    of_schema_2(path);
    tamper(path, BEFORE_2);
}

fn tamper(path: &Path, sql: &str) {
    let at = rusqlite::Connection::open(path).unwrap();
    at.execute_batch(sql).unwrap();
}

/// Which no trial had before schema 3.
fn without_limits(block: u32) -> Trial {
    Trial {
        limits: Vec::new(),
        ..done(block)
    }
}

#[test]
fn a_run_of_schema_1_is_read_as_it_was() {
    let (_folder, path) = place();
    of_schema_1(&path);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.trials_whole().unwrap(), [without_limits(0)]);
    assert_eq!(store.load(&done(0).key).unwrap(), None);
    assert_eq!(store.live_of().unwrap(), None);
}

#[test]
fn a_run_of_schema_2_is_read_and_gone_on_with() {
    let (_folder, path) = place();
    of_schema_2(&path);
    let read = Store::open(&path).unwrap().trials_whole().unwrap();
    assert_eq!(read, [without_limits(0)], "each query by the first client");
    let mut by_two = done(1);
    by_two.rounds[0].queries[0].client = 2;
    Store::resume(&path).unwrap().save(&by_two).unwrap();
    let read = Store::open(&path).unwrap().trials_whole().unwrap();
    assert_eq!(read, [without_limits(0), by_two]);
}

#[test]
fn a_run_of_schema_1_is_gone_on_with_in_this_schema() {
    let (_folder, path) = place();
    of_schema_1(&path);
    let mut store = Store::resume(&path).unwrap();
    store.save(&timed(1)).unwrap();
    drop(store);
    let trials = Store::open(&path).unwrap().trials_whole().unwrap();
    assert_eq!(trials, [without_limits(0), with_summary(timed(1))]);
}

#[test]
fn the_records_in_the_tree_are_readable_and_those_of_p1_are_of_schema_1() {
    let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/results");
    for (folder, schema) in [("p1", 1), ("p2", 3), ("p6", 3)] {
        let records = records(&Path::new(results).join(folder));
        assert!(!records.is_empty(), "{folder}");
        for path in records {
            assert_eq!(schema_of(&path), schema, "{}", path.display());
            let store = Store::open(&path).unwrap();
            let trials = store.trials_whole().unwrap();
            assert!(!trials.is_empty(), "{}", path.display());
        }
    }
}

fn records(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let is_record = |path: &PathBuf| path.extension().is_some_and(|e| e == "sqlite");
    paths.filter(is_record).collect()
}

fn schema_of(path: &Path) -> i64 {
    let at = rusqlite::Connection::open(path).unwrap();
    let version = at.pragma_query_value(None, "user_version", |row| row.get(0));
    version.unwrap()
}
