//! Many claims, one error rate: Holm's step-down procedure ("A simple sequentially rejective multiple test procedure", 1979).

/// Which of the hypotheses are rejected at the level `alpha` for all of them together.
pub fn rejected(p_values: &[f64], alpha: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut rejected = vec![false; p_values.len()];
    for (step, &index) in order.iter().enumerate() {
        if p_values[index] > alpha / (p_values.len() - step) as f64 {
            break;
        }
        rejected[index] = true;
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::rejected;

    #[test]
    fn holm_stops_at_the_first_that_is_too_large() {
        // The worked example of four: thresholds 0.0125, 0.0167, 0.025, 0.05.
        assert_eq!(
            rejected(&[0.01, 0.04, 0.03, 0.005], 0.05),
            [true, false, false, true]
        );
        assert_eq!(rejected(&[0.001, 0.016, 0.024, 0.05], 0.05), [true; 4]);
        assert_eq!(rejected(&[0.02, 0.02], 0.05), [true, true]);
        assert!(rejected(&[], 0.05).is_empty());
    }
}
