//! Row counts by scale factor.
//!
//! Goals: the row counts of the reference program; an error for scale factors whose rows violate a primary key.
//! Non-goal: counting the rows of lineitem, which are random (see `chunk`).

use super::table::Table;

/// The largest scale factor for which row counts and keys are tested.
pub const MAX_SCALE: f64 = 1000.0;

const SUPPLIERS: f64 = 10_000.0;
const PARTS: f64 = 200_000.0;
const CUSTOMERS: f64 = 150_000.0;
const ORDERS: f64 = 1_500_000.0;
pub(super) const SUPPLIERS_PER_PART: u64 = 4;
const NATIONS: u64 = 25;
const REGIONS: u64 = 5;

/// Why a scale factor is not possible.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ScaleError {
    #[error("scale {0} is out of range: give a number above 0 and at most {max} (scale 1 is about 1.1 GB of text)", max = MAX_SCALE)]
    NotPositive(f64),
    /// The four suppliers of a part are computed from the number of suppliers (clause 4.2.3). Where there are few suppliers, two of
    /// the four can be the same, which is a duplicate key in partsupp.
    #[error(
        "scale {0} has parts with a duplicate supplier, which the primary key of partsupp forbids: give 0.01, or 0.025 or more"
    )]
    SuppliersCoincide(f64),
}

/// The benchmark's data at one scale factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tpch {
    pub(super) scale: f64,
}

impl Tpch {
    /// The data at `scale`. Scale 1 has 6,001,215 rows in lineitem.
    ///
    /// # Errors
    /// If the scale is not above 0 and at most [`MAX_SCALE`], or is one of the small ones at which partsupp's key is not unique.
    pub fn new(scale: f64) -> Result<Tpch, ScaleError> {
        if !(scale > 0.0 && scale <= MAX_SCALE) {
            return Err(ScaleError::NotPositive(scale));
        }
        let tpch = Tpch { scale };
        if tpch.suppliers_differ() {
            Ok(tpch)
        } else {
            Err(ScaleError::SuppliersCoincide(scale))
        }
    }

    /// The number of generator units: orders for lineitem, parts for partsupp, rows otherwise.
    pub(super) fn generator_units(&self, table: Table) -> u64 {
        let scaled = |rows: f64| (rows * self.scale) as u64;
        match table {
            Table::Customer => scaled(CUSTOMERS),
            Table::Lineitem | Table::Orders => scaled(ORDERS),
            Table::Nation => NATIONS,
            Table::Part | Table::Partsupp => scaled(PARTS),
            Table::Region => REGIONS,
            Table::Supplier => scaled(SUPPLIERS),
        }
    }

    /// Whether every part has four different suppliers. Supplier n of a part is n steps after the first, modulo the number of
    /// suppliers. A step is a quarter of that number, plus one for each time the part number has wrapped around (clause 4.2.3).
    fn suppliers_differ(&self) -> bool {
        let suppliers = self.generator_units(Table::Supplier);
        let parts = self.generator_units(Table::Part);
        if suppliers < SUPPLIERS_PER_PART || parts == 0 {
            return false;
        }
        let steps = (0..=(parts - 1) / suppliers).map(|times| suppliers / 4 + times);
        let differ =
            |step: u64| (1..SUPPLIERS_PER_PART).all(|n| !(n * step).is_multiple_of(suppliers));
        steps.into_iter().all(differ)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use tpchgen::generators::PartSuppGeneratorIterator;

    #[test]
    fn scales_out_of_range_are_refused() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1000.5] {
            assert!(
                matches!(Tpch::new(scale), Err(ScaleError::NotPositive(_))),
                "{scale}"
            );
        }
    }

    #[test]
    fn a_scale_is_refused_exactly_when_a_part_has_a_duplicate_supplier() {
        for step in 0..120 {
            let scale = f64::from(step) * 0.0003 + 0.00026;
            let tpch = Tpch { scale };
            let twice = (1..=tpch.generator_units(Table::Part) as i64).any(|part| {
                let supplier = |n| PartSuppGeneratorIterator::select_part_supplier(part, n, scale);
                (0..4).map(supplier).collect::<HashSet<_>>().len() < 4
            });
            assert_eq!(Tpch::new(scale).is_err(), twice, "{scale}");
        }
    }

    #[test]
    fn scales_suggested_by_the_error_are_accepted() {
        for scale in [0.01, 0.025, 0.0317, 0.05, 0.1, 0.25, 1.0, 2.0, 33.3] {
            assert!(Tpch::new(scale).is_ok(), "{scale}");
        }
        // 231 suppliers: three steps of 77 return to the first one.
        assert!(Tpch::new(0.02316).is_err());
        let refused = Tpch::new(0.001).unwrap_err().to_string();
        assert!(refused.contains("0.025"), "{refused}");
    }
}
