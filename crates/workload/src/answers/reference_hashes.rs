//! A file of result hashes: lines of scale, query, number of rows and hash.
//!
//! Purpose: references for scales whose results are too large to store. Boundaries: `answers` computes the hash.

use super::Reference;

/// The expected result of a query at a scale; None if the file has none.
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
