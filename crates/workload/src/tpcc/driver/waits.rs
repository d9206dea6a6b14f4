//! Keying and think times (5.2.5).

use datagen::random::{Random, below};
use load::Pauses;

/// Keying time in seconds, constant, in the order of [`super::super::TRANSACTIONS`] (5.2.5.7).
const KEYING_S: [u64; 5] = [18, 3, 2, 2, 2];
/// Mean think time in seconds.
const THINK_S: [f64; 5] = [12.0, 12.0, 10.0, 5.0, 5.0];
/// Think times are cut at this multiple of the mean (5.2.5.4).
const CUT: f64 = 10.0;
const NS: f64 = 1e9;

/// The pauses around a transaction.
pub(super) fn pauses(operation: u16, random: &mut Random) -> Pauses {
    let operation = usize::from(operation);
    Pauses {
        before_ns: KEYING_S[operation] * 1_000_000_000,
        after_ns: (think_s(THINK_S[operation], random) * NS) as u64,
    }
}

/// The mean of both pauses together, to the millisecond (s). `parts`: how often each transaction runs.
pub(super) fn mean_s(parts: [f64; 5]) -> f64 {
    let each = KEYING_S.iter().zip(THINK_S);
    let each = each.map(|(keying_s, think_s)| *keying_s as f64 + think_s);
    let cycle_s: f64 = parts.iter().zip(each).map(|(part, s)| part * s).sum();
    (1e3 * cycle_s / parts.iter().sum::<f64>()).round() / 1e3
}

/// -ln(r) times the mean, for r above 0 and at most 1, cut at ten times the mean (5.2.5.4).
fn think_s(mean_s: f64, random: &mut Random) -> f64 {
    const STEPS: u64 = 1 << 53;
    let r = (below(random, STEPS) + 1) as f64 / STEPS as f64;
    (-r.ln()).min(CUT) * mean_s
}

#[cfg(test)]
mod tests {
    use super::*;
    use datagen::random::stream;

    /// Think times in means.
    fn thinks(operation: u16) -> Vec<f64> {
        let mean_ns = THINK_S[usize::from(operation)] * NS;
        let think = |number| pauses(operation, &mut stream(1, number)).after_ns as f64 / mean_ns;
        (0..200_000).map(think).collect()
    }

    #[test]
    fn keying_is_constant() {
        for (operation, keying_s) in KEYING_S.into_iter().enumerate() {
            for number in 0..50 {
                let pauses = pauses(operation as u16, &mut stream(2, number));
                assert_eq!(pauses.before_ns, keying_s * 1_000_000_000);
            }
        }
    }

    #[test]
    fn think_times_are_exponential_and_cut_at_ten_means() {
        for operation in 0..5 {
            let thinks = thinks(operation);
            let count = thinks.len() as f64;
            let mean = thinks.iter().sum::<f64>() / count;
            assert!((mean - 1.0).abs() < 0.01, "{operation}: {mean}");
            let longer = thinks.iter().filter(|think| **think > 1.0).count() as f64;
            assert!((longer / count - (-1f64).exp()).abs() < 0.005);
            assert!(thinks.iter().all(|think| (0.0..=CUT).contains(think)));
        }
    }

    #[test]
    fn a_cycle_of_a_deck_takes_476_seconds_without_responses() {
        let cards = [10.0, 10.0, 1.0, 1.0, 1.0];
        let each = KEYING_S
            .iter()
            .zip(THINK_S)
            .map(|(keying_s, think_s)| *keying_s as f64 + think_s);
        let cycle_s: f64 = cards.iter().zip(each).map(|(cards, s)| cards * s).sum();
        assert_eq!(cycle_s, 476.0);
    }
}
