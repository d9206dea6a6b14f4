//! A file of answers' hashes: lines of scale, query, number of rows, hash.
//!
//! Goal: references for scales whose answers are too long to keep. Non-goal: the hash (`answers`).

use super::answers::Reference;

/// What a query answers at a scale; none where the file does not say.
pub(crate) fn find(file: &str, scale: f64, operation: &str) -> Option<Reference> {
    let start = format!("{scale},{operation},");
    let line = file.lines().find_map(|line| line.strip_prefix(&start))?;
    let (rows, hash) = line.split_once(',')?;
    Some(Reference::Hash {
        rows: rows.parse().ok()?,
        hash: hash.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_found_by_its_scale_and_query() {
        let file = "scale,query,rows,hash\n0.1,Q1,4,ab\n0.1,Q10,20,cd\n";
        let hash = |rows, hash: &str| {
            Some(Reference::Hash {
                rows,
                hash: hash.into(),
            })
        };
        assert_eq!(find(file, 0.1, "Q1"), hash(4, "ab"));
        assert_eq!(find(file, 0.1, "Q10"), hash(20, "cd"));
        assert_eq!(find(file, 0.01, "Q1"), None);
    }
}
