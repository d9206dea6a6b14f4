//! The random streams: "minimal standard" generators (Park and Miller, CACM 31(10), 1988), x' = 16807 x mod (2^31 - 1).
//!
//! Goal: any element of a stream in logarithmic time, so that a chunk can begin anywhere, and a draw in a few instructions.
//! Non-goals: statistical quality; the benchmark's data are what these streams make them.

const MODULUS: u64 = (1 << 31) - 1;
const MULTIPLIER: u64 = 16_807;

/// a b mod (2^31 - 1) for factors below the modulus.
#[inline(always)]
pub(super) const fn multiply(a: u64, b: u64) -> u64 {
    let product = a * b;
    // 2^31 is 1 modulo 2^31 - 1, so the upper bits count as much as the lower ones.
    let folded = (product & MODULUS) + (product >> 31);
    if folded >= MODULUS {
        folded - MODULUS
    } else {
        folded
    }
}

/// 16807^steps mod (2^31 - 1): the factor that jumps ahead by so many steps.
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

/// One stream at one place.
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

    /// This stream after as many more draws as `factor` jumps; see [`jump`].
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

    /// The next draw as a number of the range.
    #[inline(always)]
    pub(super) fn draw(&mut self, range: Uniform) -> u64 {
        range.of(self.next())
    }
}

/// The whole numbers from `low` on, `span` of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Uniform {
    low: u64,
    span: u64,
}

impl Uniform {
    /// Both ends belong to the range.
    pub(super) const fn new(low: u64, high: u64) -> Uniform {
        Uniform {
            low,
            span: high - low + 1,
        }
    }

    /// The number of the range that a draw stands for: low + floor(draw / (2^31 - 1) span), as the reference computes it in doubles.
    #[inline(always)]
    pub(super) fn of(self, draw: u64) -> u64 {
        // The exact quotient is never whole (the modulus is prime), so it lies 1 / (2^31 - 1) or more from a whole number. Two
        // roundings of a double move it by less than span 2^-52. Up to a span of 2^20 whole numbers therefore give the same.
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
    fn the_ten_thousandth_draw_of_seed_1_is_the_published_one() {
        // Park and Miller give 1043618065 as the check of an implementation.
        assert_eq!(Stream::new(1).after(10_000).0, 1_043_618_065);
    }

    proptest! {
        #[test]
        fn a_jump_equals_as_many_steps(seed in 1u64..MODULUS, steps in 0u64..5_000) {
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
        fn whole_numbers_draw_what_doubles_draw(draw in 1u64..MODULUS, span in 1u64..=1 << 20) {
            let range = Uniform { low: 0, span };
            prop_assert_eq!(range.scaled(draw), range.scaled_in_doubles(draw));
        }

        #[test]
        fn whole_numbers_draw_what_doubles_draw_next_to_a_boundary(k in 1u64..1 << 20, span in 1u64..=1 << 20, off in 0u64..2) {
            let draw = (k % span * MODULUS / span + off).clamp(1, MODULUS - 1);
            let range = Uniform { low: 0, span };
            prop_assert_eq!(range.scaled(draw), range.scaled_in_doubles(draw));
        }
    }
}
