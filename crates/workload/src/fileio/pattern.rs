//! The patterns of operations: which kinds, and in which order.

/// The order and the kind of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    RandomRead,
    RandomWrite,
    SequentialRead,
    SequentialWrite,
    /// Random, reads and writes.
    Mixed,
    /// In order, with gaps: about one block of four.
    AscendingRead,
}

impl Pattern {
    pub(super) const NAMES: [(&str, Pattern); 6] = [
        ("random-read", Pattern::RandomRead),
        ("random-write", Pattern::RandomWrite),
        ("sequential-read", Pattern::SequentialRead),
        ("sequential-write", Pattern::SequentialWrite),
        ("mixed", Pattern::Mixed),
        ("ascending-read", Pattern::AscendingRead),
    ];

    pub(super) fn name(self) -> &'static str {
        record::name_of(&self, &Pattern::NAMES)
    }

    pub(super) fn writes(self) -> bool {
        !matches!(
            self,
            Pattern::RandomRead | Pattern::SequentialRead | Pattern::AscendingRead
        )
    }

    pub(super) fn reads(self) -> bool {
        !matches!(self, Pattern::RandomWrite | Pattern::SequentialWrite)
    }

    pub(super) fn is_random(self) -> bool {
        matches!(
            self,
            Pattern::RandomRead | Pattern::RandomWrite | Pattern::Mixed
        )
    }
}
