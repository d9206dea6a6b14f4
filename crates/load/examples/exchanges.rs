//! Measures the cost of an exchange: clients against an echo server in another process.
//!
//!     exchanges clients=64 backend=uring reactors=2 time=3 count=0 bytes=32 tcp=0 cross=0
//!
//! With `count` it ends after that many exchanges per client. Two runs with different counts under callgrind give the
//! instructions per exchange.

mod arguments;

use arguments::number;
use load::executor::{self, Task};
use load::{Backend, Endpoint, Io};
use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(10);

struct Settings {
    clients: usize,
    reactors: usize,
    backend: Backend,
    time: Duration,
    count: u64,
    bytes: usize,
    tcp: bool,
    /// Clients on one core use the server's reactor on another core.
    cross: bool,
}

fn main() {
    let settings = settings();
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve(&settings);
    }
    let (mut server, endpoints) = start_server(settings.reactors);
    let began = Instant::now();
    let cpu_before_us = cpu_us();
    let share = settings.clients / settings.reactors;
    let exchanges: u64 = std::thread::scope(|scope| {
        let reactor = |core: usize| {
            let place = (core + usize::from(settings.cross)) % settings.reactors;
            let (settings, endpoint) = (&settings, &endpoints[place]);
            scope.spawn(move || drive(settings, endpoint, core, share))
        };
        let reactors: Vec<_> = (0..settings.reactors).map(reactor).collect();
        reactors
            .into_iter()
            .map(|reactor| reactor.join().unwrap())
            .sum()
    });
    let elapsed_s = began.elapsed().as_secs_f64();
    let (user_us, system_us) = cpu_us();
    let each = |us: f64| us / exchanges as f64;
    println!(
        "{:?}, {} clients, {} reactors: {:.0} exchanges/s, {:.2} us of CPU each (user {:.2}, system {:.2})",
        settings.backend,
        share * settings.reactors,
        settings.reactors,
        exchanges as f64 / elapsed_s,
        each(user_us - cpu_before_us.0 + system_us - cpu_before_us.1),
        each(user_us - cpu_before_us.0),
        each(system_us - cpu_before_us.1),
    );
    server.wait().unwrap();
}

fn settings() -> Settings {
    Settings {
        clients: number("clients", "64") as usize,
        reactors: number("reactors", "2") as usize,
        backend: arguments::backend(),
        time: Duration::from_secs(number("time", "3")),
        count: number("count", "0"),
        bytes: number("bytes", "32") as usize,
        tcp: number("tcp", "0") == 1,
        cross: number("cross", "0") == 1,
    }
}

/// Starts the server process, which listens at one endpoint per reactor.
fn start_server(reactors: usize) -> (Child, Vec<Endpoint>) {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .arg("serve")
        .args(std::env::args().skip(1))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let endpoint = |place: String| match place.parse() {
        Ok(port) => Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port,
        },
        Err(_) => Endpoint::Unix(place.into()),
    };
    let places = lines.take(reactors).map(|line| endpoint(line.unwrap()));
    let places = places.collect();
    (server, places)
}

fn drive(settings: &Settings, endpoint: &Endpoint, core: usize, clients: usize) -> u64 {
    let exchanges = Rc::new(Cell::new(0));
    let counted = exchanges.clone();
    let core = (settings.reactors > 1).then_some(core);
    executor::run(settings.backend, Instant::now(), core, clients, |io| {
        let end_ns = settings.time.as_nanos() as u64;
        (0..clients)
            .map(|_| -> Task {
                let (io, endpoint, counted) = (io.clone(), endpoint.clone(), counted.clone());
                let (count, bytes) = (settings.count, settings.bytes);
                Box::pin(async move {
                    let done = client(&io, &endpoint, count, bytes, end_ns).await;
                    counted.set(counted.get() + done);
                })
            })
            .collect()
    })
    .unwrap();
    exchanges.get()
}

async fn client(io: &Io, endpoint: &Endpoint, count: u64, bytes: usize, end_ns: u64) -> u64 {
    let mut stream = io.connect(endpoint, LONG).await.unwrap();
    let question = vec![b'q'; bytes];
    let mut done = 0;
    while if count > 0 {
        done < count
    } else {
        done % 64 != 0 || io.now_ns() < end_ns
    } {
        stream.outgoing().extend_from_slice(&question);
        stream.exchange().await.unwrap();
        let answered = stream.incoming().len();
        assert_eq!(answered, bytes);
        stream.consume(answered);
        done += 1;
    }
    done
}

/// Each reactor accepts its share of the clients, then answers until all have disconnected.
fn serve(settings: &Settings) {
    let folder = tempfile::tempdir().unwrap();
    let share = settings.clients / settings.reactors;
    let listeners: Vec<_> = (0..settings.reactors)
        .map(|n| listen(settings.tcp, &folder.path().join(n.to_string())))
        .collect();
    let peers: Vec<Vec<OwnedFd>> = listeners
        .into_iter()
        .map(|mut accept| (0..share).map(|_| accept()).collect())
        .collect();
    let cpu_before_us = cpu_us();
    let answers: u64 = std::thread::scope(|scope| {
        let reactor = |(core, peers)| scope.spawn(move || answer_all(settings, core, peers));
        let reactors: Vec<_> = peers.into_iter().enumerate().map(reactor).collect();
        reactors
            .into_iter()
            .map(|reactor| reactor.join().unwrap())
            .sum()
    });
    let (user_us, system_us) = cpu_us();
    eprintln!(
        "server: {:.2} us of CPU each (user {:.2})",
        (user_us + system_us - cpu_before_us.0 - cpu_before_us.1) / answers as f64,
        (user_us - cpu_before_us.0) / answers as f64
    );
}

/// Listens and prints the address. The returned function accepts one client.
fn listen(tcp: bool, path: &Path) -> Box<dyn FnMut() -> OwnedFd> {
    if tcp {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        println!("{}", listener.local_addr().unwrap().port());
        return Box::new(move || {
            let peer = listener.accept().unwrap().0;
            peer.set_nodelay(true).unwrap();
            peer.into()
        });
    }
    let listener = UnixListener::bind(path).unwrap();
    println!("{}", path.display());
    Box::new(move || listener.accept().unwrap().0.into())
}

fn answer_all(settings: &Settings, core: usize, peers: Vec<OwnedFd>) -> u64 {
    let answers = Rc::new(Cell::new(0));
    let counted = answers.clone();
    let core = (settings.reactors > 1).then_some(core);
    executor::run(settings.backend, Instant::now(), core, peers.len(), |io| {
        peers
            .into_iter()
            .map(|peer| -> Task {
                let (io, counted) = (io.clone(), counted.clone());
                Box::pin(async move {
                    let answers = answer(&io, peer).await;
                    counted.set(counted.get() + answers);
                })
            })
            .collect()
    })
    .unwrap();
    answers.get()
}

async fn answer(io: &Io, peer: OwnedFd) -> u64 {
    let mut stream = io.adopt(peer).unwrap();
    let mut answers = 0;
    let mut received = stream.receive().await;
    while received.is_ok() {
        let bytes = stream.incoming().len();
        stream.outgoing().resize(bytes, b'a');
        stream.consume(bytes);
        received = stream.exchange().await;
        answers += 1;
    }
    answers
}

/// CPU time of this process: user and system, in microseconds.
fn cpu_us() -> (f64, f64) {
    // SAFETY: an all-zero rusage is valid, and getrusage only writes into it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    (us(usage.ru_utime), us(usage.ru_stime))
}
