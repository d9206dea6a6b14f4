//! TPC-H: eight tables, 22 queries.
//!
//! Goal: the tables, keys and queries of the specification and of the published result P6 on any server of the MySQL family.
//! Non-goals: the rows themselves (crate `datagen`), the refresh functions, a figure in the TPC's metrics (which none of this is), and
//! SQLite: it has no exact decimals, so that its sums of money would differ from every other server's in their last digits.

mod queries;
mod references;
mod section;
mod tables;

pub use section::{Form, Section};

use super::answers::Reference;
use super::loader::settings;
use super::marker::{self, Marker};
use super::stored::{Filling, Stored};
use super::{
    Dataset, Driver, Estimate, LoadError, Loaded, Operation, Preloaded, Progress, State, schema,
};
use server::{ServerError, Session};

/// prony's own schema for this workload.
const SCHEMA: &str = "prony_tpch";
const TABLES: &str = include_str!("schema.mysql.sql");
/// The last index of lineitem, with the comma before it.
const EXTRA_INDEX: &str =
    ",\n    KEY l_partkey_quantity (l_partkey, l_quantity, l_shipmode, l_shipinstruct)";
/// To be raised when the generator's rows change, so that kept datasets are made anew.
const GENERATOR: u32 = 1;

/// The benchmark at one scale.
pub struct Tpch {
    section: Section,
    tables: tables::Tables,
    /// CREATE TABLE statements, each with `{engine}`.
    create: String,
}

impl Tpch {
    pub fn new(section: Section) -> Tpch {
        let tables = tables::tables(section.scale);
        let create = if section.extra_index {
            TABLES.to_owned()
        } else {
            TABLES.replace(EXTRA_INDEX, "")
        };
        Tpch {
            section,
            tables,
            create,
        }
    }

    fn stored(&self) -> Stored<'_> {
        Stored {
            schema: SCHEMA,
            tables: tables::NAMES.to_vec(),
            engine: &self.section.engine,
            index_build: self.section.index_build(),
            create: &self.create,
            indexes_sqlite: "",
        }
    }

    fn marker(&self) -> Marker {
        Marker {
            fingerprint: self.fingerprint(),
            rows: self.tables.rows(),
        }
    }
}

impl Dataset for Tpch {
    fn fingerprint(&self) -> String {
        let hash = marker::hash(&[self.create.as_bytes(), &GENERATOR.to_le_bytes()]);
        let Section { scale, engine, .. } = &self.section;
        let build = self.section.index_build().suffix(engine);
        format!("tpch-{scale}-{engine}{build}-{hash}")
    }

    fn summary(&self) -> String {
        let Section { scale, engine, .. } = &self.section;
        let form = match (self.section.form, self.section.force_index) {
            (Form::Standard, _) => "standard queries",
            (Form::Published, true) => "published queries",
            (Form::Published, false) => "published queries without FORCE INDEX",
        };
        let extra = if self.section.extra_index {
            ", with the extra index"
        } else {
            ""
        };
        format!("TPC-H, scale {scale}, {engine}, {form}{extra}")
    }

    fn schema(&self) -> &str {
        SCHEMA
    }

    /// Guessed from scale 0.1 on two busy cores: MariaDB 10.11 took 25 s for the load and 15 s for the hot queries.
    fn estimate(&self) -> Estimate {
        let text_bytes = self.tables.text_bytes();
        let scale = self.section.scale;
        Estimate {
            rows: self.tables.rows(),
            data_bytes: text_bytes * 2,
            text_bytes,
            load_s: 1.0 + 100.0 * scale,
            round_cold_s: 1.0 + 300.0 * scale,
            round_hot_s: 120.0 * scale,
        }
    }

    fn enter(&self, session: &mut Session) -> Result<(), ServerError> {
        self.stored().enter(session)
    }

    fn state(&self, session: &mut Session) -> Result<State, ServerError> {
        self.stored().state(session)
    }

    fn create(&self, session: &mut Session, allow_drop: bool) -> Result<(), LoadError> {
        schema::refuse_sqlite(
            session,
            "tpch needs a server of the MySQL family",
            "SQLite has no exact decimals; name another server, or take the workload ssb",
        )?;
        self.stored().make_room(session, allow_drop)?;
        self.stored().create_mysql(session)
    }

    fn load(
        &self,
        connect: &(dyn Fn() -> Result<Session, ServerError> + Sync),
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let strategy = settings::strategy(&self.section.engine);
        let filling = Filling {
            tables: self.tables.list(),
            pieces: self.tables.pieces(strategy.rows_per_statement),
            connections: strategy.connections,
            data_bytes: self.estimate().data_bytes,
            marker: self.marker(),
        };
        self.stored().load(filling, connect, progress, cancel)
    }

    fn verify(&self, session: &mut Session) -> Result<(), LoadError> {
        let tables = self.tables.list();
        self.stored().verify(session, &tables, &self.marker())
    }

    fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        self.stored().data_bytes(session)
    }

    fn operations(&self) -> Vec<Operation> {
        queries::operations(&self.section)
    }

    fn reference(&self, operation: &str) -> Option<Reference> {
        let operations = self.operations();
        let operation = operations.iter().find(|known| known.name == operation)?;
        references::reference(self.section.scale, operation)
    }

    fn driver(&self, _: wire::Login, _: &[String], _: u64) -> Option<Driver> {
        None
    }

    fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError> {
        self.stored().preload(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(text: &str) -> Tpch {
        Tpch::new(Section::read(&text.parse().unwrap()).unwrap())
    }

    #[test]
    fn the_extra_index_is_there_only_where_it_is_asked_for() {
        assert!(
            dataset("extra_index = true")
                .create
                .contains("l_partkey_quantity")
        );
        let without = dataset("").create;
        assert!(!without.contains("l_partkey_quantity"));
        assert_eq!(without.len() + EXTRA_INDEX.len(), TABLES.len());
    }

    #[test]
    fn the_fingerprint_follows_the_tables_and_not_the_queries() {
        let fingerprint = |text: &str| dataset(text).fingerprint();
        let base = fingerprint("scale = 0.1");
        assert_eq!(base, fingerprint("scale = 0.1\nforce_index = false"));
        for other in [
            "scale = 0.2",
            "scale = 0.1\nengine = \"MyISAM\"",
            "scale = 0.1\nextra_index = true",
            "scale = 0.1\nindex_build = \"after\"",
        ] {
            assert_ne!(base, fingerprint(other), "{other}");
        }
        assert_eq!(
            fingerprint("form = \"published\""),
            fingerprint("extra_index = true")
        );
    }

    #[test]
    fn sqlite_is_refused_with_the_reason_before_anything_is_made() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let mut session = Session::Sqlite(connection);
        let refused = dataset("scale = 0.01").create(&mut session, false);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("no exact decimals"), "{refused}");
    }

    #[test]
    fn the_summary_is_a_line_for_people() {
        assert_eq!(
            dataset("").summary(),
            "TPC-H, scale 1, InnoDB, standard queries"
        );
        assert_eq!(
            dataset("scale = 2\nform = \"published\"").summary(),
            "TPC-H, scale 2, InnoDB, published queries, with the extra index"
        );
    }
}
