//! Transfers behave the same on every backend, including when the file ends or the disk refuses.

use super::*;
use crate::executor::{self, Task};
use crate::io::{Backend, Io};
use std::cell::Cell;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const BLOCK: usize = 4_096;

fn backends() -> Vec<Backend> {
    match executor::backend() {
        Backend::Uring => vec![Backend::Uring, Backend::Aio, Backend::Blocking],
        _ => {
            eprintln!("skipped: this kernel has no usable io_uring");
            vec![Backend::Aio, Backend::Blocking]
        }
    }
}

/// Runs one session with a transfer of a block to its end.
fn alone<T: 'static>(
    backend: Backend,
    files: &Arc<[File]>,
    session: impl AsyncFnOnce(Io, Transfer) -> T + 'static,
) -> T {
    let result = Rc::new(Cell::new(None));
    let (kept, files) = (result.clone(), files.clone());
    executor::run(backend, Instant::now(), None, 1, |io| {
        let io = io.clone();
        let transfer = io.transfer(&files, Aligned::new(BLOCK)).unwrap();
        vec![Box::pin(async move {
            kept.set(Some(session(io, transfer).await))
        })]
    })
    .unwrap();
    result.take().unwrap()
}

/// A file of so many bytes.
fn file_of(bytes: usize) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&vec![7; bytes]).unwrap();
    file
}

fn file(bytes: usize) -> Arc<[File]> {
    [file_of(bytes)].into()
}

#[test]
fn what_is_written_is_read_again_on_every_backend() {
    for backend in backends() {
        let files: Arc<[File]> = [file_of(0), file_of(2 * BLOCK)].into();
        let read = alone(backend, &files, async |_, mut transfer: Transfer| {
            transfer.buffer().fill(9);
            transfer.write(1, BLOCK as u64).await.unwrap();
            transfer.sync_data(1).await.unwrap();
            transfer.sync(1).await.unwrap();
            transfer.buffer().fill(0);
            transfer.read(1, BLOCK as u64).await.unwrap();
            transfer.buffer().to_vec()
        });
        assert_eq!(read, [9; BLOCK], "{backend:?}");
        assert_eq!(files[0].metadata().unwrap().len(), 0, "{backend:?}");
        let mut first = [0; BLOCK];
        files[1].read_exact_at(&mut first, 0).unwrap();
        assert_eq!(first, [7; BLOCK], "{backend:?}");
    }
}

#[test]
fn a_read_beyond_the_end_of_the_file_says_how_much_it_got() {
    for backend in backends() {
        let cut = alone(backend, &file(5_000), async |_, mut transfer: Transfer| {
            transfer.read(0, BLOCK as u64).await.unwrap_err()
        });
        assert_eq!(cut.done, 5_000 - BLOCK, "{backend:?}");
        assert_eq!(cut.error.kind(), ErrorKind::UnexpectedEof, "{backend:?}");
    }
}

#[test]
fn an_error_of_the_system_keeps_its_number() {
    for backend in backends() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let files: Arc<[File]> = [full].into();
        let cut = alone(backend, &files, async |_, mut transfer: Transfer| {
            transfer.read(0, 0).await.unwrap_err()
        });
        let code = cut.error.raw_os_error();
        assert_eq!((cut.done, code), (0, Some(libc::EBADF)), "{backend:?}");
    }
}

#[test]
fn only_io_uring_has_a_no_op() {
    for backend in backends() {
        let done = alone(backend, &file(0), async |_, mut transfer: Transfer| {
            transfer.nothing().await.map_err(|error| error.kind())
        });
        match backend {
            Backend::Uring => assert_eq!(done, Ok(())),
            _ => assert_eq!(done, Err(ErrorKind::InvalidInput), "{backend:?}"),
        }
    }
}

#[test]
fn after_an_interrupt_no_operation_starts() {
    for backend in [Backend::Uring, Backend::Aio] {
        if !backends().contains(&backend) {
            continue;
        }
        let cut = alone(
            backend,
            &file(BLOCK),
            async |io: Io, mut transfer: Transfer| {
                io.stopper().interrupt();
                io.yield_now().await;
                transfer.read(0, 0).await.unwrap_err()
            },
        );
        assert_eq!(cut.error.kind(), ErrorKind::Interrupted, "{backend:?}");
    }
}

#[test]
fn an_interrupt_ends_the_wait_for_a_read_that_does_not_end() {
    // Reading an empty pipe stands for a disk that hangs. Linux AIO blocks on it when it is submitted.
    if !backends().contains(&Backend::Uring) {
        return;
    }
    let (pipe, other_end) = std::io::pipe().unwrap();
    let files: Arc<[File]> = [File::from(std::os::fd::OwnedFd::from(pipe))].into();
    let (ended, has_ended) = std::sync::mpsc::channel();
    let (cut, ended_at) = alone(
        Backend::Uring,
        &files,
        async move |io: Io, mut transfer: Transfer| {
            let stopper = io.stopper();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                stopper.interrupt();
                // If the interrupt ends no wait, the end of the pipe does.
                let _ = has_ended.recv_timeout(Duration::from_secs(60));
                // The reactor waits for the kernel's completion before it frees the buffer.
                std::thread::sleep(Duration::from_millis(500));
                drop(other_end);
            });
            let cut = transfer.read(0, 0).await.unwrap_err();
            let ended_at = Instant::now();
            ended.send(()).unwrap();
            drop(transfer);
            (cut, ended_at)
        },
    );
    assert_eq!(cut.error.kind(), ErrorKind::Interrupted);
    assert!(ended_at.elapsed() >= Duration::from_millis(500));
}

#[test]
fn many_operations_are_in_flight_at_once_on_one_reactor() {
    const SESSIONS: usize = 200;
    for backend in backends() {
        let files = file(SESSIONS * BLOCK);
        let done = Rc::new(Cell::new(0));
        executor::run(backend, Instant::now(), None, SESSIONS, |io| {
            let session = |number: usize| -> Task {
                let transfer = io.transfer(&files, Aligned::new(BLOCK));
                let (mut transfer, done) = (transfer.unwrap(), done.clone());
                Box::pin(async move {
                    transfer.buffer().fill(number as u8);
                    let offset = (number * BLOCK) as u64;
                    for _ in 0..10 {
                        transfer.write(0, offset).await.unwrap();
                        transfer.read(0, offset).await.unwrap();
                        assert!(transfer.buffer().iter().all(|byte| *byte == number as u8));
                    }
                    done.set(done.get() + 1);
                })
            };
            (0..SESSIONS).map(session).collect()
        })
        .unwrap();
        assert_eq!(done.get(), SESSIONS, "{backend:?}");
    }
}

/// Forbids io_uring_setup(2) to this thread, as a container does.
fn forbid_rings() {
    let load_number = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let filter = |code: u32, yes: u8, no: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt: yes,
        jf: no,
        k,
    };
    let mut filters = [
        filter(load_number, 0, 0, 0),
        filter(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            libc::SYS_io_uring_setup as u32,
        ),
        filter(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        filter(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filters.len() as u16,
        filter: filters.as_mut_ptr(),
    };
    // SAFETY: the program outlives the calls. It concerns this thread alone.
    let forbidden = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        )
    };
    assert_eq!(forbidden, 0, "{}", io::Error::last_os_error());
}

#[test]
fn a_ring_that_is_not_permitted_is_a_permission_error() {
    let made = std::thread::spawn(|| {
        forbid_rings();
        let made = Io::new(Backend::Uring, Instant::now(), 1);
        made.map(drop).map_err(|error| error.kind())
    });
    assert_eq!(made.join().unwrap(), Err(ErrorKind::PermissionDenied));
}
