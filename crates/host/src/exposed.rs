//! Finds files and folders that another user can change: the home and its journals, on which prony acts.
//!
//! prony deletes what a journal names and runs the builds in its home, as root too. ACLs that grant write access appear in the
//! bits of the group, so owner and mode are enough. Folders above are not checked: who renames one can only put a folder of
//! another owner in its place.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// How other users can change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposed {
    /// It belongs to another user.
    Foreign { owner: u32, user: u32 },
    /// Its permissions allow others to write.
    Writable { mode: u32 },
}

/// The bits of the group and of all others that allow writing.
const WRITE_OF_OTHERS: u32 = 0o022;

impl Exposed {
    /// None if only this user can change it.
    pub(crate) fn from_metadata(about: &Metadata) -> Option<Exposed> {
        let (owner, mode) = (about.uid(), about.mode() & 0o7777);
        let user = rustix::process::geteuid().as_raw();
        if owner != user {
            return Some(Exposed::Foreign { owner, user });
        }
        (mode & WRITE_OF_OTHERS != 0).then_some(Exposed::Writable { mode })
    }
}

/// The reason, as the end of a sentence that begins with the path.
impl fmt::Display for Exposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exposed::Foreign { owner, user } => {
                write!(f, "belongs to user {owner}, but prony runs as user {user}")
            }
            Exposed::Writable { mode } => {
                write!(f, "can be changed by other users (mode {mode:04o})")
            }
        }
    }
}
