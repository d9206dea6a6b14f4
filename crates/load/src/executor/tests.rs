use super::*;
use std::cell::RefCell;
use std::rc::Rc;

fn reactors() -> Vec<Backend> {
    match backend() {
        Backend::Uring => vec![Backend::Uring, Backend::Epoll],
        _ => {
            eprintln!("skipped: this kernel has no usable io_uring");
            vec![Backend::Epoll]
        }
    }
}

#[test]
fn sleepers_wake_in_the_order_of_their_times_and_never_early() {
    for backend in reactors() {
        let woken = Rc::new(RefCell::new(Vec::new()));
        let list = woken.clone();
        run(backend, Instant::now(), None, 0, |io| {
            let begin_ns = io.now_ns();
            let sleeper = |after_ms: u64| -> Task {
                let (io, woken) = (io.clone(), list.clone());
                let at_ns = begin_ns + after_ms * 1_000_000;
                Box::pin(async move {
                    io.sleep_until(at_ns).await;
                    assert!(io.now_ns() >= at_ns);
                    woken.borrow_mut().push(after_ms);
                })
            };
            [30, 0, 20, 40, 10].map(sleeper).into()
        })
        .unwrap();
        assert_eq!(*woken.borrow(), [0, 10, 20, 30, 40]);
    }
}

#[test]
fn tasks_that_yield_take_turns() {
    for backend in reactors() {
        let polled = Rc::new(RefCell::new(Vec::new()));
        let list = polled.clone();
        run(backend, Instant::now(), None, 0, |io| {
            let task = |name: u8| -> Task {
                let (io, polled) = (io.clone(), list.clone());
                Box::pin(async move {
                    for _ in 0..3 {
                        polled.borrow_mut().push(name);
                        io.yield_now().await;
                    }
                })
            };
            [1, 2, 3].map(task).into()
        })
        .unwrap();
        assert_eq!(*polled.borrow(), [1, 2, 3, 1, 2, 3, 1, 2, 3]);
    }
}

#[test]
fn a_task_that_only_yields_sees_an_interrupt() {
    for backend in reactors() {
        run(backend, Instant::now(), None, 0, |io| {
            let io = io.clone();
            let stopper = io.stopper();
            let stopping = std::thread::spawn(move || stopper.interrupt());
            vec![Box::pin(async move {
                while !io.is_interrupted() {
                    io.yield_now().await;
                }
                stopping.join().unwrap();
            })]
        })
        .unwrap();
    }
}

#[test]
fn a_reactor_without_tasks_ends_immediately() {
    for backend in [Backend::Blocking].into_iter().chain(reactors()) {
        run(backend, Instant::now(), None, 0, |_| Vec::new()).unwrap();
    }
}

#[test]
fn blocking_tasks_run_one_after_another() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let list = seen.clone();
    run(Backend::Blocking, Instant::now(), None, 0, |io| {
        let task = |n: u64| -> Task {
            let (io, seen) = (io.clone(), list.clone());
            Box::pin(async move {
                io.sleep_until(io.now_ns() + 1_000_000 * n).await;
                seen.borrow_mut().push(n);
            })
        };
        [3, 1, 2].map(task).into()
    })
    .unwrap();
    assert_eq!(*seen.borrow(), [3, 1, 2]);
}

#[test]
fn a_capacity_beyond_the_rings_maximum_is_accepted() {
    for backend in reactors() {
        run(backend, Instant::now(), None, 100_000, |_| Vec::new()).unwrap();
    }
}

#[test]
fn the_error_for_a_missing_core_names_it() {
    for core in [1000, usize::MAX] {
        let error = run(Backend::Epoll, Instant::now(), Some(core), 0, |_| {
            Vec::new()
        });
        assert!(error.unwrap_err().to_string().contains(&core.to_string()));
    }
}

#[test]
fn reactors_on_different_threads_share_the_clock() {
    let origin = Instant::now();
    let now_ns = || {
        let now_ns = Rc::new(RefCell::new(0));
        let kept = now_ns.clone();
        run(backend(), origin, None, 0, |io| {
            *kept.borrow_mut() = io.now_ns();
            Vec::new()
        })
        .unwrap();
        *now_ns.borrow()
    };
    let first_ns = now_ns();
    let second_ns = std::thread::scope(|scope| scope.spawn(now_ns).join().unwrap());
    let third_ns = now_ns();
    assert!(first_ns <= second_ns && second_ns <= third_ns);
}
