//! Fuzzes the whole client with a hostile server: recorded conversations of real servers, randomly corrupted. Half of the cases use
//! a connection of a timed load, the others a session.
//!
//! Runs for PRONY_FUZZ_S seconds, by default as long as its tier says. The client must not panic, must use bounded memory whatever
//! length a packet claims, and must end in bounded time. PRONY_FUZZ_CASE=N repeats one case.
//!
//! The files in `conversations/` were recorded with the last test below. Each turn of the server is four bytes of length and its
//! data.
//!
//! Tier: default for seconds, `long` for an hour.

use crate::null::now;
use crate::tier::{Tier, tier};
use load::{Endpoint, Io};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::null::{Behaviour, NullServer};
use wire::{Blocking, Connection, Login, Param, Protection, ServerKey, Sink, Tls, WireError};

/// Memory limit of a case. A conversation has less than 64 KiB, so allocating a falsely claimed 16 MiB exceeds it.
const MEMORY_BYTES_MAX: isize = 12 << 20;
const WORKERS: usize = 8;
const END_WITHIN: Duration = Duration::from_secs(20);

/// How long the server waits for the client's next request before it closes the connection. On a busy machine this can cut a
/// corrupted conversation short, which does no harm.
const TURN_TIMEOUT: Duration = Duration::from_millis(2);

/// Counts what each thread holds; the client of a case runs in one thread.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: every call is passed to the system's allocator; only sizes are counted, in cells that need no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.get().saturating_add_unsigned(layout.size());
        HELD.set(held);
        PEAK.set(PEAK.get().max(held));
        // SAFETY: the caller's promise about the layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.set(HELD.get().saturating_sub_unsigned(layout.size()));
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

/// Uses every function of the client, as far as the server allows.
async fn converse(io: &Io, login: &Login) -> Result<(), WireError> {
    let mut connection = Connection::open(io, login, 0).await?;
    let continue_unless_lost = |error: WireError| if error.is_lost() { Err(error) } else { Ok(()) };
    let mut seen = 0;
    let mut see = |row: &[wire::Value]| seen += row.len();
    let sql = "SELECT 1, 'two', 3.5, NULL UNION ALL SELECT 4, repeat('x', 500), NULL, now()";
    connection
        .query("DO 1")
        .await
        .map(drop)
        .or_else(continue_unless_lost)?;
    connection
        .query(sql)
        .await
        .map(drop)
        .or_else(continue_unless_lost)?;
    let rows = connection.query_rows(sql, &mut see).await;
    rows.map(drop).or_else(continue_unless_lost)?;
    connection
        .query("nonsense")
        .await
        .map(drop)
        .or_else(continue_unless_lost)?;
    let statement = match connection
        .prepare(&format!("SELECT a.*, ?, ? FROM ({sql}) a"))
        .await
    {
        Ok(statement) => statement,
        Err(error) => return continue_unless_lost(error),
    };
    let params = [Param::Int(7), Param::Bytes(b"seven")];
    let params = params
        .get(..usize::from(statement.params))
        .unwrap_or(&params);
    let done = connection.execute(&statement, params).await;
    done.map(drop).or_else(continue_unless_lost)?;
    let done = connection.execute_rows(&statement, params, &mut see).await;
    done.map(drop).or_else(continue_unless_lost)?;
    connection.close_statement(statement).await?;
    connection.close().await;
    Ok(())
}

/// The number of requests of [`converse`] that are answered.
const REQUESTS: usize = 7;

/// A conversation of a session, from a recorded one: the same login and replies, and a load.
fn of_session(recorded: &Turns) -> Turns {
    let (login, replies) = recorded.split_at(recorded.len() - REQUESTS);
    let [done, rows, again, error, ..] = replies else {
        unreachable!("a conversation has {REQUESTS} requests")
    };
    let request = b"\x05\0\0\x01\xfbrows".to_vec();
    let loaded = b"\x07\0\0\x04\0\x01\0\x02\0\0\0".to_vec();
    let turns = [done, rows, again, &request, &loaded, error];
    login.iter().chain(turns).cloned().collect()
}

struct Seen(usize);

impl Sink for Seen {
    fn column(&mut self, _: u64, name: &[u8], _: wire::ColumnKind) -> Result<(), WireError> {
        self.0 += name.len();
        Ok(())
    }

    fn row(&mut self, cells: &[Option<&[u8]>]) -> Result<(), WireError> {
        self.0 += cells.len();
        Ok(())
    }
}

/// Uses every function of a session, as far as the server allows.
fn use_session(login: &Login) -> Result<(), WireError> {
    let mut session = Blocking::open(login, "fuzz", || false)?;
    let continue_unless_lost = |error: WireError| if error.is_lost() { Err(error) } else { Ok(()) };
    session.set_statement_timeout(login.stall_timeout);
    let done = session.run("DO 1");
    done.map(drop).or_else(continue_unless_lost)?;
    for _ in 0..2 {
        let read = session.read("SELECT 1", &mut Seen(0));
        read.map(drop).or_else(continue_unless_lost)?;
    }
    let load = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t";
    let loaded = session.load(load, "rows", &mut |to| to.write_all(&[b'7'; 100]));
    loaded.map(drop).or_else(continue_unless_lost)?;
    let done = session.run("nonsense");
    done.map(drop).or_else(continue_unless_lost)
}

/// What a case uses.
#[derive(Clone, Copy)]
enum Client {
    Load,
    Session,
}

impl Client {
    /// A conversation that succeeds.
    fn conversation(self, recorded: &Turns) -> Turns {
        match self {
            Client::Load => recorded.clone(),
            Client::Session => of_session(recorded),
        }
    }
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
        protection: Protection {
            tls,
            server_key: ServerKey::Requested,
        },
        login_timeout: Duration::from_secs(5),
        stall_timeout: Some(Duration::from_secs(5)),
    }
}

/// Sends each turn after the client has sent something, then closes the connection.
fn serve_turns(mut stream: TcpStream, turns: &Turns, timeout: Duration) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_read_timeout(Some(timeout));
    let mut received = [0; 4096];
    for turn in turns {
        if stream.write_all(turn).is_err() || !matches!(stream.read(&mut received), Ok(1..)) {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
}

fn against(
    listener: &TcpListener,
    client: Client,
    turns: &Turns,
    tls: Tls,
    timeout: Duration,
) -> Result<(), WireError> {
    let login = login(listener.local_addr().unwrap().port(), tls);
    std::thread::scope(|scope| {
        scope.spawn(|| serve_turns(listener.accept().unwrap().0, turns, timeout));
        match client {
            Client::Load => now(converse(&Io::blocking(), &login)),
            Client::Session => use_session(&login),
        }
    })
}

fn corrupt(recorded: &[Turns], client: Client, random: &mut Pcg64) -> Turns {
    let mut turns = client.conversation(&recorded[random.random_range(0..recorded.len())]);
    for _ in 0..random.random_range(1..4) {
        let place = random.random_range(0..turns.len());
        if random.random_range(0..8) == 0 {
            rearrange(&mut turns, place, recorded, random);
        } else {
            corrupt_turn(&mut turns[place], random);
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

fn corrupt_turn(turn: &mut Vec<u8>, random: &mut Pcg64) {
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
        3 => corrupt_a_length(turn, random),
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

/// Replaces the length in the header of one packet.
fn corrupt_a_length(turn: &mut [u8], random: &mut Pcg64) {
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
fn recorded_conversations_are_parsed_to_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for turns in recorded() {
        for client in [Client::Load, Client::Session] {
            let turns = client.conversation(&turns);
            against(&listener, client, &turns, Tls::Off, END_WITHIN).unwrap();
        }
    }
}

/// The standard library seeds each hasher anew.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[test]
fn corrupted_conversations_cause_no_panic_hang_or_memory_growth() {
    let recorded = recorded();
    if let Some(case) = number("PRONY_FUZZ_CASE") {
        return run_case(&TcpListener::bind("127.0.0.1:0").unwrap(), &recorded, case);
    }
    let seconds = match tier() {
        Tier::Default => 2,
        Tier::All => 20,
        Tier::Long => 3_600,
    };
    let until = Instant::now() + Duration::from_secs(number("PRONY_FUZZ_S").unwrap_or(seconds));
    // Random cases; each is reproducible by its number.
    let next = AtomicU64::new(random() >> 1);
    let first = next.load(Ordering::Relaxed);
    // More workers than cores: they mostly wait.
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                while Instant::now() < until {
                    run_case(&listener, &recorded, next.fetch_add(1, Ordering::Relaxed));
                }
            });
        }
    });
    let cases = next.load(Ordering::Relaxed) - first;
    assert!(cases > 0);
    eprintln!("{cases} cases");
}

fn run_case(listener: &TcpListener, recorded: &[Turns], case: u64) {
    let mut random = Pcg64::seed_from_u64(case);
    let client = [Client::Load, Client::Session][random.random_range(0..2)];
    let turns = corrupt(recorded, client, &mut random);
    let tls = match random.random_range(0..4) {
        0 => Tls::Required,
        _ => Tls::Off,
    };
    let begin = Instant::now();
    let held = HELD.get();
    PEAK.set(held);
    let ended = std::panic::catch_unwind(|| against(listener, client, &turns, tls, TURN_TIMEOUT));
    assert!(ended.is_ok(), "PRONY_FUZZ_CASE={case} panics");
    let grown = PEAK.get() - held;
    assert!(
        grown < MEMORY_BYTES_MAX,
        "{grown} bytes at once in PRONY_FUZZ_CASE={case}"
    );
    assert!(
        begin.elapsed() < END_WITHIN,
        "PRONY_FUZZ_CASE={case} exceeds the time limit"
    );
}

/// Records a conversation with the server at PRONY_RECORD_FROM (`127.0.0.1:3306`), by default the null server, to the file
/// PRONY_RECORD_TO. The server needs a user `fuzz` with the password above.
#[test]
fn a_conversation_is_recorded_turn_by_turn() {
    let null = NullServer::tcp(Behaviour::default()).unwrap();
    let from = std::env::var("PRONY_RECORD_FROM").unwrap_or_else(|_| address(&null));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let login = login(listener.local_addr().unwrap().port(), Tls::Off);
    let recorder = std::thread::spawn(move || {
        let client = listener.accept().unwrap().0;
        let server = TcpStream::connect(from).unwrap();
        forward(client, server)
    });
    now(converse(&Io::blocking(), &login)).unwrap();
    let recorded = recorder.join().unwrap();
    assert!(recorded.len() > REQUESTS, "{} turns", recorded.len());
    let mut bytes = Vec::new();
    for turn in &recorded {
        bytes.extend((turn.len() as u32).to_le_bytes());
        bytes.extend(turn);
    }
    assert_eq!(turns(&bytes), recorded);
    if let Some(to) = std::env::var_os("PRONY_RECORD_TO") {
        std::fs::write(to, bytes).unwrap();
    }
}

fn address(server: &NullServer) -> String {
    match server.endpoint() {
        Endpoint::Tcp { host, port } => format!("{host}:{port}"),
        Endpoint::Unix(path) => unreachable!("{}", path.display()),
    }
}

/// Forwards both directions and returns the server's turns, until one side closes.
fn forward(mut client: TcpStream, mut server: TcpStream) -> Turns {
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
