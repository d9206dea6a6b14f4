//! The rows of table supplier.
//!
//! Goal: any range of rows. Non-goals: account balances and comments, which the Star Schema Benchmark dropped from TPC-H.

use std::ops::Range;

use super::part;
use super::phone::Phone;
use super::place::{Address, City};
use super::scale::Ssb;
use super::stream::Stream;
use super::text::Fields;
use crate::text::Text;

/// A row of table supplier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Supplier {
    pub key: u64,
    pub address: Address,
    pub city: City,
    pub phone: Phone,
}

/// Iterates over a range of rows.
#[derive(Debug, Clone)]
pub struct Suppliers {
    rows: Range<u64>,
    address: Stream,
    nation: Stream,
    city: Stream,
    phone: Stream,
}

impl Suppliers {
    /// The rows in the range `rows`, numbered from 0.
    pub fn new(ssb: &Ssb, rows: Range<u64>) -> Suppliers {
        let skipped = rows.start;
        Suppliers {
            address: Stream::new(706_178_559).after(Address::DRAWS * skipped),
            nation: Stream::new(110_356_601).after(skipped),
            // Part draws from this stream first.
            city: part::MAKER.after(part::MAKER_DRAWS * ssb.parts + skipped),
            phone: Phone::STREAM.after(Phone::DRAWS * skipped),
            rows,
        }
    }
}

impl Iterator for Suppliers {
    type Item = Supplier;

    fn next(&mut self) -> Option<Supplier> {
        let key = self.rows.next()? + 1;
        let address = Address::new(self.address);
        self.address = self.address.after(Address::DRAWS);
        let nation = self.nation.draw(City::NATION) as usize;
        let city = City::new(nation, self.city.draw(City::DIGIT));
        Some(Supplier {
            key,
            address,
            city,
            phone: Phone::new(nation, &mut self.phone),
        })
    }
}

impl Fields for Supplier {
    fn write(&self, text: &mut Text) {
        text.number(self.key);
        text.numbered(b"Supplier#", self.key, 9);
        text.free(self.address.text());
        text.words(&[self.city.name()]);
        text.words(&[self.city.nation().as_bytes()]);
        text.words(&[self.city.region().as_bytes()]);
        text.words(&[self.phone.text()]);
        text.end_row();
    }
}
