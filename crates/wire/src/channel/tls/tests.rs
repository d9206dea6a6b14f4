use super::*;
use crate::connection::now;
use crate::login::{Tls, Verification};
use load::Io;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::{self, JoinHandle};

/// A timeout that no test reaches, even on a busy machine.
const LONG: Duration = Duration::from_secs(20);

/// A key, and a certificate for `localhost` that it signed itself.
type Own = rcgen::CertifiedKey<rcgen::KeyPair>;

fn own() -> Own {
    rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap()
}

/// A server with a chain of `certificates` certificates.
fn server(certificates: usize, own: &Own) -> ServerConnection {
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let chain = vec![own.cert.der().clone(); certificates];
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from(key))
        .unwrap();
    ServerConnection::new(Arc::new(config)).unwrap()
}

fn start(socket: UnixStream, within: Duration) -> io::Result<Encrypted> {
    start_as("localhost", &Tls::Required, socket, within)
}

/// Starts TLS with a server that the client calls `host`.
fn start_as(host: &str, tls: &Tls, socket: UnixStream, within: Duration) -> io::Result<Encrypted> {
    let io = Io::blocking();
    let stream = io.adopt(socket.into()).unwrap();
    let endpoint = Endpoint::Tcp {
        host: host.into(),
        port: 1,
    };
    let (config, deadline) = (config(tls).unwrap(), Deadline::new(&io, within));
    now(Encrypted::start(stream, &endpoint, config, &deadline))
}

/// Why a client that calls the server `host` refuses its certificate; None if it accepts it.
fn refusal(own: &Own, host: &str, issuers: &Path, identity: bool) -> Option<String> {
    let (near, mut far) = UnixStream::pair().unwrap();
    let mut session = server(1, own);
    let peer =
        thread::spawn(
            move || {
                while session.is_handshaking() && session.complete_io(&mut far).is_ok() {}
            },
        );
    let tls = Tls::Verified(Verification {
        issuers: Some(issuers.into()),
        identity,
    });
    let started = start_as(host, &tls, near, LONG);
    let refused = started.err().map(|error| {
        refused_certificate(&error).unwrap_or_else(|| panic!("another error: {error}"))
    });
    peer.join().unwrap();
    refused
}

/// The client after the handshake, and the server's thread, which then runs `act` and keeps its socket open.
fn after_handshake(
    certificates: usize,
    act: impl FnOnce(&mut ServerConnection, &mut UnixStream) + Send + 'static,
) -> (Encrypted, JoinHandle<UnixStream>) {
    let (near, mut far) = UnixStream::pair().unwrap();
    let peer = thread::spawn(move || {
        let mut session = server(certificates, &own());
        while session.is_handshaking() {
            session.complete_io(&mut far).unwrap();
        }
        act(&mut session, &mut far);
        far
    });
    (start(near, LONG).unwrap(), peer)
}

#[test]
fn a_certificate_is_accepted_from_its_issuer_and_for_its_host_only() {
    let folder = tempfile::tempdir().unwrap();
    let (own_file, other_file) = (folder.path().join("own"), folder.path().join("other"));
    let (own, other) = (self::own(), self::own());
    std::fs::write(&own_file, own.cert.pem()).unwrap();
    std::fs::write(&other_file, other.cert.pem()).unwrap();
    for identity in [true, false] {
        assert_eq!(refusal(&own, "localhost", &own_file, identity), None);
        let by_another = refusal(&own, "localhost", &other_file, identity);
        assert!(by_another.is_some(), "an issuer that is not trusted");
    }
    let for_another = refusal(&own, "db.example", &own_file, true).unwrap();
    assert!(for_another.contains("not valid for name"), "{for_another}");
    assert_eq!(refusal(&own, "db.example", &own_file, false), None);
}

#[test]
fn a_file_of_issuers_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (missing, empty) = (folder.path().join("missing"), folder.path().join("empty"));
    std::fs::write(&empty, "no certificate").unwrap();
    for file in [missing, empty] {
        let tls = Tls::Verified(Verification {
            issuers: Some(file.clone()),
            identity: true,
        });
        let message = config(&tls).unwrap_err();
        assert!(message.contains(&file.display().to_string()), "{message}");
    }
}

#[test]
fn data_before_close_notify_is_received_then_the_end() {
    let (mut encrypted, peer) = after_handshake(1, |session, socket| {
        session.writer().write_all(b"last words").unwrap();
        session.send_close_notify();
        let mut bytes = Vec::new();
        while session.wants_write() {
            session.write_tls(&mut bytes).unwrap();
        }
        socket.write_all(&bytes).unwrap();
    });
    let _open = peer.join().unwrap();
    now(encrypted.receive()).unwrap();
    assert_eq!(encrypted.incoming(), b"last words");
    for ended in [now(encrypted.receive()), now(encrypted.exchange())] {
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
    assert_eq!(encrypted.incoming(), b"last words");
}

#[test]
fn an_exchange_returns_an_answer_that_arrives_in_parts() {
    const ANSWERS: [usize; 3] = [5, 100_000, 7];
    let (mut encrypted, peer) = after_handshake(1, |session, socket| {
        let mut stream = rustls::Stream::new(session, socket);
        for bytes in ANSWERS {
            let mut question = [0; 8];
            stream.read_exact(&mut question).unwrap();
            assert_eq!(&question, b"question");
            stream.write_all(&vec![7; bytes]).unwrap();
        }
    });
    for bytes in ANSWERS {
        encrypted.outgoing().extend_from_slice(b"question");
        now(encrypted.exchange()).unwrap();
        assert!(encrypted.outgoing().is_empty());
        while encrypted.incoming().len() < bytes {
            now(encrypted.receive()).unwrap();
        }
        assert!(encrypted.incoming() == vec![7; bytes]);
        encrypted.consume(bytes);
    }
    peer.join().unwrap();
}

#[test]
fn a_handshake_larger_than_one_read_succeeds() {
    let (_encrypted, peer) = after_handshake(20, |_, _| ());
    peer.join().unwrap();
}

#[test]
fn a_handshake_that_trickles_in_times_out() {
    let (near, mut far) = UnixStream::pair().unwrap();
    let peer = thread::spawn(move || {
        // The header of a 16 KiB record.
        let head = [0x16, 3, 3, 0x40, 0];
        for byte in head.into_iter().chain(std::iter::repeat_n(0, 200)) {
            if far.write_all(&[byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    });
    let error = start(near, Duration::from_millis(300)).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    peer.join().unwrap();
}
