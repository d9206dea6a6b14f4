//! Measures the client's cost of one prepared point select, without the load engine.
//!
//!     point_select serve SOCKET                        run a null server
//!     point_select run SOCKET BACKEND CLIENTS COUNT    COUNT point selects per client, on one thread
//!
//! Under `valgrind --tool=callgrind`, the difference between two values of COUNT gives the cost in user instructions.

use load::{Backend, Endpoint, Io, executor};
use std::os::unix::net::UnixListener;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use wire::null::{Behaviour, Listener, serve};
use wire::{Connection, Login, Param};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", socket] => {
            let listener = Listener::Unix(UnixListener::bind(socket).unwrap());
            serve(&listener, &Behaviour::default(), &AtomicBool::new(false)).unwrap();
        }
        ["run", socket, backend, clients, count] => {
            let (clients, count) = (clients.parse().unwrap(), count.parse().unwrap());
            run_all(socket, self::backend(backend), clients, count);
        }
        _ => eprintln!("point_select serve SOCKET | run SOCKET uring|epoll|blocking CLIENTS COUNT"),
    }
}

fn backend(name: &str) -> Backend {
    match name {
        "uring" => Backend::Uring,
        "epoll" => Backend::Epoll,
        _ => Backend::Blocking,
    }
}

fn run_all(socket: &str, backend: Backend, clients: u32, count: i64) {
    let login = Login {
        endpoints: vec![Endpoint::Unix(socket.into())],
        user: "root".into(),
        password: None,
        schema: None,
        protection: Default::default(),
        login_timeout: Duration::from_secs(60),
        stall_timeout: None,
    };
    let begin = Instant::now();
    executor::run(backend, begin, None, clients as usize, |io| {
        (0..clients)
            .map(|client| {
                Box::pin(run_client(io.clone(), login.clone(), client, count)) as executor::Task
            })
            .collect()
    })
    .unwrap();
    let elapsed_s = begin.elapsed().as_secs_f64();
    let rate = f64::from(clients) * count as f64 / elapsed_s;
    println!("{clients} x {count} in {elapsed_s:.3} s: {rate:.0}/s");
}

/// A task of its own, so that no call between tasks and requests is counted with the protocol.
async fn run_client(io: Io, login: Login, client: u32, count: i64) {
    let opened = Connection::open(&io, &login, client).await;
    let mut connection = opened.unwrap();
    let select = connection.prepare("SELECT c FROM sbtest1 WHERE id = ?");
    let select = select.await.unwrap();
    for id in 0..count {
        let selected = connection.execute(&select, &[Param::Int(id)]).await;
        selected.unwrap();
    }
    connection.close().await;
}
