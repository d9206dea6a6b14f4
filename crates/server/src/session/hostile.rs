//! Sessions with a peer that is played by the test. The protocol itself is tested in the crate `wire`.

use super::*;
use spec::Dsn;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

const GREETING: &[u8] = b"\x0a8.0.33\0\x1f\0\0\x0012345678\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0abcdefghijkl\0mysql_native_password\0";
const OK: &[u8] = b"\0\0\0\x02\0\0\0";
const COLUMN: &[u8] = b"\x03def\0\0\0\x01c\0\x0c\x21\0\0\0\0\0\x05\0\0\0\0\0";

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let header = payload.len() as u32 | u32::from(number) << 24;
    [&header.to_le_bytes(), payload].concat()
}

fn receive(peer: &mut TcpStream) -> String {
    let mut header = [0; 4];
    peer.read_exact(&mut header).unwrap();
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let mut payload = vec![0; length as usize];
    peer.read_exact(&mut payload).unwrap();
    String::from_utf8_lossy(&payload).into_owned()
}

/// A session that logs in and turns autocommit on, whose next request the peer answers with packets of these payloads, and then acts
/// like this. The thread returns the first request after the login.
fn session(
    payloads: &'static [&'static [u8]],
    act: impl FnOnce(TcpStream) + Send + 'static,
) -> (Session, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let dsn: Dsn = format!("mysql://app@{address}").parse().unwrap();
    let played = std::thread::spawn(move || {
        let mut peer = listener.accept().unwrap().0;
        peer.write_all(&packet(0, GREETING)).unwrap();
        receive(&mut peer);
        peer.write_all(&packet(2, OK)).unwrap();
        let first = receive(&mut peer);
        peer.write_all(&packet(1, OK)).unwrap();
        receive(&mut peer);
        for (number, payload) in (1..).zip(payloads) {
            peer.write_all(&packet(number, payload)).unwrap();
        }
        act(peer);
        first
    });
    (Session::open(&dsn).unwrap(), played)
}

#[test]
fn a_session_that_is_idle_for_long_stays_open_whatever_the_servers_timeout() {
    let (mut session, played) = session(&[OK], drop);
    session.execute("DO 1").unwrap();
    drop(session);
    let first = played.join().unwrap();
    assert!(first.contains(", wait_timeout = 2147483"), "{first}");
}

#[test]
fn an_answer_without_end_is_an_error_at_64_mib() {
    let (mut session, played) = session(&[b"\x01", COLUMN], |mut peer| {
        let row = [&b"\xfd\0\0\x01"[..], &[b'x'; 1 << 16]].concat();
        let rows = (3..=255).chain(0..=2).cycle();
        for number in rows {
            if peer.write_all(&packet(number, &row)).is_err() {
                return;
            }
        }
    });
    let error = session.query("SELECT c FROM endless").unwrap_err();
    assert!(matches!(error, ServerError::Unusable(_)), "{error}");
    assert_eq!(
        error.to_string(),
        "the answer exceeds 64 MiB, the most that prony keeps of one: select fewer rows or columns, or aggregate them"
    );
    drop(session);
    played.join().unwrap();
}

#[test]
fn a_reply_has_names_values_and_the_kinds_of_its_columns() {
    let (mut session, played) = session(
        &[b"\x01", COLUMN, b"\x030.5", b"\xfb", b"\xfe\0\0\x02\0\0\0"],
        drop,
    );
    let reply = session.query("SELECT c").unwrap();
    assert_eq!(
        (reply.columns, reply.kinds),
        (vec!["c".to_string()], vec![ColumnKind::Approximate])
    );
    assert_eq!(reply.rows, [[Some(b"0.5".to_vec())], [None]]);
    assert_eq!(session.connection_id(), Some(31));
    drop(session);
    played.join().unwrap();
}

#[test]
fn a_load_counts_the_skipped_rows() {
    let (mut session, played) = session(&[b"\xfbrows"], |mut peer| {
        receive(&mut peer);
        receive(&mut peer);
        let ok = b"\0\x05\0\x02\0\0\0\x2eRecords: 6  Deleted: 0  Skipped: 1  Warnings: 0";
        peer.write_all(&packet(4, ok)).unwrap();
    });
    let producer: Producer = Box::new(|to| to.write_all(b"1\n"));
    let sql = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t";
    assert_eq!(session.load(sql, producer).unwrap(), 5);
    assert_eq!(session.skipped_rows(), 1);
    drop(session);
    played.join().unwrap();
}

#[test]
fn a_load_whose_producer_fails_is_lost_with_its_error() {
    let (mut session, played) = session(&[b"\xfbrows"], |mut peer| {
        let _ = peer.read_to_end(&mut Vec::new());
    });
    let producer: Producer = Box::new(|_| Err(std::io::Error::other("the load was stopped")));
    let sql = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t";
    let error = session.load(sql, producer).unwrap_err();
    assert!(matches!(error, ServerError::Lost(_)));
    assert_eq!(
        error.to_string(),
        "the load was aborted: the load was stopped"
    );
    drop(session);
    played.join().unwrap();
}

#[test]
fn a_request_for_a_file_of_the_user_loses_the_connection() {
    let (mut session, played) = session(&[b"\xfb/root/.ssh/id_rsa"], |mut peer| {
        let mut sent = Vec::new();
        let _ = peer.read_to_end(&mut sent);
        assert_eq!(sent, b"");
    });
    let error = session.query("SELECT 1").unwrap_err();
    assert!(matches!(error, ServerError::Lost(_)), "{error}");
    drop(session);
    played.join().unwrap();
}

#[test]
fn an_error_that_closes_the_connection_is_lost_and_others_are_refused() {
    let (mut killed, played) = session(&[b"\xff\x87\x07#70100Connection was killed"], drop);
    let error = killed.query("SELECT 1").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server closed the connection: 1927 Connection was killed"
    );
    assert!(matches!(error, ServerError::Lost(_)));
    played.join().unwrap();
    let (mut refused, played) = session(
        &[b"\xff\x25\x05#70100Query execution was interrupted"],
        drop,
    );
    let error = refused.query("SELECT 1").unwrap_err();
    assert!(
        matches!(error, ServerError::Refused { code: 1317, .. }),
        "{error}"
    );
    played.join().unwrap();
}

#[test]
fn a_cut_connection_is_lost() {
    let (mut session, played) = session(&[], |mut peer| {
        let _ = peer.read_to_end(&mut Vec::new());
    });
    let cutter = session.cutter().unwrap();
    let cutting = std::thread::spawn(move || cutter.cut());
    let error = session.query("SELECT 1").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the connection to the server was lost: interrupted"
    );
    drop(session);
    cutting.join().unwrap();
    played.join().unwrap();
}
