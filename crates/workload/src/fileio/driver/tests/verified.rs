//! Verification of real files through the seam.

use super::{TIME, drive, made};
use crate::{Audited, Ended, Target};
use record::AuditNote;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The audit of a load on files that were damaged before or after it.
fn audited(
    text: &str,
    before: impl Fn(&Path),
    after: impl Fn(&Path),
    crashes_ns: &[Range<u64>],
) -> AuditNote {
    let (folder, workload) = made(&format!("verify = true\n{text}"));
    before(folder.path());
    let work = workload
        .work(&Target::Folder(folder.path().into()), 1)
        .unwrap();
    let place = Audited::Folder(folder.path());
    let mut audit = work.audit.unwrap();
    audit.before(place, folder.path()).unwrap();
    let driven = drive(work.driver.as_ref(), 4 * TIME);
    after(folder.path());
    let ended = Ended {
        tallies: &driven.tallies,
        crashes_ns,
    };
    audit.audit(place, &ended).unwrap().unwrap()
}

fn nothing(_: &Path) {}

/// Changes some bytes of the first file.
fn overwrite(folder: &Path, offset: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(folder.join("file-0"));
    file.unwrap().write_all_at(bytes, offset).unwrap();
}

#[test]
fn every_pattern_that_writes_leaves_each_block_as_it_was_written() {
    for (text, blocks) in [
        ("pattern = \"random-write\"", 256),
        ("pattern = \"sequential-write\"\nfsync = \"each\"", 256),
        (
            "pattern = \"mixed\"\nfsync = 10\nfiles = 3\ndirect = false",
            255,
        ),
        ("pattern = \"random-write\"\nextents = \"unwritten\"", 256),
        (
            "pattern = \"sequential-write\"\nextents = \"none\"\nsize = \"64M\"",
            16_384,
        ),
    ] {
        let note = audited(text, nothing, nothing, &[]);
        assert_eq!(note.violations, [""; 0], "{text}");
        let says = format!("{blocks} blocks were read back, 0 of them wrong");
        assert_eq!(note.findings, [says], "{text}");
    }
}

#[test]
fn a_block_that_changed_after_the_load_is_named_with_file_and_offset() {
    let damage = |folder: &Path| overwrite(folder, 8_192 + 2_000, b"rot");
    let note = audited("pattern = \"random-write\"", nothing, damage, &[]);
    assert_eq!(note.violations.len(), 1, "{:?}", note.violations);
    let says = &note.violations[0];
    assert!(says.starts_with("the block at offset 8192 of "), "{says}");
    assert!(
        says.ends_with("file-0 was changed: its checksum does not hold"),
        "{says}"
    );
}

#[test]
fn a_block_that_was_wrong_before_the_load_is_named_too() {
    let damage = |folder: &Path| overwrite(folder, 4_096, b"rot");
    let text = "pattern = \"sequential-write\"\nextents = \"unwritten\"";
    let note = audited(text, damage, nothing, &[]);
    let says = &note.violations[0];
    assert!(
        says.ends_with("file-0 was changed before the load"),
        "{says}"
    );
}

#[test]
fn a_file_that_was_cut_short_has_blank_blocks() {
    let cut = |folder: &Path| {
        let file = File::options().write(true).open(folder.join("file-0"));
        file.unwrap().set_len(1_044_480).unwrap();
    };
    let note = audited("pattern = \"random-write\"", nothing, cut, &[]);
    let says = &note.violations[1];
    assert!(
        says.starts_with("the block at offset 1044480 of "),
        "{says}"
    );
    assert!(says.ends_with("was written and is blank now"), "{says}");
}

#[test]
fn after_a_power_cut_durable_blocks_are_counted_and_lost_ones_are_no_violation() {
    let text = "pattern = \"sequential-write\"\nfsync = \"each\"";
    // The first block as it was made: all of its durable writes are gone.
    let kept = std::cell::RefCell::new(vec![0; 4_096]);
    let keep = |folder: &Path| {
        let file = File::open(folder.join("file-0")).unwrap();
        file.read_exact_at(&mut kept.borrow_mut(), 0).unwrap();
    };
    let put_back = |folder: &Path| overwrite(folder, 0, &kept.borrow());
    let note = audited(text, keep, put_back, std::slice::from_ref(&(1..2)));
    assert_eq!(note.violations, [""; 0]);
    assert_eq!((note.acknowledged, note.lost), (256, 1), "{note:?}");
    let named = "holds write 1 of this block, but write ";
    assert!(note.findings[1].contains(named), "{:?}", note.findings);
}
