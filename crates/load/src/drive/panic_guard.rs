//! Ends the drive when one of its threads panics, instead of running to the end, which may be hours away.

use super::driven::DriveError;
use super::shared::Shared;
use crate::seam::Workload;

/// Held by each thread of a drive while it runs.
pub(super) struct PanicGuard<'a, 'b, W: Workload>(pub &'b Shared<'a, W>);

impl<W: Workload> Drop for PanicGuard<'_, '_, W> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.0.gate.refuse(panicked()) {
            let now_ns = self.0.now_ns().unwrap_or(0);
            self.0.end_at(now_ns, panicked().to_string());
        }
    }
}

fn panicked() -> DriveError {
    DriveError::System("a thread of the load engine panicked".into())
}
