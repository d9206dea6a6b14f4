//! A hostile server: recorded conversations of real ones, damaged in every way, against the whole client.
//!
//! It goes on for PRONY_FUZZ_S seconds, 5 by default. What must hold: no panic, memory within a bound however long a packet
//! claims to be, an end in bounded time. PRONY_FUZZ_CASE=N repeats one case.
//!
//! The conversations in `conversations/` were recorded with `record`, below: for each turn of the server's four bytes of
//! length and what it said.

use load::{Endpoint, Io};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::alloc::{GlobalAlloc, Layout, System};
use std::future::Future;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use wire::{Connection, Login, Param, Tls, WireError};

/// All of this process: each conversation has less than 64 KiB, and a packet of 16 MiB that was only claimed shows.
const MEMORY_BYTES_MAX: usize = 12 << 20;
const WORKERS: usize = 8;
const END_WITHIN: Duration = Duration::from_secs(20);

/// A client that says nothing for so long waits for more than there is; on a busy machine it may only be slow, which
/// cuts a damaged conversation short, and nothing worse.
const PATIENCE: Duration = Duration::from_millis(2);

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is handed to the system's allocator; only sizes are counted on the way.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller's promise about the layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise that pointer and layout belong together.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

type Turns = Vec<Vec<u8>>;

fn recorded() -> Vec<Turns> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conversations");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| turns(&std::fs::read(file).unwrap()))
        .collect()
}

fn turns(mut bytes: &[u8]) -> Turns {
    let mut turns = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let (turn, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        turns.push(turn.to_vec());
        bytes = rest;
    }
    turns
}

/// Everything that the client can, as far as the server lets it.
async fn converse(io: &Io, login: &Login) -> Result<(), WireError> {
    let mut connection = Connection::open(io, login, 0).await?;
    let goes_on = |error: WireError| if error.is_lost() { Err(error) } else { Ok(()) };
    let mut seen = 0;
    let mut see = |row: &[wire::Value]| seen += row.len();
    let sql = "SELECT 1, 'two', 3.5, NULL UNION ALL SELECT 4, repeat('x', 500), NULL, now()";
    connection.query("DO 1").await.map(drop).or_else(goes_on)?;
    connection.query(sql).await.map(drop).or_else(goes_on)?;
    let rows = connection.query_rows(sql, &mut see).await;
    rows.map(drop).or_else(goes_on)?;
    connection
        .query("nonsense")
        .await
        .map(drop)
        .or_else(goes_on)?;
    let statement = match connection
        .prepare(&format!("SELECT a.*, ?, ? FROM ({sql}) a"))
        .await
    {
        Ok(statement) => statement,
        Err(error) => return goes_on(error),
    };
    let params = [Param::Int(7), Param::Bytes(b"seven")];
    let params = params
        .get(..usize::from(statement.params))
        .unwrap_or(&params);
    let done = connection.execute(&statement, params).await;
    done.map(drop).or_else(goes_on)?;
    let done = connection.execute_rows(&statement, params, &mut see).await;
    done.map(drop).or_else(goes_on)?;
    connection.close_statement(statement).await?;
    connection.close().await;
    Ok(())
}

fn login(port: u16, tls: Tls) -> Login {
    Login {
        endpoints: vec![Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port,
        }],
        user: "fuzz".into(),
        password: Some("Secret-word-7".into()),
        schema: None,
        tls,
        within: Duration::from_secs(5),
        stalled: Some(Duration::from_secs(5)),
    }
}

/// On blocking streams every await ends at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a blocking stream is never pending"),
    }
}

/// Says its turns, each after the client has said something, and hangs up.
fn say(mut stream: TcpStream, turns: &Turns, patience: Duration) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_read_timeout(Some(patience));
    let mut heard = [0; 4096];
    for turn in turns {
        if stream.write_all(turn).is_err() || !matches!(stream.read(&mut heard), Ok(1..)) {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
}

fn against(
    listener: &TcpListener,
    turns: &Turns,
    tls: Tls,
    patience: Duration,
) -> Result<(), WireError> {
    let login = login(listener.local_addr().unwrap().port(), tls);
    std::thread::scope(|scope| {
        scope.spawn(|| say(listener.accept().unwrap().0, turns, patience));
        now(converse(&Io::blocking(), &login))
    })
}

fn damage(recorded: &[Turns], random: &mut Pcg64) -> Turns {
    let mut turns = recorded[random.random_range(0..recorded.len())].clone();
    for _ in 0..random.random_range(1..4) {
        let place = random.random_range(0..turns.len());
        if random.random_range(0..8) == 0 {
            rearrange(&mut turns, place, recorded, random);
        } else {
            damage_turn(&mut turns[place], random);
        }
        if turns.is_empty() {
            turns.push(Vec::new());
        }
    }
    turns
}

fn rearrange(turns: &mut Turns, place: usize, recorded: &[Turns], random: &mut Pcg64) {
    match random.random_range(0..3) {
        0 => drop(turns.remove(place)),
        1 => turns.insert(place, turns[place].clone()),
        _ => {
            let other = &recorded[random.random_range(0..recorded.len())];
            turns[place] = other[random.random_range(0..other.len())].clone();
        }
    }
}

fn damage_turn(turn: &mut Vec<u8>, random: &mut Pcg64) {
    if turn.is_empty() {
        turn.push(random.random());
    }
    let place = random.random_range(0..turn.len());
    match random.random_range(0..7) {
        0 => turn[place] ^= 1 << random.random_range(0..8),
        1 => {
            turn[place] =
                [0, 1, 0x7f, 0x80, 0xfb, 0xfc, 0xfd, 0xfe, 0xff][random.random_range(0..9)]
        }
        2 => turn.truncate(place),
        3 => lie_about_a_length(turn, random),
        4 => {
            let bytes: Vec<u8> = (0..random.random_range(1..20))
                .map(|_| random.random())
                .collect();
            turn.splice(place..place, bytes);
        }
        5 => {
            let end = (place + random.random_range(1..20)).min(turn.len());
            turn.drain(place..end);
        }
        _ => random.fill_bytes(&mut turn[place..]),
    }
}

/// The header of one of its packets gets another length.
fn lie_about_a_length(turn: &mut [u8], random: &mut Pcg64) {
    let mut headers = vec![0];
    while let Some([a, b, c, _]) = turn
        .get(headers[headers.len() - 1]..)
        .and_then(<[u8]>::first_chunk)
    {
        headers.push(headers[headers.len() - 1] + 4 + u32::from_le_bytes([*a, *b, *c, 0]) as usize);
    }
    let header = headers[random.random_range(0..headers.len())];
    let length = [
        0,
        1,
        8,
        0x1_0000,
        0xff_fffe,
        0xff_ffff,
        random.random::<u32>(),
    ][random.random_range(0..7)];
    if let Some(bytes) = turn.get_mut(header..header + 3) {
        bytes.copy_from_slice(&length.to_le_bytes()[..3]);
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn a_recorded_conversation_is_understood_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for turns in recorded() {
        against(&listener, &turns, Tls::Off, END_WITHIN).unwrap();
    }
}

#[test]
fn no_damaged_conversation_makes_the_client_panic_hang_or_grow() {
    let recorded = recorded();
    if let Some(case) = number("PRONY_FUZZ_CASE") {
        return attempt(&TcpListener::bind("127.0.0.1:0").unwrap(), &recorded, case);
    }
    let until = Instant::now() + Duration::from_secs(number("PRONY_FUZZ_S").unwrap_or(5));
    // Other cases each time; each is named by its number.
    let next = AtomicU64::new(rand::random::<u64>() >> 1);
    let first = next.load(Ordering::Relaxed);
    // They mostly wait for each other.
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                while Instant::now() < until {
                    attempt(&listener, &recorded, next.fetch_add(1, Ordering::Relaxed));
                }
            });
        }
    });
    let cases = next.load(Ordering::Relaxed) - first;
    assert!(cases > 0);
    eprintln!("{cases} cases");
}

fn attempt(listener: &TcpListener, recorded: &[Turns], case: u64) {
    let mut random = Pcg64::seed_from_u64(case);
    let turns = damage(recorded, &mut random);
    let tls = [Tls::Off, Tls::Off, Tls::Off, Tls::Required][random.random_range(0..4)];
    let begin = Instant::now();
    let ended = std::panic::catch_unwind(|| against(listener, &turns, tls, PATIENCE));
    assert!(ended.is_ok(), "PRONY_FUZZ_CASE={case} panics");
    let peak = PEAK.load(Ordering::Relaxed);
    assert!(
        peak < MEMORY_BYTES_MAX,
        "{peak} bytes are held at PRONY_FUZZ_CASE={case} or beside it"
    );
    assert!(
        begin.elapsed() < END_WITHIN,
        "PRONY_FUZZ_CASE={case} does not end"
    );
}

/// Records the server at PRONY_RECORD_FROM (`127.0.0.1:3306`) into the file PRONY_RECORD_TO. It has a user `fuzz` with the password
/// above.
#[test]
#[ignore = "needs a server of which a conversation is to be recorded"]
fn record() {
    let from = std::env::var("PRONY_RECORD_FROM").unwrap();
    let to = std::env::var("PRONY_RECORD_TO").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let login = login(listener.local_addr().unwrap().port(), Tls::Off);
    let recorder = std::thread::spawn(move || {
        let client = listener.accept().unwrap().0;
        let server = TcpStream::connect(from).unwrap();
        pass_on(client, server)
    });
    now(converse(&Io::blocking(), &login)).unwrap();
    let mut bytes = Vec::new();
    for turn in recorder.join().unwrap() {
        bytes.extend((turn.len() as u32).to_le_bytes());
        bytes.extend(turn);
    }
    std::fs::write(to, bytes).unwrap();
}

/// The server's turns, until one side hangs up.
fn pass_on(mut client: TcpStream, mut server: TcpStream) -> Turns {
    client
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    server
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let (mut turns, mut bytes) = (vec![Vec::new()], [0; 65536]);
    loop {
        match server.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => {
                client.write_all(&bytes[..count]).unwrap();
                turns.last_mut().unwrap().extend_from_slice(&bytes[..count]);
                continue;
            }
            Err(_) => {}
        }
        match client.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => {
                server.write_all(&bytes[..count]).unwrap();
                turns.push(Vec::new());
            }
            Err(_) => {}
        }
    }
    turns.retain(|turn| !turn.is_empty());
    turns
}
