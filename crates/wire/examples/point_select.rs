//! What one prepared point select costs the client, apart from the load engine.
//!
//!     point_select serve SOCKET          a null server
//!     point_select ask SOCKET COUNT      so many point selects over one connection, on blocking calls
//!
//! Under `valgrind --tool=callgrind` the difference between two counts is the cost in user instructions.

use load::{Endpoint, Io};
use std::future::Future;
use std::os::unix::net::UnixListener;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use wire::null::{Behaviour, Listener, serve};
use wire::{Connection, Login, Param, Tls, WireError};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", socket] => {
            let listener = Listener::Unix(UnixListener::bind(socket).unwrap());
            serve(&listener, &Behaviour::default(), &AtomicBool::new(false)).unwrap();
        }
        ["ask", socket, count] => ask(socket, count.parse().unwrap()).unwrap(),
        _ => eprintln!("point_select serve SOCKET | ask SOCKET COUNT"),
    }
}

fn ask(socket: &str, count: i64) -> Result<(), WireError> {
    let login = Login {
        endpoints: vec![Endpoint::Unix(socket.into())],
        user: "root".into(),
        password: None,
        schema: None,
        tls: Tls::Off,
        within: Duration::from_secs(5),
        stalled: None,
    };
    let mut connection = now(Connection::open(&Io::blocking(), &login, 0))?;
    let select = now(connection.prepare("SELECT c FROM sbtest1 WHERE id = ?"))?;
    let begin = Instant::now();
    for id in 0..count {
        now(connection.execute(&select, &[Param::Int(id)]))?;
    }
    let elapsed_s = begin.elapsed().as_secs_f64();
    println!("{count} in {elapsed_s:.3} s");
    now(connection.close());
    Ok(())
}

/// On blocking streams every await ends at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a blocking stream is never pending"),
    }
}
