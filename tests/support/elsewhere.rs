//! An external server for tests: with its own data, an account for prony, and a view of everything that is not prony's.

use super::fresh::Fresh;
use server::{Managed, Node, Session};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The password of the account `guest`, with characters that are special in a DSN.
pub(crate) const PASSWORD: &str = "0pen/Sesame@7";
pub(crate) const PASSWORD_IN_A_DSN: &str = "0pen%2FSesame%407";

/// A running external server.
pub(crate) struct Elsewhere {
    pub port: u16,
    owner: Session,
    server: Managed,
    _fresh: Fresh,
}

/// The DSN, with password, of a server on this port.
pub(crate) fn dsn_with_password(port: u16) -> String {
    format!("mysql://guest:{PASSWORD_IN_A_DSN}@127.0.0.1:{port}/")
}

impl Elsewhere {
    /// Starts a server whose account has these privileges, in GRANT syntax (`ALL ON *.*`); None if the build is not
    /// available.
    pub(crate) fn start(build: &'static str, rights: &str) -> Option<Elsewhere> {
        let fresh = Fresh::of(build)?;
        let server = fresh.started(&[]);
        let mut owner = server.connect().unwrap();
        for statement in [
            &format!("CREATE USER 'guest'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'"),
            &format!("GRANT {rights} TO 'guest'@'127.0.0.1'"),
            // Table names that prony uses too, in a schema that is not prony's.
            "CREATE DATABASE shop",
            "CREATE TABLE shop.lineorder (n INT PRIMARY KEY)",
            "CREATE TABLE shop.prony_dataset (n INT PRIMARY KEY)",
            "INSERT INTO shop.lineorder VALUES (1), (2), (3)",
        ] {
            owner.execute(statement).unwrap();
        }
        let port = owner.query("SELECT @@port").unwrap().first_text().unwrap();
        Some(Elsewhere {
            port: port.parse().unwrap(),
            owner,
            server,
            _fresh: fresh,
        })
    }

    /// The DSN without a password.
    pub(crate) fn dsn(&self) -> String {
        format!("mysql://guest@127.0.0.1:{}/", self.port)
    }

    pub(crate) fn dsn_with_password(&self) -> String {
        dsn_with_password(self.port)
    }

    /// The certificate of the authority that issued the server's own, where the server has made one.
    pub(crate) fn authority(&self) -> PathBuf {
        self.server.data_folder().unwrap().join("ca.pem")
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    pub(crate) fn execute(&mut self, sql: &str) {
        self.owner.execute(sql).unwrap();
    }

    /// Runs a query as the owner; returns one line per row, with tabs between the columns.
    pub(crate) fn query(&mut self, sql: &str) -> Vec<String> {
        let cell = |cell: &Option<Vec<u8>>| match cell {
            Some(text) => String::from_utf8_lossy(text).into_owned(),
            None => "NULL".into(),
        };
        let rows = self.owner.query(sql).unwrap().rows;
        rows.iter()
            .map(|row| row.iter().map(cell).collect::<Vec<_>>().join("\t"))
            .collect()
    }

    /// Everything outside prony's schemas: accounts, privileges, settings, enabled metrics, schemas, tables, rows.
    pub(crate) fn surroundings(&mut self) -> BTreeMap<&'static str, Vec<String>> {
        // The two families name this column differently.
        let metrics = match self.query("SELECT version()")[0].contains("MariaDB") {
            true => "SELECT name, enabled FROM information_schema.innodb_metrics ORDER BY name",
            false => "SELECT name, status FROM information_schema.innodb_metrics ORDER BY name",
        };
        let queries = [
            "SELECT * FROM mysql.user ORDER BY user, host",
            "SELECT * FROM mysql.db ORDER BY user, host, db",
            "SHOW GLOBAL VARIABLES",
            metrics,
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT LIKE 'prony%' ORDER BY 1",
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT LIKE 'prony%' ORDER BY 1, 2",
            "CHECKSUM TABLE shop.lineorder, shop.prony_dataset",
            "SELECT routine_schema, routine_name FROM information_schema.routines ORDER BY 1, 2",
            "SELECT event_schema, event_name FROM information_schema.events ORDER BY 1, 2",
        ];
        queries.map(|sql| (sql, self.query(sql))).into()
    }
}
