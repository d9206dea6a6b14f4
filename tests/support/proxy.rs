//! A proxy between prony and a server that damages what passes through it.

use super::random::Random;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// What happens to the bytes of one direction of a connection, once.
#[derive(Clone, Copy)]
enum Fault {
    Flip,
    Drop,
    Repeat,
    Delay,
    Cut,
}

const FAULTS: [Fault; 5] = [
    Fault::Flip,
    Fault::Drop,
    Fault::Repeat,
    Fault::Delay,
    Fault::Cut,
];

/// Each direction of each connection has a fault within this many bytes.
const WITHIN_BYTES: u64 = 6_000;

pub(crate) struct Proxy {
    pub port: u16,
    ends: Arc<AtomicBool>,
}

impl Proxy {
    /// Begins to listen in front of a server on this port.
    pub(crate) fn start(server: u16, seed: u64) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = ends.clone();
        std::thread::spawn(move || {
            let seeds = AtomicU64::new(seed << 16);
            while let Ok((client, _)) = listener.accept() {
                if is_over.load(SeqCst) {
                    return;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let random = Random(seeds.fetch_add(1, SeqCst));
                    std::thread::spawn(move || pass(from, to, random));
                }
            }
        });
        Proxy { port, ends }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ends.store(true, SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut random: Random) {
    let fault = FAULTS[random.place(FAULTS.len())];
    let mut until = random.below(WITHIN_BYTES);
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        let mut arrived = bytes[..read].to_vec();
        let place = until as usize;
        until = until.saturating_sub(read as u64);
        let is_due = place < read;
        if is_due {
            // A second fault comes later.
            until = WITHIN_BYTES + random.below(WITHIN_BYTES);
            match fault {
                Fault::Flip => arrived[place] ^= 1 << random.below(8),
                Fault::Drop => drop(arrived.remove(place)),
                Fault::Repeat => arrived.insert(place, arrived[place]),
                Fault::Delay => std::thread::sleep(Duration::from_millis(random.below(3_000))),
                Fault::Cut => arrived.truncate(place),
            }
        }
        if to.write_all(&arrived).is_err() || (is_due && matches!(fault, Fault::Cut)) {
            break;
        }
    }
    for stream in [from, to] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}
