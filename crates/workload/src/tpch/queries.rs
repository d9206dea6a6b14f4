//! The 22 queries: their names, their order and how exactly their results are known.
//!
//! Boundaries: `statements` has their texts.

use crate::answers::Precision::{self, Exact, Ratio, Sum};

/// A query without its statement.
pub(super) struct Query {
    pub name: &'static str,
    /// The columns of its ORDER BY.
    pub ordered_by: &'static [usize],
    /// The tolerance of each column against the validation result.
    pub columns: &'static [Precision],
}

const fn query_of(
    name: &'static str,
    ordered_by: &'static [usize],
    columns: &'static [Precision],
) -> Query {
    Query {
        name,
        ordered_by,
        columns,
    }
}

/// In numerical order. Q8 and Q14 are ratios of sums; of Q17, a sum by seven, the bounds of a sum are the narrower ones.
#[rustfmt::skip]
pub(super) const QUERIES: [Query; 22] = [
    query_of("Q1", &[0, 1], &[Exact, Exact, Exact, Sum, Sum, Sum, Ratio, Ratio, Ratio, Exact]),
    query_of("Q2", &[0, 2, 1, 3], &[Exact; 8]),
    query_of("Q3", &[1, 2], &[Exact, Sum, Exact, Exact]),
    query_of("Q4", &[0], &[Exact, Exact]),
    query_of("Q5", &[1], &[Exact, Sum]),
    query_of("Q6", &[], &[Sum]),
    query_of("Q7", &[0, 1, 2], &[Exact, Exact, Exact, Sum]),
    query_of("Q8", &[0], &[Exact, Ratio]),
    query_of("Q9", &[0, 1], &[Exact, Exact, Sum]),
    query_of("Q10", &[2], &[Exact, Exact, Sum, Exact, Exact, Exact, Exact, Exact]),
    query_of("Q11", &[1], &[Exact, Sum]),
    query_of("Q12", &[0], &[Exact, Exact, Exact]),
    query_of("Q13", &[1, 0], &[Exact, Exact]),
    query_of("Q14", &[], &[Ratio]),
    query_of("Q15", &[0], &[Exact, Exact, Exact, Exact, Sum]),
    query_of("Q16", &[3, 0, 1, 2], &[Exact; 4]),
    query_of("Q17", &[], &[Sum]),
    query_of("Q18", &[4, 3], &[Exact; 6]),
    query_of("Q19", &[], &[Sum]),
    query_of("Q20", &[0], &[Exact, Exact]),
    query_of("Q21", &[1, 0], &[Exact, Exact]),
    query_of("Q22", &[0], &[Exact, Exact, Sum]),
];
