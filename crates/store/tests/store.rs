//! What a run's file promises: everything read back, nothing twice, a clear refusal of any other file.

use crate::common::{control, done, place, run, timed, trial};
use record::TrialState;
use std::path::Path;
use store::{Store, StoreError};

fn refusal(path: &Path) -> StoreError {
    Store::open(path).err().expect("the file is refused")
}

/// Changes a finished run's file the way another program would.
fn tamper(path: &Path, sql: &str) {
    rusqlite::Connection::open(path)
        .unwrap()
        .execute_batch(sql)
        .unwrap();
}

#[test]
fn a_run_and_its_trials_are_read_back_as_they_were_written() {
    let (_folder, path) = place();
    let trials = [
        trial(0, TrialState::Done, 13, 40),
        trial(1, TrialState::Invalid, 13, 40),
        done(2),
    ];
    let mut store = Store::create(&path, &run()).unwrap();
    trials.iter().for_each(|trial| store.save(trial).unwrap());
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.run().unwrap(), run());
    assert_eq!(store.trials_whole().unwrap(), trials);
}

#[test]
fn a_brief_read_includes_only_the_requested_settings_and_no_query_counters() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    let mut trial = trial(0, TrialState::Done, 13, 40);
    let pool = ("innodb_buffer_pool_size".to_string(), "1".to_string());
    trial.settings.extend([pool.clone()]);
    store.save(&trial).unwrap();
    trial.settings = [pool].into();
    trial
        .rounds
        .iter_mut()
        .flat_map(|round| &mut round.queries)
        .for_each(|query| query.counters.clear());
    let pools = ["innodb_buffer_pool_size"];
    assert_eq!(store.trials_with(&pools).unwrap(), [trial.clone()]);
    trial.settings.clear();
    assert_eq!(store.trials().unwrap(), [trial]);
}

#[test]
fn the_control_is_kept_apart_from_the_trial_of_the_same_setup() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    store.save(&control(0)).unwrap();
    store.save(&done(0)).unwrap();
    assert_eq!(store.trials_whole().unwrap(), [done(0)]);
    assert_eq!(store.controls_whole().unwrap(), [control(0)]);
    assert_eq!(store.finished().unwrap(), [control(0).key, done(0).key]);
    let again = store.save(&control(0)).unwrap_err();
    assert!(again.to_string().contains("block 1 (control)"), "{again}");
}

#[test]
fn a_finished_run_is_one_file() {
    let (folder, path) = place();
    Store::create(&path, &run())
        .unwrap()
        .save(&done(0))
        .unwrap();
    Store::open(&path).unwrap().trials().unwrap();
    let files: Vec<_> = folder
        .path()
        .read_dir()
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    assert_eq!(files, ["run.sqlite"]);
}

#[test]
fn a_reader_sees_each_trial_as_soon_as_it_is_saved() {
    let (_folder, path) = place();
    let mut writer = Store::create(&path, &run()).unwrap();
    let reader = Store::open(&path).unwrap();
    for block in 0..3 {
        writer.save(&done(block)).unwrap();
        assert_eq!(reader.trials().unwrap().len(), block as usize + 1);
    }
    assert_eq!(Store::open(&path).unwrap().finished().unwrap().len(), 3);
}

#[test]
fn a_done_or_invalid_trial_is_never_replaced() {
    for state in [TrialState::Done, TrialState::Invalid] {
        let (_folder, path) = place();
        let mut store = Store::create(&path, &run()).unwrap();
        store.save(&trial(0, state, 1, 1)).unwrap();
        let refused = store.save(&done(0)).unwrap_err();
        assert!(matches!(refused, StoreError::Recorded { .. }), "{refused}");
        assert!(
            refused
                .to_string()
                .contains("server 5.6, variant small pool, block 1"),
            "{refused}"
        );
        assert_eq!(store.trials().unwrap().len(), 1);
    }
}

#[test]
fn a_failed_trial_is_not_finished_and_gives_way_to_its_repetition() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    store.save(&trial(0, TrialState::Failed, 2, 3)).unwrap();
    store.save(&done(1)).unwrap();
    assert_eq!(store.finished().unwrap(), [done(1).key]);
    drop(store);
    let mut store = Store::resume(&path).unwrap();
    store.save(&done(0)).unwrap();
    assert_eq!(store.trials_whole().unwrap(), [done(1), done(0)]);
    assert_eq!(store.finished().unwrap(), [done(1).key, done(0).key]);
}

#[test]
fn one_plan_of_many_trials_is_kept_once() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    (0..3).for_each(|block| store.save(&done(block)).unwrap());
    drop(store);
    let count = |table: &str| {
        let at = rusqlite::Connection::open(&path).unwrap();
        at.query_row(&format!("select count(*) from {table}"), [], |row| {
            row.get::<_, i64>(0)
        })
        .unwrap()
    };
    assert_eq!((count("plan"), count("counter_names")), (2, 1));
}

#[test]
fn a_second_run_does_not_take_the_place_of_the_first() {
    let (_folder, path) = place();
    drop(Store::create(&path, &run()).unwrap());
    let refused = Store::create(&path, &run()).err().unwrap();
    assert!(matches!(refused, StoreError::Exists(_)), "{refused}");
    assert_eq!(Store::open(&path).unwrap().run().unwrap(), run());
}

#[test]
fn a_missing_file_is_reported_and_not_created() {
    let (_folder, path) = place();
    assert!(matches!(refusal(&path), StoreError::Missing(_)));
    assert!(matches!(
        Store::resume(&path).err().unwrap(),
        StoreError::Missing(_)
    ));
    assert!(!path.exists());
}

#[test]
fn a_file_of_another_kind_is_called_so() {
    let (_folder, path) = place();
    for bytes in [&b""[..], b"short", &[b'x'; 5000]] {
        std::fs::write(&path, bytes).unwrap();
        assert!(
            matches!(refusal(&path), StoreError::NotARun(_)),
            "{}",
            refusal(&path)
        );
    }
    std::fs::remove_file(&path).unwrap();
    tamper(&path, "create table other (x)");
    assert!(
        matches!(refusal(&path), StoreError::NotARun(_)),
        "{}",
        refusal(&path)
    );
}

#[test]
fn a_truncated_file_is_reported_as_damaged() {
    let (_folder, path) = place();
    Store::create(&path, &run())
        .unwrap()
        .save(&trial(0, TrialState::Done, 13, 400))
        .unwrap();
    let whole = std::fs::read(&path).unwrap();
    for kept in [whole.len() / 2, whole.len() - 1, 5000] {
        std::fs::write(&path, &whole[..kept]).unwrap();
        let refused = Store::open(&path)
            .and_then(|store| store.trials_whole())
            .unwrap_err();
        assert!(
            matches!(refused, StoreError::Damaged(_)),
            "{kept} of {} bytes: {refused}",
            whole.len()
        );
    }
}

#[test]
fn a_run_of_another_schema_names_both_numbers() {
    let (_folder, path) = place();
    drop(Store::create(&path, &run()).unwrap());
    tamper(&path, "pragma user_version = 9");
    let newer = refusal(&path);
    assert!(
        matches!(
            newer,
            StoreError::Newer {
                found: 9,
                known: 7,
                ..
            }
        ),
        "{newer}"
    );
    tamper(&path, "pragma user_version = 6");
    let older = Store::resume(&path).err().unwrap();
    assert!(
        matches!(
            older,
            StoreError::Older {
                found: 6,
                known: 7,
                ..
            }
        ),
        "{older}"
    );
}

#[test]
fn an_unreadable_value_is_named() {
    let (_folder, path) = place();
    Store::create(&path, &run())
        .unwrap()
        .save(&done(0))
        .unwrap();
    tamper(&path, "update trial set state = 'finished'");
    let refused = Store::open(&path).unwrap().trials().unwrap_err();
    assert!(
        matches!(refused, StoreError::Unreadable { .. }),
        "{refused}"
    );
}

#[test]
fn every_statement_that_the_documentation_shows_runs() {
    let (_folder, path) = place();
    let store = Store::create(&path, &run()).unwrap();
    let mut store = store.with_plan_steps(|_| Some(r#"[{"table": "orders"}]"#.into()));
    let mut with_steps = done(0);
    let table = "table\ttype\tkey\norders\tref\to_custkey".to_string();
    with_steps
        .plans
        .values_mut()
        .for_each(|text| text.clone_from(&table));
    store.save(&with_steps).unwrap();
    store.save(&timed(1)).unwrap();
    drop(store);
    let at = rusqlite::Connection::open(&path).unwrap();
    let shown = include_str!("../../../docs/RESULTS.md")
        .split("```sql")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let statements: Vec<&str> = shown
        .split_inclusive(';')
        .filter(|statement| !statement.trim().is_empty())
        .collect();
    let rows = |statement: &&str| {
        at.prepare(statement)
            .unwrap()
            .query_map([], |_| Ok(()))
            .unwrap()
            .count()
    };
    assert_eq!(
        statements.iter().map(rows).collect::<Vec<_>>(),
        [4, 3, 0, 2, 1, 10]
    );
}

#[test]
fn the_documentation_names_every_column_of_every_table() {
    let (_folder, path) = place();
    drop(Store::create(&path, &run()).unwrap());
    let store = rusqlite::Connection::open(&path).unwrap();
    let texts = |sql: &str| -> Vec<String> {
        let mut found = store.prepare(sql).unwrap();
        let rows = found.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let documented = include_str!("../../../docs/RESULTS.md");
    for table in
        texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    {
        let start = format!("| `{table}` |");
        let row = documented.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("no row of {table}"));
        for column in texts(&format!("SELECT name FROM pragma_table_info('{table}')")) {
            assert!(row.contains(&format!("`{column}`")), "{table}.{column}");
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// A finished run, packed, in a file whose name does not say so.
fn packed(path: &Path, pack: fn(&[u8]) -> Vec<u8>) {
    let mut store = Store::create(path, &run()).unwrap();
    store.save(&done(0)).unwrap();
    drop(store);
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, pack(&bytes)).unwrap();
}

#[test]
fn a_compressed_record_is_read_as_it_was_written() {
    for pack in [gzip, zstd] {
        let (_folder, path) = place();
        packed(&path, pack);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.run().unwrap(), run());
        assert_eq!(store.trials_whole().unwrap(), [done(0)]);
    }
}

#[test]
fn a_compressed_record_cannot_be_resumed() {
    let (_folder, path) = place();
    packed(&path, gzip);
    let error = Store::resume(&path).err().expect("refused").to_string();
    assert!(error.contains("unpack it first"), "{error}");
}

#[test]
fn a_truncated_compressed_record_is_refused_as_damaged() {
    for pack in [gzip, zstd] {
        let (_folder, path) = place();
        packed(&path, pack);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(matches!(refusal(&path), StoreError::Damaged(_)));
    }
}

#[test]
fn a_record_that_was_compressed_during_its_run_is_refused_with_the_fix() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    store.save(&done(0)).unwrap();
    let kept = path.with_extension("gz");
    std::fs::write(&kept, gzip(&std::fs::read(&path).unwrap())).unwrap();
    let error = refusal(&kept).to_string();
    assert!(error.contains("compress the run again"), "{error}");
    drop(store);
}

#[test]
fn the_states_of_the_trials_are_read_by_themselves() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    store.save(&done(0)).unwrap();
    store.save(&trial(1, TrialState::Failed, 1, 0)).unwrap();
    assert_eq!(
        store.states().unwrap(),
        [TrialState::Done, TrialState::Failed]
    );
}
