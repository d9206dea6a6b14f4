//! Which factor of the load goes across a table, and its levels in order.

use crate::build::rows::Row;
use record::{LoadFactor, Question};
use stats::each_once;

/// A factor across a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Across {
    /// `clients`, `workers` or `rate`.
    pub factor: String,
    pub levels: Vec<String>,
}

/// The factor of the load that has the most levels in these rows; none if no factor has several. A rate that was
/// searched for stays in the rows, since its levels are results themselves.
pub(crate) fn across(question: &Question, rows: &[&Row]) -> Option<Across> {
    let known = |name: &&str| {
        let factor = question.factors.iter().find(|f| f.name == **name);
        factor.is_some_and(|factor| !factor.levels.is_empty())
    };
    let all = LoadFactor::ALL
        .map(LoadFactor::name)
        .into_iter()
        .filter(known)
        .map(|name| Across {
            factor: name.to_string(),
            levels: levels(question, rows, name),
        });
    // Of several with as many levels the first: max_by_key takes the last.
    all.rev()
        .max_by_key(|across| across.levels.len())
        .filter(|across| across.levels.len() > 1)
}

/// The levels that occur in these rows, in the file's order; those that are not in the file by their number.
pub(crate) fn levels(question: &Question, rows: &[&Row], factor: &str) -> Vec<String> {
    let levels = rows.iter().filter_map(|row| row.level(factor));
    let mut found = each_once(levels.map(String::from));
    let of_the_file = question.factors.iter().find(|known| known.name == factor);
    let place = |level: &String| {
        of_the_file.and_then(|factor| factor.levels.iter().position(|known| known == level))
    };
    let number = |level: &String| level.parse::<f64>().unwrap_or(f64::INFINITY);
    found.sort_by(|a, b| {
        let by_place = place(a)
            .unwrap_or(usize::MAX)
            .cmp(&place(b).unwrap_or(usize::MAX));
        by_place.then(number(a).total_cmp(&number(b)))
    });
    found
}
