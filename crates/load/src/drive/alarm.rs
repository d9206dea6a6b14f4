//! A thread that panics ends the drive: nobody waits for an end that is hours away to learn of it.

use super::driven::DriveError;
use super::shared::Shared;
use crate::seam::Workload;

/// Held by each thread of a drive as long as it runs.
pub struct Alarm<'a, 'b, W: Workload>(pub &'b Shared<'a, W>);

impl<W: Workload> Drop for Alarm<'_, '_, W> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.0.gate.refuse(panicked()) {
            let now_ns = self.0.now_ns().unwrap_or(0);
            self.0.end_at(now_ns, panicked().to_string());
        }
    }
}

fn panicked() -> DriveError {
    DriveError::System("a thread of the drive panicked".into())
}
