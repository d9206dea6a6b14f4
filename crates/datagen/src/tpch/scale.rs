//! How many rows a scale has.
//!
//! Goal: the row counts of the reference program, and a refusal of scales whose rows break the tables' own keys.
//! Non-goal: counting the rows of lineitem, which have to be drawn (see `chunk`).

use super::chunk::Chunk;
use super::table::Table;

/// The largest scale that part counts and keys are tried for.
pub const MAX_SCALE: f64 = 1000.0;

const SUPPLIERS: f64 = 10_000.0;
const PARTS: f64 = 200_000.0;
const CUSTOMERS: f64 = 150_000.0;
const ORDERS: f64 = 1_500_000.0;
pub(super) const SUPPLIERS_PER_PART: u64 = 4;
const NATIONS: u64 = 25;
const REGIONS: u64 = 5;

/// A scale that the benchmark does not have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScaleError {
    NotPositive(f64),
    /// The specification spreads the four suppliers of a part by the number of suppliers (clause 4.2.3); where there are few of
    /// them, two of the four may be the same, and partsupp has a key twice.
    SuppliersCoincide(f64),
}

impl std::fmt::Display for ScaleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ScaleError::NotPositive(scale) => write!(
                f,
                "scale {scale} is not a number above 0 and up to {MAX_SCALE}; scale 1 is about 1.1 GB of text"
            ),
            ScaleError::SuppliersCoincide(scale) => write!(
                f,
                "at scale {scale} the rule for the suppliers of a part names one of them twice; 0.01 and every scale from 0.025 are free of that"
            ),
        }
    }
}

impl std::error::Error for ScaleError {}

/// The benchmark's data at one scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tpch {
    pub(super) scale: f64,
}

impl Tpch {
    /// The data at `scale`, where 1 has 6,001,215 rows of lineitem.
    ///
    /// # Errors
    /// When the scale is not above 0 and at most [`MAX_SCALE`], or is one of the small ones at which partsupp's key is not unique.
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

    /// The exact number of rows. For lineitem the count of lines of each order is drawn, which takes some milliseconds at scale 1.
    pub fn rows(&self, table: Table) -> u64 {
        self.whole(table).rows()
    }

    /// About how many bytes the table has as `.tbl` text (within a tenth: keys are shorter at small scales).
    pub fn bytes_estimate(&self, table: Table) -> u64 {
        // Bytes a unit at scale 1: a row; of lineitem an order with its four rows on the average; of partsupp a part with its four.
        let width = match table {
            Table::Customer => 162.3,
            Table::Lineitem => 506.6,
            Table::Nation => 89.0,
            Table::Orders => 114.6,
            Table::Part => 120.7,
            Table::Partsupp => 594.9,
            Table::Region => 77.8,
            Table::Supplier => 140.9,
        };
        (self.units(table) as f64 * width) as u64
    }

    /// The whole table as one chunk, which can be split lazily.
    pub fn whole(&self, table: Table) -> Chunk {
        Chunk::whole(*self, table)
    }

    /// What the generator counts: orders for lineitem, parts for partsupp, rows otherwise.
    pub(super) fn units(&self, table: Table) -> u64 {
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

    /// Whether every part has four suppliers. The n-th of a part is n steps from the first on a circle of all suppliers, and the
    /// step is a quarter of the circle and one more for each time that the part's number has gone round it (clause 4.2.3).
    fn suppliers_differ(&self) -> bool {
        let suppliers = self.units(Table::Supplier);
        let parts = self.units(Table::Part);
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
    fn a_scale_that_is_no_positive_number_is_refused() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1000.5] {
            assert!(
                matches!(Tpch::new(scale), Err(ScaleError::NotPositive(_))),
                "{scale}"
            );
        }
    }

    #[test]
    fn a_scale_is_refused_where_a_part_has_a_supplier_twice_and_only_there() {
        for step in 0..120 {
            let scale = f64::from(step) * 0.0003 + 0.00026;
            let tpch = Tpch { scale };
            let twice = (1..=tpch.units(Table::Part) as i64).any(|part| {
                let supplier = |n| PartSuppGeneratorIterator::select_part_supplier(part, n, scale);
                (0..4).map(supplier).collect::<HashSet<_>>().len() < 4
            });
            assert_eq!(Tpch::new(scale).is_err(), twice, "{scale}");
        }
    }

    #[test]
    fn the_refusal_names_scales_that_are_right() {
        for scale in [0.01, 0.025, 0.0317, 0.05, 0.1, 0.25, 1.0, 2.0, 33.3] {
            assert!(Tpch::new(scale).is_ok(), "{scale}");
        }
        // 231 suppliers, three steps of 77.
        assert!(Tpch::new(0.02316).is_err());
        let refused = Tpch::new(0.001).unwrap_err().to_string();
        assert!(refused.contains("0.025"), "{refused}");
    }
}
