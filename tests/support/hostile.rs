//! A server that misbehaves: 45 modes, each in the greeting, during the login, or in place of the reply to a statement.
//!
//! Until then it plays a MySQL 8.0.33 that accepts everything: one row `1` for queries, OK for everything else.

use super::packets::{END, END_WITH_MORE, OK, packets};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The rest of a greeting after its version: TLS is not offered, the plugin is caching_sha2_password.
const GREETING: &[u8] = b"\0\x1f\0\0\x0012345678\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0abcdefghijkl\0caching_sha2_password\0";
/// Ends the colour of a terminal, sets its title, rings its bell.
const ESCAPES: &str = "\x1b[31m\x1b]0;title\x07\x08";

/// What replaces the normal course.
#[derive(Clone, Copy)]
pub(crate) enum Phase {
    Greeting(fn(&mut Peer)),
    /// After the client's response to the greeting.
    Login(fn(&mut Peer)),
    /// After a statement.
    Reply(fn(&mut Peer)),
}

use Phase::{Greeting, Login, Reply};

/// Each mode by its name.
pub(crate) const MODES: [(&str, Phase); 45] = [
    ("a greeting of random bytes", Greeting(garbage)),
    ("no greeting, the end", Greeting(|_| ())),
    ("no greeting", Greeting(stall)),
    (
        "a greeting in drips",
        Greeting(|peer| peer.drip(&[0xff, 0xff, 0, 0, 10])),
    ),
    (
        "a version of 60,000 digits",
        Greeting(|peer| peer.greet(&"1".repeat(60_000))),
    ),
    (
        "a version with escape codes",
        Greeting(|peer| {
            peer.greet(ESCAPES);
            peer.accept();
        }),
    ),
    (
        "a greeting of 16 MB that is short",
        Greeting(|peer| peer.send(b"\xff\xff\xff\0\x0a8.0.33")),
    ),
    (
        "protocol 9",
        Greeting(|peer| peer.packets(0, &[b"\x093.23.58\0\x01\0\0\0abcdefgh\0"])),
    ),
    (
        "an error for a greeting",
        Greeting(|peer| peer.packets(0, &[b"\xff\x10\x04Too many connections"])),
    ),
    (
        "an error with escape codes for a greeting",
        Greeting(|peer| {
            let error = [b"\xff\x6a\x04", ESCAPES.as_bytes()].concat();
            peer.packets(0, &[&error]);
        }),
    ),
    (
        "a web server",
        Greeting(|peer| peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
    ),
    (
        "half a greeting",
        Greeting(|peer| peer.send(b"\x4a\0\0\0\x0a8.0.33\0\x01")),
    ),
    (
        "a greeting without capabilities",
        Greeting(|peer| {
            peer.packets(0, &[b"\x0a8.0.33\0\x1f\0\0\x0012345678\0\0\0\x2d\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"]);
        }),
    ),
    (
        "an empty packet as greeting",
        Greeting(|peer| peer.packets(0, &[b""])),
    ),
    (
        "a switch to clear text",
        Login(|peer| {
            peer.packets(2, &[b"\xfemysql_clear_password\0"]);
            peer.rest();
        }),
    ),
    (
        "a switch to a dialog",
        Login(|peer| {
            peer.packets(2, &[b"\xfedialog\0password"]);
            peer.rest();
        }),
    ),
    (
        "a switch to the old passwords",
        Login(|peer| {
            peer.packets(2, &[b"\xfe"]);
            peer.rest();
        }),
    ),
    (
        "switches without end",
        Login(|peer| {
            for number in (2..=254).step_by(2) {
                peer.packets(
                    number,
                    &[b"\xfemysql_native_password\0abcdefghijklmnopqrst\0"],
                );
                peer.packet();
            }
        }),
    ),
    (
        "a request for the full password",
        Login(|peer| {
            peer.packets(2, &[b"\x01\x04"]);
            peer.rest();
        }),
    ),
    (
        "an unknown request during the login",
        Login(|peer| {
            peer.packets(2, &[b"\x01\x63"]);
            peer.rest();
        }),
    ),
    (
        "a refusal of 1 MB",
        Login(|peer| {
            let error = [&b"\xff\x15\x04#28000"[..], &[b'x'; 1 << 20]].concat();
            peer.packets(2, &[&error]);
        }),
    ),
    ("no answer to the login", Login(stall)),
    ("the end during the login", Login(|_| ())),
    (
        "a login in drips",
        Login(|peer| peer.drip(&[0xff, 0xff, 0, 2])),
    ),
    (
        "a login with a wrong number",
        Login(|peer| {
            peer.packets(77, &[OK]);
            peer.rest();
        }),
    ),
    ("the end instead of a reply", Reply(|_| ())),
    ("no reply", Reply(stall)),
    (
        "a reply in drips",
        Reply(|peer| peer.drip(b"\x01\0\0\x01\x01\xff\xff\0\x02")),
    ),
    ("a reply of random bytes", Reply(garbage)),
    (
        "an empty packet as reply",
        Reply(|peer| {
            peer.packets(1, &[b""]);
            peer.rest();
        }),
    ),
    (
        "a request for a file",
        Reply(|peer| {
            peer.packets(1, &[b"\xfb/etc/passwd"]);
            peer.rest();
        }),
    ),
    ("2^62 columns", Reply(|peer| peer.columns(1 << 62))),
    ("2^40 columns", Reply(|peer| peer.columns(1 << 40))),
    (
        "columns without end",
        Reply(|peer| {
            peer.packets(1, &[b"\xfc\0\x10"]);
            peer.endless(2, &column("c"));
        }),
    ),
    (
        "a truncated column",
        Reply(|peer| {
            peer.packets(1, &[b"\x01", b"\x03def"]);
            peer.rest();
        }),
    ),
    (
        "a column with escape codes",
        Reply(|peer| peer.packets(1, &[b"\x01", &column(ESCAPES), b"\x011", END])),
    ),
    (
        "a truncated row",
        Reply(|peer| {
            peer.packets(1, &[b"\x01", &column("c"), b"\x05ab"]);
            peer.rest();
        }),
    ),
    (
        "a row with too many cells",
        Reply(|peer| {
            peer.packets(1, &[b"\x01", &column("c"), b"\x011\x012", END]);
            peer.rest();
        }),
    ),
    (
        "a row with escape codes",
        Reply(|peer| {
            let row = [&[ESCAPES.len() as u8], ESCAPES.as_bytes()].concat();
            peer.packets(1, &[b"\x01", &column("c"), &row, END]);
            peer.rest();
        }),
    ),
    (
        "rows without end",
        Reply(|peer| {
            peer.packets(1, &[b"\x01", &column("c")]);
            peer.endless(3, b"\x011");
        }),
    ),
    (
        "large rows without end",
        Reply(|peer| {
            peer.packets(1, &[b"\x01", &column("c")]);
            peer.endless(3, &[&b"\xfd\0\0\x01"[..], &[b'x'; 1 << 16]].concat());
        }),
    ),
    (
        "a row without end",
        Reply(|peer| {
            peer.packets(1, &[b"\x01", &column("c")]);
            peer.row_without_end();
        }),
    ),
    (
        "results without end",
        Reply(|peer| {
            let one = [&b"\x01"[..], &column("c"), b"\x011", END_WITH_MORE];
            for number in (1..=253).step_by(4).cycle() {
                if !peer.is_sent(&packets(number, &one)) {
                    return;
                }
            }
        }),
    ),
    (
        "an error of 1 MB with escape codes",
        Reply(|peer| {
            let message = ESCAPES.repeat((1 << 20) / ESCAPES.len());
            let error = [b"\xff\x7a\x04#42S02", message.as_bytes()].concat();
            peer.packets(1, &[&error]);
            peer.rest();
        }),
    ),
    (
        "a reply with a wrong number",
        Reply(|peer| {
            peer.packets(99, &[OK]);
            peer.rest();
        }),
    ),
];

/// The server of a mode. It ends with this value.
pub(crate) struct Hostile {
    pub port: u16,
    received: Arc<Mutex<Vec<u8>>>,
    ends: Arc<AtomicBool>,
}

impl Hostile {
    /// Begins to listen. The mode applies to every connection; of the replies, to all from the one with this number on.
    pub(crate) fn start(mode: Phase, from_reply: usize) -> Hostile {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let hostile = Hostile {
            port: listener.local_addr().unwrap().port(),
            received: Arc::default(),
            ends: Arc::default(),
        };
        let (received, ends) = (hostile.received.clone(), hostile.ends.clone());
        let replies = Arc::new(AtomicUsize::new(0));
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if ends.load(SeqCst) {
                    return;
                }
                let (received, ends) = (received.clone(), ends.clone());
                let replies = replies.clone();
                std::thread::spawn(move || {
                    // A reply without end stops when nobody reads it.
                    let limit = Some(Duration::from_secs(120));
                    stream.set_write_timeout(limit).unwrap();
                    let mut peer = Peer {
                        stream,
                        received,
                        ends,
                    };
                    peer.play(mode, from_reply, &replies);
                });
            }
        });
        hostile
    }

    /// Whether the clients have sent these bytes.
    pub(crate) fn has_received(&self, bytes: &[u8]) -> bool {
        let received = self.received.lock().unwrap();
        received.windows(bytes.len()).any(|window| window == bytes)
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.ends.store(true, SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// A connection to a client.
pub(crate) struct Peer {
    stream: TcpStream,
    received: Arc<Mutex<Vec<u8>>>,
    ends: Arc<AtomicBool>,
}

impl Peer {
    fn play(&mut self, mode: Phase, from_reply: usize, replies: &AtomicUsize) {
        if let Greeting(act) = mode {
            return act(self);
        }
        self.greet("8.0.33");
        self.packet();
        if let Login(act) = mode {
            return act(self);
        }
        self.packets(2, &[OK]);
        while let Some(request) = self.packet() {
            if let (Reply(act), true) = (mode, replies.fetch_add(1, SeqCst) >= from_reply) {
                return act(self);
            }
            self.answer(&request);
        }
    }

    fn answer(&mut self, request: &[u8]) {
        let text = String::from_utf8_lossy(request).to_lowercase();
        match ["select", "show"].iter().any(|word| text.contains(word)) {
            true => self.packets(1, &[b"\x01", &column("c"), b"\x011", END]),
            false => self.packets(1, &[OK]),
        }
    }

    /// Logs the client in, then answers until it leaves.
    fn accept(&mut self) {
        self.packet();
        self.packets(2, &[OK]);
        while let Some(request) = self.packet() {
            self.answer(&request);
        }
    }

    fn greet(&mut self, version: &str) {
        self.packets(0, &[&[b"\x0a", version.as_bytes(), GREETING].concat()]);
    }

    fn is_sent(&mut self, bytes: &[u8]) -> bool {
        !self.ends.load(SeqCst) && self.stream.write_all(bytes).is_ok()
    }

    fn send(&mut self, bytes: &[u8]) {
        // The client may be gone.
        let _ = self.is_sent(bytes);
    }

    fn packets(&mut self, first: u8, payloads: &[&[u8]]) {
        self.send(&packets(first, payloads));
    }

    /// The next packet; None at the end.
    fn packet(&mut self) -> Option<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).ok()?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).ok()?;
        self.received.lock().unwrap().extend_from_slice(&payload);
        Some(payload)
    }

    /// Reads until the client leaves.
    fn rest(&mut self) {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest);
        self.received.lock().unwrap().extend_from_slice(&rest);
    }

    /// Sends the beginning and then a byte every few milliseconds.
    fn drip(&mut self, beginning: &[u8]) {
        self.send(beginning);
        while self.is_sent(b"\0") {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn columns(&mut self, count: u64) {
        self.packets(1, &[&[&b"\xfe"[..], &count.to_le_bytes()].concat()]);
        self.rest();
    }

    /// Sends packets of this payload until the client leaves.
    fn endless(&mut self, first: u8, payload: &[u8]) {
        let mut number = first;
        loop {
            let some: Vec<u8> = (0..16_u8)
                .flat_map(|n| packets(number.wrapping_add(n), &[payload]))
                .collect();
            if !self.is_sent(&some) {
                return;
            }
            number = number.wrapping_add(16);
        }
    }

    /// A row of packets of the largest size, each of which says that another one follows.
    fn row_without_end(&mut self) {
        let part = vec![b'x'; 1 << 20];
        for number in (3..=255_u8).cycle() {
            if !self.is_sent(&[0xff, 0xff, 0xff, number]) {
                return;
            }
            let mut left = (1 << 24) - 1;
            while left > 0 {
                let size = part.len().min(left);
                if !self.is_sent(&part[..size]) {
                    return;
                }
                left -= size;
            }
        }
    }
}

fn garbage(peer: &mut Peer) {
    // The same in every run: a failure can be repeated.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let bytes = (0..100_000).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    });
    peer.send(&bytes.collect::<Vec<u8>>());
    peer.rest();
}

fn stall(peer: &mut Peer) {
    peer.rest();
}

/// The definition of a column of text.
fn column(name: &str) -> Vec<u8> {
    super::packets::column(name, 0xfd)
}
