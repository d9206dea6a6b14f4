//! The claim that tests of explanations make: two levels of one factor compared.

use record::{Bound, Cell, Claim, Subject, Value};

/// The cells of the levels `of` and `to`, as a whole or in one query.
pub(crate) fn ratio(value: Value, of: &str, to: &str, query: Option<&str>) -> Claim {
    let cell = |level: &str| Cell {
        levels: vec![("feature".into(), vec![level.into()])],
        query: query.map(String::from),
        ..Cell::default()
    };
    Claim {
        says: "the two differ".into(),
        subject: Subject::Ratio {
            value,
            of: cell(of),
            to: cell(to),
            bound: Bound::AtLeast(2.0),
        },
        published: None,
    }
}
