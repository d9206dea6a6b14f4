//! Sessions against a peer that is played by the test: what it may send, and what it must not achieve.

use crate::packets::{END, END_WITH_MORE, OK, column, packets};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;
use wire::ColumnKind::{self, Approximate, Exact, Other};
use wire::{Blocking, Endpoint, Login, Sink, WireError};

/// A timeout that no test reaches, even on a busy machine.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

/// The rest of a greeting after its version, with CLIENT_LOCAL_FILES and CLIENT_DEPRECATE_EOF.
const GREETING: &[u8] = b"\0\x1f\0\0\x0012345678\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0abcdefghijkl\0mysql_native_password\0";

/// A connection that the test plays the server of.
struct Peer(TcpStream);

impl Peer {
    fn send(&mut self, bytes: &[u8]) {
        // The client may be gone, as it should be after most of these replies.
        let _ = self.0.write_all(bytes);
    }

    fn greet(&mut self, version: &str) {
        let greeting = [b"\x0a", version.as_bytes(), GREETING].concat();
        self.send(&packets(0, &[&greeting]));
    }

    fn log_in(&mut self) {
        self.greet("8.0.33");
        self.packet();
        self.send(&packets(2, &[OK]));
    }

    /// Receives a packet. Empty if the client closed the connection.
    fn packet(&mut self) -> Vec<u8> {
        let mut header = [0; 4];
        if self.0.read_exact(&mut header).is_err() {
            return Vec::new();
        }
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let mut payload = vec![0; length as usize];
        self.0.read_exact(&mut payload).unwrap();
        payload
    }

    /// Answers one request.
    fn answer(&mut self, payloads: &[&[u8]]) {
        assert!(!self.packet().is_empty(), "a request");
        self.send(&packets(1, payloads));
    }

    /// What the client still sends until it closes the connection.
    fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = self.0.read_to_end(&mut rest);
        rest
    }
}

fn login(port: u16, login_timeout: Duration) -> Login {
    Login {
        endpoints: vec![Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port,
        }],
        user: "app".into(),
        password: Some("secret word".into()),
        schema: None,
        protection: Default::default(),
        login_timeout,
        stall_timeout: None,
    }
}

/// A peer that acts like this on its only connection, and how to log in to it.
fn peer<T: Send + 'static>(
    act: impl FnOnce(&mut Peer) -> T + Send + 'static,
) -> (u16, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let played = std::thread::spawn(move || act(&mut Peer(listener.accept().unwrap().0)));
    (port, played)
}

fn open(port: u16, within: Duration) -> Result<Blocking, WireError> {
    Blocking::open(&login(port, within), "db", || false)
}

/// A session with a peer that lets it log in and then acts like this.
fn session<T: Send + 'static>(
    act: impl FnOnce(&mut Peer) -> T + Send + 'static,
) -> (Blocking, JoinHandle<T>) {
    let (port, played) = peer(|peer| {
        peer.log_in();
        act(peer)
    });
    (open(port, LONG).unwrap(), played)
}

/// Keeps everything.
#[derive(Default)]
struct All {
    columns: Vec<(u64, String, ColumnKind)>,
    rows: Vec<Vec<Option<String>>>,
}

impl Sink for All {
    fn column(&mut self, place: u64, name: &[u8], kind: ColumnKind) -> Result<(), WireError> {
        let name = String::from_utf8_lossy(name).into_owned();
        self.columns.push((place, name, kind));
        Ok(())
    }

    fn row(&mut self, cells: &[Option<&[u8]>]) -> Result<(), WireError> {
        let text = |cell: &Option<&[u8]>| cell.map(|cell| String::from_utf8_lossy(cell).into());
        self.rows.push(cells.iter().map(text).collect());
        Ok(())
    }
}

/// The error of a statement that the peer answers with these bytes, after which it closes the connection.
fn error_of(reply: Vec<u8>) -> WireError {
    let (mut session, played) = session(move |peer| {
        peer.packet();
        peer.send(&reply);
    });
    let error = session.read("SELECT 1", &mut All::default()).unwrap_err();
    played.join().unwrap();
    assert!(error.is_lost(), "{error}");
    let again = session.run("SELECT 1").unwrap_err();
    assert!(matches!(again, WireError::Ended), "{again}");
    error
}

fn is(error: &WireError, kind: std::io::ErrorKind) -> bool {
    matches!(error, WireError::Io(cause) | WireError::Unreachable { cause, .. } if cause.kind() == kind)
}

#[test]
fn a_reply_is_read_with_its_columns_values_and_nulls() {
    let (mut session, played) = session(|peer| {
        let (id, ratio, text) = (column("id", 3), column("ratio", 5), column("text", 253));
        peer.answer(&[
            b"\x03",
            &id,
            &ratio,
            &text,
            b"\x017\x030.5\xfb",
            b"\xfb\xfb\0",
            END,
        ]);
    });
    let mut all = All::default();
    let done = session.read("SELECT 1", &mut all).unwrap();
    assert_eq!(done.rows, 2);
    let columns = [
        (0, "id", Exact),
        (1, "ratio", Approximate),
        (2, "text", Other),
    ];
    assert_eq!(
        all.columns,
        columns.map(|(place, name, kind)| (place, name.to_string(), kind))
    );
    let some = |text: &str| Some(text.to_string());
    assert_eq!(
        all.rows,
        [
            vec![some("7"), some("0.5"), None],
            vec![None, None, some("")]
        ]
    );
    drop(session);
    played.join().unwrap();
}

#[test]
fn a_column_of_any_type_is_text_and_its_kind_follows_from_the_type() {
    let (mut session, played) = session(|peer| {
        for kind in 0..=255 {
            peer.answer(&[b"\x01", &column("c", kind), b"\x02ab", END]);
        }
    });
    for kind in 0..=255_u8 {
        let mut all = All::default();
        session.read("SELECT c", &mut all).unwrap();
        let expected = match kind {
            4 | 5 => Approximate,
            0..=3 | 8 | 9 | 13 | 246 => Exact,
            _ => Other,
        };
        assert_eq!(all.columns, [(0, "c".to_string(), expected)], "type {kind}");
        assert_eq!(all.rows, [[Some("ab".to_string())]], "type {kind}");
    }
    drop(session);
    played.join().unwrap();
}

#[test]
fn every_result_of_a_statement_is_read() {
    let (mut session, played) = session(|peer| {
        let (first, second) = (column("a", 3), column("b", 3));
        let reply = [
            &b"\x01"[..],
            &first,
            b"\x011",
            END_WITH_MORE,
            b"\x01",
            &second,
            b"\x012",
            END_WITH_MORE,
            OK,
        ];
        peer.answer(&reply);
        peer.answer(&reply);
    });
    let mut all = All::default();
    session.read("CALL p()", &mut all).unwrap();
    assert_eq!(
        all.columns,
        [(0, "a".to_string(), Exact), (0, "b".to_string(), Exact)]
    );
    assert_eq!(all.rows, [[Some("1".to_string())], [Some("2".to_string())]]);
    assert_eq!(session.run("CALL p()").unwrap().rows, 2);
    drop(session);
    played.join().unwrap();
}

#[test]
fn an_error_of_the_server_leaves_the_session_usable() {
    let (mut session, played) = session(|peer| {
        peer.answer(&[b"\xff\x7a\x04#42S02Table 't' doesn't exist"]);
        peer.answer(&[b"\x01", &column("Level", 253), b"\x07Warning", END]);
    });
    let error = session.run("SELECT * FROM t").unwrap_err();
    assert_eq!(
        error.to_string(),
        "error 1146 (42S02): Table 't' doesn't exist"
    );
    assert!(!error.is_lost());
    assert_eq!(session.run("SHOW WARNINGS").unwrap().rows, 1);
    drop(session);
    played.join().unwrap();
}

#[test]
fn impossible_replies_are_errors() {
    let two_to_the_62 = [&b"\xfe"[..], &(1_u64 << 62).to_le_bytes()].concat();
    let two_to_the_40 = [&b"\xfe"[..], &(1_u64 << 40).to_le_bytes()].concat();
    let cases: [(&[&[u8]], &str); 8] = [
        (&[b""], "an empty packet"),
        (
            &[&two_to_the_62],
            "4611686018427387904 columns, the maximum is 4096",
        ),
        (
            &[&two_to_the_40],
            "1099511627776 columns, the maximum is 4096",
        ),
        (&[b"\xfc\x01\x10"], "4097 columns, the maximum is 4096"),
        (&[b"\xfe"], "no column count"),
        (&[b"\x01", b"\x03def"], "a column definition is truncated"),
        (&[b"\x01", &column("c", 3), b"\x05ab"], "a row is truncated"),
        (&[b"\x01", &column("c", 3), b""], "an empty row"),
    ];
    for (reply, expected) in cases {
        let error = error_of(packets(1, reply)).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_connection_that_ends_in_any_phase_is_an_error() {
    let reply = packets(1, &[b"\x01", &column("c", 3), b"\x017", END]);
    for end in 0..reply.len() {
        let error = error_of(reply[..end].to_vec());
        assert!(
            is(&error, std::io::ErrorKind::UnexpectedEof),
            "{end}: {error}"
        );
    }
    let before_the_login_ends: [fn(&mut Peer); 4] = [
        |_| (),
        |peer| peer.send(b"\x4a\0\0\0\x0a8.0"),
        |peer| peer.greet("8.0.33"),
        |peer| {
            peer.greet("8.0.33");
            peer.packet();
        },
    ];
    for act in before_the_login_ends {
        let (port, played) = peer(act);
        let error = open(port, LONG).err().expect("the login fails");
        assert!(error.is_transient(), "{error}");
        assert!(error.to_string().starts_with("db: "), "{error}");
        played.join().unwrap();
    }
}

#[test]
fn a_version_of_100_000_digits_is_refused() {
    let (port, played) = peer(|peer| peer.greet(&"1".repeat(100_000)));
    let error = open(port, LONG).err().unwrap();
    assert!(!error.is_transient(), "{error}");
    played.join().unwrap();
    let (port, played) = peer(|peer| peer.greet(&"1".repeat(60_000)));
    let error = open(port, LONG).err().unwrap().to_string();
    assert!(
        error.contains("its version has 60000 bytes, the maximum is 256"),
        "{error}"
    );
    played.join().unwrap();
}

/// Ends a reply after some rows.
struct Few(u32);

impl Sink for Few {
    fn column(&mut self, _: u64, _: &[u8], _: ColumnKind) -> Result<(), WireError> {
        Ok(())
    }

    fn row(&mut self, _: &[Option<&[u8]>]) -> Result<(), WireError> {
        self.0 = self
            .0
            .checked_sub(1)
            .ok_or(WireError::AnswerTooLarge { limit: 1 << 20 })?;
        Ok(())
    }
}

#[test]
fn rows_without_end_stop_when_the_reader_has_enough() {
    let (mut session, played) = session(|peer| {
        peer.answer(&[b"\x01", &column("c", 3)]);
        let rows: Vec<u8> = (0..=255)
            .flat_map(|n: u8| packets(n.wrapping_add(3), &[b"\x017"]))
            .collect();
        while peer.0.write_all(&rows).is_ok() {}
    });
    let error = session.read("SELECT c", &mut Few(10_000)).unwrap_err();
    assert!(error.is_lost(), "{error}");
    assert!(
        error.to_string().starts_with("the answer exceeds 1 MiB"),
        "{error}"
    );
    drop(session);
    played.join().unwrap();
}

/// Sends one byte after another until the client closes the connection.
fn drip(peer: &mut Peer, bytes: impl Iterator<Item = u8>) {
    for byte in bytes {
        if peer.0.write_all(&[byte]).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_statement_timeout_covers_the_whole_reply_although_bytes_keep_arriving() {
    let (mut session, played) = session(|peer| {
        peer.answer(&[b"\x01", &column("c", 253)]);
        // The header of a row of 64 KiB, and its bytes.
        drip(
            peer,
            [0, 0, 1, 3, 0xfc]
                .into_iter()
                .chain(std::iter::repeat(b'x')),
        );
    });
    assert_eq!(session.set_statement_timeout(Some(SHORT)), None);
    let error = session
        .read("SHOW STATUS", &mut All::default())
        .unwrap_err();
    assert!(is(&error, std::io::ErrorKind::TimedOut), "{error}");
    drop(session);
    played.join().unwrap();
}

#[test]
fn a_login_timeout_covers_greeting_and_login_although_bytes_keep_arriving() {
    let greeting: fn(&mut Peer) = |peer| {
        drip(
            peer,
            [0xff, 0xff, 0, 0].into_iter().chain(std::iter::repeat(10)),
        )
    };
    let login: fn(&mut Peer) = |peer| {
        peer.greet("8.0.33");
        peer.packet();
        drip(
            peer,
            [0xff, 0xff, 0, 2].into_iter().chain(std::iter::repeat(0)),
        );
    };
    for act in [greeting, login] {
        let (port, played) = peer(act);
        let error = open(port, SHORT).err().unwrap();
        assert!(is(&error, std::io::ErrorKind::TimedOut), "{error}");
        assert!(
            error.to_string().contains("the login was aborted"),
            "{error}"
        );
        played.join().unwrap();
    }
}

#[test]
fn a_stopper_ends_the_wait_for_a_hung_server() {
    let (mut session, played) = session(Peer::rest);
    let stopper = session.stopper();
    let stopping = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        stopper.interrupt();
    });
    for _ in 0..2 {
        let error = session.run("SELECT 1").unwrap_err();
        assert!(error.is_lost(), "{error}");
    }
    stopping.join().unwrap();
    drop(session);
    let request = b"\x09\0\0\0\x03SELECT 1";
    assert_eq!(
        played.join().unwrap(),
        request,
        "no COM_QUIT follows a request under way"
    );
}

#[test]
fn an_interruption_of_the_process_ends_the_wait_for_a_hung_server() {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    let (port, played) = peer(|peer| {
        peer.log_in();
        peer.rest();
    });
    let is_interrupted = || INTERRUPTED.load(SeqCst);
    let mut session = Blocking::open(&login(port, LONG), "db", is_interrupted).unwrap();
    INTERRUPTED.store(true, SeqCst);
    let error = session.run("SELECT SLEEP(1000)").unwrap_err();
    assert!(is(&error, std::io::ErrorKind::Interrupted), "{error}");
    drop(session);
    played.join().unwrap();
}

const LOAD: &str = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t";

#[test]
fn a_load_sends_what_is_written_and_returns_the_rows_and_the_summary() {
    // Multiples of a packet's payload, more than one send, and nothing at all.
    for bytes in [0_u64, 1, 16_380, 2 * 16_380, 300_000] {
        let (mut session, played) = session(|peer| {
            peer.answer(&[b"\xfbrows"]);
            let (mut file, mut count) = (Vec::new(), 2_u8);
            loop {
                let packet = peer.packet();
                count = count.wrapping_add(1);
                if packet.is_empty() {
                    break;
                }
                file.extend(packet);
            }
            let ok = b"\0\x05\0\x02\0\0\0\x2eRecords: 6  Deleted: 0  Skipped: 1  Warnings: 0";
            peer.send(&packets(count, &[ok]));
            file
        });
        let expected: Vec<u8> = (0..bytes).map(|n| (n * n / 7) as u8).collect();
        let mut parts = expected.chunks(7_001);
        let rows = session.load(LOAD, "rows", &mut |to| {
            to.write_all(b"")?;
            parts.try_for_each(|part| to.write_all(part))
        });
        assert_eq!(rows.unwrap(), 5);
        assert!(session.load_info().ends_with("Skipped: 1  Warnings: 0"));
        drop(session);
        assert!(played.join().unwrap() == expected);
    }
}

#[test]
fn an_interruption_ends_a_load_that_the_server_does_not_read() {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let (port, played) = peer(move |peer| {
        peer.log_in();
        peer.answer(&[b"\xfbrows"]);
        let _ = ended.recv();
    });
    let is_interrupted = || INTERRUPTED.load(SeqCst);
    let mut session = Blocking::open(&login(port, LONG), "db", is_interrupted).unwrap();
    INTERRUPTED.store(true, SeqCst);
    let endless = &mut |to: &mut dyn Write| loop {
        to.write_all(&[b'x'; 1 << 16])?;
    };
    let error = session.load(LOAD, "rows", endless).unwrap_err();
    assert!(is(&error, std::io::ErrorKind::ConnectionAborted), "{error}");
    drop((session, end));
    played.join().unwrap();
}

#[test]
fn a_request_for_another_file_is_refused_and_nothing_is_sent() {
    let (mut session, played) = session(|peer| {
        peer.answer(&[b"\xfb/etc/passwd"]);
        peer.rest()
    });
    let error = session
        .load(LOAD, "rows", &mut |_| panic!("the file is written"))
        .unwrap_err();
    let expected = "requests the local file `/etc/passwd`, but prony only sends `rows`";
    assert!(error.to_string().contains(expected), "{error}");
    drop(session);
    assert_eq!(played.join().unwrap(), b"");
}

#[test]
fn a_file_that_is_requested_without_a_load_is_refused_and_nothing_is_sent() {
    for read in [false, true] {
        let (mut session, played) = session(|peer| {
            peer.answer(&[b"\xfbrows"]);
            peer.rest()
        });
        let error = match read {
            true => session.read(LOAD, &mut All::default()).unwrap_err(),
            false => session.run("SELECT 1").unwrap_err(),
        };
        assert!(
            error.to_string().contains("requests a local file"),
            "{error}"
        );
        drop(session);
        assert_eq!(played.join().unwrap(), b"");
    }
}

#[test]
fn a_load_whose_file_fails_is_not_completed() {
    let (mut session, played) = session(|peer| {
        peer.answer(&[b"\xfbrows"]);
        peer.rest()
    });
    let error = session.load(LOAD, "rows", &mut |to| {
        to.write_all(b"half")?;
        Err(std::io::Error::other("the generator stopped"))
    });
    assert_eq!(
        error.unwrap_err().to_string(),
        "the connection broke: the generator stopped"
    );
    drop(session);
    assert_eq!(played.join().unwrap(), b"", "no empty packet ends the file");
}

#[test]
fn a_load_that_the_server_refuses_leaves_the_session_usable() {
    let (mut session, played) = session(|peer| {
        peer.answer(&[b"\xff\x7c\x04#42000The used command is not allowed"]);
        peer.answer(&[OK]);
    });
    let error = session
        .load(LOAD, "rows", &mut |_| panic!("the file is written"))
        .unwrap_err();
    assert_eq!((error.code(), error.is_lost()), (1148, false));
    session.run("SELECT 1").unwrap();
    drop(session);
    played.join().unwrap();
}
