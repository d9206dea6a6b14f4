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
        endpoints: Vec::new(),
        user: "app".into(),
        password: None,
        schema: None,
        protection: Default::default(),
        login_timeout: within,
        stall_timeout: None,
    };
    executor::run(backend, Instant::now(), None, 1, |io| {
        let io = io.clone();
        let task: Task = Box::pin(async move {
            let opened = open(&io, &endpoint, &login, "db", CapabilityFlags::empty());
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
