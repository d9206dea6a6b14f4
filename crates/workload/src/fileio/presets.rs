//! What parts of a server do to a disk, as values of the section's other keys.
//!
//! Purpose: `preset = "redo"` is short for these keys, and each of them can still be given. Each preset was held once against the system
//! calls of a real server: bench/results/fileio-presets.md.

/// Values for keys that the section does not give.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Preset {
    pub(super) name: &'static str,
    /// TOML.
    pub(super) keys: &'static str,
    /// What it copies. Seen with strace on MariaDB 10.11.18.
    pub(super) source: &'static str,
}

pub(super) static PRESETS: [Preset; 5] = [
    Preset {
        name: "redo",
        // pwrite of one physical block, rarely of more, and fdatasync, once for all transactions that wait.
        keys: r#"
            pattern = "sequential-write"
            io_size = "4K"
            size = "96M"
            direct = true
            fsync = "group"
            sync_call = "fdatasync"
        "#,
        source: "commits in InnoDB's redo log",
    },
    Preset {
        name: "page-cleaner",
        // 2 MiB to the doublewrite buffer, fdatasync, the same 128 pages to their places, fdatasync.
        keys: r#"
            pattern = "random-write"
            io_size = "16K"
            direct = true
            fsync = 128
            sync_call = "fdatasync"
            doublewrite = true
        "#,
        source: "InnoDB's page cleaner",
    },
    Preset {
        name: "binlog",
        // write at the end of a growing file and fdatasync, once for all transactions that wait.
        keys: r#"
            pattern = "sequential-write"
            io_size = "512"
            direct = false
            fsync = "group"
            sync_call = "fdatasync"
            extents = "none"
        "#,
        source: "commits in a binary log",
    },
    Preset {
        name: "recovery",
        // pread of the pages that the redo log names, in ascending order.
        keys: r#"
            pattern = "ascending-read"
            io_size = "16K"
            direct = true
        "#,
        source: "InnoDB's crash recovery",
    },
    Preset {
        name: "scan",
        // Read-ahead asks for each page by itself, in order.
        keys: r#"
            pattern = "sequential-read"
            io_size = "16K"
            direct = true
        "#,
        source: "a table scan with InnoDB's read-ahead",
    },
];

/// The preset of a section. Notes an unknown name.
pub(super) fn chosen(section: &spec::Section) -> Option<&'static Preset> {
    let names: Vec<(&str, &Preset)> = PRESETS.iter().map(|one| (one.name, one)).collect();
    section.get("preset")?.choice(&names)
}
