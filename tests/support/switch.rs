//! A TCP proxy whose target can change, like an address that moves to another host.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

pub(crate) struct Switch {
    pub port: u16,
    state: Arc<SwitchState>,
}

struct SwitchState {
    target: AtomicU16,
    is_over: AtomicBool,
    /// Both sockets of each connection.
    open: Mutex<Vec<TcpStream>>,
}

impl Switch {
    pub(crate) fn to(port: u16) -> Switch {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let state = Arc::new(SwitchState {
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
                // If the server accepts no connection, the client's is closed.
                let _ = serving.join(client);
            }
        });
        Switch { port, state }
    }

    /// Closes all connections and forwards new ones to this port.
    pub(crate) fn turn_to(&self, port: u16) {
        self.state.target.store(port, Ordering::SeqCst);
        for half in self.state.open.lock().unwrap().drain(..) {
            let _ = half.shutdown(Shutdown::Both);
        }
    }
}

impl SwitchState {
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
        // Wakes the thread that waits for clients.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}
