//! End-to-end test on SQLite: create, load, verify, query.

use super::*;
use crate::answers::Canonical;
use crate::schema::indexes::IndexBuild;
use crate::{AllowDrop, DatasetState, LoadError, Loaded, Progress};
use server::{ServerError, Session};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn benchmark(scale: f64, joins: Joins) -> StarSchema {
    StarSchema::new(Section {
        scale,
        engine: "InnoDB".into(),
        joins,
        index_build: IndexBuild::With,
    })
}

fn dataset(scale: f64) -> Stored {
    benchmark(scale, Joins::Ansi).data
}

fn open(file: &Path) -> Result<Session, ServerError> {
    let connection = rusqlite::Connection::open(file)
        .map_err(|error| ServerError::Unusable(error.to_string()))?;
    Ok(Session::Sqlite(connection))
}

fn load(dataset: &Stored, file: &Path) -> Result<Loaded, LoadError> {
    dataset.create(&mut open(file).unwrap(), &AllowDrop::No)?;
    dataset.load(&|| open(file), &|_| {}, &|| false)
}

struct TestPlace {
    _folder: tempfile::TempDir,
    file: std::path::PathBuf,
}

fn place() -> TestPlace {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ssb.sqlite");
    TestPlace {
        _folder: folder,
        file,
    }
}

#[test]
fn a_loaded_dataset_is_complete_and_verifies() {
    let place = place();
    let dataset = dataset(0.01);
    assert_eq!(
        dataset.state(&mut open(&place.file).unwrap()).unwrap(),
        DatasetState::Absent
    );
    let loaded = load(&dataset, &place.file).unwrap();
    assert_eq!(loaded.rows, dataset.estimate().rows);
    assert_eq!(loaded.tables["date"].0, 2556);
    let mut session = open(&place.file).unwrap();
    assert_eq!(
        dataset.state(&mut session).unwrap(),
        DatasetState::Complete(dataset.fingerprint())
    );
    dataset.verify(&mut session).unwrap();
    assert!(dataset.data_bytes(&mut session).unwrap() > 1_000_000);
}

#[test]
fn all_join_forms_give_the_same_answers() {
    let place = place();
    load(&dataset(0.01), &place.file).unwrap();
    let mut session = open(&place.file).unwrap();
    let mut answers = |joins| -> Vec<(String, Canonical)> {
        let operations = benchmark(0.01, joins).operations().into_iter();
        let answer = |operation: Operation| {
            let reply = session.query(&operation.sqlite).unwrap();
            (operation.name.clone(), Canonical::of(&operation, &reply))
        };
        operations.map(answer).collect()
    };
    let original = answers(Joins::Original);
    let rows: usize = original.iter().map(|(_, answer)| answer.rows.len()).sum();
    assert!(rows > 300, "{rows} rows are too few to tell a difference");
    for joins in [Joins::Ansi, Joins::FactFirst, Joins::DimensionFirst] {
        assert_eq!(answers(joins), original, "{joins:?}");
    }
}

#[test]
fn tables_are_dropped_only_if_allowed() {
    let place = place();
    let dataset = dataset(0.001);
    load(&dataset, &place.file).unwrap();
    let mut session = open(&place.file).unwrap();
    let refused = dataset
        .create(&mut session, &AllowDrop::No)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains(&dataset.fingerprint()) && refused.contains("--allow-drop"),
        "{refused}"
    );
    session.execute("CREATE TABLE other (n)").unwrap();
    dataset.create(&mut session, &AllowDrop::Pronys).unwrap();
    assert_eq!(dataset.state(&mut session).unwrap(), DatasetState::Partial);
    session.query("SELECT n FROM other").unwrap();
}

#[test]
fn a_cancelled_load_reports_its_progress_and_leaves_partial_data() {
    let place = place();
    let dataset = dataset(1.0);
    dataset
        .create(&mut open(&place.file).unwrap(), &AllowDrop::No)
        .unwrap();
    let rows = AtomicU64::new(0);
    let seen = |progress: Progress| rows.store(progress.rows, Relaxed);
    let error = dataset
        .load(&|| open(&place.file), &seen, &|| rows.load(Relaxed) > 0)
        .unwrap_err();
    assert!(
        matches!(error, LoadError::Cancelled { rows, rows_total } if rows > 0 && rows < rows_total),
        "{error}"
    );
    assert_eq!(
        dataset.state(&mut open(&place.file).unwrap()).unwrap(),
        DatasetState::Partial
    );
}

#[test]
fn verify_finds_a_lost_row() {
    let place = place();
    let dataset = dataset(0.001);
    load(&dataset, &place.file).unwrap();
    let mut session = open(&place.file).unwrap();
    session
        .execute("DELETE FROM part WHERE p_partkey = 7")
        .unwrap();
    let wrong = dataset.verify(&mut session).unwrap_err().to_string();
    assert!(
        wrong.starts_with("part: it has 199 rows but should have 200"),
        "{wrong}"
    );
}

#[test]
fn a_full_disk_fails_the_load_with_its_own_error() {
    let place = place();
    let dataset = dataset(0.1);
    dataset
        .create(&mut open(&place.file).unwrap(), &AllowDrop::No)
        .unwrap();
    let small = || {
        let mut session = open(&place.file)?;
        session.query("PRAGMA max_page_count = 1000")?;
        Ok(session)
    };
    let full = dataset.load(&small, &|_| {}, &|| false).unwrap_err();
    assert!(matches!(full, LoadError::Full { .. }), "{full}");
}

#[test]
fn the_fingerprint_follows_the_tables_and_not_the_queries() {
    let fingerprint = |scale, joins| benchmark(scale, joins).data.fingerprint;
    assert_eq!(
        fingerprint(0.1, Joins::Ansi),
        fingerprint(0.1, Joins::FactFirst)
    );
    assert_ne!(fingerprint(0.1, Joins::Ansi), fingerprint(0.2, Joins::Ansi));
    let myisam = StarSchema::new(Section {
        scale: 0.1,
        engine: "MyISAM".into(),
        joins: Joins::Ansi,
        index_build: IndexBuild::After,
    });
    assert_ne!(fingerprint(0.1, Joins::Ansi), myisam.data.fingerprint);
    let rows = |scale| benchmark(scale, Joins::Ansi).data.rows_key();
    assert_eq!(rows(0.1), myisam.data.rows_key(), "the same rows");
    assert_ne!(rows(0.1), rows(0.2));
}

#[test]
fn answers_at_a_small_scale_match_the_reference() {
    let place = place();
    let benchmark = benchmark(0.01, Joins::Ansi);
    load(&benchmark.data, &place.file).unwrap();
    let mut session = open(&place.file).unwrap();
    for operation in benchmark.operations() {
        let reply = session.query(&operation.sqlite).unwrap();
        let reference = benchmark.reference(&operation.name).unwrap();
        let differs = Canonical::of(&operation, &reply).difference(&reference);
        assert_eq!(differs, None, "{}", operation.name);
    }
}

#[test]
fn the_summary_is_a_line_for_people() {
    let text = benchmark(0.1, Joins::Ansi).summary();
    assert_eq!(text, "Star Schema Benchmark, scale 0.1, InnoDB, ANSI joins");
}
