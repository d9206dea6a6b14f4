//! A port behind which one server after another stands, as where an address moves to another host.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

pub struct Switch {
    pub port: u16,
    state: Arc<State>,
}

struct State {
    target: AtomicU16,
    is_over: AtomicBool,
    /// Both halves of each connection.
    open: Mutex<Vec<TcpStream>>,
}

impl Switch {
    pub fn to(port: u16) -> Switch {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let state = Arc::new(State {
            target: AtomicU16::new(port),
            is_over: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let port = listener.local_addr().unwrap().port();
        let serving = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if serving.is_over.load(Ordering::SeqCst) {
                    return;
                }
                // A server that takes nobody is one that hangs up.
                let _ = serving.join(client);
            }
        });
        Switch { port, state }
    }

    /// Who was connected is cut off; who comes from now on is let through to that port.
    pub fn turn_to(&self, port: u16) {
        self.state.target.store(port, Ordering::SeqCst);
        for half in self.state.open.lock().unwrap().drain(..) {
            let _ = half.shutdown(Shutdown::Both);
        }
    }
}

impl State {
    fn join(&self, client: TcpStream) -> io::Result<()> {
        let server = TcpStream::connect(("127.0.0.1", self.target.load(Ordering::SeqCst)))?;
        for half in [&client, &server] {
            half.set_nodelay(true)?;
            self.open.lock().unwrap().push(half.try_clone()?);
        }
        pass(client.try_clone()?, server.try_clone()?);
        pass(server, client);
        Ok(())
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.turn_to(0);
        self.state.is_over.store(true, Ordering::SeqCst);
        // So that the one who waits for clients sees it.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}
