//! The nine tables for the loader: statements, names, rows, and pieces from the generator.

use super::SCHEMA;
use super::conditions::{self, When};
use super::section::Section;
use crate::Estimate;
use crate::generated::generator::Generated;
use crate::generated::stored_tables::{Changing, Sqlite, Stored};
use crate::schema::indexes::IndexBuild;
use crate::schema::marker;
use datagen::Benchmark as _;
use datagen::tpcc::{CUSTOMERS_PER_DISTRICT, SEED, Table as TpccTable, Tpcc};

const CREATE: &str = include_str!("schema.sql");
/// A key that the standard does not have. Group Replication refuses to change a table without one, and Galera cannot delete from it.
const HISTORY_KEY: &str =
    "ALTER TABLE history ADD COLUMN h_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY";
/// Increment it when the generated rows change, so that stored datasets are reloaded.
const GENERATOR: u32 = 1;
/// D_YTD after the load.
const YTD_PER_DISTRICT: u64 = 30_000;

// Measured at one and at ten warehouses in MariaDB 10.11: 86 MB a warehouse with indexes, 10 MB of items.
const BYTES_PER_WAREHOUSE: u64 = 86_000_000;
const BYTES_OF_ITEMS: u64 = 10_000_000;
/// An estimate for two heavily shared cores.
const SECONDS_PER_WAREHOUSE: f64 = 5.0;

/// In loading order, with the numbers of columns: the smallest first, so that a rejection shows early, then the largest, so that
/// parallel connections end together.
const ORDER: [(TpccTable, usize); 9] = [
    (TpccTable::Warehouse, 9),
    (TpccTable::District, 11),
    (TpccTable::OrderLine, 10),
    (TpccTable::Stock, 17),
    (TpccTable::Customer, 21),
    (TpccTable::Item, 5),
    (TpccTable::History, 8),
    (TpccTable::Orders, 8),
    (TpccTable::NewOrder, 3),
];

/// The tables of a section.
pub(super) fn tables(section: &Section) -> Stored {
    let tpcc = Tpcc::new(section.warehouses, SEED);
    Stored {
        fingerprint: fingerprint(section, &tpcc),
        summary: summary(section),
        schema: SCHEMA,
        engine: section.engine.clone(),
        index_build: IndexBuild::After,
        create: CREATE.to_owned(),
        sqlite: Sqlite::Refused {
            what: "This workload drives many concurrent clients, which SQLite does not support",
            instead: "name a server of the MySQL family",
        },
        pattern: None,
        connections: crate::connections(),
        cost: cost(section.warehouses),
        rows: Box::new(Generated::new(tpcc, ORDER)),
        after_rows: Vec::from_iter(section.history_key.then(|| HISTORY_KEY.to_owned())),
        changing: Some(changing(section.warehouses)),
        reload: section.reload,
    }
}

fn summary(section: &Section) -> String {
    let key = if section.history_key {
        ", history with a key (the standard has none)"
    } else {
        ""
    };
    format!(
        "{}, {}{key}",
        record::plural(section.warehouses as usize, "warehouse"),
        section.engine
    )
}

/// Holds C-Load, from which each run derives its own constant (2.1.6.1).
fn fingerprint(section: &Section, tpcc: &Tpcc) -> String {
    let hash = marker::hash(&[CREATE.as_bytes(), &GENERATOR.to_le_bytes()]);
    let Section {
        warehouses, engine, ..
    } = section;
    let c_load = tpcc.constants().last_name;
    let key = if section.history_key {
        "-history-key"
    } else {
        ""
    };
    format!("tpcc-{warehouses}-{engine}-c{c_load}{key}-{hash}")
}

/// New-Order and Payment change every district that they use, and Delivery deletes new orders. So the small tables show whether
/// anything ran.
fn changing(warehouses: u32) -> Changing {
    let new_orders = Tpcc::new(warehouses, SEED).rows(TpccTable::NewOrder);
    let (next, ytd) = (CUSTOMERS_PER_DISTRICT + 1, YTD_PER_DISTRICT);
    Changing {
        changes: format!(
            "SELECT (SELECT COUNT(*) FROM {SCHEMA}.district WHERE d_next_o_id <> {next} OR d_ytd <> {ytd}) + (SELECT COUNT(*) <> {new_orders} FROM {SCHEMA}.new_order)"
        ),
        rules: Box::new(move |connect| {
            let found = conditions::check(connect, SCHEMA, warehouses, When::AfterLoad)?;
            Ok(found.sentences())
        }),
    }
}

fn cost(warehouses: u32) -> Estimate {
    Estimate {
        data_bytes: BYTES_OF_ITEMS + u64::from(warehouses) * BYTES_PER_WAREHOUSE,
        load_s: 1.0 + f64::from(warehouses) * SECONDS_PER_WAREHOUSE,
        ..Estimate::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dataset as _;
    use crate::generated::stored_tables::Rows as _;
    use crate::schema::{self, indexes};
    use datagen::Format;
    use datagen::tpcc::Constants;

    fn of(text: &str) -> Stored {
        tables(&spec::read_text(text, Section::read).unwrap())
    }

    #[test]
    fn pieces_hold_every_row_of_every_table_once() {
        let rows = Generated::new(Tpcc::new(1, SEED), ORDER);
        for rows_per_piece in [None, Some(70_000)] {
            let mut counts = [0; 9];
            for piece in rows.pieces(rows_per_piece) {
                for part in piece.parts {
                    counts[piece.table] += (part.write)(&mut std::io::sink()).unwrap();
                }
            }
            let expected: Vec<u64> = rows.tables().iter().map(|table| table.rows).collect();
            assert_eq!(counts.to_vec(), expected);
        }
    }

    #[test]
    fn a_line_has_as_many_fields_as_its_table_has_columns() {
        for (kind, columns) in ORDER {
            let mut text = Vec::new();
            let chunk = Tpcc::new(1, SEED).whole(kind);
            chunk.write(&mut text, Format::Tbl).unwrap();
            let line = text.split(|&byte| byte == b'\n').next().unwrap();
            let bars = line.iter().filter(|&&byte| byte == b'|').count();
            assert_eq!(bars, columns, "{}", kind.name());
        }
    }

    #[test]
    fn the_schema_has_the_nine_tables_with_their_columns() {
        let made: Vec<(&str, usize)> = schema::statements(CREATE)
            .map(|create| {
                let columns = create.lines().filter(|line| line.starts_with("    "));
                let columns = columns.filter(|line| !line.contains("KEY"));
                (indexes::table(create), columns.count())
            })
            .collect();
        let mut expected = ORDER.map(|(kind, columns)| (kind.name(), columns)).to_vec();
        expected.sort_unstable();
        let mut made = made;
        made.sort_unstable();
        assert_eq!(made, expected);
    }

    #[test]
    fn the_fingerprint_holds_the_warehouses_the_engine_and_the_constant_of_the_load() {
        let fingerprint = of("scale = 3").fingerprint();
        let c_load = Constants::load(SEED).last_name;
        let start = format!("tpcc-3-InnoDB-c{c_load}-");
        assert!(fingerprint.starts_with(&start), "{fingerprint}");
        let others = [
            "waits = \"standard\"",
            "delivery = \"deferred\"",
            "reload = true",
        ];
        for other in others {
            assert_eq!(
                of(&format!("scale = 3\n{other}")).fingerprint(),
                fingerprint
            );
        }
        assert_ne!(of("scale = 4").fingerprint(), fingerprint);
    }

    #[test]
    fn the_estimate_is_known_before_anything_is_loaded() {
        let estimate = of("scale = 2").estimate();
        assert!(
            estimate.rows.abs_diff(100_000 + 2 * 499_011) < 5_000,
            "{estimate:?}"
        );
        assert_eq!(estimate.data_bytes, 182_000_000);
        assert_eq!(of("scale = 2").summary(), "2 warehouses, InnoDB");
    }
}
