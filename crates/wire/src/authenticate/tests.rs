use super::*;
use load::Backend;
use load::executor::{self, Task};
use std::cell::Cell;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The nonce in a server's auth switch request.
fn switched(plugin: &[u8], sent: &[u8]) -> Vec<u8> {
    let request = [plugin, b"\0", sent].concat();
    match Next::switch(&request) {
        Ok(Next::Switch { nonce, .. }) => nonce,
        _ => panic!("not parsed as an auth switch request: {request:?}"),
    }
}

#[test]
fn an_ed25519_nonce_that_ends_in_zero_is_not_truncated() {
    let mut nonce = [7; 32];
    nonce[31] = 0;
    assert_eq!(switched(b"client_ed25519", &nonce), nonce);
}

#[test]
fn the_zero_after_other_nonces_is_stripped() {
    let mut sent = [7; 21];
    sent[20] = 0;
    for plugin in [&b"mysql_native_password"[..], b"caching_sha2_password"] {
        assert_eq!(switched(plugin, &sent), [7; 20]);
        assert_eq!(switched(plugin, &sent[..20]), [7; 20]);
    }
}

#[test]
fn a_broken_connection_during_the_tls_handshake_is_transient() {
    use io::ErrorKind::*;
    for kind in [
        TimedOut,
        Interrupted,
        ConnectionReset,
        ConnectionAborted,
        BrokenPipe,
    ] {
        assert!(tls_error(kind.into()).is_transient(), "{kind}");
    }
    for kind in [InvalidData, UnexpectedEof] {
        assert!(!tls_error(kind.into()).is_transient(), "{kind}");
    }
}

/// Sends the header of a packet of 64 KiB - 1, then its payload one byte at a time.
fn drip(mut client: TcpStream) {
    let head = [0xff, 0xff, 0, 0];
    for byte in head.into_iter().chain(std::iter::repeat_n(10, 200)) {
        if client.write_all(&[byte]).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn refusal(backend: Backend, endpoint: Endpoint, within: Duration) -> WireError {
    let refused = Rc::new(Cell::new(None));
    let kept = refused.clone();
    let login = Login {
        login_timeout: within,
        ..login(None)
    };
    executor::run(backend, Instant::now(), None, 1, |io| {
        let io = io.clone();
        let task: Task = Box::pin(async move {
            let opened = open(&io, &endpoint, &login, "db", Capabilities::empty());
            kept.set(opened.await.err());
        });
        vec![task]
    })
    .unwrap();
    refused.take().unwrap()
}

#[test]
fn a_login_that_trickles_in_times_out() {
    for backend in [executor::backend(), Backend::Epoll, Backend::Blocking] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port: listener.local_addr().unwrap().port(),
        };
        let server = std::thread::spawn(move || drip(listener.accept().unwrap().0));
        let error = refusal(backend, endpoint, Duration::from_millis(300));
        let WireError::Unreachable { cause, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(cause.kind(), io::ErrorKind::TimedOut, "{backend:?}");
        server.join().unwrap();
    }
}

fn login(schema: Option<&str>) -> Login {
    Login {
        endpoints: Vec::new(),
        user: "app".into(),
        password: None,
        schema: schema.map(str::to_owned),
        protection: Default::default(),
        login_timeout: Duration::from_secs(1),
        stall_timeout: None,
    }
}

/// The form is "HandshakeResponse41" in the server's protocol documentation.
#[test]
fn the_answer_to_a_greeting_names_user_proof_schema_and_plugin() {
    let written = |schema, plugin| {
        let mut out = Vec::new();
        write_user(&mut out, &login(schema), b"proof", plugin);
        out
    };
    assert_eq!(written(None, None), b"app\0\x05proof");
    assert_eq!(
        written(Some("shop"), Some(Plugin::Ed25519)),
        b"app\0\x05proofshop\0client_ed25519\0"
    );
}

#[test]
fn a_request_for_tls_is_the_first_32_bytes_of_the_answer() {
    let head = |version: &[u8]| {
        let rest = b"\0\x1f\0\0\x0012345678\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0abcdefghijkl\0";
        let greeting = Greeting::read(&[b"\x0a", version, rest].concat()).unwrap();
        let mut out = Vec::new();
        write_head(&mut out, &greeting, REQUESTED);
        out
    };
    let expected = [&b"\x0d\xa2\x2e\x01\0\0\0\x40\x2d"[..], &[0; 23]].concat();
    assert_eq!(head(b"8.0.33"), expected);
    // Before utf8mb4.
    assert_eq!(head(b"5.5.2")[8], 33);
}
