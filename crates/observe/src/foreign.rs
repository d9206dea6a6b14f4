//! Statements that other clients sent to a server while it was measured, which its counters include, and those of prony that a proxy sent
//! elsewhere, which its counters lack.
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

/// A server that counted less than this share of prony's own did not get the others.
const SHARE_MIN: f64 = 0.5;

/// A sentence if others sent many statements during a timed load, or if the server did not get those of prony. `own` is the number that
/// prony sent.
pub(crate) fn in_load(counters: &Counters, own: i64) -> Option<String> {
    let all = *counters.get(STATEMENTS)?;
    sentence(all, own, SHARE * own as f64).or_else(|| elsewhere(all, own))
}

fn elsewhere(all: i64, own: i64) -> Option<String> {
    let missing = (own - all) as f64;
    // One that does not count them says nothing.
    (all > 0 && missing > FEW.max(SHARE_MIN * own as f64)).then(|| {
        format!(
            "a proxy sent statements to other servers: prony sent {}, and the server with the recorded counters counted {} of them, so its counters lack the others; name the hosts of all servers in the DSN",
            grouped(own as u64),
            grouped(all as u64)
        )
    })
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
    fn statements_that_a_proxy_sends_to_other_servers_are_reported() {
        let text = in_load(&counted(6_400), 19_114).unwrap();
        assert!(
            text.contains(
                "prony sent 19,114, and the server with the recorded counters counted 6,400"
            ),
            "{text}"
        );
        assert_eq!(in_load(&counted(18_700), 19_114), None, "at the edges");
        assert_eq!(in_load(&counted(20), 90), None, "a few");
        assert_eq!(in_load(&counted(0), 19_114), None, "it does not count");
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
