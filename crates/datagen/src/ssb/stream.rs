//! Random streams: "minimal standard" generators (Park and Miller, CACM 31(10), 1988), x' = 16807 x mod (2^31 - 1).
//!
//! Goals: any element of a stream in logarithmic time, so that a chunk can begin anywhere; a draw in a few instructions.
//! Non-goal: statistical quality. The benchmark's data is defined by these streams.

const MODULUS: u64 = (1 << 31) - 1;
const MULTIPLIER: u64 = 16_807;

/// a b mod (2^31 - 1) for factors below the modulus.
#[inline(always)]
pub(super) const fn multiply(a: u64, b: u64) -> u64 {
    let product = a * b;
    // 2^31 is 1 modulo 2^31 - 1, so the upper bits are added to the lower ones.
    let folded = (product & MODULUS) + (product >> 31);
    if folded >= MODULUS {
        folded - MODULUS
    } else {
        folded
    }
}

/// 16807^steps mod (2^31 - 1): the factor that advances a stream by `steps` draws.
pub(super) const fn jump(mut steps: u64) -> u64 {
    let (mut factor, mut square) = (1, MULTIPLIER);
    while steps > 0 {
        if steps & 1 == 1 {
            factor = multiply(factor, square);
        }
        square = multiply(square, square);
        steps >>= 1;
    }
    factor
}

/// A stream at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stream(u64);

impl Stream {
    /// The stream of the given seed (1 to 2^31 - 2), before its first draw.
    pub(super) const fn new(seed: u64) -> Stream {
        Stream(seed)
    }

    /// This stream after `steps` more draws.
    pub(super) const fn after(self, steps: u64) -> Stream {
        Stream(multiply(self.0, jump(steps)))
    }

    /// This stream after the number of draws that `factor` represents, see [`jump`].
    #[inline(always)]
    pub(super) const fn jumped(self, factor: u64) -> Stream {
        Stream(multiply(self.0, factor))
    }

    /// The next draw, 1 to 2^31 - 2.
    #[inline(always)]
    pub(super) fn next(&mut self) -> u64 {
        self.0 = multiply(self.0, MULTIPLIER);
        self.0
    }

    /// The next draw, scaled to the range.
    #[inline(always)]
    pub(super) fn draw(&mut self, range: Uniform) -> u64 {
        range.of(self.next())
    }
}

/// The range of `span` integers from `low` on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Uniform {
    low: u64,
    span: u64,
}

impl Uniform {
    /// The range from `low` to `high`, both included.
    pub(super) const fn new(low: u64, high: u64) -> Uniform {
        Uniform {
            low,
            span: high - low + 1,
        }
    }

    /// Scales a draw to the range: low + floor(draw / (2^31 - 1) span), as the reference generator computes it in doubles.
    #[inline(always)]
    pub(super) fn of(self, draw: u64) -> u64 {
        // The exact quotient is never an integer (the modulus is prime), so it is at least 1 / (2^31 - 1) away from one. Two
        // roundings of a double move it by less than span 2^-52. Up to a span of 2^20, integer arithmetic gives the same result.
        if self.span <= 1 << 20 {
            self.low + self.scaled(draw)
        } else {
            self.low + self.scaled_in_doubles(draw)
        }
    }

    /// floor(draw span / (2^31 - 1)) without a division: with draw span = a 2^31 + b this is a + floor((a + b) / (2^31 - 1)).
    #[inline(always)]
    const fn scaled(self, draw: u64) -> u64 {
        let product = draw * self.span;
        let (a, b) = (product >> 31, product & MODULUS);
        a + ((a + b + 1) >> 31)
    }

    #[inline(always)]
    fn scaled_in_doubles(self, draw: u64) -> u64 {
        (draw as f64 / MODULUS as f64 * self.span as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn draw_10000_of_seed_1_matches_the_published_value() {
        // Park and Miller give 1043618065 as the check of an implementation.
        assert_eq!(Stream::new(1).after(10_000).0, 1_043_618_065);
    }

    proptest! {
        #[test]
        fn a_jump_equals_the_same_number_of_steps(seed in 1u64..MODULUS, steps in 0u64..5_000) {
            let mut walked = Stream::new(seed);
            for _ in 0..steps {
                walked.next();
            }
            prop_assert_eq!(walked, Stream::new(seed).after(steps));
        }

        #[test]
        fn two_jumps_equal_their_sum(seed in 1u64..MODULUS, a in 0u64..1 << 40, b in 0u64..1 << 40) {
            prop_assert_eq!(Stream::new(seed).after(a).after(b), Stream::new(seed).after(a + b));
        }

        #[test]
        fn integer_scaling_matches_doubles(draw in 1u64..MODULUS, span in 1u64..=1 << 20) {
            let range = Uniform { low: 0, span };
            prop_assert_eq!(range.scaled(draw), range.scaled_in_doubles(draw));
        }

        #[test]
        fn integer_scaling_matches_doubles_near_boundaries(k in 1u64..1 << 20, span in 1u64..=1 << 20, off in 0u64..2) {
            let draw = (k % span * MODULUS / span + off).clamp(1, MODULUS - 1);
            let range = Uniform { low: 0, span };
            prop_assert_eq!(range.scaled(draw), range.scaled_in_doubles(draw));
        }
    }
}
