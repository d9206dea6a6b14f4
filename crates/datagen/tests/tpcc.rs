//! The tables of TPC-C: fixed bytes, pieces, and the rules of each column (4.3.3.1).

use crate::checksums;
use crate::writing::{assert_returns_write_errors, assert_within_10_percent};
use datagen::tpcc::{Constants, LAST_NAME_A, LAST_NAME_MAX, LOADED_AT, SEED, Table, Tpcc};
use datagen::tpcc::{last_name, mass};
use datagen::{Benchmark, Format};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;

/// Two warehouses, for the tables that are not item.
const TWO: u32 = 2;

fn text(warehouses: u32, table: Table, parts: u64, format: Format) -> String {
    let mut bytes = Vec::new();
    for chunk in Tpcc::new(warehouses, SEED).whole(table).split(parts) {
        let rows = chunk.rows();
        assert_eq!(chunk.write(&mut bytes, format).unwrap(), rows);
    }
    String::from_utf8(bytes).unwrap()
}

/// The rows of a table of two warehouses as fields.
struct Rows(String);

impl Rows {
    fn of(table: Table) -> Rows {
        Rows(text(TWO, table, 1, Format::Tbl))
    }

    fn iter(&self) -> impl Iterator<Item = Vec<&str>> {
        let fields = |line| str::strip_suffix(line, "|").unwrap().split('|').collect();
        self.0.lines().map(fields)
    }

    /// Asserts that one column is within these cents or units and reaches both ends, or nearly so.
    fn assert_range(&self, column: usize, range: RangeInclusive<f64>) {
        let values: Vec<f64> = self
            .iter()
            .map(|row| row[column].parse().unwrap())
            .collect();
        let min = values.iter().copied().fold(f64::MAX, f64::min);
        let max = values.iter().copied().fold(f64::MIN, f64::max);
        assert!(range.contains(&min) && range.contains(&max), "{min} {max}");
        let width = range.end() - range.start();
        let share = 30.0 / values.len() as f64;
        assert!(min - range.start() <= width * share, "{min}");
        assert!(range.end() - max <= width * share, "{max}");
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let middle = (range.start() + range.end()) / 2.0;
        let tolerance = 2.0 * width / (values.len() as f64).sqrt();
        assert!((mean - middle).abs() <= tolerance, "{mean} {middle}");
    }

    fn assert_constant(&self, column: usize, value: &str) {
        assert!(self.iter().all(|row| row[column] == value), "{value}");
    }

    /// Asserts that a column is alphanumeric and has each length of the range.
    fn assert_letters(&self, column: usize, lengths: RangeInclusive<usize>) {
        let mut seen = HashSet::new();
        for row in self.iter() {
            assert!(row[column].bytes().all(|byte| byte.is_ascii_alphanumeric()));
            seen.insert(row[column].len());
        }
        assert!(seen.iter().all(|length| lengths.contains(length)));
        if self.0.lines().count() > 10_000 {
            assert_eq!(seen.len(), lengths.count());
        }
    }

    /// Asserts the shares of the rows for which `is` holds.
    fn assert_share(&self, share: f64, is: impl Fn(&[&str]) -> bool) {
        let count = self.0.lines().count() as f64;
        let found = self.iter().filter(|row| is(row)).count() as f64;
        let deviation = (share * (1.0 - share) / count).sqrt();
        assert!((found / count - share).abs() < 5.0 * deviation, "{found}");
    }

    /// Streets, city, state and zip from this column on.
    fn assert_address(&self, column: usize) {
        for column in column..column + 3 {
            self.assert_letters(column, 10..=20);
        }
        for row in self.iter() {
            let (state, zip) = (row[column + 3], row[column + 4]);
            assert!(state.len() == 2 && state.bytes().all(|byte| byte.is_ascii_uppercase()));
            assert!(zip.len() == 9 && zip.ends_with("11111"), "{zip}");
            assert!(zip.bytes().all(|byte| byte.is_ascii_digit()), "{zip}");
        }
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn the_bytes_of_one_warehouse_never_change() {
    let checksums = include_str!("../../../tests/data/tpcc/checksums.txt");
    let tpcc = Tpcc::new(1, SEED);
    for table in Table::ALL {
        let rows = checksums::check(checksums, "1", table.name(), |to| {
            tpcc.whole(table).write(to, Format::Tbl)
        });
        assert_eq!(tpcc.rows(table), rows);
    }
}

#[test]
fn a_table_has_the_standards_number_of_rows() {
    let rows = |table| Tpcc::new(3, SEED).rows(table);
    assert_eq!(rows(Table::Item), 100_000);
    assert_eq!(rows(Table::Warehouse), 3);
    assert_eq!(rows(Table::District), 30);
    assert_eq!(rows(Table::Customer), 90_000);
    assert_eq!(rows(Table::History), 90_000);
    assert_eq!(rows(Table::Orders), 90_000);
    assert_eq!(rows(Table::NewOrder), 27_000);
    assert_eq!(rows(Table::Stock), 300_000);
    // The sum of 90,000 uniform numbers has a standard deviation of 949.
    assert!(rows(Table::OrderLine).abs_diff(900_000) < 5 * 949);
}

#[test]
fn another_seed_gives_other_rows_and_other_constants() {
    let written = |seed| {
        let mut bytes = Vec::new();
        let whole = Tpcc::new(1, seed).whole(Table::District);
        whole.write(&mut bytes, Format::Tbl).unwrap();
        bytes
    };
    assert_ne!(written(1), written(2));
    assert_ne!(Tpcc::new(1, 1).constants(), Tpcc::new(1, 2).constants());
}

#[test]
fn a_warehouse_does_not_depend_on_the_number_of_warehouses() {
    for table in Table::ALL {
        let (one, three) = (
            text(1, table, 1, Format::Tbl),
            text(3, table, 1, Format::Tbl),
        );
        assert!(three.starts_with(&one), "{}", table.name());
    }
}

#[test]
fn items_follow_their_rules() {
    let items = Rows::of(Table::Item);
    for (n, row) in items.iter().enumerate() {
        assert_eq!(row[0], (n + 1).to_string());
    }
    items.assert_range(1, 1.0..=10_000.0);
    items.assert_letters(2, 14..=24);
    items.assert_range(3, 1.0..=100.0);
    items.assert_letters(4, 26..=50);
    items.assert_share(0.1, |row| row[4].contains("ORIGINAL"));
}

#[test]
fn original_stands_at_a_random_place() {
    let items = Rows::of(Table::Item);
    let places: HashSet<usize> = items
        .iter()
        .filter_map(|row| row[4].find("ORIGINAL"))
        .collect();
    assert_eq!(places.len(), 43);
}

#[test]
fn warehouses_and_districts_follow_their_rules() {
    let warehouses = Rows::of(Table::Warehouse);
    for (n, row) in warehouses.iter().enumerate() {
        assert_eq!(row[0], (n + 1).to_string());
    }
    warehouses.assert_letters(1, 6..=10);
    warehouses.assert_address(2);
    warehouses.assert_constant(8, "300000.00");

    let districts = Rows::of(Table::District);
    for (n, row) in districts.iter().enumerate() {
        let (district, warehouse) = (n % 10 + 1, n / 10 + 1);
        assert_eq!(row[..2], [district.to_string(), warehouse.to_string()]);
    }
    districts.assert_letters(2, 6..=10);
    districts.assert_address(3);
    districts.assert_constant(9, "30000.00");
    districts.assert_constant(10, "3001");
}

#[test]
fn taxes_have_four_decimals_up_to_a_fifth() {
    let districts = Rows(text(300, Table::District, 1, Format::Tbl));
    districts.assert_range(8, 0.0..=0.2);
    let warehouses = Rows(text(3_000, Table::Warehouse, 1, Format::Tbl));
    warehouses.assert_range(7, 0.0..=0.2);
    assert!(warehouses.iter().all(|row| row[7].len() == 6));
    assert!(warehouses.iter().any(|row| !row[7].ends_with("00")));
}

#[test]
fn stock_follows_its_rules() {
    let stock = Rows::of(Table::Stock);
    for (n, row) in stock.iter().enumerate() {
        let (item, warehouse) = (n % 100_000 + 1, n / 100_000 + 1);
        assert_eq!(row[..2], [item.to_string(), warehouse.to_string()]);
    }
    stock.assert_range(2, 10.0..=100.0);
    for district in 3..13 {
        stock.assert_letters(district, 24..=24);
    }
    for count in 13..16 {
        stock.assert_constant(count, "0");
    }
    stock.assert_letters(16, 26..=50);
    stock.assert_share(0.1, |row| row[16].contains("ORIGINAL"));
}

#[test]
fn customers_follow_their_rules() {
    let customers = Rows::of(Table::Customer);
    for (n, row) in customers.iter().enumerate() {
        let key = [n % 3_000 + 1, n / 3_000 % 10 + 1, n / 30_000 + 1];
        assert_eq!(row[..3], key.map(|part| part.to_string()));
        if n % 3_000 < 1_000 {
            assert_eq!(row[5], last_name((n % 3_000) as u16));
        }
    }
    customers.assert_letters(3, 8..=16);
    customers.assert_constant(4, "OE");
    customers.assert_address(6);
    customers.assert_range(11, 0.0..=1e16);
    assert!(customers.iter().all(|row| row[11].len() == 16));
    customers.assert_constant(12, LOADED_AT);
    customers.assert_share(0.1, |row| row[13] == "BC");
    customers.assert_share(0.9, |row| row[13] == "GC");
    customers.assert_constant(14, "50000.00");
    customers.assert_range(15, 0.0..=0.5);
    // Some tools draw whole percents only.
    assert!(customers.iter().any(|row| !row[15].ends_with("00")));
    for (column, value) in [(16, "-10.00"), (17, "10.00"), (18, "1"), (19, "0")] {
        customers.assert_constant(column, value);
    }
    customers.assert_letters(20, 300..=500);
}

#[test]
fn last_names_after_the_first_thousand_follow_nurand_with_the_constant_of_the_load() {
    let customers = Rows::of(Table::Customer);
    let drawn = customers.iter().filter(|row| number(row[0]) > 1_000);
    let mut counts: BTreeMap<String, f64> = BTreeMap::new();
    for row in drawn {
        *counts.entry(row[5].to_owned()).or_default() += 1.0;
    }
    let c = Constants::load(SEED).last_name;
    let mass = mass(LAST_NAME_A, c.into(), 0, LAST_NAME_MAX);
    let total: f64 = counts.values().sum();
    assert_eq!(total, 40_000.0);
    let square = |(name, share): (usize, &f64)| {
        let expected = share * total;
        let count = counts.get(&last_name(name as u16)).unwrap_or(&0.0);
        (count - expected).powi(2) / expected
    };
    let statistic: f64 = mass.iter().enumerate().map(square).sum();
    // Chi-squared with 999 degrees of freedom: mean 999, standard deviation 44.7.
    assert!((statistic - 999.0).abs() < 5.0 * 44.7, "{statistic}");
}

#[test]
fn history_has_a_payment_of_10_for_each_customer() {
    let history = Rows::of(Table::History);
    for (n, row) in history.iter().enumerate() {
        let [customer, district, warehouse] =
            [n % 3_000 + 1, n / 3_000 % 10 + 1, n / 30_000 + 1].map(|part| part.to_string());
        let key = [&customer, &district, &warehouse, &district, &warehouse];
        assert_eq!(row[..5], key.map(String::as_str));
    }
    history.assert_constant(5, LOADED_AT);
    history.assert_constant(6, "10.00");
    history.assert_letters(7, 12..=24);
}

#[test]
fn the_orders_of_each_district_go_through_their_own_permutation_of_the_customers() {
    let orders = Rows::of(Table::Orders);
    let customers: Vec<u64> = orders.iter().map(|row| number(row[3])).collect();
    let mut permutations = HashSet::new();
    for district in customers.chunks(3_000) {
        let distinct: HashSet<u64> = district.iter().copied().collect();
        assert_eq!(distinct.len(), 3_000);
        assert!(
            distinct
                .iter()
                .all(|customer| (1..=3_000).contains(customer))
        );
        let at_home = (1..).zip(district).filter(|(n, customer)| n == *customer);
        assert!(at_home.count() < 10);
        permutations.insert(district.to_vec());
    }
    assert_eq!(permutations.len(), 20);
}

#[test]
fn orders_follow_their_rules() {
    let orders = Rows::of(Table::Orders);
    let mut carriers = BTreeMap::new();
    for (n, row) in orders.iter().enumerate() {
        let key = [n % 3_000 + 1, n / 3_000 % 10 + 1, n / 30_000 + 1];
        assert_eq!(row[..3], key.map(|part| part.to_string()));
        assert_eq!(row[5] == "\\N", key[0] >= 2_101, "{row:?}");
        *carriers.entry(row[5].to_owned()).or_insert(0) += 1;
    }
    assert_eq!(carriers.remove("\\N"), Some(18_000));
    let ids: Vec<u64> = carriers.keys().map(|carrier| number(carrier)).collect();
    assert!(ids.len() == 10 && ids.iter().all(|id| (1..=10).contains(id)));
    assert!(
        carriers
            .values()
            .all(|count| (3_900..4_500).contains(count))
    );
    orders.assert_constant(4, LOADED_AT);
    orders.assert_range(6, 5.0..=15.0);
    orders.assert_constant(7, "1");
}

#[test]
fn new_orders_are_the_last_900_of_each_district() {
    let new_orders = Rows::of(Table::NewOrder);
    for (n, row) in new_orders.iter().enumerate() {
        let key = [n % 900 + 2_101, n / 900 % 10 + 1, n / 9_000 + 1];
        assert_eq!(row, key.map(|part| part.to_string()));
    }
    assert_eq!(new_orders.iter().count(), 18_000);
}

#[test]
fn an_order_has_as_many_lines_as_it_says_and_its_delivery_date_is_its_entry_date() {
    let (orders, lines) = (Rows::of(Table::Orders), Rows::of(Table::OrderLine));
    let mut lines = lines.iter();
    for order in orders.iter() {
        for number in 1..=number(order[6]) {
            let line = lines.next().unwrap();
            assert_eq!(line[..3], order[..3]);
            assert_eq!(line[3], number.to_string());
            let (is_delivered, has_amount) = (order[5] != "\\N", line[8] != "0.00");
            assert_eq!(line[6], if is_delivered { order[4] } else { "\\N" });
            assert_ne!(is_delivered, has_amount);
        }
    }
    assert!(lines.next().is_none());
}

#[test]
fn order_lines_follow_their_rules() {
    let lines = Rows::of(Table::OrderLine);
    lines.assert_range(4, 1.0..=100_000.0);
    assert!(lines.iter().all(|row| row[5] == row[2]));
    lines.assert_constant(7, "5");
    lines.assert_letters(9, 24..=24);
    let undelivered = lines.0.lines().filter(|line| line.contains("\\N"));
    let undelivered = Rows(undelivered.map(|line| format!("{line}\n")).collect());
    undelivered.assert_range(8, 0.01..=9_999.99);
}

#[test]
fn byte_estimates_are_within_10_percent() {
    for table in Table::ALL {
        let warehouses = match table {
            Table::Warehouse | Table::District => 100,
            _ => 1,
        };
        let written = text(warehouses, table, 1, Format::Tbl);
        let estimate = Tpcc::new(warehouses, SEED).bytes_estimate(table);
        assert_within_10_percent(table.name(), estimate, &written);
    }
}

#[test]
fn csv_has_the_same_fields() {
    for table in [Table::District, Table::Orders, Table::OrderLine] {
        let tbl = text(1, table, 1, Format::Tbl);
        let csv = text(1, table, 1, Format::Csv);
        assert!(csv == tbl.replace("|\n", "\n").replace('|', ","));
    }
}

#[test]
fn a_write_error_is_returned() {
    for table in Table::ALL {
        let whole = Tpcc::new(1, SEED).whole(table);
        assert_returns_write_errors(|to| whole.write(to, Format::Tbl));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn concatenated_parts_equal_the_whole_table(warehouses in 1u32..3, parts in 1u64..400, table in 0usize..9) {
        let table = Table::ALL[table];
        prop_assert!(text(warehouses, table, parts, Format::Tbl) == text(warehouses, table, 1, Format::Tbl));
    }

    #[test]
    fn any_part_can_be_written_first(part in 0u64..50, table in 0usize..9) {
        let table = Table::ALL[table];
        let whole = Tpcc::new(1, SEED).whole(table);
        let mut alone = Vec::new();
        whole.part(part, 50).write(&mut alone, Format::Tbl).unwrap();
        let before: u64 = (0..part).map(|n| whole.part(n, 50).rows()).sum();
        let rows = whole.part(part, 50).rows();
        let all = text(1, table, 1, Format::Tbl);
        let expected: String = all.lines().skip(before as usize).take(rows as usize).map(|line| format!("{line}\n")).collect();
        prop_assert!(alone == expected.as_bytes());
    }
}
