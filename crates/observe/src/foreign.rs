//! Statements that other clients sent to a server while it was measured: its counters include them.
//!
//! Boundaries: `server::statements_sent` counts prony's own.

use record::{Counters, grouped};

/// The server's count of the statements of all clients.
const STATEMENTS: &str = "Questions";
/// Monitoring sends some statements, so fewer than this are not reported.
const FEW: f64 = 100.0;
/// In a load, statements of others are not reported up to this share of prony's own.
const SHARE: f64 = 0.05;
/// In rounds of queries, where prony sends few itself, this number of statements of others per second is not reported.
const PER_S: f64 = 5.0;

/// A sentence if others sent many statements during a timed load. `own` is the number that prony sent.
pub(crate) fn in_load(counters: &Counters, own: i64) -> Option<String> {
    sentence(*counters.get(STATEMENTS)?, own, SHARE * own as f64)
}

/// The same for rounds of queries, which took `elapsed_s` together.
pub fn in_rounds<'c>(
    rounds: impl Iterator<Item = &'c Counters>,
    own: i64,
    elapsed_s: f64,
) -> Option<String> {
    let all: Option<i64> = rounds.map(|counters| counters.get(STATEMENTS)).sum();
    sentence(all?, own, PER_S * elapsed_s)
}

fn sentence(all: i64, own: i64, allowed: f64) -> Option<String> {
    let foreign = (all - own) as f64;
    (foreign > allowed.max(FEW)).then(|| {
        format!(
            "other clients used the server: it counted {} statements, and prony sent {} of them; its counters include theirs",
            grouped(all as u64),
            grouped(own.max(0) as u64)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(all: i64) -> Counters {
        [(STATEMENTS.to_string(), all)].into()
    }

    #[test]
    fn statements_of_other_clients_are_reported_where_they_are_many() {
        let text = in_load(&counted(24_852), 19_114).unwrap();
        assert!(
            text.contains("it counted 24,852 statements, and prony sent 19,114"),
            "{text}"
        );
        assert_eq!(in_load(&counted(19_500), 19_114), None, "monitoring");
        assert_eq!(in_load(&counted(60), 2), None, "a few");
        assert_eq!(in_load(&Counters::new(), 2), None);
    }

    #[test]
    fn in_rounds_a_few_a_second_are_monitoring() {
        let rounds = [counted(2_000), counted(3_000)];
        let within = |seconds| in_rounds(rounds.iter(), 40, seconds);
        assert!(within(60.0).is_some());
        assert_eq!(within(1_000.0), None);
        let unknown = [counted(2_000), Counters::new()];
        assert_eq!(in_rounds(unknown.iter(), 40, 60.0), None);
    }
}
