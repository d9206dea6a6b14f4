//! What the standard requires of a run: the shares of the mix and the 90th percentiles (5.2.3, 5.2.5.7, 2.7.2.3).

use load::{Requirement, Standard};

/// Minimum shares of the mix, in the order of [`super::super::TRANSACTIONS`]; New-Order gets the rest.
const SHARES: [Option<f64>; 5] = [None, Some(0.43), Some(0.04), Some(0.04), Some(0.04)];
/// The longest 90th percentiles of the response time, in seconds.
const LIMITS_S: [f64; 5] = [5.0, 5.0, 5.0, 5.0, 20.0];
/// That of a deferred delivery, from being queued to its completion.
const COMPLETED_LIMIT_S: f64 = 80.0;

/// The requirements; `is_deferred`: with those of deferred deliveries.
pub(super) fn requirements(is_deferred: bool) -> Standard {
    let in_mix = |(minimum_share, p90_limit_s)| Requirement {
        minimum_share,
        is_in_mix: true,
        p90_limit_s,
    };
    let completed = is_deferred.then_some(Requirement {
        minimum_share: None,
        is_in_mix: false,
        p90_limit_s: COMPLETED_LIMIT_S,
    });
    Standard {
        counted: 0,
        // Not the standard's own figure, whose conditions a run here does not meet.
        per_minute: "NOTPM",
        requirements: SHARES
            .into_iter()
            .zip(LIMITS_S)
            .map(in_mix)
            .chain(completed)
            .collect(),
    }
}
