//! A server with loaded tables of TPC-C, and terminals on it.

use crate::real::driven::{self, now};
use crate::support::fresh::Fresh;
use datagen::tpcc::{Constants, SEED};
use load::{Drive, Driven, Io, Load, Outcome, Request, Watch, Workload as _};
use server::{Managed, Node as _, Session};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::Duration;
use wire::Login;
use workload::tpcc::driver::{Driver, Home};
use workload::tpcc::ledger::{Facts, Ledger};
use workload::tpcc::{SCHEMA, Section};
use workload::{AllowDrop, Target, open};

pub(crate) const NEW_ORDER: u16 = 0;
pub(crate) const PAYMENT: u16 = 1;
pub(crate) const ORDER_STATUS: u16 = 2;
pub(crate) const DELIVERY: u16 = 3;

/// Two warehouses on MariaDB, which the tests share, one after another; None if it is not available.
static SHARED: LazyLock<Mutex<Option<Loaded>>> =
    LazyLock::new(|| Mutex::new(Loaded::of("mariadb", 2)));

pub(crate) fn shared() -> MutexGuard<'static, Option<Loaded>> {
    SHARED
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

pub(crate) struct Loaded {
    server: Managed,
    login: Login,
    warehouses: u32,
    _fresh: Fresh,
}

impl Loaded {
    /// None if the build is not available.
    pub(crate) fn of(build: &'static str, warehouses: u32) -> Option<Loaded> {
        let fresh = Fresh::of(build)?;
        let (server, login) = driven::started(&fresh, "256M");
        let loaded = Loaded {
            server,
            login,
            warehouses,
            _fresh: fresh,
        };
        loaded.load();
        Some(loaded)
    }

    fn load(&self) {
        let section = format!("scale = {}", self.warehouses).parse().unwrap();
        let workload = open("tpcc", &section).unwrap();
        let dataset = workload.data().unwrap();
        let connect = || Session::open(&self.server.endpoint().unwrap());
        dataset
            .create(&mut connect().unwrap(), &AllowDrop::No)
            .unwrap();
        dataset.load(&connect, &|_| {}, &|| false).unwrap();
    }

    /// A session in the schema.
    pub(crate) fn session(&self) -> Session {
        let mut session = Session::open(&self.server.endpoint().unwrap()).unwrap();
        session.execute(&format!("USE {SCHEMA}")).unwrap();
        session
    }

    /// The rows of a query whose columns are whole numbers.
    pub(crate) fn numbers(&self, sql: &str) -> Vec<Vec<i64>> {
        let reply = self
            .session()
            .query(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        let number = |cell: &Option<Vec<u8>>| {
            let text = String::from_utf8(cell.clone().unwrap_or_default()).unwrap();
            text.parse().unwrap_or_else(|_| panic!("{sql}: {text:?}"))
        };
        reply
            .rows
            .iter()
            .map(|row| row.iter().map(number).collect())
            .collect()
    }

    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.numbers(sql)[0][0]
    }

    pub(crate) fn text(&self, sql: &str) -> String {
        let reply = self.session().query(sql).unwrap();
        reply.first_text().unwrap_or_else(|| panic!("{sql}"))
    }

    fn driver(&self, keys: &str, session: &[String], ledger: &Arc<Ledger>) -> Driver {
        let text = format!("scale = {}\n{keys}", self.warehouses);
        let section = spec::read_text(&text, Section::read).unwrap();
        let target = Target::Server {
            readers: None,
            login: self.login.clone(),
            session: session.to_vec(),
        };
        let load = Constants::load(SEED);
        Driver::on(&target, &section, &load, 7, ledger).unwrap()
    }

    /// Opens the terminal of this client.
    pub(crate) fn terminal(&self, client: u32) -> Terminal {
        self.terminal_with(client, &[])
    }

    pub(crate) fn terminal_with(&self, client: u32, session: &[String]) -> Terminal {
        let ledger = Ledger::new();
        let driver = self.driver("", session, &ledger);
        let session = now(driver.open(&Io::blocking(), client)).unwrap();
        Terminal {
            home: Home::of(client, self.warehouses),
            driver,
            session,
            ledger,
        }
    }

    /// Drives the workload with these keys.
    pub(crate) fn drive(&self, keys: &str, load: Load, time: Duration) -> (Driven, Facts) {
        let ledger = Ledger::new();
        let driver = self.driver(keys, &[], &ledger);
        let settings = Drive {
            seed: 7,
            ..Drive::new(load, time)
        };
        let watch = Watch {
            second: &mut |second| {
                assert!(second.errors.keys().all(is_conflict), "{:?}", second.errors)
            },
            ..Watch::default()
        };
        let driven = load::drive(&driver, &settings, &AtomicBool::new(false), watch).unwrap();
        assert_eq!(driven.ended_early.len(), 0, "{:?}", driven.ended_early);
        (driven, ledger.take().unwrap())
    }
}

/// Whether the error is one of a deadlock, which is retried.
fn is_conflict(fault: &load::Fault) -> bool {
    [1213, 1205].contains(&fault.code) && fault.ending == load::Ending::Retried
}

pub(crate) fn clients(clients: u32) -> Load {
    Load::closed(clients)
}

/// One client, on a blocking connection.
pub(crate) struct Terminal {
    pub home: Home,
    pub driver: Driver,
    session: <Driver as load::Workload>::Session,
    ledger: Arc<Ledger>,
}

impl Terminal {
    /// One attempt at an operation.
    pub(crate) fn run(&mut self, operation: u16, number: u64) -> Outcome {
        let request = Request {
            operation,
            number,
            scheduled_ns: 0,
            started_ns: 0,
            zero_ns: 0,
            retries: 0,
        };
        now(self.driver.operate(&mut self.session, &request))
    }

    /// Closes the session. Returns what it remembers.
    pub(crate) fn close(self) -> Facts {
        now(self.driver.close(self.session));
        self.ledger.take().unwrap()
    }
}
