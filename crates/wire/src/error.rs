//! What can go wrong between two ends of the protocol.

#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// The server's own error; the connection goes on.
    #[error("error {code} ({state}): {message}")]
    Server {
        code: u16,
        state: String,
        message: String,
    },
    #[error("the server does not speak the protocol here: {0}")]
    Protocol(String),
    #[error("cannot log in: {0}")]
    Login(String),
    #[error("TLS: {0}")]
    Tls(String),
}

impl WireError {
    /// The server's error number; 2013 (lost connection) for everything that ended the connection, as clients number it.
    pub fn code(&self) -> u16 {
        match self {
            WireError::Server { code, .. } => *code,
            _ => 2013,
        }
    }

    /// Whether the connection is gone.
    pub fn is_lost(&self) -> bool {
        !matches!(self, WireError::Server { .. })
    }
}
