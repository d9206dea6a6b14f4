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

/// Refusals that pass: too many connections (of all, of this user), shutting down.
const PASSING: [u16; 3] = [1040, 1203, 1053];

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

    /// Whether the same login can succeed later, or at another endpoint.
    pub fn is_passing(&self) -> bool {
        match self {
            WireError::Io(_) | WireError::Unreachable { .. } => true,
            WireError::Login { code, .. } => PASSING.contains(code),
            _ => false,
        }
    }

    #[cold]
    pub(crate) fn malformed(what: &str) -> WireError {
        WireError::Protocol(what.into())
    }
}
