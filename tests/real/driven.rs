//! A server for a driver whose operations run one by one, on blocking connections.

use crate::support::fresh::Fresh;
use server::{Managed, Node as _};
use std::future::Future;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use wire::Login;

/// Runs a future to its end; on blocking streams no await is ever pending.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a blocking stream is never pending"),
    }
}

/// Starts the server with a buffer pool of this size.
pub(crate) fn started(fresh: &Fresh, pool: &str) -> (Managed, Login) {
    let server = fresh.started(&[
        ("local_infile", "1"),
        ("innodb_buffer_pool_size", pool),
        // Commits do not wait for the disk, which is irrelevant to these tests.
        ("innodb_flush_log_at_trx_commit", "0"),
    ]);
    let dsn = server.endpoint().unwrap();
    let login = Login {
        stall_timeout: Some(Duration::from_secs(600)),
        ..server::login(&dsn, Duration::from_secs(120))
    };
    (server, login)
}
