//! The twelve consistency conditions (3.3.2.1 to 3.3.2.12), checked on a server.
//!
//! Purpose: the same answer on every server and during a load. SQL only streams rows in the order of their keys, each group of
//! warehouses in one consistent snapshot; joins and sums are done here, on integers. So a missing partner is found from both
//! sides, and an empty sum is 0. Boundaries: what clients remember (`ledger`).

mod judge;
mod read;
mod violation;

pub(super) use read::{cents, whole};
pub use violation::{Row, Violation, Violations};

use super::super::loader::Connect;
use read::Reader;
use server::{ServerError, Session};
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Warehouses of one snapshot: enough to scan history seldom, few enough to hold the payments of their customers.
const GROUP_MAX: u32 = 32;
/// More readers are not faster on the intended machines.
const READERS_MAX: usize = 8;

/// When the conditions are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the first transaction: condition 11 holds then, and only then.
    AfterLoad,
    Later,
}

/// Checks the conditions of the warehouses 1 to `warehouses`, and of rows that belong to other warehouses. Transactions may run
/// meanwhile.
///
/// # Errors
/// The server refuses a statement or is lost.
pub fn check(
    connect: Connect<'_>,
    schema: &str,
    warehouses: u32,
    when: When,
) -> Result<Violations, ServerError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let readers = cores.min(READERS_MAX) as u32;
    let each = warehouses.div_ceil(readers).clamp(1, GROUP_MAX);
    let groups = Mutex::new(groups(warehouses, each));
    let found = Mutex::new(Violations::default());
    let failed = AtomicBool::new(false);
    let read = || -> Result<(), ServerError> {
        let mut session = None;
        while let Some(group) = held(&groups).pop() {
            if failed.load(Relaxed) {
                return Ok(());
            }
            let session = match &mut session {
                Some(session) => session,
                none => none.insert(connect()?),
            };
            let of_group = check_group(session, schema, warehouses, group, when)?;
            held(&found).extend(of_group);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let start = |_| scope.spawn(|| read().inspect_err(|_| failed.store(true, Relaxed)));
        let started: Vec<_> = (0..readers.min(warehouses)).map(start).collect();
        let ended = started.into_iter().map(|reader| match reader.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect::<Result<(), ServerError>>()
    })?;
    let found = found
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    Ok(found.sorted())
}

fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The warehouses in groups of `each`, the first group last, since it is taken from the end.
fn groups(warehouses: u32, each: u32) -> Vec<RangeInclusive<u32>> {
    let starts = (1..=warehouses).step_by(each as usize);
    let group = |first: u32| first..=(first + each - 1).min(warehouses);
    let mut groups: Vec<_> = starts.map(group).collect();
    groups.reverse();
    groups
}

/// Checks a group in one snapshot. The first group also checks warehouses that should not exist.
fn check_group(
    session: &mut Session,
    schema: &str,
    warehouses: u32,
    group: RangeInclusive<u32>,
    when: When,
) -> Result<Violations, ServerError> {
    let mut found = Violations::default();
    let mut reader = Reader::begin(session, schema, warehouses)?;
    let with_strays = *group.start() == 1;
    let payments = reader.payments(&group, with_strays)?;
    for warehouse in group {
        let warehouse = reader.warehouse(warehouse.into(), &payments)?;
        judge::judge(&warehouse, true, when, &mut found);
    }
    if with_strays {
        for stray in reader.strays(&payments)? {
            let warehouse = reader.warehouse(stray, &payments)?;
            judge::judge(&warehouse, false, when, &mut found);
        }
    }
    reader.end()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_every_warehouse_once() {
        for (warehouses, each) in [(1, 1), (10, 5), (11, 5), (3, 32)] {
            let groups = groups(warehouses, each);
            assert!(
                groups
                    .iter()
                    .all(|group| group.clone().count() <= each as usize)
            );
            let all: Vec<u32> = groups.into_iter().rev().flatten().collect();
            assert_eq!(all, (1..=warehouses).collect::<Vec<_>>());
        }
    }
}
