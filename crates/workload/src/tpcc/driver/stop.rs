//! How a transaction ends.

use crate::tpcc::ledger::Write;
use wire::WireError;

/// The end of a transaction whose statements have succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    Commit(Write),
    /// It has changed nothing.
    Read(Option<Saw>),
    /// An unused item number: the transaction is rolled back deliberately, and counts (2.4.2.3). This is what it had written.
    Rollback(Write),
}

/// A reader saw that all orders of a district below `next` were committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Saw {
    pub warehouse: u32,
    pub district: u8,
    pub next: u32,
}

/// Why a transaction did not get to its end.
#[derive(Debug)]
pub(super) enum Stop {
    Wire(WireError),
    Data(Wrong),
}

/// The table in which a row is missing, or in which a statement changed another number of rows than it must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Wrong {
    Warehouse = 60_101,
    District = 60_102,
    Customer = 60_103,
    NewOrder = 60_104,
    Orders = 60_105,
    OrderLine = 60_106,
    Stock = 60_107,
    Item = 60_108,
    History = 60_109,
    /// A column has another type or value than the schema says.
    Value = 60_110,
}

impl Wrong {
    /// The code of the operation's outcome.
    pub(super) fn number(self) -> u16 {
        self as u16
    }
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Stop {
        Stop::Wire(error)
    }
}

impl From<Wrong> for Stop {
    fn from(wrong: Wrong) -> Stop {
        Stop::Data(wrong)
    }
}
