//! TLS on a stream, with the certificate of whoever answers.
//!
//! Goal: what `ssl-mode=REQUIRED` of the server's own client means: nobody reads along. Non-goal: knowing who is at the
//! other end; so neither the certificate nor what it signs is verified (some servers make certificates for themselves that
//! no verifier takes).

use crate::deadline::Deadline;
use load::{Endpoint, Stream};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use std::io::{self, BufRead, Write};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// One for all connections, so that sessions are resumed.
static CONFIG: LazyLock<Result<Arc<ClientConfig>, rustls::Error>> = LazyLock::new(config);

pub struct Encrypted {
    /// Once hands are shaken, what has arrived there is decrypted at once, so that nothing lies in its `incoming`.
    stream: Stream,
    session: ClientConnection,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    consumed: usize,
    /// The other side has said that nothing more comes.
    is_closed: bool,
}

impl Encrypted {
    /// Shakes hands on a stream whose incoming side is empty.
    ///
    /// # Errors
    /// What the system says, or what the two ends could not agree on; [`io::ErrorKind::TimedOut`].
    pub async fn start(
        stream: Stream,
        endpoint: &Endpoint,
        deadline: &Deadline<'_>,
    ) -> io::Result<Encrypted> {
        let config = CONFIG.clone().map_err(io::Error::other)?;
        let mut session =
            ClientConnection::new(config, server_name(endpoint)).map_err(io::Error::other)?;
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
            encrypted.go_on(deadline).await?;
        }
        Ok(encrypted)
    }

    /// One step of the handshake. The session reads nothing as long as it has something to send, so something may be left.
    async fn go_on(&mut self, deadline: &Deadline<'_>) -> io::Result<()> {
        if self.is_closed {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if self.stream.incoming().is_empty() {
            self.stream.stalled_after(Some(deadline.left()?))?;
            self.stream.receive().await?;
        }
        self.decrypt()?;
        self.flush(deadline).await
    }

    async fn flush(&mut self, deadline: &Deadline<'_>) -> io::Result<()> {
        self.stream.stalled_after(Some(deadline.left()?))?;
        self.send().await
    }

    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    pub fn incoming(&self) -> &[u8] {
        &self.incoming[self.consumed..]
    }

    pub fn consume(&mut self, bytes: usize) {
        self.consumed = (self.consumed + bytes).min(self.incoming.len());
    }

    pub async fn send(&mut self) -> io::Result<()> {
        self.encrypt()?;
        match self.stream.outgoing().is_empty() {
            true => Ok(()),
            false => self.stream.send().await,
        }
    }

    /// Appends at least one byte to `incoming`.
    pub async fn receive(&mut self) -> io::Result<()> {
        let held = self.incoming().len();
        while self.incoming().len() == held {
            self.receive_some().await?;
        }
        Ok(())
    }

    /// Takes in what arrives next; a part of a record adds nothing to `incoming`.
    pub async fn receive_some(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.stream.receive().await?;
        self.decrypt()
    }

    /// One step of the stream where the whole answer arrives at once.
    pub async fn exchange(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.encrypt()?;
        let held = self.incoming().len();
        self.stream.exchange().await?;
        self.decrypt()?;
        match self.incoming().len() > held {
            true => Ok(()),
            false => self.receive().await,
        }
    }

    pub fn stalled_after(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.stream.stalled_after(limit)
    }

    /// Gives what is to be sent to the stream, and what the session has to say itself.
    fn encrypt(&mut self) -> io::Result<()> {
        self.session.writer().write_all(&self.outgoing)?;
        self.outgoing.clear();
        while self.session.wants_write() {
            self.session.write_tls(self.stream.outgoing())?;
        }
        Ok(())
    }

    /// Decrypts what has arrived.
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

/// The name is only told to the server, which hardly ever looks at it.
fn server_name(endpoint: &Endpoint) -> ServerName<'static> {
    let host = match endpoint {
        Endpoint::Tcp { host, .. } => ServerName::try_from(host.clone()).ok(),
        Endpoint::Unix(_) => None,
    };
    host.unwrap_or_else(|| ServerName::IpAddress(std::net::Ipv4Addr::LOCALHOST.into()))
}

fn config() -> Result<Arc<ClientConfig>, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
