//! Where the threads of a process wait, for the log of a server that hangs.

use std::fmt::Write;
use std::fs::read_to_string;
use std::path::Path;

/// A paragraph for each thread: its id, name and state, and the place in the kernel where it waits. Linux shows the whole stack
/// to root only. Threads that end meanwhile are left out.
pub fn read(pid: u32) -> String {
    let mut text = String::new();
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    for thread in threads.into_iter().flatten().flatten() {
        // Writing to a string does not fail.
        let _ = describe(&thread.path(), &mut text);
    }
    text
}

fn describe(thread: &Path, text: &mut String) -> Option<()> {
    let read = |name: &str| read_to_string(thread.join(name)).ok();
    let status = read("status")?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim()
    };
    let (id, name, state) = (field("Pid:"), field("Name:"), field("State:"));
    let place = read("wchan").unwrap_or_default();
    writeln!(text, "thread {id} {name}: {state}, in {place}").ok()?;
    for call in read("stack").unwrap_or_default().lines() {
        writeln!(text, "    {call}").ok()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Paused;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_stopped_process_is_shown_as_stopped() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let paused = Paused::stop(child.id()).unwrap();
        let began = Instant::now();
        let mut text = read(child.id());
        // The state follows the signal.
        while !text.contains(": T (stopped), in ") && began.elapsed() < Duration::from_secs(60) {
            text = read(child.id());
        }
        drop(paused);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(text.contains(": T (stopped), in "), "{text}");
        assert_eq!(read(child.id()), "", "a process that ended has no threads");
    }
}
