//! Command-line arguments of the examples: `NAME=VALUE`.

use load::{Backend, executor};

pub(crate) fn value(name: &str, default: &str) -> String {
    let prefix = format!("{name}=");
    let found =
        std::env::args().find_map(|argument| Some(argument.strip_prefix(&prefix)?.to_string()));
    found.unwrap_or(default.to_string())
}

pub(crate) fn number(name: &str, default: &str) -> u64 {
    value(name, default).parse().unwrap()
}

#[allow(dead_code)] // `transfers` has engines of its own
/// The requested backend, or the load engine's default.
pub(crate) fn backend() -> Backend {
    match value("backend", "").as_str() {
        "epoll" => Backend::Epoll,
        "uring" => Backend::Uring,
        _ => executor::backend(),
    }
}
