//! What can go wrong between two ends of the protocol.

/// The client's own numbers, as the server's client library numbers them.
const LOST: u16 = 2013;
const PACKET_TOO_LARGE: u16 = 2020;
const TLS: u16 = 2026;
const MALFORMED: u16 = 2027;
const PARAMETERS: u16 = 2031;

/// Errors without a state of class 08 after which the server closes the connection: killed (MariaDB, MySQL), idle for too
/// long.
const LAST_WORDS: [u16; 3] = [1927, 3169, 4031];

/// Errors of a server that is full, stopping or not ready yet, or that gave up a connection: another login can succeed soon.
const PASSING: [u16; 13] = [
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

#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    #[error("{endpoint}: {cause}")]
    Unreachable {
        endpoint: String,
        cause: std::io::Error,
    },
    /// The server's own error; the connection goes on unless [`WireError::is_lost`].
    #[error("error {code} ({state}): {message}")]
    Server {
        code: u16,
        state: String,
        message: String,
    },
    /// The text names what was expected.
    #[error("the server does not speak the protocol: {0}")]
    Protocol(String),
    #[error(
        "a packet of the reply has more than {limit} bytes: read less at once, or raise the limit"
    )]
    ReplyTooLarge { limit: usize },
    /// The server took a large request for too large, or hung up while it was sent.
    #[error(
        "the server broke off a request of {bytes} bytes ({cause}): its max_allowed_packet is likely smaller"
    )]
    RequestTooLarge { bytes: usize, cause: String },
    /// What makes a login impossible: named endpoint, cause and way out.
    #[error("{text}")]
    Login { code: u16, text: String },
    #[error("TLS: {0}")]
    Tls(String),
    /// A call that cannot be: the connection goes on.
    #[error("{0}")]
    Misuse(String),
    #[error("the connection ended before, or a call on it was given up halfway")]
    Ended,
}

impl WireError {
    /// The server's error number, or the one that clients give to the case (2013 for a lost connection).
    pub fn code(&self) -> u16 {
        match self {
            WireError::Server { code, .. } | WireError::Login { code, .. } => *code,
            WireError::ReplyTooLarge { .. } | WireError::RequestTooLarge { .. } => PACKET_TOO_LARGE,
            WireError::Protocol(_) => MALFORMED,
            WireError::Misuse(_) => PARAMETERS,
            WireError::Tls(_) => TLS,
            WireError::Io(_) | WireError::Unreachable { .. } | WireError::Ended => LOST,
        }
    }

    /// Whether the connection is gone.
    pub fn is_lost(&self) -> bool {
        match self {
            // Class 08 is "connection exception".
            WireError::Server { code, state, .. } => {
                state.starts_with("08") || LAST_WORDS.contains(code)
            }
            WireError::Misuse(_) => false,
            _ => true,
        }
    }

    /// Whether opening a session can succeed later, or at another endpoint. It is so while a server is down or restarts:
    /// refused, reset, timed out, the socket's file missing, or one of the server's own errors for that. Wrong
    /// credentials (1045), a missing schema or table and TLS that the two ends cannot agree on are not.
    pub fn is_passing(&self) -> bool {
        match self {
            WireError::Io(_) | WireError::Unreachable { .. } => true,
            WireError::Login { code, .. } => PASSING.contains(code),
            WireError::Server { code, .. } => PASSING.contains(code) || self.is_lost(),
            _ => false,
        }
    }

    /// Whether the server may have done what was requested: the connection was lost after the request was sent and before
    /// its answer was read.
    pub fn is_unanswered(&self) -> bool {
        match self {
            // Only sending fails so, and a request that did not arrive as a whole was not done.
            WireError::Io(cause) => cause.kind() != std::io::ErrorKind::BrokenPipe,
            WireError::Protocol(_)
            | WireError::ReplyTooLarge { .. }
            | WireError::RequestTooLarge { .. } => true,
            _ => false,
        }
    }

    #[cold]
    pub(crate) fn malformed(what: &str) -> WireError {
        WireError::Protocol(what.into())
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
    fn errors_of_a_server_that_restarts_pass() {
        for code in [1040, 1053, 1152, 1927, 3168, 3169] {
            assert!(login(code).is_passing(), "{code}");
            assert!(server(code, "HY000").is_passing(), "{code}");
        }
        assert!(server(1047, "08S01").is_passing());
    }

    #[test]
    fn credentials_schemas_and_tables_that_are_wrong_stay_wrong() {
        for code in [1044, 1045, 1049, 1698] {
            assert!(!login(code).is_passing(), "{code}");
        }
        assert!(!server(1146, "42S02").is_passing());
        assert!(!WireError::Tls(String::new()).is_passing());
    }

    #[test]
    fn only_what_was_sent_and_not_answered_is_unanswered() {
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
            "an error is an answer"
        );
    }
}
