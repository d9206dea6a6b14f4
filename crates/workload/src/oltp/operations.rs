//! The operations by name.
//!
//! Purpose: an operation is an entry here and a text in `operations.sql`, equivalent to a sysbench test. Boundaries: `compiled` makes a
//! script of them.

/// An operation: statements of `operations.sql` by heading, with repetitions.
#[derive(Debug, PartialEq, Eq)]
pub struct Operation {
    pub name: &'static str,
    pub(super) parts: &'static [(&'static str, u16)],
}

const READS: [(&str, u16); 5] = [
    ("point-select", 10),
    ("range-simple", 1),
    ("range-sum", 1),
    ("range-order", 1),
    ("range-distinct", 1),
];
const WRITES: [(&str, u16); 3] = [
    ("update-index", 1),
    ("update-non-index", 1),
    ("delete-insert", 1),
];
const READS_AND_WRITES: [(&str, u16); 8] = {
    let [a, b, c, d, e] = READS;
    let [f, g, h] = WRITES;
    [a, b, c, d, e, f, g, h]
};

const fn simple(name: &'static str, parts: &'static [(&'static str, u16)]) -> Operation {
    Operation { name, parts }
}

pub(super) static ALL: [Operation; 12] = [
    simple("point-select", &[("point-select", 1)]),
    simple("update-index", &[("update-index", 1)]),
    simple("update-non-index", &[("update-non-index", 1)]),
    simple("delete-insert", &[("delete-insert", 1)]),
    simple("insert", &[("insert", 1)]),
    simple("write-only", &WRITES),
    simple("read-only", &READS),
    simple("read-write", &READS_AND_WRITES),
    simple("range-simple", &[("range-simple", 1)]),
    simple("range-sum", &[("range-sum", 1)]),
    simple("range-order", &[("range-order", 1)]),
    simple("range-distinct", &[("range-distinct", 1)]),
];

pub(super) fn find(name: &str) -> Option<&'static Operation> {
    ALL.iter().find(|operation| operation.name == name)
}

impl Operation {
    pub(crate) fn has_ranges(&self) -> bool {
        self.parts
            .iter()
            .any(|(part, _)| part.starts_with("range-"))
    }

    pub fn deletes(&self) -> bool {
        self.parts.iter().any(|(part, _)| *part == "delete-insert")
    }

    /// Whether it has several statements, so that transactions matter.
    pub(super) fn is_compound(&self) -> bool {
        self.parts.len() > 1 || self.deletes()
    }
}
