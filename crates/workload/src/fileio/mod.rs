//! Reads and writes of files: disks and file systems as a database uses them.
//!
//! Purpose: the operations of `[workload.fileio]` on the files of a folder. Boundaries: `run` provides the folder, checks the space and
//! looks at the extents; `load` drives the operations.

mod driver;
mod engine;
mod failures;
mod files;
mod group;
mod pattern;
mod places;
mod presets;
mod section;
mod stamp;
mod verify;

pub use engine::Engine;
pub use pattern::Pattern;
pub use section::{Extents, Section, SyncCall, SyncPolicy};

use super::{Target, TargetKind, Work, Workload};
use crate::interface::Files;
use driver::Driver;
use std::sync::Arc;

/// The files and the operations of one section.
pub struct FileIo {
    section: Section,
}

/// Reads `[workload.fileio]`; notes every mistake.
pub(crate) fn read(section: &spec::Section) -> Option<Arc<dyn Workload>> {
    let section = Section::read(section)?;
    Some(Arc::new(FileIo { section }))
}

impl Workload for FileIo {
    fn summary(&self) -> String {
        self.section.summary()
    }

    fn target(&self) -> TargetKind {
        TargetKind::Folder
    }

    fn files(&self) -> Option<&dyn Files> {
        Some(&self.section)
    }

    fn work(&self, target: &Target, seed: u64) -> Option<Work> {
        let Target::Folder(folder) = target else {
            return None;
        };
        Some(Driver::new(&self.section, folder, seed).work())
    }
}

impl Section {
    fn summary(&self) -> String {
        let name = self.pattern.name().replace('-', " ");
        let size = |bytes| spec::size_text(bytes);
        let files = match self.files {
            1 => "one file".to_string(),
            files => format!("{files} files"),
        };
        let of = size(self.file_bytes * u64::from(self.files));
        let cache = if self.direct {
            "direct"
        } else {
            "through the page cache"
        };
        let copies = self.copies.map(|what| format!("as {what}: "));
        let copies = copies.unwrap_or_default();
        format!(
            "{copies}{name} of {} on {files} of {of}, {cache}{}",
            size(self.io_bytes),
            self.engine_summary()
        )
    }
    /// Nothing for blocking calls.
    fn engine_summary(&self) -> String {
        match self.engine {
            Engine::Sync => String::new(),
            engine => format!(", {} at depth {}", engine.name(), self.depth),
        }
    }
}
