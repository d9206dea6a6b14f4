//! How a verb ends: the exit status and one message on stderr.

use crate::run::RunError;
use crate::screen;
use std::process::ExitCode;

/// The exit status. Scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 0: finished, and every trial is valid.
    Done,
    /// 1: a claim or a comparison failed; only with `--gate`.
    ClaimFailed,
    /// 2: a wrong command line or file.
    Usage,
    /// 3: a trial failed or is invalid.
    Failed,
    /// 130: interrupted; the run can be resumed.
    Interrupted,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(match status {
            Status::Done => 0,
            Status::ClaimFailed => 1,
            Status::Usage => 2,
            Status::Failed => 3,
            Status::Interrupted => 130,
        })
    }
}

/// The message before the exit.
#[derive(Debug)]
pub struct Failure {
    pub status: Status,
    message: Message,
}

#[derive(Debug)]
enum Message {
    Text(String),
    /// Shown with the lines of the file.
    Mistakes(spec::SpecError),
}

impl Failure {
    /// Mistakes of a file that was written from flags name these, and no file.
    pub(super) fn of_flags(self) -> Failure {
        Failure {
            message: match self.message {
                Message::Mistakes(error) => Message::Text(error.text_of_flags()),
                text => text,
            },
            ..self
        }
    }

    pub(super) fn usage(message: impl std::fmt::Display) -> Failure {
        Failure {
            status: Status::Usage,
            message: Message::Text(format!("error: {message}")),
        }
    }

    pub(super) fn failed(message: impl std::fmt::Display) -> Failure {
        Failure {
            status: Status::Failed,
            message: Message::Text(format!("error: {message}")),
        }
    }

    pub(super) fn print(self) -> ExitCode {
        match self.message {
            Message::Text(text) => screen::say(&text),
            Message::Mistakes(error) => {
                screen::say(&error.text(screen::columns(std::io::stderr())))
            }
        }
        self.status.into()
    }
}

impl From<spec::SpecError> for Failure {
    fn from(error: spec::SpecError) -> Failure {
        Failure {
            status: Status::Usage,
            message: Message::Mistakes(error),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        let status = match error {
            RunError::Spec(error) => return (*error).into(),
            RunError::Usage(_) => Status::Usage,
            RunError::Failed(_) | RunError::Written(_) | RunError::NotAvailable(_) => {
                Status::Failed
            }
            RunError::Interrupted => Status::Interrupted,
        };
        Failure {
            status,
            message: Message::Text(format!("error: {error}")),
        }
    }
}

impl From<store::StoreError> for Failure {
    fn from(error: store::StoreError) -> Failure {
        Failure::usage(error)
    }
}

/// Prints to stdout. A closed pipe is no error.
pub(super) fn print(text: &str) {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = stdout.write_all(b"\n");
    }
    let _ = stdout.flush();
}
