//! Compares the tables of TPC-H with the known output of the reference program.

use crate::checksums;
use crate::writing::{assert_returns_write_errors, assert_within_10_percent};
use datagen::tpch::{Table, Tpch};
use datagen::{Benchmark, Chunk, Format};
use proptest::prelude::*;

fn check(scale: &str, table: Table) {
    let checksums = include_str!("../../../tests/data/tpch/checksums.txt");
    let tpch = Tpch::new(scale.parse().unwrap()).unwrap();
    let rows = checksums::check(checksums, scale, table.name(), |to| {
        tpch.whole(table).write(to, Format::Tbl)
    });
    assert_eq!(tpch.rows(table), rows);
}

#[test]
fn small_tables_at_scale_1_match_the_reference() {
    for table in [
        Table::Customer,
        Table::Nation,
        Table::Part,
        Table::Region,
        Table::Supplier,
    ] {
        check("1", table);
    }
}

#[test]
fn partsupp_at_scale_1_matches_the_reference() {
    check("1", Table::Partsupp);
}

#[test]
fn orders_at_scale_1_matches_the_reference() {
    check("1", Table::Orders);
}

#[test]
fn lineitem_at_scale_1_matches_the_reference() {
    check("1", Table::Lineitem);
}

#[test]
fn small_scales_match_the_stored_checksums() {
    for scale in ["0.01", "0.1"] {
        for table in Table::ALL {
            if !matches!(table, Table::Nation | Table::Region) {
                check(scale, table);
            }
        }
    }
}

#[test]
fn first_rows_match_the_reference() {
    let first = |table| -> String {
        let text = text(
            Tpch::new(1.0).unwrap().whole(table).part(0, 5),
            1,
            Format::Tbl,
        );
        text.lines().next().unwrap().into()
    };
    assert_eq!(
        first(Table::Lineitem),
        "1|155190|7706|1|17|21168.23|0.04|0.02|N|O|1996-03-13|1996-02-12|1996-03-22|DELIVER IN PERSON|TRUCK|egular courts above the|"
    );
    assert_eq!(
        first(Table::Orders),
        "1|36901|O|173665.47|1996-01-02|5-LOW|Clerk#000000951|0|nstructions sleep furiously among |"
    );
    assert_eq!(
        first(Table::Supplier),
        "1|Supplier#000000001| N kD4on9OM Ipw3,gf0JBoQDd7tgrzrddZ|17|27-918-335-1736|5755.94|each slyly above the careful|"
    );
}

fn text(chunk: Chunk<Tpch>, pieces: u64, format: Format) -> String {
    let mut bytes = Vec::new();
    for piece in chunk.split(pieces) {
        let rows = piece.rows();
        assert_eq!(piece.write(&mut bytes, format).unwrap(), rows);
    }
    String::from_utf8(bytes).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn concatenated_chunks_equal_the_whole_table(scale in 0.025f64..0.03, shards in 1u64..9, pieces in 1u64..40, table in 0usize..8) {
        let whole = Tpch::new(scale).unwrap().whole(Table::ALL[table]);
        let parts: String = whole.split(shards).map(|shard| text(shard, pieces, Format::Tbl)).collect();
        prop_assert_eq!(parts, text(whole, 1, Format::Tbl));
    }

    #[test]
    fn row_counts_of_chunks_add_up_to_the_table(scale in 0.025f64..1.0, shards in 1u64..9, pieces in 1u64..50, table in 0usize..8) {
        let whole = Tpch::new(scale).unwrap().whole(Table::ALL[table]);
        let rows: u64 = whole.split(shards).flat_map(|shard| shard.split(pieces)).map(|piece| piece.rows()).sum();
        prop_assert_eq!(rows, whole.rows());
    }
}

#[test]
fn csv_has_the_fields_of_tbl_with_free_text_in_quotes() {
    let tpch = Tpch::new(0.01).unwrap();
    for table in Table::ALL {
        let (tbl, csv) = (
            text(tpch.whole(table), 1, Format::Tbl),
            text(tpch.whole(table), 1, Format::Csv),
        );
        assert_eq!(tbl.lines().count(), csv.lines().count());
        for (tbl, csv) in tbl.lines().zip(csv.lines()) {
            let fields: Vec<&str> = tbl.strip_suffix('|').unwrap().split('|').collect();
            assert_eq!(unquoted(csv), fields, "{}", table.name());
        }
    }
}

/// The fields of a CSV line. No field contains a quote.
fn unquoted(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => fields.last_mut().unwrap().push(other),
        }
    }
    fields
}

#[test]
fn byte_estimates_are_within_10_percent() {
    let tpch = Tpch::new(0.05).unwrap();
    for table in Table::ALL {
        let written = text(tpch.whole(table), 1, Format::Tbl);
        assert_within_10_percent(table.name(), tpch.bytes_estimate(table), &written);
    }
}

#[test]
fn a_write_error_is_returned() {
    for table in Table::ALL {
        let whole = Tpch::new(0.01).unwrap().whole(table);
        assert_returns_write_errors(|to| whole.write(to, Format::Tbl));
    }
}

#[test]
fn every_query_has_a_validation_answer() {
    for number in 1..=22 {
        let answer = datagen::tpch::validation_answer(number).unwrap();
        assert!(answer.trim().lines().count() >= 2, "Q{number}");
    }
    assert_eq!(datagen::tpch::validation_answer(23), None);
}
