//! Errors of a connection, with their error numbers and what they imply for retries.

/// Error numbers of client-side errors, as in the server's client library.
const LOST: u16 = 2013;
const PACKET_TOO_LARGE: u16 = 2020;
const TLS: u16 = 2026;
const MALFORMED: u16 = 2027;
const PARAMETERS: u16 = 2031;

/// Errors after which the server closes the connection although their SQLSTATE is not of class 08: killed (MariaDB, MySQL), idle
/// for too long.
const CLOSING: [u16; 3] = [1927, 3169, 4031];

/// Errors of a server that is full, shutting down or not ready, or that aborted a connection. Another login can succeed soon.
const TRANSIENT: [u16; 13] = [
    1040, // too many connections
    1203, // too many connections of this user
    1053, // shutting down
    1152, // connection aborted
    1158, // read error on the connection
    1159, // read timeout on the connection
    1160, // write error on the connection
    1161, // write timeout on the connection
    1184, // connection aborted before the login
    1927, // connection killed (MariaDB)
    3168, // not available
    3169, // session killed (MySQL)
    4031, // idle for too long (MySQL)
];

/// Why a connection or a request failed.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// No login was possible, because the connection broke or none was established. The text names the endpoint, the cause and
    /// the fix.
    #[error("{text}")]
    Unreachable { text: String, cause: std::io::Error },
    /// An error that the server reported. The connection stays usable unless [`WireError::is_lost`].
    #[error("error {code} ({state}): {message}")]
    Server {
        code: u16,
        state: String,
        message: String,
    },
    /// The text says what is wrong with the server's data; its subject is the server.
    #[error("the server violates the MySQL protocol: {0}")]
    Protocol(String),
    #[error("a row of the reply exceeds {limit} bytes: select less data per row")]
    ReplyTooLarge { limit: usize },
    /// The caller keeps the whole answer, and it is larger than the caller allows.
    #[error(
        "the answer exceeds {} MiB, the most that prony keeps of one: select fewer rows or columns, or aggregate them", limit >> 20
    )]
    AnswerTooLarge { limit: usize },
    /// The connection broke during a large request, most likely because the server's limit is smaller.
    #[error(
        "the server closed the connection during a request of {bytes} bytes ({cause}): raise its max_allowed_packet"
    )]
    RequestTooLarge { bytes: usize, cause: String },
    /// The login was refused or is not possible. The text names the endpoint, the cause and the fix.
    #[error("{text}")]
    Login { code: u16, text: String },
    #[error("TLS: {0}")]
    Tls(String),
    /// An invalid call. The connection stays usable.
    #[error("{0}")]
    Misuse(String),
    #[error("the connection is closed, or an earlier call on it was cancelled: open another one")]
    Ended,
}

impl WireError {
    /// The server's error number, or that of the server's client library (2013 for a lost connection).
    pub fn code(&self) -> u16 {
        match self {
            WireError::Server { code, .. } | WireError::Login { code, .. } => *code,
            WireError::ReplyTooLarge { .. }
            | WireError::AnswerTooLarge { .. }
            | WireError::RequestTooLarge { .. } => PACKET_TOO_LARGE,
            WireError::Protocol(_) => MALFORMED,
            WireError::Misuse(_) => PARAMETERS,
            WireError::Tls(_) => TLS,
            WireError::Io(_) | WireError::Unreachable { .. } | WireError::Ended => LOST,
        }
    }

    /// Whether the connection is closed or unusable.
    pub fn is_lost(&self) -> bool {
        match self {
            // Class 08 is "connection exception".
            WireError::Server { code, state, .. } => {
                state.starts_with("08") || CLOSING.contains(code)
            }
            WireError::Misuse(_) => false,
            _ => true,
        }
    }

    /// Whether opening a session can succeed later or at another endpoint. True while a server is down or restarts: connection
    /// refused, reset or timed out, socket file missing, or one of the server's errors for that. False for wrong credentials
    /// (1045), a missing schema or table, and a failed TLS negotiation.
    pub fn is_transient(&self) -> bool {
        match self {
            WireError::Io(_) | WireError::Unreachable { .. } => true,
            WireError::Login { code, .. } => TRANSIENT.contains(code),
            WireError::Server { code, .. } => TRANSIENT.contains(code) || self.is_lost(),
            _ => false,
        }
    }

    /// Whether the server may have executed the request: the connection was lost after the request was sent and before the reply was
    /// read.
    pub fn is_unanswered(&self) -> bool {
        match self {
            // Only sending fails with it, and the server does not execute an incomplete request.
            WireError::Io(cause) => cause.kind() != std::io::ErrorKind::BrokenPipe,
            WireError::Protocol(_)
            | WireError::ReplyTooLarge { .. }
            | WireError::AnswerTooLarge { .. }
            | WireError::RequestTooLarge { .. } => true,
            _ => false,
        }
    }

    /// Whether a statement that commits may have done so although it failed with this error: it is unanswered, or the server closed the
    /// connection, which can be after the commit.
    pub fn may_have_committed(&self) -> bool {
        let is_closed = matches!(self, WireError::Server { .. }) && self.is_lost();
        self.is_unanswered() || is_closed
    }

    #[cold]
    pub(crate) fn malformed(what: &str) -> WireError {
        WireError::Protocol(what.into())
    }

    /// The peer is not a server that prony can log in to. `text` is the cause and the fix.
    #[cold]
    pub(crate) fn unsuitable(text: String) -> WireError {
        WireError::Login {
            code: MALFORMED,
            text,
        }
    }

    #[cold]
    pub(crate) fn too_old(what: &str) -> WireError {
        WireError::unsuitable(format!(
            "the server is too old ({what}); use MySQL 5.1 or MariaDB 5.1, or later"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    fn server(code: u16, state: &str) -> WireError {
        WireError::Server {
            code,
            state: state.into(),
            message: String::new(),
        }
    }

    fn login(code: u16) -> WireError {
        WireError::Login {
            code,
            text: String::new(),
        }
    }

    #[test]
    fn errors_of_a_restarting_server_are_transient() {
        for code in [1040, 1053, 1152, 1927, 3168, 3169] {
            assert!(login(code).is_transient(), "{code}");
            assert!(server(code, "HY000").is_transient(), "{code}");
        }
        assert!(server(1047, "08S01").is_transient());
    }

    #[test]
    fn wrong_credentials_schemas_and_tables_are_not_transient() {
        for code in [1044, 1045, 1049, 1698] {
            assert!(!login(code).is_transient(), "{code}");
        }
        assert!(!server(1146, "42S02").is_transient());
        assert!(!WireError::Tls(String::new()).is_transient());
    }

    #[test]
    fn only_requests_sent_without_a_reply_are_unanswered() {
        for kind in [
            ErrorKind::UnexpectedEof,
            ErrorKind::ConnectionReset,
            ErrorKind::TimedOut,
        ] {
            assert!(WireError::Io(Error::from(kind)).is_unanswered(), "{kind}");
        }
        assert!(!WireError::Io(ErrorKind::BrokenPipe.into()).is_unanswered());
        assert!(!WireError::Ended.is_unanswered());
        assert!(
            !server(1053, "08S01").is_unanswered(),
            "an error is a reply"
        );
    }

    #[test]
    fn a_commit_is_open_unless_it_was_refused_or_never_sent() {
        for kind in [ErrorKind::UnexpectedEof, ErrorKind::TimedOut] {
            assert!(WireError::Io(kind.into()).may_have_committed(), "{kind}");
        }
        assert!(
            server(1927, "70100").may_have_committed(),
            "killed, perhaps after it committed"
        );
        assert!(server(1053, "08S01").may_have_committed(), "shut down");
        assert!(!WireError::Io(ErrorKind::BrokenPipe.into()).may_have_committed());
        assert!(!server(1213, "40001").may_have_committed());
        assert!(!WireError::Ended.may_have_committed());
    }
}
