//! The `user_data` of a submission, which maps its completion to a slot.
//!
//! Goal: distinguish the completions of successive operations of a slot. Non-goal: their meaning.

/// The part of an operation that a completion belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationPart {
    Send,
    Receive,
    Poll,
    /// The attempt at a file operation, whose slot is one of `Attempts`.
    File,
    /// The reactor's own entries, without a slot.
    Service,
}

pub(super) const PART_BITS: u32 = 3;

/// The contents of `user_data`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub generation: u32,
    pub slot: u32,
    pub part: OperationPart,
}

impl Tag {
    #[inline]
    pub(super) fn packed(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot) << PART_BITS | self.part as u64
    }

    #[inline]
    pub(super) fn unpacked(packed: u64) -> Tag {
        Tag {
            generation: (packed >> 32) as u32,
            slot: packed as u32 >> PART_BITS,
            part: match packed & ((1 << PART_BITS) - 1) {
                0 => OperationPart::Send,
                1 => OperationPart::Receive,
                2 => OperationPart::Poll,
                3 => OperationPart::File,
                _ => OperationPart::Service,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_round_trip() {
        for part in [
            OperationPart::Send,
            OperationPart::Receive,
            OperationPart::Poll,
            OperationPart::File,
            OperationPart::Service,
        ] {
            let tag = Tag {
                generation: u32::MAX,
                slot: (1 << 29) - 1,
                part,
            };
            assert_eq!(Tag::unpacked(tag.packed()), tag);
        }
    }
}
