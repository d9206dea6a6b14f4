//! Files of older schemas: read as they are, raised when they are resumed.

use crate::common::{audited, control, done, place, run, timed, with_summary};
use record::*;
use std::io::Read;
use std::path::{Path, PathBuf};
use store::{Store, StoreError};

/// The schema that this prony writes.
const SCHEMA: i64 = store::SCHEMA_VERSION as i64;

/// What each schema added to the one before it, from 1 on.
const SCHEMAS: [&str; 6] = [
    include_str!("../src/schema.sql"),
    include_str!("../src/schema_load.sql"),
    include_str!("../src/schema_3.sql"),
    include_str!("../src/schema_4.sql"),
    include_str!("../src/schema_5.sql"),
    include_str!("../src/schema_6.sql"),
];

/// A file of an older schema with this trial, as far as that schema could hold it.
fn of_schema(schema: usize, path: &Path, trial: &Trial) {
    let newest = path.with_extension("newest");
    Store::create(&newest, &run()).unwrap().save(trial).unwrap();
    let at = rusqlite::Connection::open(path).unwrap();
    at.execute_batch("pragma foreign_keys = off").unwrap();
    at.execute_batch(&SCHEMAS[..schema].concat()).unwrap();
    at.execute("attach ?1 as newest", [newest.to_str().unwrap()])
        .unwrap();
    for table in strings(
        &at,
        "select name from main.sqlite_master where type = 'table'",
    ) {
        let columns = strings(
            &at,
            &format!("select name from pragma_table_info('{table}', 'main')"),
        );
        let columns = columns.join(", ");
        let copy =
            format!("insert into main.{table} ({columns}) select {columns} from newest.{table}");
        at.execute(&copy, []).unwrap();
    }
    at.execute_batch("pragma main.application_id = 1886547822")
        .unwrap();
    at.pragma_update(None, "user_version", schema as i32)
        .unwrap();
}

fn strings(at: &rusqlite::Connection, sql: &str) -> Vec<String> {
    let mut statement = at.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
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
    of_schema(1, &path, &done(0));
    let store = Store::open(&path).unwrap();
    assert_eq!(store.trials_whole().unwrap(), [without_limits(0)]);
    assert_eq!(store.load(&done(0).key).unwrap(), None);
    assert_eq!(store.live_of().unwrap(), None);
}

#[test]
fn a_run_of_schema_2_is_read_and_resumed() {
    let (_folder, path) = place();
    of_schema(2, &path, &done(0));
    let read = Store::open(&path).unwrap().trials_whole().unwrap();
    assert_eq!(read, [without_limits(0)], "each query by the first client");
    let mut by_two = done(1);
    by_two.rounds[0].queries[0].client = 2;
    Store::resume(&path).unwrap().save(&by_two).unwrap();
    let read = Store::open(&path).unwrap().trials_whole().unwrap();
    assert_eq!(read, [without_limits(0), by_two]);
}

#[test]
fn a_resumed_run_of_schema_1_is_raised_to_this_schema() {
    let (_folder, path) = place();
    of_schema(1, &path, &done(0));
    let mut store = Store::resume(&path).unwrap();
    store.save(&timed(1)).unwrap();
    drop(store);
    let trials = Store::open(&path).unwrap().trials_whole().unwrap();
    assert_eq!(trials, [without_limits(0), with_summary(timed(1))]);
}

#[test]
fn a_run_of_schema_3_is_read_as_it_was() {
    let (_folder, path) = place();
    of_schema(3, &path, &timed(0));
    let store = Store::open(&path).unwrap();
    assert_eq!(store.trials_whole().unwrap(), [with_summary(timed(0))]);
    assert_eq!(schema_of(&path), 3, "reading changes nothing");
}

#[test]
fn a_resumed_run_of_schema_3_keeps_all_its_rows() {
    let (_folder, path) = place();
    of_schema(3, &path, &timed(0));
    let mut elsewhere = done(1);
    elsewhere.key.server = None;
    let mut store = Store::resume(&path).unwrap();
    store.save(&elsewhere).unwrap();
    let again = store.save(&elsewhere).unwrap_err();
    assert!(matches!(again, StoreError::Recorded { .. }), "{again}");
    drop(store);
    assert_eq!(schema_of(&path), SCHEMA);
    let read = Store::open(&path).unwrap().trials_whole().unwrap();
    assert_eq!(read, [with_summary(timed(0)), elsewhere]);
    let at = rusqlite::Connection::open(&path).unwrap();
    assert_eq!(
        strings(&at, "select \"table\" from pragma_foreign_key_check"),
        [""; 0]
    );
    let refused = at.execute("insert into trial select id + 10, run, block, server, levels_json, state, flags_json, started_ns, ended_ns, start_s_json, data_bytes, plans_json, dataset_json, role from trial where server is null", []);
    assert!(
        refused.is_err(),
        "no trial is recorded twice, without a server neither"
    );
}

#[test]
fn a_run_of_schema_4_is_read_without_audits_and_a_resumed_one_has_them() {
    let (_folder, path) = place();
    of_schema(4, &path, &audited(0));
    let without = Trial {
        audit: None,
        ..with_summary(timed(0))
    };
    let read = Store::open(&path).unwrap().trials_whole().unwrap();
    assert_eq!(read, std::slice::from_ref(&without));
    assert_eq!(schema_of(&path), 4, "reading changes nothing");
    Store::resume(&path).unwrap().save(&audited(1)).unwrap();
    assert_eq!(schema_of(&path), SCHEMA);
    let read = Store::open(&path).unwrap().trials_whole().unwrap();
    assert_eq!(read, [without, with_summary(audited(1))]);
}

#[test]
fn a_run_of_schema_5_has_no_control_and_a_resumed_one_takes_one() {
    let (_folder, path) = place();
    of_schema(5, &path, &done(0));
    let store = Store::open(&path).unwrap();
    assert_eq!(store.trials_whole().unwrap(), [done(0)]);
    assert_eq!(store.controls().unwrap(), []);
    assert_eq!(store.finished().unwrap(), [done(0).key]);
    drop(store);
    let mut store = Store::resume(&path).unwrap();
    store.save(&control(0)).unwrap();
    assert_eq!(store.trials_whole().unwrap(), [done(0)]);
    assert_eq!(store.controls_whole().unwrap(), [control(0)]);
}

#[test]
fn the_records_in_the_tree_are_readable_and_those_of_p1_are_of_schema_1() {
    let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/results");
    for (folder, schema) in [("p1", 1), ("p2", 3), ("p6", 3)] {
        let records = records(&Path::new(results).join(folder));
        assert!(!records.is_empty(), "{folder}");
        for path in records {
            assert_eq!(packed_schema_of(&path), schema, "{}", path.display());
            let store = Store::open(&path).unwrap();
            let trials = store.trials_whole().unwrap();
            assert!(!trials.is_empty(), "{}", path.display());
        }
    }
}

fn records(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let is_record = |path: &PathBuf| path.extension().is_some_and(|e| e == "zst");
    paths.filter(is_record).collect()
}

/// `user_version` lies at offset 60 of the file, big-endian (the SQLite file format, 1.3).
fn packed_schema_of(path: &Path) -> i64 {
    let packed = std::fs::File::open(path).unwrap();
    let mut unpacked = ruzstd::decoding::StreamingDecoder::new(packed).unwrap();
    let mut start = [0; 64];
    unpacked.read_exact(&mut start).unwrap();
    let version = start.last_chunk::<4>().unwrap();
    u32::from_be_bytes(*version).into()
}

fn schema_of(path: &Path) -> i64 {
    let at = rusqlite::Connection::open(path).unwrap();
    let version = at.pragma_query_value(None, "user_version", |row| row.get(0));
    version.unwrap()
}
