//! Random numbers that are the same in every run, so that a failure can be repeated.

/// A linear congruential generator with Knuth's constants for 64 bits.
pub(crate) struct Random(pub u64);

impl Random {
    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    pub(crate) fn place(&mut self, length: usize) -> usize {
        self.below(length.max(1) as u64) as usize
    }
}
