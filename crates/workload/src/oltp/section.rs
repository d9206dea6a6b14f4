//! The section `[workload.oltp]` of an experiment file.
//!
//! Goal: every mistake is answered with the key and what would be right. Non-goal: whether a server has the engine.

use super::distribution;
use super::operations::{self, Operation};
use crate::KeyMistake;
use crate::keys::{engine, mistake, text, truth, whole};
use crate::script::{DUPLICATE, Policy, WEIGHT_MAX};
use datagen::oltp::Distribution;
use toml::Value;

const KEYS: &str = "the keys are: operations, tables, rows, engine, secondary_index, distribution, zipf_exponent, pareto_share, range_size, transactions, on_deadlock, retries_max";
const DISTRIBUTIONS: &str = "distribution is one of \"uniform\", \"zipfian\", \"gaussian\", \"pareto\", \"latest\", \"special\"";
const TABLES_MAX: i64 = 10_000;
const ROWS_MAX: i64 = i32::MAX as i64;

/// The section, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub data: Data,
    /// With their weights, in the file's order. By default read-write alone.
    pub mix: Vec<(&'static Operation, u32)>,
    /// Of ids. By default uniform.
    pub distribution: Distribution,
    /// Rows that a range read asks for. By default 100.
    pub range_size: u64,
    /// Operations of several statements are transactions. By default they are.
    pub transactions: bool,
    pub policy: Policy,
}

/// What the tables are like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// By default 1.
    pub tables: u32,
    /// Of each table; by default 100,000.
    pub rows: u64,
    /// As CREATE TABLE takes it. By default `InnoDB`.
    pub engine: String,
    /// An index on `k`. By default there is one.
    pub secondary_index: bool,
}

impl Default for Data {
    fn default() -> Data {
        Data {
            tables: 1,
            rows: 100_000,
            engine: "InnoDB".into(),
            secondary_index: true,
        }
    }
}

impl Data {
    /// Takes a key that is the data's; whether it is one. `within` is what stands before the key in messages' places.
    pub fn take(&mut self, within: &str, key: &str, value: &Value) -> Result<bool, KeyMistake> {
        let place = &format!("{within}{key}");
        match key {
            "tables" => self.tables = whole(place, value, 1..=TABLES_MAX)? as u32,
            "rows" => self.rows = whole(place, value, 1..=ROWS_MAX)? as u64,
            "engine" => self.engine = engine(place, value)?,
            "secondary_index" => self.secondary_index = truth(place, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Section {
    pub fn read(table: &toml::Table) -> Result<Section, KeyMistake> {
        let mut section = Section {
            data: Data::default(),
            mix: vec![(operations::find("read-write").expect("the default"), 1)],
            distribution: of_ids(table)?,
            range_size: 100,
            transactions: true,
            policy: Policy::read(table)?,
        };
        for (key, value) in table {
            if !(section.data.take("", key, value)? || section.take(key, value)?) {
                let says = format!("oltp has no key {key:?}");
                return Err(mistake(key, says, KEYS));
            }
        }
        if section.mix.iter().any(|(operation, _)| operation.deletes()) {
            section.policy.also.push(DUPLICATE);
        }
        section.ranges_fit(table)?;
        Ok(section)
    }

    fn take(&mut self, key: &str, value: &Value) -> Result<bool, KeyMistake> {
        match key {
            "operations" => self.mix = mix(value)?,
            "range_size" => self.range_size = whole(key, value, 1..=ROWS_MAX)? as u64,
            "transactions" => self.transactions = truth(key, value)?,
            // Each is read with the others that it hangs together with.
            "distribution" | "zipf_exponent" | "pareto_share" | "on_deadlock" | "retries_max" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A range of more rows than there are would read less than it says.
    fn ranges_fit(&self, table: &toml::Table) -> Result<(), KeyMistake> {
        let has_ranges = self.mix.iter().any(|(operation, _)| operation.has_ranges());
        if !has_ranges || self.range_size <= self.data.rows {
            return Ok(());
        }
        let key = ["range_size", "rows"]
            .into_iter()
            .find(|key| table.contains_key(*key));
        let says = format!(
            "a range of {} rows does not fit into a table of {}",
            self.range_size, self.data.rows
        );
        Err(mistake(
            key.unwrap_or_default(),
            says,
            "take more rows, or a smaller range_size",
        ))
    }
}

/// `distribution`, with its figure.
fn of_ids(table: &toml::Table) -> Result<Distribution, KeyMistake> {
    let name = match table.get("distribution") {
        Some(value) => text("distribution", value, DISTRIBUTIONS)?,
        None => "uniform",
    };
    let found = distribution::read(name, table, "")?.ok_or_else(|| {
        let says = format!("there is no distribution {name:?}");
        mistake("distribution", says, DISTRIBUTIONS)
    })?;
    distribution::no_other_figure(name, table, "")?;
    Ok(found)
}

/// `"update-index"`, `{ "point-select" = 10, "update-index" = 1 }`
fn mix(value: &Value) -> Result<Vec<(&'static Operation, u32)>, KeyMistake> {
    let help = || {
        let names: Vec<&str> = operations::ALL
            .iter()
            .map(|operation| operation.name)
            .collect();
        format!("the operations are: {}", names.join(", "))
    };
    let find = |key: &str, name: &str| {
        let says = || format!("oltp has no operation {name:?}");
        operations::find(name).ok_or_else(|| mistake(key, says(), help()))
    };
    match value {
        Value::String(name) => Ok(vec![(find("operations", name)?, 1)]),
        Value::Table(weights) if !weights.is_empty() => {
            let mut mix = Vec::new();
            for (name, weight) in weights {
                let key = format!("operations.{name}");
                let weight = whole(&key, weight, 1..=WEIGHT_MAX)?;
                mix.push((find(&key, name)?, weight as u32));
            }
            Ok(mix)
        }
        other => {
            let says = match other {
                Value::Table(_) => "operations is empty".into(),
                other => format!(
                    "operations is a name or a table of weights, not {}",
                    other.type_str()
                ),
            };
            let help = format!(
                "operations = \"update-index\" or operations = {{ \"point-select\" = 10, \"update-index\" = 1 }}; {}",
                help()
            );
            Err(mistake("operations", says, help))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Section, KeyMistake> {
        Section::read(&text.parse().unwrap())
    }

    fn names(section: &Section) -> Vec<(&str, u32)> {
        let mix = section.mix.iter();
        mix.map(|(operation, weight)| (operation.name, *weight))
            .collect()
    }

    #[test]
    fn an_empty_section_is_read_write_on_one_table_of_100_000_rows() {
        let section = read("").unwrap();
        assert_eq!(names(&section), [("read-write", 1)]);
        assert_eq!(section.data, Data::default());
        assert_eq!(section.distribution, Distribution::Uniform);
        assert_eq!(
            section.policy,
            Policy {
                retries_max: 10,
                also: vec![1062]
            }
        );
    }

    #[test]
    fn operations_are_a_name_or_weights() {
        let one = read("operations = \"update-index\"").unwrap();
        assert_eq!(names(&one), [("update-index", 1)]);
        assert!(one.policy.also.is_empty());
        let mix = read("operations = { point-select = 10, \"update-index\" = 1 }").unwrap();
        assert_eq!(names(&mix), [("point-select", 10), ("update-index", 1)]);
    }

    #[test]
    fn every_operation_is_read_by_its_name() {
        for operation in &operations::ALL {
            let section = read(&format!("operations = {:?}", operation.name)).unwrap();
            assert_eq!(names(&section), [(operation.name, 1)]);
        }
    }

    #[test]
    fn a_distribution_takes_its_own_figure() {
        let section = read("distribution = \"zipfian\"\nzipf_exponent = 1").unwrap();
        assert_eq!(
            section.distribution,
            Distribution::Zipfian { exponent: 1.0 }
        );
        let section = read("pareto_share = 0.1\ndistribution = \"pareto\"").unwrap();
        assert_eq!(section.distribution, Distribution::Pareto { share: 0.1 });
    }

    #[test]
    fn a_deadlock_may_be_a_failure() {
        let section = read("on_deadlock = \"fail\"\nretries_max = 5").unwrap();
        assert_eq!(section.policy.retries_max, 0);
    }

    #[test]
    fn a_table_that_is_too_small_for_its_ranges_is_a_mistake_where_it_stands() {
        for (text, key) in [
            ("rows = 50", "rows"),
            ("rows = 50\nrange_size = 51", "range_size"),
            ("range_size = 100001", "range_size"),
        ] {
            let mistake = read(text).unwrap_err();
            assert_eq!(mistake.key, key, "{text}");
            assert!(mistake.says.contains("does not fit into a table of"));
        }
        assert!(read("rows = 50\noperations = \"point-select\"").is_ok());
        assert!(read("rows = 50\nrange_size = 50").is_ok());
    }

    #[test]
    fn a_mistake_names_its_key() {
        for (text, key) in [
            ("operations = \"select\"", "operations"),
            ("operations = 1", "operations"),
            ("operations = {}", "operations"),
            ("operations = { select = 1 }", "operations.select"),
            (
                "operations = { point-select = 0 }",
                "operations.point-select",
            ),
            (
                "operations = { point-select = 0.5 }",
                "operations.point-select",
            ),
            ("tables = 0", "tables"),
            ("rows = 0", "rows"),
            ("rows = 2147483648", "rows"),
            ("rows = \"1000\"", "rows"),
            ("engine = \"x; drop\"", "engine"),
            ("secondary_index = 1", "secondary_index"),
            ("distribution = \"normal\"", "distribution"),
            ("distribution = 1", "distribution"),
            (
                "distribution = \"zipfian\"\nzipf_exponent = -1",
                "zipf_exponent",
            ),
            (
                "distribution = \"latest\"\nzipf_exponent = nan",
                "zipf_exponent",
            ),
            ("pareto_share = 0.2", "pareto_share"),
            ("zipf_exponent = 1", "zipf_exponent"),
            (
                "distribution = \"pareto\"\nzipf_exponent = 1",
                "zipf_exponent",
            ),
            (
                "distribution = \"pareto\"\npareto_share = 0.6",
                "pareto_share",
            ),
            ("range_size = 0", "range_size"),
            ("transactions = \"no\"", "transactions"),
            ("on_deadlock = \"ignore\"", "on_deadlock"),
            ("retries_max = 0", "retries_max"),
            ("scale = 1", "scale"),
        ] {
            assert_eq!(read(text).unwrap_err().key, key, "{text}");
        }
    }
}
