//! The section `[workload.oltp]` of an experiment file.
//!
//! Boundaries: only the server knows whether it has the engine.

use super::distribution;
use super::operations::{self, Operation};
use crate::keys::{count, engine, truth};
use crate::script::{DUPLICATE, Policy, WEIGHT_MAX};
use datagen::oltp::Distribution;
use spec::Node;

const KEYS: [&str; 13] = [
    "operations",
    "tables",
    "rows",
    "engine",
    "secondary_index",
    "reload",
    "distribution",
    "zipf_exponent",
    "pareto_share",
    "range_size",
    "transactions",
    "on_deadlock",
    "retries_max",
];
const TABLES_MAX: i64 = 10_000;
const ROWS_MAX: i64 = i32::MAX as i64;

/// The section, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub data: Data,
    /// With their weights, in file order. Default: only read-write.
    pub mix: Vec<(&'static Operation, u32)>,
    /// Of ids. By default uniform.
    pub distribution: Distribution,
    /// Rows per range read. Default: 100.
    pub range_size: u64,
    /// Whether operations of several statements are transactions. Default: true.
    pub transactions: bool,
    pub policy: Policy,
}

/// The shape of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// By default 1.
    pub tables: u32,
    /// Of each table; by default 100,000.
    pub rows: u64,
    /// The storage engine in CREATE TABLE. Default: `InnoDB`.
    pub engine: String,
    /// Whether there is an index on `k`. Default: true.
    pub secondary_index: bool,
    /// Whether tables that a load has changed are loaded anew before each trial on a running server. Default: false.
    pub reload: bool,
}

impl Data {
    /// The keys of a section that define the data.
    pub const KEYS: [&str; 5] = ["tables", "rows", "engine", "secondary_index", "reload"];

    /// Reads the data keys of a section, which may have others, and notes mistakes.
    pub fn read(section: &spec::Section) -> Data {
        Data {
            tables: count(section, "tables", TABLES_MAX, 1) as u32,
            rows: count(section, "rows", ROWS_MAX, 100_000) as u64,
            engine: engine(section),
            secondary_index: truth(section, "secondary_index", true),
            reload: truth(section, "reload", false),
        }
    }
}

impl Section {
    /// Reads the section and notes mistakes.
    pub fn read(section: &spec::Section) -> Option<Section> {
        section.allow("[workload.oltp]", &KEYS);
        let data = Data::read(section);
        let range_size = count(section, "range_size", ROWS_MAX, 100) as u64;
        let transactions = truth(section, "transactions", true);
        let mut policy = Policy::read(section);
        let distribution = of_ids(section);
        let usual = operations::find("read-write").expect("the default");
        let mix = section.get_or("operations", vec![(usual, 1)], mix)?;
        if mix.iter().any(|(operation, _)| operation.deletes()) {
            policy.also.push(DUPLICATE);
        }
        let read = Section {
            data,
            mix,
            distribution: distribution?,
            range_size,
            transactions,
            policy,
        };
        read.ranges_fit(section);
        Some(read)
    }

    /// Rejects a range larger than the table, which would read fewer rows than configured, and a size of ranges that nothing reads.
    fn ranges_fit(&self, section: &spec::Section) {
        let has_ranges = self.mix.iter().any(|(operation, _)| operation.has_ranges());
        if let (false, Some(node)) = (has_ranges, section.get("range_size")) {
            node.note(
                "no operation reads a range",
                "no effect",
                "write an operation with ranges, such as operations = \"read-only\", or remove it",
            );
        }
        if !has_ranges || self.range_size <= self.data.rows {
            return;
        }
        let node = ["range_size", "rows"]
            .into_iter()
            .find_map(|key| section.get(key));
        section.notes.note(
            node.map_or(section.at.clone(), |node| node.at()),
            format!(
                "a range of {} rows exceeds the table of {}",
                self.range_size, self.data.rows
            ),
            "does not fit",
            "use more rows, or a smaller range_size",
        );
    }
}

/// `distribution`, with its figure.
fn of_ids(section: &spec::Section) -> Option<Distribution> {
    let names = distribution::NAMES.map(|name| (name, name));
    let name = section.get_or("distribution", "uniform", |node| node.choice(&names))?;
    distribution::no_other_figure(name, section);
    distribution::read(name, section)
}

/// `"update-index"`, `{ "point-select" = 10, "update-index" = 1 }`
fn mix(node: &Node) -> Option<Vec<(&'static Operation, u32)>> {
    let example = "operations = \"update-index\" or operations = { \"point-select\" = 10, \"update-index\" = 1 }";
    let known = operations::ALL
        .each_ref()
        .map(|operation| (operation.name, operation));
    if node.value.as_str().is_some() {
        return Some(vec![(node.choice(&known)?, 1)]);
    }
    let weights = node.section(example)?;
    let names = known.map(|(name, _)| name);
    weights.allow("the operations", &names);
    let weight = |node: Node| {
        let weight = node.whole(1..=WEIGHT_MAX, &format!("{} = 1", node.key));
        Some((operations::find(node.key)?, weight? as u32))
    };
    let mix: Vec<_> = weights.entries().filter_map(weight).collect();
    if weights.entries().next().is_none() {
        node.note("operations is empty", "empty", format!("write {example}"));
    }
    (!mix.is_empty()).then_some(mix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::assert_mistake_at;

    fn read(text: &str) -> Section {
        spec::read_text(text, Section::read).unwrap()
    }

    fn names(section: &Section) -> Vec<(&str, u32)> {
        let mix = section.mix.iter();
        mix.map(|(operation, weight)| (operation.name, *weight))
            .collect()
    }

    #[test]
    fn an_empty_section_is_read_write_on_one_table_of_100_000_rows() {
        let section = read("");
        assert_eq!(names(&section), [("read-write", 1)]);
        let data = Data {
            tables: 1,
            rows: 100_000,
            engine: "InnoDB".into(),
            secondary_index: true,
            reload: false,
        };
        assert_eq!(section.data, data);
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
        let one = read("operations = \"update-index\"");
        assert_eq!(names(&one), [("update-index", 1)]);
        assert!(one.policy.also.is_empty());
        let mix = read("operations = { point-select = 10, \"update-index\" = 1 }");
        assert_eq!(names(&mix), [("point-select", 10), ("update-index", 1)]);
    }

    #[test]
    fn every_operation_is_read_by_its_name() {
        for operation in &operations::ALL {
            let section = read(&format!("operations = {:?}", operation.name));
            assert_eq!(names(&section), [(operation.name, 1)]);
        }
    }

    #[test]
    fn a_distribution_takes_its_own_figure() {
        let section = read("distribution = \"zipfian\"\nzipf_exponent = 1");
        assert_eq!(
            section.distribution,
            Distribution::Zipfian { exponent: 1.0 }
        );
        let section = read("pareto_share = 0.1\ndistribution = \"pareto\"");
        assert_eq!(section.distribution, Distribution::Pareto { share: 0.1 });
    }

    #[test]
    fn a_deadlock_may_be_a_failure() {
        let section = read("on_deadlock = \"fail\"\nretries_max = 5");
        assert_eq!(section.policy.retries_max, 0);
    }

    #[test]
    fn a_table_smaller_than_its_ranges_is_rejected() {
        for (text, key) in [
            ("rows = 50", "rows"),
            ("rows = 50\nrange_size = 51", "range_size"),
            ("range_size = 100001", "range_size"),
        ] {
            let says = assert_mistake_at(text, key, Section::read);
            assert!(says.contains("exceeds the table of"), "{says}");
        }
        for text in [
            "rows = 50\noperations = \"point-select\"",
            "rows = 50\nrange_size = 50",
        ] {
            assert_eq!(read(text).data.rows, 50);
        }
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
            (
                "operations = { point-select = 9, insert = 1 }\nrange_size = 50",
                "range_size",
            ),
            ("transactions = \"no\"", "transactions"),
            ("on_deadlock = \"ignore\"", "on_deadlock"),
            ("retries_max = 0", "retries_max"),
            ("scale = 1", "scale"),
        ] {
            assert_mistake_at(text, key, Section::read);
        }
    }
}
