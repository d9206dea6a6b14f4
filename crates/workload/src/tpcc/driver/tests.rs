//! The driver without a server that holds data.

use super::*;
use crate::tpcc::{Delivery, Mix};

fn section(delivery: Delivery, waits: Waits) -> Section {
    Section {
        warehouses: 3,
        engine: "InnoDB".into(),
        mix: Mix::Deck,
        waits,
        delivery,
        reload: false,
        history_key: false,
    }
}

fn driver(section: &Section) -> Driver {
    let login = Login {
        endpoints: Vec::new(),
        user: "app".into(),
        password: None,
        schema: Some("theirs".into()),
        protection: Default::default(),
        login_timeout: std::time::Duration::ZERO,
        stall_timeout: None,
    };
    let target = Target::Server {
        readers: None,
        login,
        session: Vec::new(),
    };
    Driver::on(&target, section, &Constants::load(1), 1, &Ledger::new()).unwrap()
}

#[test]
fn deferred_deliveries_are_a_sixth_operation_with_a_worker_for_each_warehouse() {
    let deferred = driver(&section(Delivery::Deferred, Waits::None));
    assert_eq!(deferred.operations().last().unwrap(), COMPLETED);
    assert_eq!(deferred.background(10), Some(Background { workers: 3 }));
    assert_eq!(deferred.background(2), Some(Background { workers: 2 }));
    let inline = driver(&section(Delivery::Inline, Waits::None));
    assert_eq!(inline.operations(), TRANSACTIONS);
    assert_eq!(inline.background(10), None);
}

#[test]
fn every_operation_has_the_limit_of_the_standard() {
    for (delivery, limits_s) in [
        (Delivery::Inline, &[5.0, 5.0, 5.0, 5.0, 20.0][..]),
        (Delivery::Deferred, &[5.0, 5.0, 5.0, 5.0, 20.0, 80.0]),
    ] {
        let driver = driver(&section(delivery, Waits::None));
        let standard = driver.standard().unwrap();
        let of_each: Vec<f64> = standard
            .requirements
            .iter()
            .map(|one| one.p90_limit_s)
            .collect();
        assert_eq!(of_each, limits_s);
        assert_eq!(of_each.len(), driver.operations().len());
    }
}

#[test]
fn waits_are_an_option() {
    assert!(!driver(&section(Delivery::Inline, Waits::None)).has_pauses());
    let waiting = driver(&section(Delivery::Inline, Waits::Standard));
    assert!(waiting.has_pauses());
    assert_eq!(waiting.pauses(0, 1).before_ns, 18_000_000_000);
    assert_eq!(waiting.pauses(0, 1), waiting.pauses(0, 1));
}

#[test]
fn the_clients_use_the_schema_of_the_workload() {
    let driver = driver(&section(Delivery::Inline, Waits::None));
    assert_eq!(driver.login.schema.as_deref(), Some(SCHEMA));
}
