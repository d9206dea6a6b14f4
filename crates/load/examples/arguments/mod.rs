//! What the examples are asked: `NAME=VALUE` on their command line.

use load::{Backend, executor};

fn value(name: &str, usual: &str) -> String {
    let prefix = format!("{name}=");
    let found =
        std::env::args().find_map(|argument| Some(argument.strip_prefix(&prefix)?.to_string()));
    found.unwrap_or(usual.to_string())
}

pub fn number(name: &str, usual: &str) -> u64 {
    value(name, usual).parse().unwrap()
}

/// The one that the load engine would take, where none is named.
pub fn backend() -> Backend {
    match value("backend", "").as_str() {
        "epoll" => Backend::Epoll,
        "uring" => Backend::Uring,
        _ => executor::backend(),
    }
}
