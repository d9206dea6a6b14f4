//! TLS on a stream.
//!
//! Boundary: `trust` decides which server is accepted.

use super::deadline::Deadline;
use load::{Endpoint, Stream};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

mod trust;

pub(crate) use trust::config;

/// An encrypted stream.
pub(crate) struct Encrypted {
    /// The transport. After the handshake its received bytes are decrypted immediately, so its `incoming` is empty.
    stream: Stream,
    session: ClientConnection,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    consumed: usize,
    /// The peer has sent close_notify.
    is_closed: bool,
}

impl Encrypted {
    /// Performs the TLS handshake on a stream whose receive buffer is empty.
    ///
    /// # Errors
    /// I/O errors, a failed negotiation, a certificate that is not accepted, [`io::ErrorKind::TimedOut`].
    pub(crate) async fn start(
        stream: Stream,
        endpoint: &Endpoint,
        config: Arc<ClientConfig>,
        deadline: &Deadline<'_>,
    ) -> io::Result<Encrypted> {
        let mut session =
            ClientConnection::new(config, server_name(endpoint)?).map_err(io::Error::other)?;
        session.set_buffer_limit(None);
        let mut encrypted = Encrypted {
            stream,
            session,
            outgoing: Vec::new(),
            incoming: Vec::new(),
            consumed: 0,
            is_closed: false,
        };
        encrypted.flush(deadline).await?;
        while encrypted.session.is_handshaking() {
            encrypted.handshake_step(deadline).await?;
        }
        Ok(encrypted)
    }

    /// One step of the handshake. The session does not read while it has data to send, so received bytes may be left over.
    async fn handshake_step(&mut self, deadline: &Deadline<'_>) -> io::Result<()> {
        if self.is_closed {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if self.stream.incoming().is_empty() {
            self.stream.set_stall_timeout(Some(deadline.left()?));
            self.stream.receive().await?;
        }
        self.decrypt()?;
        self.flush(deadline).await
    }

    async fn flush(&mut self, deadline: &Deadline<'_>) -> io::Result<()> {
        self.stream.set_stall_timeout(Some(deadline.left()?));
        self.send().await
    }

    pub(crate) fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    pub(crate) fn incoming(&self) -> &[u8] {
        &self.incoming[self.consumed..]
    }

    pub(crate) fn consume(&mut self, bytes: usize) {
        self.consumed = (self.consumed + bytes).min(self.incoming.len());
    }

    pub(crate) async fn send(&mut self) -> io::Result<()> {
        self.encrypt()?;
        if self.stream.outgoing().is_empty() {
            Ok(())
        } else {
            self.stream.send().await
        }
    }

    /// Appends at least one byte to `incoming`.
    pub(crate) async fn receive(&mut self) -> io::Result<()> {
        let before = self.incoming().len();
        while self.incoming().len() == before {
            self.receive_some().await?;
        }
        Ok(())
    }

    /// Receives the next bytes. Part of a record adds nothing to `incoming`.
    pub(crate) async fn receive_some(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.stream.receive().await?;
        self.decrypt()
    }

    /// Sends, then receives the answer: one exchange of the stream if the whole answer arrives at once.
    pub(crate) async fn exchange(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.encrypt()?;
        let before = self.incoming().len();
        self.stream.exchange().await?;
        self.decrypt()?;
        if self.incoming().len() > before {
            Ok(())
        } else {
            self.receive().await
        }
    }

    pub(crate) fn set_stall_timeout(&mut self, limit: Option<Duration>) {
        self.stream.set_stall_timeout(limit);
    }

    /// Passes the outgoing data and the session's own messages to the stream, encrypted.
    fn encrypt(&mut self) -> io::Result<()> {
        self.session.writer().write_all(&self.outgoing)?;
        self.outgoing.clear();
        while self.session.wants_write() {
            self.session.write_tls(self.stream.outgoing())?;
        }
        Ok(())
    }

    /// Decrypts the received bytes.
    fn decrypt(&mut self) -> io::Result<()> {
        self.incoming.drain(..self.consumed);
        self.consumed = 0;
        while !self.stream.incoming().is_empty() && self.session.wants_read() {
            let mut arrived = self.stream.incoming();
            let taken = self.session.read_tls(&mut arrived)?;
            self.stream.consume(taken);
            self.session
                .process_new_packets()
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            self.read_plain()?;
        }
        Ok(())
    }

    fn read_plain(&mut self) -> io::Result<()> {
        let mut reader = self.session.reader();
        loop {
            let read = match reader.fill_buf() {
                Ok([]) => {
                    self.is_closed = true;
                    return Ok(());
                }
                Ok(chunk) => {
                    self.incoming.extend_from_slice(chunk);
                    chunk.len()
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            reader.consume(read);
        }
    }
}

/// Why the server's certificate was not accepted; None for any other error of a handshake.
pub(crate) fn refused_certificate(error: &io::Error) -> Option<String> {
    let inner = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    match inner {
        rustls::Error::InvalidCertificate(cause) => Some(cause.to_string()),
        _ => None,
    }
}

/// The name that the server's certificate must hold, and that is sent as server name indication (SNI), which MySQL servers ignore.
fn server_name(endpoint: &Endpoint) -> io::Result<ServerName<'static>> {
    let host = match endpoint {
        Endpoint::Tcp { host, .. } => host.clone(),
        Endpoint::Unix(_) => "localhost".into(),
    };
    ServerName::try_from(host).map_err(io::Error::other)
}

#[cfg(test)]
mod tests;
