//! The rows of table customer.
//!
//! Goal: any range of rows. Non-goals: account balances and comments, which the Star Schema Benchmark dropped from TPC-H.

use std::ops::Range;

use super::part;
use super::phone::Phone;
use super::place::{Address, City};
use super::scale::Ssb;
use super::stream::{Stream, Uniform};
use super::text::Fields;
use crate::text::Text;

const SEGMENTS: [&str; 5] = [
    "AUTOMOBILE",
    "BUILDING",
    "FURNITURE",
    "HOUSEHOLD",
    "MACHINERY",
];
const SEGMENT: Uniform = Uniform::new(0, SEGMENTS.len() as u64 - 1);

/// A row of table customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Customer {
    pub key: u64,
    pub address: Address,
    pub city: City,
    pub phone: Phone,
    pub market_segment: &'static str,
}

/// Iterates over a range of rows.
#[derive(Debug, Clone)]
pub struct Customers {
    rows: Range<u64>,
    address: Stream,
    nation: Stream,
    city: Stream,
    phone: Stream,
    segment: Stream,
}

impl Customers {
    /// The rows in the range `rows`, numbered from 0.
    pub fn new(ssb: &Ssb, rows: Range<u64>) -> Customers {
        let skipped = rows.start;
        Customers {
            address: Stream::new(881_155_353).after(Address::DRAWS * skipped),
            nation: Stream::new(1_489_529_863).after(skipped),
            // Part and supplier draw from this stream first.
            city: part::MAKER.after(part::MAKER_DRAWS * ssb.parts + ssb.suppliers + skipped),
            // Supplier draws from this one first.
            phone: Phone::STREAM.after(Phone::DRAWS * (ssb.suppliers + skipped)),
            segment: Stream::new(1_140_279_430).after(skipped),
            rows,
        }
    }
}

impl Iterator for Customers {
    type Item = Customer;

    fn next(&mut self) -> Option<Customer> {
        let key = self.rows.next()? + 1;
        let address = Address::new(self.address);
        self.address = self.address.after(Address::DRAWS);
        let nation = self.nation.draw(City::NATION) as usize;
        let city = City::new(nation, self.city.draw(City::DIGIT));
        let phone = Phone::new(nation, &mut self.phone);
        Some(Customer {
            key,
            address,
            city,
            phone,
            market_segment: SEGMENTS[self.segment.draw(SEGMENT) as usize],
        })
    }
}

impl Fields for Customer {
    fn write(&self, text: &mut Text) {
        text.number(self.key);
        text.numbered(b"Customer#", self.key, 9);
        text.free(self.address.text());
        text.words(&[self.city.name()]);
        text.words(&[self.city.nation().as_bytes()]);
        text.words(&[self.city.region().as_bytes()]);
        text.words(&[self.phone.text()]);
        text.words(&[self.market_segment.as_bytes()]);
        text.end_row();
    }
}
