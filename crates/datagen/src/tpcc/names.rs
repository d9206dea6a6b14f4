//! The last names of customers (4.3.2.3).

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// The last name with this number, 0 to 999: a syllable for each of its three digits. 371 is `PRICALLYOUGHT`.
///
/// # Panics
/// If the number is above 999.
pub fn last_name(number: u16) -> String {
    syllables(number).concat()
}

/// The three syllables of [`last_name`].
pub(super) fn syllables(number: u16) -> [&'static str; 3] {
    assert!(number <= 999, "last name {number}");
    let digits = [number / 100, number / 10 % 10, number % 10];
    digits.map(|digit| SYLLABLES[usize::from(digit)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_name_has_the_syllables_of_its_digits() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
        assert_eq!(last_name(0), "BARBARBAR");
        assert_eq!(last_name(999), "EINGEINGEING");
    }

    #[test]
    fn the_thousand_names_differ_and_fit_the_column() {
        let names: HashSet<String> = (0..=999).map(last_name).collect();
        assert_eq!(names.len(), 1_000);
        assert!(names.iter().all(|name| name.len() <= 16));
    }
}
