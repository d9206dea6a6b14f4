//! The home of a terminal.

use datagen::tpcc::DISTRICTS;

/// A warehouse and a district, numbered from 1. A terminal keeps both for the whole run (2.4.1.1, 2.8.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    pub warehouse: u32,
    /// Only Stock-Level uses it; the other transactions draw a district.
    pub district: u8,
}

impl Home {
    /// The home of a client: clients are dealt to warehouses first, then to their districts.
    pub fn of(client: u32, warehouses: u32) -> Home {
        let district = client / warehouses % DISTRICTS as u32 + 1;
        Home {
            warehouse: client % warehouses + 1,
            district: district as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ten_terminals_per_warehouse_have_ten_districts() {
        let homes: Vec<Home> = (0..30).map(|client| Home::of(client, 3)).collect();
        let distinct: HashSet<_> = homes
            .iter()
            .map(|home| (home.warehouse, home.district))
            .collect();
        assert_eq!(distinct.len(), 30);
        assert_eq!((homes[0].warehouse, homes[0].district), (1, 1));
        assert_eq!((homes[4].warehouse, homes[4].district), (2, 2));
        assert_eq!(Home::of(30, 3), homes[0]);
    }
}
