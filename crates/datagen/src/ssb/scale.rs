//! Row counts and key ranges by scale factor.
//!
//! Goal: the row counts and key ranges of the common C generator, extended to fractional scale factors.
//! Non-goal: the generator's own handling of fractional scales, which also truncates the date table or drops the fraction.

/// The largest scale factor for which the reference generator is defined.
pub const MAX_SCALE: f64 = 1000.0;

const CUSTOMERS: f64 = 30_000.0;
const ORDERS: f64 = 1_500_000.0;
const PARTS: f64 = 200_000.0;
const SUPPLIERS: f64 = 2_000.0;
/// The days from 1992-01-01 to 1998-12-30. The reference generator omits the last day of 1998.
pub(super) const DATES: u64 = 2_556;

/// A scale factor that is out of range.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("scale {0} is out of range: give a number above 0 and at most {max} (scale 1 is about 600 MB of text)", max = MAX_SCALE)]
pub struct ScaleError(pub f64);

/// The benchmark's data at one scale factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ssb {
    pub(super) customers: u64,
    pub(super) orders: u64,
    pub(super) parts: u64,
    /// The largest part key in lineorder.
    pub(super) part_keys: u64,
    pub(super) suppliers: u64,
}

impl Ssb {
    /// The data at `scale`. Scale 1 has 6,001,171 lineorder rows.
    ///
    /// # Errors
    /// If the scale is not above 0 and at most [`MAX_SCALE`].
    pub fn new(scale: f64) -> Result<Ssb, ScaleError> {
        if !(scale > 0.0 && scale <= MAX_SCALE) {
            return Err(ScaleError(scale));
        }
        let scaled = |rows: f64| ((rows * scale) as u64).max(1);
        let (parts, part_keys) = if scale < 1.0 {
            (scaled(PARTS), scaled(PARTS))
        } else {
            // The specification has 200,000 (1 + floor(log2 SF)) parts. The reference generator makes as many, but draws the part
            // keys of lineorder from a range with the natural logarithm. From scale 2 on, some parts are therefore never ordered.
            (
                PARTS as u64 * (1 + u64::from((scale as u64).ilog2())),
                PARTS as u64 * (1 + scale.ln() as u64),
            )
        };
        Ok(Ssb {
            customers: scaled(CUSTOMERS),
            orders: scaled(ORDERS),
            parts,
            part_keys,
            suppliers: scaled(SUPPLIERS),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Benchmark as _;
    use crate::ssb::Table;

    #[test]
    fn scales_out_of_range_are_refused() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1000.5] {
            assert!(Ssb::new(scale).is_err(), "{scale}");
        }
    }

    #[test]
    fn whole_scales_have_the_reference_row_counts() {
        let counts = |scale| Table::ALL.map(|t| Ssb::new(scale).unwrap().rows(t));
        assert_eq!(counts(1.0), [30_000, 2_556, 6_001_171, 200_000, 2_000]);
        assert_eq!(counts(2.0)[3..], [400_000, 4_000]);
        assert_eq!(Ssb::new(4.0).unwrap().parts, 600_000);
        assert_eq!(Ssb::new(4.0).unwrap().part_keys, 400_000);
    }

    #[test]
    fn a_fractional_scale_scales_every_table_but_date() {
        let tenth = Ssb::new(0.1).unwrap();
        assert_eq!(
            [Table::Customer, Table::Date, Table::Part, Table::Supplier].map(|t| tenth.rows(t)),
            [3_000, 2_556, 20_000, 200]
        );
        assert!((599_000..602_000).contains(&tenth.rows(Table::Lineorder)));
        let tiny = Ssb::new(1e-9).unwrap();
        assert_eq!(
            [Table::Customer, Table::Date, Table::Part, Table::Supplier].map(|t| tiny.rows(t)),
            [1, 2_556, 1, 1]
        );
        let between = Ssb::new(2.5).unwrap();
        assert_eq!(
            [Table::Customer, Table::Part, Table::Supplier].map(|t| between.rows(t)),
            [75_000, 400_000, 5_000]
        );
    }
}
