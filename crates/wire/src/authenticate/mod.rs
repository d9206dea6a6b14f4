//! Login: from the server's greeting to its OK packet. Negotiates capabilities and TLS and authenticates.
//!
//! Goal: every authentication plugin that the supported servers use by default. Non-goals: interactive plugins (PAM), passwords
//! older than MySQL 4.1.
//!
//! The password is sent hashed with the server's nonce. It is sent in clear text only over TLS or a Unix socket, or encrypted with
//! a public key that the caller names, or accepts from the server.

mod explain;
mod greeting;
pub(crate) mod plugin;
mod rsa;

use crate::capability::Capabilities;
use crate::channel::Channel;
use crate::channel::deadline::Deadline;
use crate::channel::link::Link;
use crate::channel::tls::{self, Encrypted};
use crate::error::WireError;
use crate::login::{Login, ServerKey, Tls};
use crate::packet::{self, Fields};
use greeting::Greeting;
use load::{Endpoint, Io};
use plugin::Plugin;
use rsa::PublicKey;
use std::io;
use std::path::Path;

/// The longest login of a supported server takes five packets.
const PACKETS_MAX: usize = 16;

/// The maximum packet size that the client announces.
const PACKET_BYTES_MAX: u32 = 1 << 30;

/// Collations, which select the character set of the connection.
const UTF8_GENERAL_CI: u8 = 33;
pub(crate) const UTF8MB4_GENERAL_CI: u8 = 45;

/// Capabilities that the client requests. Those that the server lacks are not used.
const REQUESTED: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::LONG_PASSWORD)
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::DEPRECATE_EOF);

/// Length of the nonce of most plugins: SCRAMBLE_LENGTH in the server's source.
const NONCE_BYTES: usize = 20;

/// The command of caching_sha2_password that requests the server's public key.
const REQUEST_PUBLIC_KEY: u8 = 2;
/// The answers of caching_sha2_password: the cached password matched, or the full password is needed.
const FAST_AUTH_OK: &[u8] = &[3];
const FULL_AUTH: &[u8] = &[4];

/// CR_AUTH_PLUGIN_CANNOT_LOAD, the error of the server's client library for a plugin that it cannot load.
const PLUGIN_CANNOT_LOAD: u16 = 2059;

/// CR_AUTH_PLUGIN_ERR, the error of the server's client library for a login that it does not continue.
const PLUGIN_ERROR: u16 = 2061;

/// A connection after a successful login.
pub(crate) struct LoggedIn {
    pub link: Link,
    pub version: String,
    /// The connection's id on the server.
    pub connection: u32,
    /// Capabilities that both sides have.
    pub capabilities: Capabilities,
}

/// Connects and logs in at one endpoint, which errors call `place`. `more` are capabilities to request in addition to the usual ones.
///
/// # Errors
/// Each names the place, the cause and the fix, and never contains the password.
pub(crate) async fn open(
    io: &Io,
    endpoint: &Endpoint,
    login: &Login,
    place: &str,
    more: Capabilities,
) -> Result<LoggedIn, WireError> {
    let logged_in = log_in(io, endpoint, login, REQUESTED | more).await;
    logged_in.map_err(|error| explain::explain(place, endpoint, login, error))
}

async fn log_in(
    io: &Io,
    endpoint: &Endpoint,
    login: &Login,
    requested: Capabilities,
) -> Result<LoggedIn, WireError> {
    let deadline = Deadline::new(io, login.login_timeout);
    let stream = io.connect(endpoint, login.login_timeout).await?;
    let mut conversation = Conversation {
        link: Link::new(Channel::Plain(stream)),
        deadline,
        password: login.password.as_deref().filter(|word| !word.is_empty()),
        is_private: matches!(endpoint, Endpoint::Unix(_)),
        server_key: &login.protection.server_key,
        packets: 0,
    };
    let greeting = conversation.greeting(login).await?;
    let capabilities = capabilities(&greeting, login, requested)?;
    let mut link = conversation
        .answer(&greeting, capabilities, endpoint, login)
        .await
        .map_err(explain::aborted)?;
    link.channel.set_stall_timeout(login.stall_timeout);
    Ok(LoggedIn {
        link,
        version: greeting.version,
        connection: greeting.connection,
        capabilities,
    })
}

/// The requested capabilities that the server has.
fn capabilities(
    greeting: &Greeting,
    login: &Login,
    requested: Capabilities,
) -> Result<Capabilities, WireError> {
    let offered = greeting.capabilities;
    if !offered.contains(Capabilities::PROTOCOL_41) {
        return Err(WireError::too_old("by its greeting"));
    }
    let mut both = offered & requested;
    // With TLS the capabilities are sent twice, and a server may use the first set. So both have to be the same.
    both.set(Capabilities::CONNECT_WITH_DB, login.schema.is_some());
    if login.protection.tls == Tls::Off {
        return Ok(both);
    }
    if !offered.contains(Capabilities::SSL) {
        return Err(WireError::Tls(
            "the server does not offer it: enable it there (ssl_cert, ssl_key), or accept with `tls=off` in the DSN that others on the network can read everything".into(),
        ));
    }
    Ok(both | Capabilities::SSL)
}

struct Conversation<'a> {
    link: Link,
    deadline: Deadline<'a>,
    /// None if it is empty.
    password: Option<&'a str>,
    /// Whether the channel cannot be read by others: TLS or a Unix socket.
    is_private: bool,
    server_key: &'a ServerKey,
    packets: usize,
}

impl Conversation<'_> {
    async fn greeting(&mut self, login: &Login) -> Result<Greeting, WireError> {
        let received = self.receive_packet().await;
        let greeting = received.and_then(|bytes| {
            let greeting = Greeting::read(self.link.payload(bytes))?;
            self.link.discard(bytes);
            Ok(greeting)
        });
        greeting.map_err(|error| match error {
            WireError::Io(_) | WireError::Protocol(_) => {
                explain::no_greeting(self.link.channel.incoming(), login, error)
            }
            other => other,
        })
    }

    /// Answers the greeting until the server accepts the login.
    async fn answer(
        mut self,
        greeting: &Greeting,
        capabilities: Capabilities,
        endpoint: &Endpoint,
        login: &Login,
    ) -> Result<Link, WireError> {
        if login.protection.tls != Tls::Off {
            let tls = &login.protection.tls;
            self = self.encrypt(greeting, capabilities, endpoint, tls).await?;
        }
        self.respond(greeting, capabilities, login).await?;
        self.authenticate(greeting.nonce.clone()).await?;
        Ok(self.link)
    }

    async fn receive_packet(&mut self) -> Result<usize, WireError> {
        self.packets += 1;
        if self.packets > PACKETS_MAX {
            return Err(WireError::malformed("its login takes too many packets"));
        }
        loop {
            if let Some(bytes) = self.link.arrived()? {
                return Ok(bytes);
            }
            self.apply_deadline()?;
            self.link.channel.receive_some().await?;
        }
    }

    async fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.apply_deadline()?;
        self.link.send(write).await
    }

    /// Limits the next operation to the time that the login has left.
    fn apply_deadline(&mut self) -> io::Result<()> {
        let left = self.deadline.left()?;
        self.link.channel.set_stall_timeout(Some(left));
        Ok(())
    }

    /// Requests TLS and continues on the encrypted channel.
    async fn encrypt(
        mut self,
        greeting: &Greeting,
        capabilities: Capabilities,
        endpoint: &Endpoint,
        tls: &Tls,
    ) -> Result<Self, WireError> {
        // A file that cannot be read is found before anything is sent.
        let config = tls::config(tls).map_err(WireError::Tls)?;
        self.send(|out| write_head(out, greeting, capabilities))
            .await?;
        let Channel::Plain(stream) = self.link.channel else {
            return Ok(self);
        };
        // Bytes before the TLS handshake are not protected: they may come from an attacker.
        if !stream.incoming().is_empty() {
            return Err(WireError::malformed(
                "it sent data in clear text after TLS was requested",
            ));
        }
        let encrypted = Encrypted::start(stream, endpoint, config, &self.deadline)
            .await
            .map_err(tls_error)?;
        Ok(Conversation {
            link: Link {
                channel: Channel::Encrypted(Box::new(encrypted)),
                number: self.link.number,
            },
            is_private: true,
            ..self
        })
    }

    async fn respond(
        &mut self,
        greeting: &Greeting,
        capabilities: Capabilities,
        login: &Login,
    ) -> Result<(), WireError> {
        // If the server's default plugin is unknown here, the server switches to the user's plugin anyway.
        let preferred = Plugin::from_name(&greeting.plugin).unwrap_or(Plugin::NativePassword);
        let proof = preferred.proof(self.password, &greeting.nonce);
        let named = capabilities.contains(Capabilities::PLUGIN_AUTH);
        self.send(|out| {
            write_head(out, greeting, capabilities);
            write_user(out, login, &proof, named.then_some(preferred));
        })
        .await?;
        Ok(())
    }

    /// Answers the server's requests until it accepts or refuses the login.
    async fn authenticate(&mut self, mut nonce: Vec<u8>) -> Result<(), WireError> {
        loop {
            let bytes = self.receive_packet().await?;
            let payload = self.link.payload(bytes);
            let next = match payload.split_first() {
                Some((&packet::OK, _)) => Next::Done,
                Some((&packet::ERROR, _)) => return Err(packet::error(payload)),
                Some((&packet::EOF, request)) => Next::switch(request)?,
                Some((&packet::MORE_DATA, data)) => Next::more(data)?,
                _ => {
                    return Err(WireError::malformed(
                        "it sent an unknown packet during the login",
                    ));
                }
            };
            self.link.discard(bytes);
            match next {
                Next::Done => return Ok(()),
                Next::Wait => {}
                Next::Switch {
                    plugin,
                    nonce: fresh,
                } => {
                    let proof = plugin.proof(self.password, &fresh);
                    self.send(|out| out.extend_from_slice(&proof)).await?;
                    nonce = fresh;
                }
                Next::SendPassword => self.send_password(&nonce).await?,
            }
        }
    }

    /// Sends the full password. The server caches its hash, so the next login only needs the hash of the nonce.
    async fn send_password(&mut self, nonce: &[u8]) -> Result<(), WireError> {
        let mut password = self.password.unwrap_or_default().as_bytes().to_vec();
        password.push(0);
        if !self.is_private {
            password = self.encrypted(password, nonce).await?;
        }
        self.send(|out| out.extend_from_slice(&password)).await?;
        Ok(())
    }

    /// Encrypts the password with the server's public key.
    async fn encrypted(&mut self, password: Vec<u8>, nonce: &[u8]) -> Result<Vec<u8>, WireError> {
        let key = match self.server_key {
            ServerKey::Refused => return Err(key_refused()),
            ServerKey::Requested => self.requested_key().await?,
            ServerKey::File(file) => key_in(file)?,
        };
        encrypt(&key, &password, nonce)
            .ok_or_else(|| WireError::malformed("its public key cannot encrypt the password"))
    }

    /// The key that the server sends, like `get-server-public-key` of the server's client.
    async fn requested_key(&mut self) -> Result<PublicKey, WireError> {
        self.send(|out| out.push(REQUEST_PUBLIC_KEY)).await?;
        let bytes = self.receive_packet().await?;
        let payload = self.link.payload(bytes);
        let key = match payload.split_first() {
            Some((&packet::MORE_DATA, pem)) => PublicKey::of_pem(pem),
            Some((&packet::ERROR, _)) => return Err(packet::error(payload)),
            _ => None,
        };
        self.link.discard(bytes);
        key.ok_or_else(|| {
            WireError::malformed("it sent no usable public key for the password: use TLS")
        })
    }
}

fn key_in(file: &Path) -> Result<PublicKey, WireError> {
    let unusable = |cause: String| WireError::Login {
        code: PLUGIN_ERROR,
        text: format!(
            "the file of server_public_key, {}, cannot be used: {cause}; `select @@caching_sha2_password_public_key_path` on the server shows where the key is",
            file.display()
        ),
    };
    let pem = std::fs::read(file).map_err(|error| unusable(error.to_string()))?;
    PublicKey::of_pem(&pem).ok_or_else(|| unusable("it holds no RSA public key in PEM".into()))
}

fn key_refused() -> WireError {
    WireError::Login {
        code: PLUGIN_ERROR,
        text: "the server requests the full password over a connection without TLS: add to the DSN `tls=verify-identity` (or `verify-ca`, `required`), `socket=/path`, `server_public_key=FILE` with a copy of the server's key, or `get_server_public_key=true` to trust the key that it sends".into(),
    }
}

enum Next {
    Done,
    Wait,
    SendPassword,
    Switch { plugin: Plugin, nonce: Vec<u8> },
}

impl Next {
    fn switch(request: &[u8]) -> Result<Next, WireError> {
        let mut fields = Fields(request);
        let name = match request {
            [] => b"mysql_old_password",
            _ => fields.until_zero(),
        };
        let nonce = nonce(fields.0).to_vec();
        match Plugin::from_name(name) {
            Some(plugin) => Ok(Next::Switch { plugin, nonce }),
            None => Err(WireError::Login {
                code: PLUGIN_CANNOT_LOAD,
                text: format!(
                    "the user's authentication plugin `{}` is not supported: create a user with caching_sha2_password, mysql_native_password or ed25519",
                    name.escape_ascii()
                ),
            }),
        }
    }

    fn more(data: &[u8]) -> Result<Next, WireError> {
        match data {
            FAST_AUTH_OK => Ok(Next::Wait),
            FULL_AUTH => Ok(Next::SendPassword),
            _ => Err(WireError::malformed(
                "it sent a login request that caching_sha2_password does not define",
            )),
        }
    }
}

/// Strips the zero byte that follows the 20-byte nonce of most plugins. The 32-byte nonce of ed25519 has none, and its last byte
/// can be zero.
fn nonce(sent: &[u8]) -> &[u8] {
    match sent {
        [nonce @ .., 0] if nonce.len() == NONCE_BYTES => nonce,
        all => all,
    }
}

/// The password, masked with the nonce and encrypted.
fn encrypt(key: &PublicKey, password: &[u8], nonce: &[u8]) -> Option<Vec<u8>> {
    if nonce.is_empty() {
        return None;
    }
    let masked: Vec<u8> = password
        .iter()
        .zip(nonce.iter().cycle())
        .map(|(byte, mask)| byte ^ mask)
        .collect();
    key.encrypt(&masked)
}

/// Writes the first 32 bytes of the answer to the greeting. They are the whole request for TLS.
fn write_head(out: &mut Vec<u8>, greeting: &Greeting, capabilities: Capabilities) {
    // utf8mb4 was added in 5.5.3.
    let collation = if greeting.numbers() >= (5, 5, 3) {
        UTF8MB4_GENERAL_CI
    } else {
        UTF8_GENERAL_CI
    };
    out.extend_from_slice(&capabilities.bits().to_le_bytes());
    out.extend_from_slice(&PACKET_BYTES_MAX.to_le_bytes());
    out.push(collation);
    out.extend_from_slice(&[0; 23]);
}

/// Writes the rest of the answer to the greeting. The length of a proof has one byte, so its encoding is the same for servers with and
/// without PLUGIN_AUTH_LENENC_CLIENT_DATA.
fn write_user(out: &mut Vec<u8>, login: &Login, proof: &[u8], plugin: Option<Plugin>) {
    packet::write_terminated(out, &login.user);
    packet::write_string(out, proof);
    let texts = login.schema.as_deref().into_iter();
    texts
        .chain(plugin.map(Plugin::name))
        .for_each(|text| packet::write_terminated(out, text));
}

/// A broken connection is a transient error, a failed negotiation is not.
fn tls_error(error: io::Error) -> WireError {
    match error.kind() {
        io::ErrorKind::TimedOut
        | io::ErrorKind::Interrupted
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => WireError::Io(error),
        _ => WireError::Tls(match tls::refused_certificate(&error) {
            Some(cause) => format!(
                "the server's certificate is not accepted ({cause}): name the certificate of its issuer with `tls_ca=FILE`; `tls=verify-ca` does not compare the host's name, and `tls=required` encrypts for any server"
            ),
            None => format!(
                "the handshake failed ({error}): the server needs TLS 1.2 or later, which 5.5 and 5.6 lack; use a tunnel, or accept with `tls=off` that others on the network can read everything"
            ),
        }),
    }
}

#[cfg(test)]
mod tests;
