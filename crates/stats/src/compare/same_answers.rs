//! Whether the same cell of two runs rests on the same data and gave the same answers.
//!
//! Purpose: a query that returns less is not faster, and another dataset is another question. Boundaries: within a run, answers are
//! compared while it is measured.

use super::likeness::are_far;
use crate::judge::same_tables::{dataset, other_definitions};
use crate::values::cells::valid;
use record::{Answer, DatasetNote, Query, Trial, answer_hash, for_count, grouped};

/// How the data of two rows differ; None where they are the same, or where a record does not name its data.
///
/// `another dataset (sql-1f3c against sql-77ab)`
pub(crate) fn other_data(old: &[&Trial], new: &[&Trial]) -> Option<String> {
    let (old, new) = (dataset(old)?, dataset(new)?);
    let bytes = |note: &DatasetNote| note.data_bytes as f64;
    if old.fingerprint != new.fingerprint {
        return Some(format!(
            "another dataset ({} against {})",
            new.fingerprint, old.fingerprint
        ));
    }
    if let Some(other) = other_definitions(old, new) {
        return Some(other);
    }
    let is_known = old.server == new.server && bytes(old) > 0.0 && bytes(new) > 0.0;
    let differ = are_far(bytes(old), bytes(new), SIZES);
    (is_known && differ).then(|| {
        format!(
            "{} bytes of data against {} on the same server",
            new.data_bytes, old.data_bytes
        )
    })
}

/// Whether both rows rest on another dataset; false where a record does not name its data.
fn is_other_dataset(old: &[&Trial], new: &[&Trial]) -> bool {
    let both = dataset(old).zip(dataset(new));
    both.is_some_and(|(old, new)| old.fingerprint != new.fingerprint)
}

/// The files of one build that hold the same rows differ by less.
const SIZES: f64 = 1.25;

/// The first query whose answer differs, on the same data; None where all that both have are equal.
///
/// `q returned 1 row, and 2 rows before`
pub(crate) fn other_answer(old: &[&Trial], new: &[&Trial]) -> Option<String> {
    // Another dataset has other answers; the same one in files of another size has not.
    if is_other_dataset(old, new) {
        return None;
    }
    let known: Vec<&Query> = answers(old).collect();
    answers(new).find_map(|query| {
        let before = known.iter().find(|before| before.name == query.name)?;
        let is_other = query.rows != before.rows
            || answer_hash::same(&query.answer_hash, &before.answer_hash) == Some(false);
        is_other.then(|| match query.rows == before.rows {
            true => format!("{} returned other rows ({})", query.name, rows(query)),
            false => format!(
                "{} returned {}, and {} before",
                query.name,
                rows(query),
                rows(before)
            ),
        })
    })
}

fn rows(query: &Query) -> String {
    let rows = for_count(query.rows as usize, "row", "rows");
    format!("{} {rows}", grouped(query.rows))
}

fn answers<'t>(trials: &'t [&Trial]) -> impl Iterator<Item = &'t Query> {
    let queries = valid(trials)
        .flat_map(|trial| &trial.rounds)
        .flat_map(|round| &round.queries);
    queries.filter(|query| query.error.is_none() && query.answer != Answer::Wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::TrialKey;

    fn on(definitions: Option<&str>) -> Trial {
        let note = serde_json::json!({
            "fingerprint": "schema-shop", "server": "db", "rows": 4, "data_bytes": 16384, "load_s": null, "method": "already there",
            "definitions": definitions
        });
        let mut trial = Trial::unmeasured(TrialKey::default(), 0);
        trial.dataset = serde_json::from_value(note).ok();
        trial
    }

    #[test]
    fn the_same_rows_with_other_indexes_are_other_data() {
        let [old, same, other, unknown] = [Some("1f"), Some("1f"), Some("2e"), None].map(on);
        assert_eq!(other_data(&[&old], &[&same]), None);
        let says = other_data(&[&old], &[&other]).unwrap();
        assert!(says.contains("other indexes"), "{says}");
        assert_eq!(other_data(&[&old], &[&unknown]), None);
    }
}
