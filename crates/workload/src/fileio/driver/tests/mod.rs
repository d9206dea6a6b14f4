//! Real files in a temporary folder, through the seam.

use super::super::{Engine, read};
use crate::{Files, Target, Work, Workload};
use load::{Drivable, Drive, Driven, Ending, Load, Watch};
use record::AuditNote;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

mod verified;

const PAGE: usize = 4_096;

/// The keys of each engine that this machine permits.
fn engines() -> Vec<&'static str> {
    let all = [
        (Engine::Sync, "engine = \"sync\"\n"),
        (Engine::IoUring, "engine = \"io_uring\"\ndepth = 4\n"),
        (Engine::Libaio, "engine = \"libaio\"\ndepth = 4\n"),
    ];
    let is_permitted = |engine: Engine| {
        engine
            .check()
            .inspect_err(|why| eprintln!("skipped: {why}"))
            .is_ok()
    };
    let permitted = all.into_iter().filter(|(engine, _)| is_permitted(*engine));
    permitted.map(|(_, keys)| keys).collect()
}

fn workload(text: &str) -> Arc<dyn Workload> {
    let size = if text.contains("size = ") {
        ""
    } else {
        "size = \"1M\"\n"
    };
    let text = format!("{size}io_size = \"4K\"\n{text}");
    spec::read_text(&text, read).unwrap()
}

/// The files of a workload, made in a folder of their own.
fn made(text: &str) -> (TempDir, Arc<dyn Workload>) {
    let folder = tempfile::tempdir().unwrap();
    let workload = workload(text);
    make(workload.files().unwrap(), folder.path()).unwrap();
    (folder, workload)
}

fn make(files: &dyn Files, folder: &Path) -> Result<(), String> {
    let made = files.make(folder, &|_| {}, &|| false);
    made.map(drop).map_err(|error| error.to_string())
}

/// Of a short load.
const TIME: Duration = Duration::from_millis(50);
/// After a longer load, operations that were not done are a fault.
const LONG: Duration = Duration::from_secs(2);

/// Two clients for this time.
fn drive(driver: &dyn Drivable, time: Duration) -> Driven {
    let settings = Drive::new(Load::closed(2), time);
    let driven = driver.drive(&settings, &AtomicBool::new(false), Watch::default());
    driven.unwrap()
}

/// Drives new files until each operation was done, which a busy disk may not allow in a short time.
fn driven(text: &str) -> (TempDir, Driven, Option<AuditNote>) {
    driven_until(text, |driven| {
        driven.tallies.iter().all(|one| one.done() > 0)
    })
}

fn driven_until(
    text: &str,
    is_enough: impl Fn(&Driven) -> bool,
) -> (TempDir, Driven, Option<AuditNote>) {
    let mut time = TIME;
    loop {
        let (folder, workload) = made(text);
        let (driven, note) = drive_in(&folder, workload.as_ref(), time);
        if is_enough(&driven) || time > LONG {
            return (folder, driven, note);
        }
        time *= 10;
    }
}

fn drive_in(
    folder: &TempDir,
    workload: &dyn Workload,
    time: Duration,
) -> (Driven, Option<AuditNote>) {
    let work = workload
        .work(&Target::Folder(folder.path().into()), 1)
        .unwrap();
    audited(folder, work, time, || {})
}

/// A load with its audit. `meddle` runs between the first look of the audit and the load.
fn audited(
    folder: &TempDir,
    work: Work,
    time: Duration,
    meddle: impl FnOnce(),
) -> (Driven, Option<AuditNote>) {
    let Work { driver, audit, .. } = work;
    let mut audit = audit.unwrap();
    let place = crate::Audited::Folder(folder.path());
    audit.before(place, folder.path()).unwrap();
    meddle();
    let driven = drive(driver.as_ref(), time);
    let ended = crate::Ended {
        tallies: &driven.tallies,
        crashes_ns: &[],
    };
    let place = crate::Audited::Folder(folder.path());
    let note = audit.audit(place, &ended).unwrap();
    (driven, note)
}

/// The parts of all files.
fn parts(folder: &TempDir) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        parts.extend(bytes.chunks(PAGE).map(<[u8]>::to_vec));
    }
    parts
}

#[test]
fn files_are_made_whole_and_no_two_parts_are_the_same() {
    let (folder, _) = made("files = 4\ndirect = false");
    let parts = parts(&folder);
    assert_eq!(parts.len(), (1 << 20) / PAGE);
    assert_eq!(parts.iter().collect::<BTreeSet<_>>().len(), parts.len());
}

#[test]
fn every_pattern_does_its_operations_on_every_engine_without_an_error() {
    for engine in engines() {
        for (text, operations) in [
            ("pattern = \"random-read\"", 1),
            ("pattern = \"sequential-read\"", 1),
            ("pattern = \"random-write\"", 1),
            ("pattern = \"sequential-write\"\nfsync = \"each\"", 1),
            (
                "pattern = \"random-write\"\nfsync = \"each\"\nsync_call = \"dsync\"",
                1,
            ),
            (
                "pattern = \"mixed\"\nfsync = 10\nsync_call = \"fdatasync\"",
                3,
            ),
            (
                "pattern = \"random-write\"\nfiles = 3\nextents = \"unwritten\"",
                1,
            ),
        ] {
            let text = format!("{engine}{text}");
            let (_folder, driven, note) = driven(&text);
            assert_eq!(driven.tallies.len(), operations, "{text}");
            for tally in &driven.tallies {
                assert!(
                    tally.done() > 0 && tally.not_done() == 0,
                    "{text}: {tally:?}"
                );
            }
            assert_eq!(note, None, "{text}");
        }
    }
}

#[test]
fn every_preset_does_its_operations_without_an_error() {
    for (text, operations) in [
        ("preset = \"redo\"\nfiles = 2", 1),
        ("preset = \"page-cleaner\"\nfsync = 4", 3),
        ("preset = \"binlog\"", 1),
        ("preset = \"recovery\"", 1),
        ("preset = \"scan\"", 1),
    ] {
        let (_folder, driven, note) = driven(text);
        assert_eq!(driven.tallies.len(), operations, "{text}");
        for tally in &driven.tallies {
            let is_clean = tally.done() > 0 && tally.not_done() == 0;
            assert!(is_clean, "{text}: {tally:?}");
        }
        assert_eq!(note, None, "{text}");
    }
}

#[test]
fn operations_through_the_page_cache_succeed_without_and_with_a_ring() {
    for text in [
        "direct = false\n",
        "direct = false\nengine = \"io_uring\"\ndepth = 4\n",
    ] {
        if !text.contains("io_uring") || Engine::IoUring.check().is_ok() {
            let (_folder, driven, note) = driven(&format!("{text}pattern = \"mixed\""));
            assert!(
                driven.tallies.iter().all(|tally| tally.done() > 0),
                "{text}"
            );
            assert_eq!(note, None, "{text}");
        }
    }
}

#[test]
fn a_sync_at_the_end_is_one_operation_of_its_own() {
    for engine in engines() {
        let text = format!("{engine}pattern = \"random-write\"\nfsync = \"end\"");
        let (_folder, driven, note) = driven(&text);
        let [writes, syncs] = &driven.tallies[..] else {
            panic!("{:?}", driven.tallies);
        };
        assert!(writes.done() > 0, "{text}");
        assert_eq!((syncs.done(), driven.late[1].ended()), (1, 0), "{text}");
        assert_eq!(driven.started, writes.done(), "{text}");
        assert_eq!(note, None, "{text}");
    }
}

/// A file system that compresses 128 KiB at once would find what blocks have in common.
#[test]
fn what_is_written_has_no_word_in_common_with_what_was_written_or_read_before() {
    for pattern in ["sequential-write", "mixed"] {
        let text = format!("size = \"64K\"\npattern = \"{pattern}\"");
        let is_enough = |driven: &Driven| driven.tallies.iter().all(|tally| tally.done() > 16);
        let (folder, driven, _) = driven_until(&text, is_enough);
        assert!(is_enough(&driven), "{pattern}: one pass over the file");
        let parts = parts(&folder);
        let words = || parts.iter().flat_map(|part| part.chunks(8));
        let different: BTreeSet<&[u8]> = words().collect();
        assert_eq!(different.len(), words().count(), "{pattern}");
    }
}

#[test]
fn a_file_that_another_process_cuts_short_is_named_with_the_place_and_the_others_go_on() {
    for engine in engines() {
        let (folder, workload) = made(&format!("{engine}pattern = \"sequential-read\""));
        let work = workload
            .work(&Target::Folder(folder.path().into()), 1)
            .unwrap();
        let (driven, note) = audited(&folder, work, 10 * TIME, || {
            let file = fs::File::options()
                .write(true)
                .open(folder.path().join("file-0"));
            file.unwrap().set_len(5_000).unwrap();
        });
        assert!(driven.tallies[0][Ending::Failed] > 0, "{engine}");
        assert!(driven.tallies[0].done() > 0, "{engine}");
        let [failed, lost] = &note.unwrap().violations[..] else {
            panic!("two violations");
        };
        let says = "the first read that failed, of 4096 bytes at offset ";
        assert!(failed.starts_with(says), "{failed}");
        assert!(failed.ends_with("file-0: the file is shorter"), "{failed}");
        let says =
            "file-0 has 5000 bytes after the load and had 1048576: another process cut it short";
        assert_eq!(lost, says);
    }
}

#[test]
fn writing_the_files_over_changes_every_part_whatever_the_load_does() {
    for pattern in ["random-write", "random-read"] {
        let (folder, workload) = made(&format!(
            "files = 2\ndirect = false\npattern = \"{pattern}\""
        ));
        let before = parts(&folder);
        let written = std::cell::Cell::new(0);
        let files = workload.files().unwrap();
        let over = files.overwrite(folder.path(), 1, &|bytes| written.set(bytes), &|| false);
        over.unwrap();
        assert_eq!(written.get(), 1 << 20);
        let all: BTreeSet<_> = before.iter().cloned().chain(parts(&folder)).collect();
        assert_eq!(all.len(), 2 * before.len());
    }
}

#[test]
fn a_file_that_grows_is_empty_at_first() {
    let (folder, workload) = made("preset = \"binlog\"");
    let length = || fs::metadata(folder.path().join("file-0")).unwrap().len();
    assert_eq!(length(), 0);
    let (driven, _) = drive_in(&folder, workload.as_ref(), 4 * TIME);
    assert_eq!(length(), (driven.tallies[0].done() * 4_096).min(1 << 20));
}

#[test]
fn a_file_or_a_link_in_the_way_is_never_overwritten() {
    let workload = workload("");
    let files = workload.files().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs");
    fs::write(&theirs, "precious").unwrap();
    std::os::unix::fs::symlink(&theirs, folder.path().join("file-0")).unwrap();
    let error = make(files, folder.path()).unwrap_err();
    assert!(error.contains("file-0: File exists"), "{error}");
    assert_eq!(fs::read_to_string(theirs).unwrap(), "precious");
}

#[test]
fn making_files_ends_soon_when_it_is_cancelled() {
    let workload = workload("size = \"64M\"");
    let folder = tempfile::tempdir().unwrap();
    let files = workload.files().unwrap();
    let cancelled = files.make(folder.path(), &|_| panic!("wrote on"), &|| true);
    assert_eq!(cancelled.unwrap_err().to_string(), "interrupted");
}

mod disks;
