//! Powers modulo a large odd number, by Montgomery's multiplication.
//!
//! Goals: as fast as a login needs; neither a branch nor an address depends on the base, so the time does not show it. The
//! exponent and the modulus are public. Non-goal: private keys.
//! Source: P. Montgomery, "Modular Multiplication Without Trial Division", 1985.

/// An odd number of at least 3. Numbers below it have as many limbs: 64 bits each, the lowest first.
pub(super) struct Modulus {
    limbs: Vec<u64>,
    bytes: usize,
    /// -1 / modulus, modulo 2^64.
    inverse: u64,
    /// R^2 modulo the modulus, where R is 2^64 to the power of the number of limbs.
    r_squared: Vec<u64>,
}

impl Modulus {
    /// Takes big-endian bytes without leading zeros. None for even numbers and those below 3.
    pub(super) fn new(bytes: &[u8]) -> Option<Modulus> {
        let limbs = limbs(bytes, bytes.len().div_ceil(8));
        let is_odd = limbs.first()? & 1 == 1;
        if !is_odd || bytes == [1] || bytes[0] == 0 {
            return None;
        }
        let mut modulus = Modulus {
            inverse: negative_inverse(limbs[0]),
            limbs,
            bytes: bytes.len(),
            r_squared: Vec::new(),
        };
        modulus.r_squared = modulus.r_squared();
        Some(modulus)
    }

    /// Length in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// `base ^ exponent`, as long as the modulus. `base` is big-endian and less than the modulus, `exponent` at least 1.
    pub(super) fn power(&self, base: &[u8], exponent: u64) -> Vec<u8> {
        let base = self.multiply(&limbs(base, self.limbs.len()), &self.r_squared);
        let mut power = base.clone();
        for bit in (0..exponent.ilog2()).rev() {
            power = self.multiply(&power, &power);
            if exponent >> bit & 1 == 1 {
                power = self.multiply(&power, &base);
            }
        }
        let mut one = vec![0; self.limbs.len()];
        one[0] = 1;
        let power = self.multiply(&power, &one);
        let bytes = power.iter().rev().flat_map(|limb| limb.to_be_bytes());
        bytes.skip(power.len() * 8 - self.bytes).collect()
    }

    /// `left * right / R`. Both are less than the modulus.
    fn multiply(&self, left: &[u64], right: &[u64]) -> Vec<u64> {
        let count = self.limbs.len();
        let mut product = vec![0; 2 * count + 1];
        for (at, digit) in right.iter().enumerate() {
            product[at + count] = add_multiple(&mut product[at..at + count], left, *digit);
        }
        // Adds the multiple of the modulus that makes the lower half zero.
        let mut carried = 0;
        for at in 0..count {
            let digit = product[at].wrapping_mul(self.inverse);
            let carry = add_multiple(&mut product[at..at + count], &self.limbs, digit);
            let sum = u128::from(product[at + count]) + u128::from(carry) + carried;
            product[at + count] = sum as u64;
            carried = sum >> 64;
        }
        product[2 * count] = carried as u64;
        self.reduced(&product[count..])
    }

    /// A number below twice the modulus, reduced. It has one limb more than the modulus.
    fn reduced(&self, number: &[u64]) -> Vec<u64> {
        let mut borrow = false;
        let mut difference: Vec<u64> = (number.iter().zip(&self.limbs))
            .map(|(number, limb)| {
                let (first, under) = number.overflowing_sub(*limb);
                let (second, under_again) = first.overflowing_sub(u64::from(borrow));
                borrow = under | under_again;
                second
            })
            .collect();
        let is_less = u64::from(borrow) & !number[self.limbs.len()];
        let keep = 0_u64.wrapping_sub(is_less);
        for (difference, number) in difference.iter_mut().zip(number) {
            *difference = *difference & !keep | number & keep;
        }
        difference
    }

    /// Doubles the power of 2 just below the modulus until it is `2^n * R` for n limbs, then squares it: 2^6 times n are the bits
    /// of R.
    fn r_squared(&self) -> Vec<u64> {
        let count = self.limbs.len();
        let unused = self.limbs[count - 1].leading_zeros();
        let mut power = vec![0; count];
        power[count - 1] = 1 << (63 - unused);
        for _ in 0..unused as usize + 1 + count {
            power = self.doubled(&power);
        }
        for _ in 0..6 {
            power = self.multiply(&power, &power);
        }
        power
    }

    fn doubled(&self, number: &[u64]) -> Vec<u64> {
        let mut carry = 0;
        let mut double: Vec<u64> = (number.iter())
            .map(|limb| {
                let shifted = limb << 1 | carry;
                carry = limb >> 63;
                shifted
            })
            .collect();
        double.push(carry);
        self.reduced(&double)
    }
}

/// Adds `factor * digit` to `sum`, which is as long as `factor`. Returns the carry.
fn add_multiple(sum: &mut [u64], factor: &[u64], digit: u64) -> u64 {
    let mut carry = 0;
    for (sum, factor) in sum.iter_mut().zip(factor) {
        let total = u128::from(*factor) * u128::from(digit) + u128::from(*sum) + carry;
        *sum = total as u64;
        carry = total >> 64;
    }
    carry as u64
}

/// -1 / `odd`, modulo 2^64. Each step of Newton's method doubles the number of right bits; 3 are right at first.
fn negative_inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    inverse.wrapping_neg()
}

/// The limbs of a big-endian number, filled up with zeros.
fn limbs(bytes: &[u8], count: usize) -> Vec<u64> {
    let mut limbs: Vec<u64> = (bytes.rchunks(8))
        .map(|chunk| {
            chunk
                .iter()
                .fold(0, |limb, byte| limb << 8 | u64::from(*byte))
        })
        .collect();
    limbs.resize(count, 0);
    limbs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `base ^ exponent % modulus`, by plain squaring in 128 bits.
    fn plain_power(base: u64, exponent: u64, modulus: u64) -> u64 {
        let modulus = u128::from(modulus);
        let (mut power, mut square) = (1, u128::from(base) % modulus);
        let mut left = exponent;
        while left > 0 {
            if left & 1 == 1 {
                power = power * square % modulus;
            }
            square = square * square % modulus;
            left >>= 1;
        }
        power as u64
    }

    fn trimmed(bytes: &[u8]) -> &[u8] {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        &bytes[zeros..]
    }

    proptest! {
        #[test]
        fn powers_of_one_limb_are_those_of_plain_arithmetic(
            base: u64, exponent in 1..u64::MAX, modulus in prop_oneof![3..1000_u64, any::<u64>()]
        ) {
            let odd = modulus | 1;
            prop_assume!(odd > 1);
            let base = base % odd;
            let modulus = Modulus::new(trimmed(&odd.to_be_bytes())).unwrap();
            let power = modulus.power(trimmed(&base.to_be_bytes()), exponent);
            let expected = plain_power(base, exponent, odd).to_be_bytes();
            prop_assert_eq!(trimmed(&power), trimmed(&expected));
            prop_assert_eq!(power.len(), modulus.bytes());
        }

        /// A relation that holds in any ring, for numbers of several limbs: b^(m + n) = b^m * b^n, where the product is that of
        /// (b^m)^1 and (b^n)^1.
        #[test]
        fn exponents_add_up_for_any_length(
            mut modulus in proptest::collection::vec(any::<u8>(), 2..70),
            base in proptest::collection::vec(any::<u8>(), 70),
            m in 1..1_u64 << 40, n in 1..1_u64 << 40,
        ) {
            modulus[0] |= 1;
            *modulus.last_mut().unwrap() |= 1;
            let base = &base[..modulus.len() - 1];
            let modulus = Modulus::new(&modulus).unwrap();
            let of = |exponent| limbs(&modulus.power(base, exponent), modulus.limbs.len());
            let product = modulus.multiply(&modulus.multiply(&of(m), &of(n)), &modulus.r_squared);
            prop_assert_eq!(product, of(m + n));
        }
    }

    #[test]
    fn numbers_that_are_no_modulus_are_refused() {
        for bytes in [
            &b""[..],
            b"\x00",
            b"\x01",
            b"\x02",
            b"\x81\x00",
            b"\x00\x03",
        ] {
            assert!(Modulus::new(bytes).is_none(), "{bytes:?}");
        }
        assert!(Modulus::new(b"\x03").is_some());
    }
}
