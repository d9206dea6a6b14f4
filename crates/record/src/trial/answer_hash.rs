//! The hash of an answer, with the version of the form that was hashed.
//!
//! Purpose: answers are compared only where their hashes say something of each other. Boundaries: the workload computes the hash.

/// The version, before the digits. Hashes of version 1, in records before 2026-11, have no prefix: they took text for numbers, NULL for the
/// text `\N`, and bytes that are no UTF-8 for each other.
const VERSION: &str = "2:";

/// A hash of today's form, from its digits.
pub fn of_this_version(digits: &str) -> String {
    format!("{VERSION}{digits}")
}

/// Whether two answers are equal; None if the versions of their hashes differ, or if one answer has no hash.
pub fn same(one: &str, other: &str) -> Option<bool> {
    let has_version = |hash: &str| hash.starts_with(VERSION);
    let are_comparable = !one.is_empty() && !other.is_empty();
    (are_comparable && has_version(one) == has_version(other)).then(|| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_one_version_are_compared_and_others_are_not() {
        let (a, b) = (of_this_version("aa"), of_this_version("bb"));
        assert_eq!((same(&a, &a), same(&a, &b)), (Some(true), Some(false)));
        assert_eq!(
            (same("aa", "aa"), same("aa", "bb")),
            (Some(true), Some(false))
        );
        assert_eq!(same("aa", &a), None);
        assert_eq!(same("", ""), None);
    }
}
