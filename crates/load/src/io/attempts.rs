//! The file operations of an asynchronous reactor: which are in flight, for which tasks, and their buffers.
//!
//! Goal: the kernel never accesses freed memory. A slot keeps its buffer until its completion has arrived, even if the task was
//! interrupted or its transfer dropped. Non-goals: submitting and reaping (`uring`, `aio`); the rest of a short read (`transfer`).

use super::aligned::Aligned;
use std::io;

/// What an operation does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    Sync,
    /// [`Access::Sync`] without metadata that is not needed to read the data.
    SyncData,
    /// A no-op of the kernel.
    Nothing,
}

/// One attempt at an operation. Its result is that of the system call: bytes, or a negative error number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub access: Access,
    /// Index in the files of the transfer.
    pub file: u32,
    /// The offset in the file (bytes).
    pub offset: u64,
    /// Bytes at the start of the buffer that earlier attempts have transferred.
    pub skip: usize,
}

/// The result of an attempt that was interrupted. Its completion may still arrive.
pub(super) const INTERRUPTED: i32 = -libc::EINTR;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    InFlight,
    Completed(i32),
}

struct Slot {
    phase: Phase,
    task: u32,
    /// The transfer's buffer, from the start of an attempt until the transfer has seen its result.
    buffer: Aligned,
    /// The task no longer waits for the completion.
    is_interrupted: bool,
    /// The transfer was dropped.
    is_abandoned: bool,
}

/// The attempts of one reactor, one per slot.
#[derive(Default)]
pub(super) struct Attempts {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Attempts {
    /// A slot for a new transfer.
    pub(super) fn occupy(&mut self) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::new());
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Slot::new();
        slot
    }

    /// Starts an attempt and takes the buffer. Returns the part of it to transfer; it is valid until the completion.
    ///
    /// # Errors
    /// If the completion of an earlier attempt, whose future was dropped, is missing.
    #[inline]
    pub(super) fn begin(
        &mut self,
        slot: u32,
        task: u32,
        skip: usize,
        buffer: &mut Aligned,
    ) -> io::Result<(*mut u8, u32)> {
        let slot = &mut self.slots[slot as usize];
        if slot.phase != Phase::Idle {
            return Err(io::Error::from_raw_os_error(libc::ECANCELED));
        }
        slot.phase = Phase::InFlight;
        slot.task = task;
        std::mem::swap(&mut slot.buffer, buffer);
        let part = &mut slot.buffer[skip..];
        Ok((part.as_mut_ptr(), part.len() as u32))
    }

    /// Handles a completion. Returns the task to wake.
    #[inline]
    pub(super) fn complete(&mut self, number: u32, result: i32) -> Option<u32> {
        let slot = &mut self.slots[number as usize];
        slot.phase = Phase::Completed(result);
        if slot.is_abandoned {
            self.vacate(number);
            return None;
        }
        (!slot.is_interrupted).then_some(slot.task)
    }

    /// Returns the buffer and the result of the attempt. None while it is in flight.
    #[inline]
    pub(super) fn outcome(&mut self, slot: u32, buffer: &mut Aligned) -> Option<i32> {
        let slot = &mut self.slots[slot as usize];
        match slot.phase {
            Phase::Completed(result) => {
                slot.phase = Phase::Idle;
                std::mem::swap(&mut slot.buffer, buffer);
                Some(result)
            }
            _ if slot.is_interrupted => Some(INTERRUPTED),
            _ => None,
        }
    }

    /// Ends the wait of every task. The attempts remain in flight, because the kernel cannot cancel the I/O of a disk.
    pub(super) fn interrupt_all(&mut self, mut wake: impl FnMut(u32)) {
        for slot in &mut self.slots {
            if slot.phase == Phase::InFlight && !slot.is_interrupted {
                slot.is_interrupted = true;
                wake(slot.task);
            }
        }
    }

    /// The transfer of a slot was dropped. The slot becomes free when its attempt has ended.
    pub(super) fn abandon(&mut self, number: u32) {
        let slot = &mut self.slots[number as usize];
        slot.is_abandoned = true;
        if slot.phase != Phase::InFlight {
            self.vacate(number);
        }
    }

    fn vacate(&mut self, number: u32) {
        self.slots[number as usize] = Slot::new();
        self.free.push(number);
    }
}

impl Slot {
    fn new() -> Slot {
        Slot {
            phase: Phase::Idle,
            task: 0,
            buffer: Aligned::default(),
            is_interrupted: false,
            is_abandoned: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slot with an attempt of task 7 in flight.
    fn in_flight() -> (Attempts, u32) {
        let mut attempts = Attempts::default();
        let slot = attempts.occupy();
        let mut buffer = Aligned::new(4_096);
        attempts.begin(slot, 7, 0, &mut buffer).unwrap();
        assert!(buffer.is_empty());
        (attempts, slot)
    }

    #[test]
    fn a_completion_wakes_its_task_which_gets_the_result_and_its_buffer_back() {
        let (mut attempts, slot) = in_flight();
        let mut buffer = Aligned::default();
        assert_eq!(attempts.outcome(slot, &mut buffer), None);
        assert_eq!(attempts.complete(slot, 4_096), Some(7));
        assert_eq!(attempts.outcome(slot, &mut buffer), Some(4_096));
        assert_eq!(buffer.len(), 4_096);
    }

    #[test]
    fn the_rest_of_an_operation_starts_after_the_bytes_that_are_done() {
        let mut attempts = Attempts::default();
        let slot = attempts.occupy();
        let mut buffer = Aligned::new(4_096);
        let start = buffer.as_ptr().addr();
        let (part, length) = attempts.begin(slot, 0, 512, &mut buffer).unwrap();
        assert_eq!((part.addr() - start, length), (512, 4_096 - 512));
    }

    #[test]
    fn an_interrupted_attempt_keeps_its_buffer_until_the_completion() {
        let (mut attempts, slot) = in_flight();
        let mut woken = Vec::new();
        attempts.interrupt_all(|task| woken.push(task));
        assert_eq!(woken, [7]);
        let mut buffer = Aligned::default();
        assert_eq!(attempts.outcome(slot, &mut buffer), Some(INTERRUPTED));
        assert!(buffer.is_empty());
        assert_eq!(attempts.slots[slot as usize].buffer.len(), 4_096);
        assert_eq!(attempts.complete(slot, 0), None, "no task waits for it");
    }

    #[test]
    fn a_dropped_transfer_frees_its_slot_only_after_the_completion() {
        let (mut attempts, slot) = in_flight();
        attempts.abandon(slot);
        assert_ne!(attempts.occupy(), slot);
        assert_eq!(attempts.complete(slot, 0), None);
        assert!(attempts.slots[slot as usize].buffer.is_empty());
        assert_eq!(attempts.occupy(), slot);
    }

    #[test]
    fn no_attempt_starts_before_the_completion_of_the_previous_one() {
        let (mut attempts, slot) = in_flight();
        let mut other = Aligned::new(512);
        assert!(attempts.begin(slot, 8, 0, &mut other).is_err());
        assert_eq!(other.len(), 512);
    }
}
