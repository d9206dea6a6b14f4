//! Compares the tables of the Star Schema Benchmark with the output of the common C generator.
//!
//! Tier: default at scale 1, `long` at scales 2 and 4 (3.6 GB).

use crate::checksums;
use crate::tier::{Tier, tier};
use crate::writing::{assert_returns_write_errors, assert_within_10_percent};
use datagen::ssb::{Ssb, Table};
use datagen::{Benchmark, Format};
use proptest::prelude::*;

fn check(scale: &str, table: Table) {
    let checksums = include_str!("../../../tests/data/ssb/checksums.txt");
    let ssb = Ssb::new(scale.parse().unwrap()).unwrap();
    let rows = checksums::check(checksums, scale, table.name(), |to| {
        ssb.whole(table).write(to, Format::Tbl)
    });
    assert_eq!(ssb.rows(table), rows);
}

#[test]
fn customer_at_scale_1_equals_the_reference() {
    check("1", Table::Customer);
}

#[test]
fn date_at_scale_1_equals_the_reference() {
    check("1", Table::Date);
}

#[test]
fn lineorder_equals_the_reference() {
    let scales: &[&str] = match tier() {
        Tier::Default | Tier::All => &["1"],
        Tier::Long => &["1", "2", "4"],
    };
    for scale in scales {
        check(scale, Table::Lineorder);
    }
}

#[test]
fn part_at_scale_1_equals_the_reference() {
    check("1", Table::Part);
}

#[test]
fn supplier_at_scale_1_equals_the_reference() {
    check("1", Table::Supplier);
}

#[test]
fn the_dimensions_at_other_scales_equal_the_reference() {
    for scale in ["2", "4", "0.1"] {
        for table in [Table::Customer, Table::Part, Table::Supplier] {
            check(scale, table);
        }
    }
}

fn text(ssb: Ssb, table: Table, chunks: usize, format: Format) -> String {
    let mut bytes = Vec::new();
    for chunk in ssb.whole(table).split(chunks as u64) {
        let rows = chunk.rows();
        assert_eq!(chunk.write(&mut bytes, format).unwrap(), rows);
    }
    String::from_utf8(bytes).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn concatenated_chunks_equal_the_whole_table(scale in 0.0001f64..0.01, chunks in 1usize..400, table in 0usize..5) {
        let (ssb, table) = (Ssb::new(scale).unwrap(), Table::ALL[table]);
        prop_assert_eq!(text(ssb, table, chunks, Format::Tbl), text(ssb, table, 1, Format::Tbl));
    }

    #[test]
    fn nested_splits_cover_every_row(scale in 0.0001f64..0.01, shards in 1u64..9, pieces in 1u64..50) {
        let whole = Ssb::new(scale).unwrap().whole(Table::Lineorder);
        let edges: Vec<_> = whole.split(shards).flat_map(|shard| shard.split(pieces)).map(|piece| piece.rows()).collect();
        prop_assert_eq!(edges.len() as u64, shards * pieces);
        prop_assert_eq!(edges.iter().sum::<u64>(), whole.rows());
    }
}

#[test]
fn the_date_table_is_complete_at_every_scale() {
    let [tiny, large] =
        [0.001, 50.0].map(|scale| text(Ssb::new(scale).unwrap(), Table::Date, 3, Format::Tbl));
    assert_eq!(tiny, large);
}

#[test]
fn csv_has_the_fields_of_tbl_and_quotes_only_those_with_commas() {
    let ssb = Ssb::new(0.01).unwrap();
    for table in Table::ALL {
        let (tbl, csv) = (
            text(ssb, table, 1, Format::Tbl),
            text(ssb, table, 1, Format::Csv),
        );
        for (tbl, csv) in tbl.lines().zip(csv.lines()) {
            let fields = tbl.strip_suffix('|').unwrap().split('|');
            let quoted = fields.map(|f| {
                if f.contains(',') {
                    format!("\"{f}\"")
                } else {
                    f.to_owned()
                }
            });
            assert_eq!(csv, quoted.collect::<Vec<_>>().join(","));
        }
        assert_eq!(tbl.lines().count(), csv.lines().count());
    }
}

#[test]
fn byte_estimates_are_within_10_percent() {
    let ssb = Ssb::new(0.05).unwrap();
    for table in Table::ALL {
        let written = text(ssb, table, 1, Format::Tbl);
        assert_within_10_percent(table.name(), ssb.bytes_estimate(table), &written);
    }
}

#[test]
fn a_write_error_is_returned() {
    for table in Table::ALL {
        let whole = Ssb::new(0.01).unwrap().whole(table);
        assert_returns_write_errors(|to| whole.write(to, Format::Tbl));
    }
}
