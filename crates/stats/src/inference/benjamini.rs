//! Many counters, few false discoveries: Benjamini and Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical
//! Society B 57, 1995.

/// Which of the hypotheses are rejected. Of the rejected ones this share is rejected wrongly, on average.
pub fn discoveries(p_values: &[f64], rate: f64) -> Vec<bool> {
    let mut ascending = p_values.to_vec();
    ascending.sort_by(f64::total_cmp);
    let bar = |place: usize| rate * (place + 1) as f64 / p_values.len() as f64;
    let last = (0..ascending.len()).rfind(|place| ascending[*place] <= bar(*place));
    let largest = last.map(|place| ascending[place]);
    let is_discovery = |p: &f64| largest.is_some_and(|largest| *p <= largest);
    p_values.iter().map(is_discovery).collect()
}

#[cfg(test)]
mod tests {
    use super::discoveries;
    use crate::fixture::uniform;

    #[test]
    fn the_largest_p_under_its_bar_admits_all_smaller_ones() {
        // The bars are 0.0125, 0.025, 0.0375 and 0.05.
        assert_eq!(discoveries(&[0.01, 0.04, 0.03, 0.005], 0.05), [true; 4]);
        assert_eq!(
            discoveries(&[0.03, 0.9, 0.2, 0.01], 0.05),
            [false, false, false, true]
        );
        assert!(discoveries(&[], 0.05).is_empty());
    }

    /// Uncorrected, each of these families has fifteen false calls.
    #[test]
    fn of_three_hundred_equal_counters_hardly_any_family_has_a_discovery() {
        let has_any = |seed: &u64| discoveries(&uniform(300, *seed), 0.05).contains(&true);
        let wrong = (0..400).filter(has_any).count();
        assert!(wrong <= 30, "{wrong} of 400");
    }
}
