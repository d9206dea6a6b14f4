//! Whether the clients of a load are at home in all of its data.
//!
//! Purpose: with fewer terminals than warehouses, most of the data is hardly used, and the figures are those of a smaller scale. Boundaries:
//! the workload deals clients to their homes.

use record::{FlagKind, Trial};
use workload::Workload;

/// Flags a load some of whose homes have no client.
pub(crate) fn check(workload: &dyn Workload, clients: u32, trial: &mut Trial) {
    let unused = workload.homes().and_then(|homes| unused(homes, clients));
    trial.flag_each(FlagKind::HomesUnused, unused);
}

fn unused(homes: u32, clients: u32) -> Option<String> {
    (clients < homes).then(|| {
        format!(
            "{} of {homes} warehouses have no terminal: each of the {clients} clients works at one warehouse and uses others only for remote customers and stock, so the load is that of a smaller scale; use at least {homes} clients, or a smaller scale",
            homes - clients
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::measure::trial::blank;

    #[test]
    fn warehouses_without_a_terminal_are_flagged() {
        let tpcc = workload::open("tpcc", &"scale = 100".parse().unwrap()).unwrap();
        let flags = |clients| {
            let mut trial = blank();
            check(tpcc.as_ref(), clients, &mut trial);
            trial.flags
        };
        let few = flags(16);
        assert_eq!(few[0].kind, FlagKind::HomesUnused);
        let says = "84 of 100 warehouses have no terminal: each of the 16 clients";
        assert!(few[0].text.starts_with(says), "{few:?}");
        assert!(flags(100).is_empty());
    }
}
