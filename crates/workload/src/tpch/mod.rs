//! TPC-H: eight tables, 22 queries.
//!
//! Purpose: the tables, keys and queries of the specification and of the results that Ovais Tariq published in 2012
//! (P6 in docs/REPLICATION.md), on any server of the MySQL family.
//! Boundaries: crate `datagen` generates the rows. There are no refresh functions and no TPC metrics. SQLite is
//! rejected: it has no exact decimals, so its sums of money would differ in their last digits.

mod queries;
mod references;
mod section;
mod statements;
mod tables;

pub use section::{Form, Section};

use super::answers::Reference;
use super::loader::settings;
use super::{Dataset, Estimate, Operation, Queries, Workload};
use crate::generated::stored_tables::{Rows as _, Sqlite, Stored};
use crate::schema::marker;
use std::sync::Arc;

/// prony's own schema for this workload.
const SCHEMA: &str = "prony_tpch";
const TABLES: &str = include_str!("schema.mysql.sql");
/// The last index of lineitem, with the comma before it.
const EXTRA_INDEX: &str =
    ",\n    KEY l_partkey_quantity (l_partkey, l_quantity, l_shipmode, l_shipinstruct)";
/// Increment it when the generated rows change, so that stored datasets are reloaded.
const GENERATOR: u32 = 1;

/// The benchmark at one scale.
pub struct Tpch {
    section: Section,
    data: Stored,
}

/// Reads `[workload.tpch]`; notes every mistake.
pub(crate) fn read(section: &spec::Section) -> Option<Arc<dyn Workload>> {
    Some(Arc::new(Tpch::new(Section::read(section)?)))
}

impl Tpch {
    pub fn new(section: Section) -> Tpch {
        Tpch {
            data: data(&section),
            section,
        }
    }
}

/// Costs are estimated from scale 0.1 on two busy cores: MariaDB 10.11 took 25 s for the load and 15 s for the hot queries.
fn data(section: &Section) -> Stored {
    let Section { scale, engine, .. } = section;
    let (create, extra) = if section.extra_index {
        (TABLES.to_owned(), ", with the extra index")
    } else {
        (TABLES.replace(EXTRA_INDEX, ""), "")
    };
    let hash = marker::hash(&[create.as_bytes(), &GENERATOR.to_le_bytes()]);
    let build = section.index_build.suffix(engine);
    let rows = tables::tables(*scale);
    Stored {
        fingerprint: format!("tpch-{scale}-{engine}{build}-{hash}"),
        summary: format!("TPC-H, scale {scale}, {engine}{extra}"),
        schema: SCHEMA,
        engine: engine.clone(),
        index_build: section.index_build,
        create,
        sqlite: Sqlite::Refused {
            what: "tpch needs a server of the MySQL family",
            instead: "SQLite has no exact decimals; name another server, or take the workload ssb",
        },
        pattern: None,
        connections: settings::CONNECTIONS,
        cost: Estimate {
            data_bytes: rows.text_bytes() * 2,
            load_s: 1.0 + 100.0 * scale,
            round_cold_s: 1.0 + 300.0 * scale,
            round_hot_s: 120.0 * scale,
            ..Estimate::default()
        },
        rows: Box::new(rows),
        after_rows: Vec::new(),
        changing: None,
        reload: false,
    }
}

impl Workload for Tpch {
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

    fn data(&self) -> Option<&dyn Dataset> {
        Some(&self.data)
    }

    fn queries(&self) -> Option<&dyn Queries> {
        Some(self)
    }
}

impl Queries for Tpch {
    fn operations(&self) -> Vec<Operation> {
        statements::operations(&self.section)
    }

    fn reference(&self, operation: &str) -> Option<Reference> {
        let operations = self.operations();
        let operation = operations.iter().find(|known| known.name == operation)?;
        references::reference(self.section.scale, operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AllowDrop;
    use server::Session;

    fn benchmark(text: &str) -> Tpch {
        Tpch::new(spec::read_text(text, Section::read).unwrap())
    }

    #[test]
    fn tables_have_the_extra_index_only_on_request() {
        assert!(
            benchmark("extra_index = true")
                .data
                .create
                .contains("l_partkey_quantity")
        );
        let without = benchmark("").data.create;
        assert!(!without.contains("l_partkey_quantity"));
        assert_eq!(without.len() + EXTRA_INDEX.len(), TABLES.len());
    }

    #[test]
    fn the_fingerprint_follows_the_tables_and_not_the_queries() {
        let fingerprint = |text: &str| benchmark(text).data.fingerprint;
        let base = fingerprint("scale = 0.1");
        let hints = "scale = 0.1\nhints = { Q3 = \"MRR(lineitem)\" }";
        assert_eq!(base, fingerprint(hints));
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
    fn sqlite_is_refused_with_the_reason_before_anything_is_created() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let mut session = Session::Sqlite(connection);
        let refused = benchmark("scale = 0.01")
            .data
            .create(&mut session, &AllowDrop::No);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("no exact decimals"), "{refused}");
    }

    #[test]
    fn the_summary_is_a_line_for_people() {
        assert_eq!(
            benchmark("").summary(),
            "TPC-H, scale 1, InnoDB, standard queries"
        );
        assert_eq!(
            benchmark("scale = 2\nform = \"published\"").summary(),
            "TPC-H, scale 2, InnoDB, published queries, with the extra index"
        );
    }
}
