//! Real files in a temporary folder, through the seam.

use super::super::read;
use crate::{Files, Target, Work, Workload};
use load::{Closed, Drive, Driven, Ending, Load, Watch};
use record::AuditNote;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

const PAGE: usize = 4_096;

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

/// Two clients for 50 ms.
fn drive(work: &Work) -> Driven {
    let settings = Drive {
        load: Load::Closed(Closed {
            clients: 2,
            think: Duration::ZERO,
        }),
        time: Duration::from_millis(50),
        warmup: Duration::ZERO,
        seed: 1,
        reactors: None,
        backend: None,
        reconnect_for: Duration::ZERO,
        drain_timeout: None,
    };
    let watch = Watch {
        begun: &mut |_| (),
        second: &mut |_| (),
        window: &mut |_| (),
    };
    let driven = work.driver.drive(&settings, &AtomicBool::new(false), watch);
    driven.unwrap()
}

fn driven(text: &str) -> (TempDir, Driven, Option<AuditNote>) {
    let (folder, workload) = made(text);
    let (driven, note) = drive_in(&folder, workload.as_ref());
    (folder, driven, note)
}

fn drive_in(folder: &TempDir, workload: &dyn Workload) -> (Driven, Option<AuditNote>) {
    let work = workload.work(&Target::Folder(folder.path()), 1).unwrap();
    let driven = drive(&work);
    let ended = crate::Ended {
        tallies: &driven.tallies,
        crashes_ns: &[],
    };
    let place = crate::Audited::Folder(folder.path());
    let note = work.audit.unwrap().audit(place, &ended).unwrap();
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
fn every_pattern_does_its_operations_without_an_error() {
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
            "pattern = \"mixed\"\ndirect = false\nfiles = 3\nextents = \"unwritten\"",
            2,
        ),
    ] {
        let (_folder, driven, note) = driven(text);
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

#[test]
fn what_is_written_is_never_the_same_twice() {
    let (folder, driven, _) = driven("pattern = \"sequential-write\"");
    assert!(driven.tallies[0].done() > 300, "one pass over the file");
    let parts = parts(&folder);
    assert_eq!(parts.iter().collect::<BTreeSet<_>>().len(), parts.len());
}

#[test]
fn an_operation_beyond_the_end_of_a_file_fails_and_is_named_with_its_place() {
    let (folder, workload) = made("pattern = \"sequential-read\"");
    let file = fs::File::options()
        .write(true)
        .open(folder.path().join("file-0"));
    file.unwrap().set_len(PAGE as u64).unwrap();
    let (driven, note) = drive_in(&folder, workload.as_ref());
    assert!(driven.tallies[0][Ending::Failed] > 0);
    let violations = note.unwrap().violations;
    let says = "the first read of 4096 bytes at offset ";
    assert!(violations[0].starts_with(says), "{violations:?}");
    assert!(
        violations[0].contains("file-0 that failed: "),
        "{violations:?}"
    );
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
