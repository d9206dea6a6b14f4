//! Why a server that prony started has ended, or where it hangs, for the message about what failed because of it.

use host::{interrupt, stacks};
use server::Node;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

/// The longest time from a server's last connection to the end of its process, which frees its memory meanwhile.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// The same for a server that accepts no connection any more: on a busy machine its process may take much longer.
const SILENT_ENDS_WITHIN: Duration = Duration::from_secs(15);
const POLL_EVERY: Duration = Duration::from_millis(10);

/// Why the server ended although prony did not stop it; None if it still runs. To be called after a connection was lost: it waits a
/// moment, because connections end before the process.
pub(crate) fn reason(node: &dyn Node) -> Option<String> {
    let began = Instant::now();
    loop {
        let reason = node.exit_reason();
        let may_end_yet = node.pid().is_some() && may_end_after(began.elapsed(), node);
        if reason.is_some() || !may_end_yet || interrupt::asked() {
            return reason;
        }
        std::thread::sleep(POLL_EVERY);
    }
}

/// Appends to the server's log where its threads wait. To be called while the server hangs.
pub(crate) fn keep_stacks(node: &dyn Node) {
    let (Some(pid), Some(log)) = (node.pid(), node.log_path()) else {
        return;
    };
    let text = format!("prony: the server hangs. {}", stacks::read(pid));
    // Without it the message still says that the server hangs.
    let _ = OpenOptions::new()
        .append(true)
        .open(log)
        .and_then(|mut log| log.write_all(text.as_bytes()));
}

fn may_end_after(elapsed: Duration, node: &dyn Node) -> bool {
    elapsed < ENDS_WITHIN || (elapsed < SILENT_ENDS_WITHIN && node.connect().is_err())
}

/// As [`reason`], to be called after any failure: a server that accepts a connection is not waited for.
pub(crate) fn reason_if_silent(node: &dyn Node) -> Option<String> {
    let is_silent = node.pid().is_some() && node.connect().is_err();
    is_silent.then(|| reason(node)).flatten()
}
