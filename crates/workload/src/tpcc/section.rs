//! The section `[workload.tpcc]` of an experiment file.
//!
//! Boundaries: only the server knows whether it has the engine.

use crate::keys::{choice, engine, truth};
use crate::script::WEIGHT_MAX;
use spec::Node;

/// The names of the five transactions, in the order of the standard.
pub const TRANSACTIONS: [&str; 5] = [
    "new-order",
    "payment",
    "order-status",
    "delivery",
    "stock-level",
];

/// The largest number of warehouses that w_id can number, rounded.
pub const LARGEST_SCALE: u32 = 30_000;
/// New-Order gets what the minimum shares of the others leave (5.2.3).
const WEIGHTS: [u32; 5] = [45, 43, 4, 4, 4];
/// Engines whose rows stay after ROLLBACK.
const NOT_TRANSACTIONAL: [&str; 8] = [
    "MyISAM",
    "Aria",
    "MEMORY",
    "HEAP",
    "ARCHIVE",
    "CSV",
    "BLACKHOLE",
    "MRG_MyISAM",
];
const KEYS: [&str; 8] = [
    "scale",
    "engine",
    "mix",
    "weights",
    "waits",
    "delivery",
    "reload",
    "history_key",
];

/// The section, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// `scale`: the number of warehouses. By default 1.
    pub warehouses: u32,
    /// The storage engine in CREATE TABLE. Default: `InnoDB`.
    pub engine: String,
    pub mix: Mix,
    pub waits: Waits,
    pub delivery: Delivery,
    /// Whether an external server is loaded anew before each trial. Default: false.
    pub reload: bool,
    /// Whether history gets a key, unlike the standard's, as Group Replication requires. Default: false.
    pub history_key: bool,
}

/// How a terminal chooses its next transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// From a shuffled deck of 10, 10, 1, 1 and 1 cards (5.2.4.2). The default.
    Deck,
    /// At random with these weights, in the order of [`TRANSACTIONS`].
    Weights([u32; 5]),
}

/// Keying and think time (5.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// None, as in the published runs. The default.
    None,
    Standard,
}

/// How Delivery is executed (2.7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The terminal waits for it. The default.
    Inline,
    /// The terminal queues it and gets its answer at once.
    Deferred,
}

impl Section {
    /// Reads the section and notes mistakes.
    pub fn read(section: &spec::Section) -> Option<Section> {
        section.allow("[workload.tpcc]", &KEYS);
        let waits = [("none", Waits::None), ("standard", Waits::Standard)];
        let deliveries = [
            ("inline", Delivery::Inline),
            ("deferred", Delivery::Deferred),
        ];
        Some(Section {
            warehouses: warehouses(section),
            engine: transactional(section),
            mix: mix(section)?,
            waits: choice(section, "waits", &waits),
            delivery: choice(section, "delivery", &deliveries),
            reload: truth(section, "reload", false),
            history_key: truth(section, "history_key", false),
        })
    }
}

/// `scale`: a whole number, which `--scale 2` writes as 2.0.
fn warehouses(section: &spec::Section) -> u32 {
    let range = format!("a whole number of warehouses from 1 to {LARGEST_SCALE}");
    let fits =
        |scale: f64| scale.fract() == 0.0 && (1.0..=f64::from(LARGEST_SCALE)).contains(&scale);
    let scale = |node: Node| node.number(&range, fits, "scale = 10");
    section.get("scale").and_then(scale).unwrap_or(1.0) as u32
}

/// `engine`: one with transactions, since a rolled back New-Order must leave nothing behind.
fn transactional(section: &spec::Section) -> String {
    let engine = engine(section);
    let is_refused = NOT_TRANSACTIONAL
        .iter()
        .any(|other| engine.eq_ignore_ascii_case(other));
    if let (true, Some(node)) = (is_refused, section.get("engine")) {
        node.note(
            format!(
                "{engine} has no transactions, so it keeps what New-Order rolls back, and the consistency conditions cannot hold"
            ),
            "not transactional",
            "write engine = \"InnoDB\", or leave it out",
        );
    }
    engine
}

/// `mix` with its `weights`.
fn mix(section: &spec::Section) -> Option<Mix> {
    let weights = section.get("weights");
    let is_weighted = choice(section, "mix", &[("deck", false), ("weights", true)]);
    match (is_weighted, weights) {
        (true, Some(node)) => weights_of(&node).map(Mix::Weights),
        (true, None) => Some(Mix::Weights(WEIGHTS)),
        (false, None) => Some(Mix::Deck),
        (false, Some(node)) => {
            node.note(
                "a deck has its own shares, so these weights would not be used",
                "not used",
                "add mix = \"weights\", or remove the weights",
            );
            None
        }
    }
}

/// `{ new-order = 45, payment = 43, ... }`: a transaction that is left out is not run.
fn weights_of(node: &Node) -> Option<[u32; 5]> {
    let example = "weights = { new-order = 45, payment = 43, order-status = 4, delivery = 4, stock-level = 4 }";
    let section = node.section(example)?;
    section.allow("the weights", &TRANSACTIONS);
    let weight = |name: &str| {
        let weight = |node: Node| node.whole(0..=WEIGHT_MAX, &format!("{name} = 1"));
        section.get(name).and_then(weight).unwrap_or(0) as u32
    };
    let weights = TRANSACTIONS.map(weight);
    if weights == [0; 5] {
        node.note(
            "no transaction has a weight above 0",
            "nothing to run",
            format!("write {example}"),
        );
        return None;
    }
    Some(weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::assert_mistake_at;

    fn read(text: &str) -> Section {
        spec::read_text(text, Section::read).unwrap()
    }

    #[test]
    fn an_empty_section_is_one_warehouse_with_a_deck_and_no_waits() {
        let section = read("");
        assert_eq!(
            section,
            Section {
                warehouses: 1,
                engine: "InnoDB".into(),
                mix: Mix::Deck,
                waits: Waits::None,
                delivery: Delivery::Inline,
                reload: false,
                history_key: false,
            }
        );
    }

    #[test]
    fn every_key_is_read() {
        let section = read(
            "scale = 12.0\nengine = \"RocksDB\"\nmix = \"weights\"\nweights = { payment = 3, new-order = 1 }\nwaits = \"standard\"\ndelivery = \"deferred\"\nreload = true",
        );
        assert_eq!(section.warehouses, 12);
        assert_eq!(section.engine, "RocksDB");
        assert_eq!(section.mix, Mix::Weights([1, 3, 0, 0, 0]));
        assert_eq!(section.waits, Waits::Standard);
        assert_eq!(section.delivery, Delivery::Deferred);
        assert!(section.reload);
        let usual = read("mix = \"weights\"");
        assert_eq!(usual.mix, Mix::Weights([45, 43, 4, 4, 4]));
    }

    #[test]
    fn a_scale_is_a_whole_number_of_warehouses() {
        for scale in ["0", "1.5", "1e9", "-1", "1000000000", "nan"] {
            let text = format!("scale = {scale}");
            let says = assert_mistake_at(&text, "scale", Section::read);
            assert!(
                says.contains("a whole number of warehouses from 1 to 30000"),
                "{says}"
            );
        }
    }

    #[test]
    fn an_engine_without_transactions_is_refused_with_the_reason() {
        for engine in ["MyISAM", "aria", "Memory"] {
            let text = format!("engine = \"{engine}\"");
            let says = assert_mistake_at(&text, "engine", Section::read);
            assert!(says.contains("has no transactions"), "{says}");
        }
    }

    #[test]
    fn a_mistake_names_its_key() {
        for (text, key) in [
            ("scale = \"2\"", "scale"),
            ("mix = \"random\"", "mix"),
            ("weights = { payment = 1 }", "weights"),
            ("mix = \"weights\"\nweights = 1", "weights"),
            ("mix = \"weights\"\nweights = {}", "weights"),
            ("mix = \"weights\"\nweights = { pay = 1 }", "weights.pay"),
            (
                "mix = \"weights\"\nweights = { payment = -1 }",
                "weights.payment",
            ),
            ("waits = true", "waits"),
            ("delivery = \"later\"", "delivery"),
            ("reload = 1", "reload"),
            ("warehouses = 2", "warehouses"),
        ] {
            assert_mistake_at(text, key, Section::read);
        }
    }
}
