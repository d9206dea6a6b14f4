//! Why a stream of statements ends before its end.

use crate::LoadError;
use std::io;
use std::sync::Arc;

/// Where and why. `line` is the last one that was read.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub(crate) struct Cut {
    pub file: Arc<str>,
    pub line: u64,
    pub cause: Cause,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error("the file cannot be read further: {0}")]
    Unreadable(io::Error),
    /// `opened_by`: an open quote or comment, and its line.
    #[error(
        "the file ends within the statement that begins in line {begun}{}: it is incomplete",
        open(*opened_by)
    )]
    WithinStatement {
        begun: u64,
        opened_by: Option<(&'static str, u64)>,
    },
    #[error(
        "the file ends without the line {0:?} that the program it comes from writes last: it is incomplete, or that line was removed (then add it)"
    )]
    NotCompleted(&'static str),
    #[error(
        "the file has no COMMIT behind its START TRANSACTION, which phpMyAdmin writes last: it is incomplete"
    )]
    NotCommitted,
    #[error(
        "the dumps of the schemas {first} and {second} are joined here, and a table of one may replace that of the other; dump only one, or remove this line if all tables belong to one schema"
    )]
    SecondHead { first: String, second: String },
    #[error("{0}")]
    Foreign(&'static str),
    #[error("this line is a message, not SQL; the program that wrote the file failed: {0}")]
    Message(String),
    #[error(
        "it reads the file {0:?}, and {1}; put the file beside the dump, or write its statements here"
    )]
    NotSourced(String, io::Error),
    #[error(
        "it reads the file {0:?}, but this text is not in a file, so there is no folder to read from; write its statements here"
    )]
    NoFolder(String),
    #[error(
        "it reads the file {0:?}, and files that read files are already 16 deep: does one read itself?"
    )]
    TooDeep(String),
}

impl Cause {
    /// Whether a dump that is written again may be whole.
    pub(crate) fn is_of_the_dump(&self) -> bool {
        matches!(
            self,
            Cause::Unreadable(_)
                | Cause::WithinStatement { .. }
                | Cause::NotCompleted(_)
                | Cause::NotCommitted
                | Cause::Message(_)
        )
    }
}

impl From<Cut> for LoadError {
    fn from(cut: Cut) -> LoadError {
        let fix = match cut.cause.is_of_the_dump() {
            true => "; write the dump again, and check that the disk was not full",
            false => "",
        };
        LoadError::Written {
            place: format!("{}:{}", cut.file, cut.line),
            says: format!("{cut}{fix}"),
        }
    }
}

fn open(opened_by: Option<(&'static str, u64)>) -> String {
    opened_by.map_or(String::new(), |(opened_by, line)| {
        format!(" ({opened_by} in line {line} is not closed)")
    })
}
