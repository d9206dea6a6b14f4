//! Streams behave the same on every backend, including when the peer misbehaves.

use super::*;
use crate::executor::{self, Task};
use proptest::prelude::*;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc;
use std::task::Poll;

use std::thread::JoinHandle;

/// A timeout that no test reaches, even on a busy machine.
const LONG: Duration = Duration::from_secs(60);

fn backends() -> Vec<Backend> {
    match executor::backend() {
        Backend::Uring => vec![Backend::Uring, Backend::Epoll, Backend::Blocking],
        _ => {
            eprintln!("skipped: this kernel has no usable io_uring");
            vec![Backend::Epoll, Backend::Blocking]
        }
    }
}

/// Runs one client to its end.
fn alone<T: 'static>(backend: Backend, client: impl AsyncFnOnce(Io) -> T + 'static) -> T {
    let result = Rc::new(Cell::new(None));
    let kept = result.clone();
    executor::run(backend, Instant::now(), None, 4, |io| {
        let io = io.clone();
        vec![Box::pin(async move { kept.set(Some(client(io).await)) })]
    })
    .unwrap();
    result.take().unwrap()
}

/// A TCP server of one connection.
fn serve(act: impl FnOnce(TcpStream) + Send + 'static) -> (Endpoint, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port: listener.local_addr().unwrap().port(),
    };
    let server = std::thread::spawn(move || act(listener.accept().unwrap().0));
    (endpoint, server)
}

fn echo(mut peer: impl Read + Write) {
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = peer.read(&mut bytes) {
        if peer.write_all(&bytes[..read]).is_err() {
            return;
        }
    }
}

async fn read_exactly(stream: &mut Stream, bytes: usize) -> io::Result<Vec<u8>> {
    while stream.incoming().len() < bytes {
        stream.receive().await?;
    }
    let read = stream.incoming()[..bytes].to_vec();
    stream.consume(bytes);
    Ok(read)
}

#[test]
fn an_exchange_receives_the_answer_and_empties_the_send_buffer() {
    for backend in backends() {
        let (endpoint, server) = serve(echo);
        alone(backend, async move |io| {
            let mut stream = io.connect(&endpoint, LONG).await.unwrap();
            for question in [&b"one"[..], b"three", b"two"] {
                stream.outgoing().extend_from_slice(question);
                stream.exchange().await.unwrap();
                assert!(stream.outgoing().is_empty());
                assert_eq!(
                    read_exactly(&mut stream, question.len()).await.unwrap(),
                    question
                );
            }
        });
        server.join().unwrap();
    }
}

#[test]
fn unix_sockets_and_host_names_can_be_connected() {
    let folder = tempfile::tempdir().unwrap();
    for (n, backend) in backends().into_iter().enumerate() {
        let path = folder.path().join(n.to_string());
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || echo(listener.accept().unwrap().0));
        let (endpoint, named_server) = serve(echo);
        let Endpoint::Tcp { port, .. } = endpoint else {
            unreachable!()
        };
        let host = "localhost".to_string();
        alone(backend, async move |io| {
            for endpoint in [Endpoint::Unix(path), Endpoint::Tcp { host, port }] {
                let mut stream = io.connect(&endpoint, LONG).await.unwrap();
                stream.outgoing().push(7);
                stream.exchange().await.unwrap();
                assert_eq!(stream.incoming(), [7]);
            }
        });
        server.join().unwrap();
        named_server.join().unwrap();
    }
}

#[test]
fn a_megabyte_is_echoed_unchanged() {
    const BYTES: usize = 1 << 20;
    let sent: Vec<u8> = (0..BYTES).map(|n| (n * n / 7) as u8).collect();
    for backend in backends() {
        let (endpoint, server) = serve(|mut peer| {
            let mut all = vec![0; BYTES];
            peer.read_exact(&mut all).unwrap();
            peer.write_all(&all).unwrap();
        });
        let expected = sent.clone();
        alone(backend, async move |io| {
            let mut stream = io.connect(&endpoint, LONG).await.unwrap();
            stream.outgoing().extend_from_slice(&expected);
            stream.exchange().await.unwrap();
            assert!(read_exactly(&mut stream, BYTES).await.unwrap() == expected);
        });
        server.join().unwrap();
    }
}

#[test]
fn a_send_to_a_slow_reader_completes() {
    const BYTES: usize = 3 << 20;
    for backend in backends() {
        let (endpoint, server) = serve(|mut peer| {
            let (mut bytes, mut total) = ([0; 10_000], 0);
            while let Ok(read @ 1..) = peer.read(&mut bytes) {
                total += read;
                std::thread::yield_now();
            }
            assert_eq!(total, BYTES);
        });
        alone(backend, async move |io| {
            let mut stream = io.connect(&endpoint, LONG).await.unwrap();
            stream.outgoing().resize(BYTES, 1);
            stream.send().await.unwrap();
            assert!(stream.outgoing().is_empty());
        });
        server.join().unwrap();
    }
}

#[test]
fn a_closed_peer_is_an_unexpected_eof_after_its_last_bytes() {
    for backend in backends() {
        let (endpoint, server) = serve(|mut peer| peer.write_all(b"bye").unwrap());
        let (last, then) = alone(backend, async move |io| {
            let mut stream = io.connect(&endpoint, LONG).await.unwrap();
            let last = read_exactly(&mut stream, 3).await.unwrap();
            (last, stream.receive().await)
        });
        assert_eq!(last, b"bye");
        assert_eq!(then.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        server.join().unwrap();
    }
}

#[test]
fn a_reset_by_the_peer_is_reported() {
    for backend in backends() {
        let (endpoint, server) = serve(|mut peer| {
            peer.read_exact(&mut [0; 1]).unwrap();
            // Closing with unread bytes sends a reset.
            peer.peek(&mut [0; 1]).unwrap();
        });
        let error = alone(backend, async move |io| {
            let mut stream = io.connect(&endpoint, LONG).await.unwrap();
            stream.outgoing().extend_from_slice(b"two bytes and more");
            stream.exchange().await.unwrap_err()
        });
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        server.join().unwrap();
    }
}

#[test]
fn an_exchange_with_a_closed_peer_is_a_broken_pipe() {
    let folder = tempfile::tempdir().unwrap();
    for (n, backend) in backends().into_iter().enumerate() {
        let path = folder.path().join(n.to_string());
        let listener = UnixListener::bind(&path).unwrap();
        let error = alone(backend, async move |io| {
            let mut stream = io.connect(&Endpoint::Unix(path), LONG).await.unwrap();
            drop(listener.accept().unwrap());
            stream.outgoing().push(1);
            stream.exchange().await.unwrap_err()
        });
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
}

#[test]
fn a_closed_port_refuses_and_a_missing_socket_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    for backend in backends() {
        let tcp = Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port,
        };
        let unix = Endpoint::Unix(folder.path().join("nobody"));
        let kinds = alone(backend, async move |io| {
            let mut kinds = Vec::new();
            for endpoint in [tcp, unix] {
                kinds.push(io.connect(&endpoint, LONG).await.err().unwrap().kind());
            }
            kinds
        });
        assert_eq!(kinds, [ErrorKind::ConnectionRefused, ErrorKind::NotFound]);
    }
}

#[test]
fn connecting_to_a_server_that_never_accepts_times_out() {
    let folder = tempfile::tempdir().unwrap();
    for (n, backend) in backends().into_iter().enumerate() {
        let path = folder.path().join(n.to_string());
        let listener = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let _waiting = UnixStream::connect(&path).unwrap();
        let error = alone(backend, async move |io| {
            let within = Duration::from_millis(30);
            io.connect(&Endpoint::Unix(path), within).await.err()
        });
        assert_eq!(error.unwrap().kind(), ErrorKind::TimedOut);
    }
}

#[test]
fn an_unanswered_tcp_connection_times_out() {
    for backend in backends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let endpoint = Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port: listener.local_addr().unwrap().port(),
        };
        let error = alone(backend, async move |io| {
            let mut held = Vec::new();
            // The kernel's accept queue holds one more than its backlog.
            for _ in 0..3 {
                match io.connect(&endpoint, Duration::from_millis(200)).await {
                    Ok(stream) => held.push(stream),
                    Err(error) => return Some(error),
                }
            }
            None
        });
        assert_eq!(error.unwrap().kind(), ErrorKind::TimedOut);
    }
}

#[test]
fn a_stalled_peer_times_out() {
    for backend in backends() {
        let (done, wait) = mpsc::channel::<()>();
        let (endpoint, server) = serve(move |peer| {
            let _ = wait.recv();
            drop(peer);
        });
        let limit = Duration::from_millis(150);
        let (error, waited) = alone(backend, async move |io| {
            let mut stream = io.connect(&endpoint, LONG).await.unwrap();
            stream.set_stall_timeout(Some(limit));
            let began = Instant::now();
            stream.outgoing().push(1);
            (stream.exchange().await.unwrap_err(), began.elapsed())
        });
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(waited >= limit, "{waited:?}");
        drop(done);
        server.join().unwrap();
    }
}

#[test]
fn a_timeout_does_not_affect_timely_answers() {
    for backend in backends() {
        let (endpoint, server) = serve(echo);
        alone(backend, async move |io| {
            let mut stream = io.connect(&endpoint, LONG).await.unwrap();
            stream.set_stall_timeout(Some(LONG));
            // Longer than several sweeps.
            for _ in 0..8 {
                stream.outgoing().push(1);
                stream.exchange().await.unwrap();
                stream.consume(1);
                io.sleep_until(io.now_ns() + 50_000_000).await;
            }
        });
        server.join().unwrap();
    }
}

#[test]
fn an_interrupt_ends_every_current_and_later_wait() {
    for backend in backends() {
        let (endpoint, server) = serve(|mut peer| {
            let _ = peer.read(&mut [0; 1]);
        });
        let (sender, stoppers) = mpsc::channel::<Stopper>();
        let stopping = std::thread::spawn(move || {
            let stopper = stoppers.recv().unwrap();
            std::thread::sleep(Duration::from_millis(20));
            stopper.interrupt();
        });
        let kinds = alone(backend, async move |io| {
            let mut stream = io.connect(&endpoint, LONG).await.unwrap();
            sender.send(io.stopper()).unwrap();
            let first = stream.receive().await.unwrap_err().kind();
            io.sleep_until(u64::MAX).await;
            stream.outgoing().push(1);
            let second = stream.receive().await.unwrap_err().kind();
            let third = io.connect(&endpoint, LONG).await.err().unwrap().kind();
            [first, second, third]
        });
        assert_eq!(kinds, [ErrorKind::Interrupted; 3]);
        stopping.join().unwrap();
        server.join().unwrap();
    }
}

/// Runs a future of a blocking stream.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
    {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a blocking stream is never pending"),
    }
}

#[test]
fn a_deadline_ends_a_blocking_wait_although_bytes_keep_arriving() {
    let io = Io::blocking();
    let (near, mut far) = UnixStream::pair().unwrap();
    let mut stream = io.adopt(near.into()).unwrap();
    let dripping = std::thread::spawn(move || {
        while far.write_all(&[7]).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    io.set_deadline(Instant::now().checked_add(Duration::from_millis(150)));
    let error = std::iter::repeat_with(|| at_once(stream.receive()))
        .find_map(Result::err)
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    drop(stream);
    dripping.join().unwrap();
}

#[test]
fn a_deadline_ends_a_blocking_send_to_a_peer_that_does_not_read() {
    let io = Io::blocking();
    let (near, _far) = UnixStream::pair().unwrap();
    let mut stream = io.adopt(near.into()).unwrap();
    io.set_deadline(Instant::now().checked_add(Duration::from_millis(50)));
    stream.outgoing().resize(16 << 20, 7);
    let error = at_once(stream.send()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

#[test]
fn an_interruption_of_the_process_ends_a_blocking_wait() {
    let io = Io::interruptible(|| true).unwrap();
    let (near, _far) = UnixStream::pair().unwrap();
    let mut stream = io.adopt(near.into()).unwrap();
    let error = at_once(stream.receive()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}

#[test]
fn a_watch_looks_at_a_silent_wait_that_has_no_deadline() {
    let io = Io::interruptible(|| false).unwrap();
    io.on_silence(Box::new(|silent| {
        if silent < Duration::from_millis(400) {
            Ok(())
        } else {
            Err(ErrorKind::ConnectionAborted.into())
        }
    }));
    let (near, mut far) = UnixStream::pair().unwrap();
    let mut stream = io.adopt(near.into()).unwrap();
    far.write_all(&[7]).unwrap();
    at_once(stream.receive()).unwrap();
    let error = at_once(stream.receive()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
    io.set_deadline(Instant::now().checked_add(Duration::from_millis(900)));
    let error = at_once(stream.receive()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "the deadline is enough");
}

#[test]
fn an_unknown_host_is_not_found() {
    let endpoint = Endpoint::Tcp {
        host: "no.such.host.invalid".into(),
        port: 1,
    };
    let error = at_once(Io::blocking().connect(&endpoint, LONG)).err();
    assert_eq!(error.unwrap().kind(), ErrorKind::NotFound);
}

/// Polls a future once and drops it.
async fn give_up(future: impl Future) {
    let mut future = Box::pin(future);
    poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

fn reactors() -> Vec<Backend> {
    let mut backends = backends();
    backends.retain(|backend| *backend != Backend::Blocking);
    backends
}

#[test]
fn a_stream_with_a_cancelled_receive_returns_an_error() {
    for backend in reactors() {
        let (endpoint, server) = serve(echo);
        let error = alone(backend, async move |io| {
            let mut stream = io.connect(&endpoint, LONG).await.unwrap();
            give_up(stream.receive()).await;
            assert_eq!(stream.incoming(), b"");
            stream.outgoing().push(1);
            stream.exchange().await.unwrap_err()
        });
        assert!(error.to_string().contains("was cancelled"), "{error}");
        server.join().unwrap();
    }
}

#[test]
fn streams_dropped_in_flight_do_not_affect_later_ones() {
    for backend in reactors() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port: listener.local_addr().unwrap().port(),
        };
        std::thread::spawn(move || {
            for peer in listener.incoming() {
                std::thread::spawn(move || echo(peer.unwrap()));
            }
        });
        alone(backend, async move |io| {
            for n in 0..50u8 {
                let mut dropped = io.connect(&endpoint, LONG).await.unwrap();
                dropped.outgoing().extend_from_slice(&[n; 9000]);
                give_up(dropped.exchange()).await;
                drop(dropped);
                let mut stream = io.connect(&endpoint, LONG).await.unwrap();
                stream.outgoing().push(n);
                stream.exchange().await.unwrap();
                assert_eq!(stream.incoming(), [n]);
            }
        });
    }
}

#[test]
fn dropping_a_reactor_closes_connections_in_flight() {
    for backend in reactors() {
        let (endpoint, server) = serve(|mut peer| {
            assert!(matches!(peer.read(&mut [0; 1]), Ok(0) | Err(_)));
        });
        alone(backend, async move |io| {
            let mut stream = io.connect(&endpoint, LONG).await.unwrap();
            give_up(stream.receive()).await;
        });
        server.join().unwrap();
    }
}

#[test]
fn one_reactor_serves_a_thousand_connections() {
    const CLIENTS: usize = 1000;
    let folder = tempfile::tempdir().unwrap();
    for backend in reactors() {
        let path = folder.path().join(format!("{backend:?}"));
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || {
            // Answers no client before all have connected.
            let peers: Vec<UnixStream> =
                (0..CLIENTS).map(|_| listener.accept().unwrap().0).collect();
            for mut peer in &peers {
                let mut bytes = [0; 4];
                peer.read_exact(&mut bytes).unwrap();
                peer.write_all(&bytes).unwrap();
            }
        });
        let answered = Rc::new(Cell::new(0));
        let counted = answered.clone();
        executor::run(backend, Instant::now(), None, CLIENTS, |io| {
            let client = |n: usize| -> Task {
                let (io, answered) = (io.clone(), counted.clone());
                let endpoint = Endpoint::Unix(path.clone());
                Box::pin(async move {
                    let mut stream = io.connect(&endpoint, LONG).await.unwrap();
                    let question = (n as u32).to_le_bytes();
                    stream.outgoing().extend_from_slice(&question);
                    stream.exchange().await.unwrap();
                    assert_eq!(read_exactly(&mut stream, 4).await.unwrap(), question);
                    answered.set(answered.get() + 1);
                })
            };
            (0..CLIENTS).map(client).collect()
        })
        .unwrap();
        assert_eq!(answered.get(), CLIENTS);
        server.join().unwrap();
    }
}

#[test]
fn more_operations_than_ring_entries_all_complete() {
    for backend in reactors() {
        let pairs: Vec<_> = (0..300).map(|_| UnixStream::pair().unwrap()).collect();
        let answered = Rc::new(Cell::new(0));
        let counted = answered.clone();
        // The capacity is far too small on purpose.
        executor::run(backend, Instant::now(), None, 1, |io| {
            let client = |(near, mut far): (UnixStream, UnixStream)| -> Task {
                far.write_all(b"x").unwrap();
                let (io, answered) = (io.clone(), counted.clone());
                Box::pin(async move {
                    let mut stream = io.adopt(near.into()).unwrap();
                    stream.outgoing().push(1);
                    stream.exchange().await.unwrap();
                    assert_eq!(stream.incoming(), b"x");
                    answered.set(answered.get() + 1);
                    drop(far);
                })
            };
            pairs.into_iter().map(client).collect()
        })
        .unwrap();
        assert_eq!(answered.get(), 300);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_reply_arrives_unchanged_however_it_is_split(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..30_000), 1..12),
        consumed in prop::collection::vec(1usize..40_000, 1..12),
    ) {
        let expected: Vec<u8> = chunks.concat();
        for backend in backends() {
            let chunks = chunks.clone();
            let (endpoint, server) = serve(move |mut peer| {
                peer.read_exact(&mut [0; 1]).unwrap();
                for chunk in chunks {
                    peer.write_all(&chunk).unwrap();
                    std::thread::yield_now();
                }
            });
            let mut steps = consumed.clone().into_iter().cycle();
            let all = alone(backend, async move |io| {
                let mut stream = io.connect(&endpoint, LONG).await.unwrap();
                let mut all = Vec::new();
                stream.outgoing().push(1);
                let mut result = stream.exchange().await;
                while result.is_ok() {
                    let step = steps.next().unwrap().min(stream.incoming().len());
                    all.extend_from_slice(&stream.incoming()[..step]);
                    stream.consume(step);
                    result = stream.receive().await;
                }
                all.extend_from_slice(stream.incoming());
                all
            });
            server.join().unwrap();
            prop_assert!(all == expected);
        }
    }
}
