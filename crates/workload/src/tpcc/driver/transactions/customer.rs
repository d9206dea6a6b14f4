//! Finds the customer of a Payment or an Order-Status, by number or by last name (2.5.2.2, 2.6.2.2).

use crate::tpcc::driver::sql::{self, Prepare, Row, int};
use crate::tpcc::driver::stop::{Stop, Wrong};
use crate::tpcc::inputs::Customer;
use datagen::tpcc::last_name;
use load::Failure;
use wire::{Connection, Param, Statement};

/// The statements of one transaction that read a customer.
pub(super) struct Find {
    by_id: Statement,
    by_name: Statement,
}

impl Find {
    /// Both take the warehouse and the district first. `by_name` orders by first name.
    pub(super) async fn prepare(
        prepare: &mut Prepare<'_>,
        by_id: &str,
        by_name: &str,
    ) -> Result<Find, Failure> {
        Ok(Find {
            by_id: prepare.sql(by_id).await?,
            by_name: prepare.sql(by_name).await?,
        })
    }

    /// The customer of a warehouse's district. By name it reads all of that name, and returns the one in the middle.
    pub(super) async fn one<T>(
        &self,
        connection: &mut Connection,
        (warehouse, district): (u32, u8),
        customer: Customer,
        read: impl Fn(&Row) -> Result<T, Wrong>,
    ) -> Result<T, Stop> {
        let (w, d) = (int(warehouse), int(district));
        let mut found = Vec::new();
        let read = |row: &Row| {
            found.push(read(row)?);
            Ok(())
        };
        match customer {
            Customer::Id(id) => {
                sql::rows(connection, &self.by_id, &[w, d, int(id)], read).await?;
            }
            Customer::LastName(name) => {
                let name = last_name(name);
                let params = [w, d, Param::Bytes(name.as_bytes())];
                sql::rows(connection, &self.by_name, &params, read).await?;
            }
        }
        middle(found).ok_or(Wrong::Customer.into())
    }
}

/// Of n customers of one name, ordered by first name, the one at position n / 2, rounded up.
fn middle<T>(mut found: Vec<T>) -> Option<T> {
    let place = found.len().div_ceil(2).checked_sub(1)?;
    Some(found.swap_remove(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_customer_in_the_middle_is_at_half_the_count_rounded_up() {
        for (found, middle_one) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)] {
            let taken = middle((1..=found).collect::<Vec<_>>());
            assert_eq!(
                taken,
                Some(middle_one),
                "sysbench-tpcc and HammerDB take the next one"
            );
        }
        assert_eq!(middle(Vec::<u8>::new()), None);
    }
}
