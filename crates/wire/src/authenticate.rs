//! From the greeting to the server's OK: capabilities, TLS, the password by the plugin that the server asks for.
//!
//! Goal: every login that the builds have. Non-goals: plugins that ask the user (PAM), passwords of before MySQL 4.1.
//!
//! The password leaves this module hashed with the server's nonce, or as it is where nobody can read along: through TLS, a
//! unix socket, or encrypted with the server's public key.

use crate::channel::Channel;
use crate::deadline::Deadline;
use crate::error::WireError;
use crate::greeting::Greeting;
use crate::link::Link;
use crate::login::{self, Login, Tls};
use crate::packet::{self, Fields};
use crate::tls::Encrypted;
use load::{Endpoint, Io};
use mysql_common::constants::{CapabilityFlags, UTF8_GENERAL_CI, UTF8MB4_GENERAL_CI};
use mysql_common::packets::{AuthPlugin, HandshakeResponse, SslRequest};
use mysql_common::proto::MySerialize;
use rsa::pkcs8::DecodePublicKey;
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;
use std::io;

/// The longest conversation that a server of ours has is five packets.
const PACKETS_MAX: usize = 16;

/// The largest packet that this end takes and sends, as it is told to the server.
const PACKET_BYTES_MAX: u32 = 1 << 30;

/// What prony asks for; a server that lacks one goes without it.
const WANTED: CapabilityFlags = CapabilityFlags::CLIENT_PROTOCOL_41
    .union(CapabilityFlags::CLIENT_LONG_PASSWORD)
    .union(CapabilityFlags::CLIENT_LONG_FLAG)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PS_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(CapabilityFlags::CLIENT_CONNECT_WITH_DB)
    .union(CapabilityFlags::CLIENT_DEPRECATE_EOF);

/// What most plugins compute their answers from: SCRAMBLE_LENGTH of the server's own code.
const NONCE_BYTES: usize = 20;

/// The subcommand of caching_sha2_password that asks for the server's public key, and what it says itself.
const ASK_FOR_KEY: u8 = 2;
const KNOWN: &[u8] = &[3];
const SEND_ALL: &[u8] = &[4];

/// The number that the server's client library gives to a plugin that it cannot load.
const PLUGIN_UNKNOWN: u16 = 2059;

/// What a login came to.
pub struct Welcome {
    pub link: Link,
    pub version: String,
    /// What both sides can.
    pub capabilities: CapabilityFlags,
}

/// Connects and logs in at one endpoint.
///
/// # Errors
/// Each names the endpoint, the cause and the way out, and never the password.
pub async fn open(io: &Io, endpoint: &Endpoint, login: &Login) -> Result<Welcome, WireError> {
    let welcome = converse(io, endpoint, login).await;
    welcome.map_err(|error| explain(endpoint, login, error))
}

async fn converse(io: &Io, endpoint: &Endpoint, login: &Login) -> Result<Welcome, WireError> {
    let deadline = Deadline::new(io, login.within);
    let stream = io.connect(endpoint, login.within).await?;
    let mut conversation = Conversation {
        link: Link::new(Channel::Plain(stream)),
        deadline,
        password: login.password.as_deref().filter(|word| !word.is_empty()),
        is_private: matches!(endpoint, Endpoint::Unix(_)),
        packets: 0,
    };
    let bytes = conversation.arrive().await?;
    let greeting = Greeting::read(conversation.link.payload(bytes))?;
    conversation.link.pass(bytes);
    let capabilities = capabilities(&greeting, login)?;
    if login.tls == Tls::Required {
        conversation = conversation
            .encrypt(&greeting, capabilities, endpoint)
            .await?;
    }
    conversation.answer(&greeting, capabilities, login).await?;
    conversation.go_on(greeting.nonce).await?;
    let mut link = conversation.link;
    link.channel.stalled_after(login.stalled)?;
    Ok(Welcome {
        link,
        version: greeting.version,
        capabilities,
    })
}

fn capabilities(greeting: &Greeting, login: &Login) -> Result<CapabilityFlags, WireError> {
    let offered = greeting.capabilities;
    if !offered.contains(CapabilityFlags::CLIENT_PROTOCOL_41) {
        return Err(WireError::malformed("it is older than MySQL 4.1"));
    }
    let mut both = offered & WANTED;
    // Said twice where TLS is asked for, and a server may keep the first.
    both.set(
        CapabilityFlags::CLIENT_CONNECT_WITH_DB,
        login.schema.is_some(),
    );
    if login.tls == Tls::Off {
        return Ok(both);
    }
    if !offered.contains(CapabilityFlags::CLIENT_SSL) {
        return Err(WireError::Tls(
            "the server offers none: switch it on there (ssl_cert, ssl_key), or leave out `tls=required`".into(),
        ));
    }
    Ok(both | CapabilityFlags::CLIENT_SSL)
}

struct Conversation<'a> {
    link: Link,
    deadline: Deadline<'a>,
    /// None: empty.
    password: Option<&'a str>,
    /// Nobody can read along.
    is_private: bool,
    packets: usize,
}

impl Conversation<'_> {
    async fn arrive(&mut self) -> Result<usize, WireError> {
        self.packets += 1;
        if self.packets > PACKETS_MAX {
            return Err(WireError::malformed("its login does not end"));
        }
        loop {
            if let Some(bytes) = self.link.arrived()? {
                return Ok(bytes);
            }
            self.keep_time()?;
            self.link.channel.receive_some().await?;
        }
    }

    async fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.keep_time()?;
        self.link.send(write).await
    }

    /// What comes next has no longer than the login has left.
    fn keep_time(&mut self) -> io::Result<()> {
        let left = self.deadline.left()?;
        self.link.channel.stalled_after(Some(left))
    }

    /// Asks for TLS and goes on through it.
    async fn encrypt(
        mut self,
        greeting: &Greeting,
        capabilities: CapabilityFlags,
        endpoint: &Endpoint,
    ) -> Result<Self, WireError> {
        let request = SslRequest::new(capabilities, PACKET_BYTES_MAX, collation(greeting));
        self.send(|out| request.serialize(out)).await?;
        let Channel::Plain(stream) = self.link.channel else {
            return Ok(self);
        };
        // What came before the handshake's first byte was not encrypted, so nobody knows from whom.
        if !stream.incoming().is_empty() {
            return Err(WireError::malformed("it went on talking without TLS"));
        }
        let encrypted = Encrypted::start(stream, endpoint, &self.deadline)
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

    async fn answer(
        &mut self,
        greeting: &Greeting,
        capabilities: CapabilityFlags,
        login: &Login,
    ) -> Result<(), WireError> {
        // A server whose favourite is unknown here switches to the user's own plugin anyway.
        let favourite = plugin(&greeting.plugin).unwrap_or(AuthPlugin::MysqlNativePassword);
        let proof = favourite.gen_data(self.password, &greeting.nonce);
        let knows_plugins = capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH);
        let response = HandshakeResponse::new(
            proof.as_deref(),
            greeting.numbers(),
            Some(login.user.as_bytes()),
            login.schema.as_deref().map(str::as_bytes),
            knows_plugins.then_some(favourite),
            capabilities,
            None,
            PACKET_BYTES_MAX,
        );
        self.send(|out| response.serialize(out)).await?;
        Ok(())
    }

    /// Until the server is content.
    async fn go_on(&mut self, mut nonce: Vec<u8>) -> Result<(), WireError> {
        loop {
            let bytes = self.arrive().await?;
            let payload = self.link.payload(bytes);
            let next = match payload.split_first() {
                Some((&packet::OK, _)) => Next::Done,
                Some((&packet::ERROR, _)) => return Err(packet::error(payload)),
                Some((&packet::EOF, request)) => Next::switch(request)?,
                Some((&packet::MORE_DATA, data)) => Next::more(data)?,
                _ => return Err(WireError::malformed("an unknown packet came in its login")),
            };
            self.link.pass(bytes);
            match next {
                Next::Done => return Ok(()),
                Next::Wait => {}
                Next::Switch {
                    plugin,
                    nonce: fresh,
                } => {
                    let proof = plugin.gen_data(self.password, &fresh);
                    let proof = proof.as_deref().unwrap_or_default();
                    self.send(|out| out.extend_from_slice(proof)).await?;
                    nonce = fresh;
                }
                Next::SendAll => self.send_password(&nonce).await?,
            }
        }
    }

    /// What the server hashes and keeps, so that the next login needs the nonce's answer only.
    async fn send_password(&mut self, nonce: &[u8]) -> Result<(), WireError> {
        let mut password = self.password.unwrap_or_default().as_bytes().to_vec();
        password.push(0);
        if !self.is_private {
            password = self.encrypted(password, nonce).await?;
        }
        self.send(|out| out.extend_from_slice(&password)).await?;
        Ok(())
    }

    /// With the server's public key, as `get-server-public-key` of its own client does.
    async fn encrypted(&mut self, password: Vec<u8>, nonce: &[u8]) -> Result<Vec<u8>, WireError> {
        self.send(|out| out.push(ASK_FOR_KEY)).await?;
        let bytes = self.arrive().await?;
        let payload = self.link.payload(bytes);
        let key = match payload.split_first() {
            Some((&packet::MORE_DATA, pem)) => str::from_utf8(pem).ok(),
            Some((&packet::ERROR, _)) => return Err(packet::error(payload)),
            _ => None,
        };
        let encrypted = key
            .and_then(|pem| RsaPublicKey::from_public_key_pem(pem.trim_end()).ok())
            .and_then(|key| encrypt(&key, &password, nonce))
            .ok_or_else(|| {
                WireError::malformed("no usable public key came for the password: use TLS")
            });
        self.link.pass(bytes);
        encrypted
    }
}

enum Next {
    Done,
    Wait,
    SendAll,
    Switch {
        plugin: AuthPlugin<'static>,
        nonce: Vec<u8>,
    },
}

impl Next {
    fn switch(request: &[u8]) -> Result<Next, WireError> {
        let mut fields = Fields(request);
        let name = match request {
            [] => b"mysql_old_password",
            _ => fields.until_zero(),
        };
        let nonce = nonce(fields.0).to_vec();
        match plugin(name) {
            Some(plugin) => Ok(Next::Switch { plugin, nonce }),
            None => Err(WireError::Login {
                code: PLUGIN_UNKNOWN,
                text: format!(
                    "the user logs in by the plugin `{}`, which prony does not have: make a user that logs in by caching_sha2_password, mysql_native_password or ed25519",
                    name.escape_ascii()
                ),
            }),
        }
    }

    fn more(data: &[u8]) -> Result<Next, WireError> {
        match data {
            KNOWN => Ok(Next::Wait),
            SEND_ALL => Ok(Next::SendAll),
            _ => Err(WireError::malformed(
                "its login asks for something that caching_sha2_password does not know",
            )),
        }
    }
}

/// Without the zero byte behind the 20 bytes of most plugins. The 32 of ed25519 have none behind them, and any byte can be their
/// last.
fn nonce(sent: &[u8]) -> &[u8] {
    match sent {
        [nonce @ .., 0] if nonce.len() == NONCE_BYTES => nonce,
        all => all,
    }
}

/// Those that prony has; the others of `mysql_common` are weak, or send the password to whoever asks.
fn plugin(name: &[u8]) -> Option<AuthPlugin<'static>> {
    match AuthPlugin::from_bytes(name) {
        AuthPlugin::CachingSha2Password => Some(AuthPlugin::CachingSha2Password),
        AuthPlugin::MysqlNativePassword => Some(AuthPlugin::MysqlNativePassword),
        AuthPlugin::Ed25519 => Some(AuthPlugin::Ed25519),
        _ => None,
    }
}

fn encrypt(key: &RsaPublicKey, password: &[u8], nonce: &[u8]) -> Option<Vec<u8>> {
    if nonce.is_empty() {
        return None;
    }
    let masked: Vec<u8> = password
        .iter()
        .zip(nonce.iter().cycle())
        .map(|(byte, mask)| byte ^ mask)
        .collect();
    key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &masked).ok()
}

/// utf8mb4 came with 5.5.3.
fn collation(greeting: &Greeting) -> u8 {
    let collation = match greeting.numbers() >= (5, 5, 3) {
        true => UTF8MB4_GENERAL_CI,
        false => UTF8_GENERAL_CI,
    };
    collation as u8
}

/// A connection that broke may last the next time; what the two ends cannot agree on, they never will.
fn tls_error(error: io::Error) -> WireError {
    match error.kind() {
        io::ErrorKind::TimedOut
        | io::ErrorKind::Interrupted
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => WireError::Io(error),
        _ => WireError::Tls(format!(
            "it could not be agreed on ({error}): the server must speak TLS 1.2 or later, which 5.5, 5.6 and their libraries do not; leave out `tls=required`, or go through a tunnel"
        )),
    }
}

fn explain(endpoint: &Endpoint, login: &Login, error: WireError) -> WireError {
    let endpoint = login::name(endpoint);
    let code = error.code();
    let refusal = |code, cause: String, way_out: &str| WireError::Login {
        code,
        text: format!("{endpoint}: {cause}{way_out}"),
    };
    match error {
        WireError::Io(cause) => WireError::Unreachable { endpoint, cause },
        WireError::Server { code, message, .. } => {
            let cause = format!(
                "the server refused the login of `{}` ({code} {message})",
                login.user
            );
            refusal(code, cause, way_out(code))
        }
        WireError::Login { text, .. } => refusal(code, text, ""),
        other => refusal(code, other.to_string(), ""),
    }
}

fn way_out(code: u16) -> &'static str {
    match code {
        1045 | 1698 => {
            "; check the user and the password, and that the user may come from this host"
        }
        1044 => "; grant the user rights in the schema",
        1049 => "; create the schema, or leave it out",
        1040 | 1203 => "; close other connections, or raise max_connections",
        1129 => "; run FLUSH HOSTS on the server",
        1130 => "; create a user that may come from this host",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
