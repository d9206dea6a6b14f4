//! Hostile servers: whatever a server sends, prony ends with one message, in time and with little memory, and gives no password away.
//!
//! Tiers: default, long.

use crate::support::Bench;
use crate::support::hostile::{Hostile, MODES, Phase};
use crate::support::sound::{Sound, beside, say, sound};

const PASSWORD: &str = "0penSesame7";

/// How many prony processes run at once, beside other tests and without them: most of them wait.
const BESIDE_OTHERS: usize = 3;
const ALONE: usize = 8;

/// In which reply a mode begins: the first, and one in the middle of the preparation.
const REPLIES: [usize; 2] = [0, 5];

const OWN_QUERIES: &str = "title = \"t\"
[server.theirs]
build = \"DSN\"
[workload.sql]
schema = \"shop\"
queries_file = \"q.sql\"
[protocol]
rounds = [\"hot\"]
blocks = 1
";

/// One run of prony against one mode.
struct Case {
    name: String,
    phase: Phase,
    from_reply: usize,
    with_a_file: bool,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, phase) in MODES {
        let replies = match phase {
            Phase::Reply(_) => &REPLIES[..],
            Phase::Greeting(_) | Phase::Login(_) => &REPLIES[..1],
        };
        for &from_reply in replies {
            for with_a_file in [true, false] {
                let verb = if with_a_file { "run" } else { "bench" };
                cases.push(Case {
                    name: format!("{name}, from reply {from_reply}, {verb}"),
                    phase,
                    from_reply,
                    with_a_file,
                });
            }
        }
    }
    cases
}

fn holds(case: &Case) -> Sound {
    let bench = Bench::new();
    let hostile = Hostile::start(case.phase, case.from_reply);
    let dsn = format!("mysql://me:{PASSWORD}@127.0.0.1:{}/", hostile.port);
    let child = match case.with_a_file {
        true => {
            let queries = bench.folder.path().join("q.sql");
            std::fs::write(queries, "SELECT 1;\nSELECT COUNT(*) FROM orders;\n").unwrap();
            let file = bench.experiment("theirs", &OWN_QUERIES.replace("DSN", &dsn));
            bench.start(&["run", &file])
        }
        false => bench.start(&[
            "bench", "ssb", "--scale", "0.01", "--rounds", "hot", "--server", &dsn,
        ]),
    };
    let run = sound(child, &case.name);
    let ended = &run.ended;
    let (name, said) = (&case.name, format!("{}{}", ended.stdout, ended.stderr));
    assert!(!said.contains(PASSWORD), "{name}: {said}");
    let is_sent = hostile.has_received(PASSWORD.as_bytes());
    assert!(!is_sent, "{name}: the password was sent");
    run
}

fn all_hold(cases: impl IntoIterator<Item = Case>, at_once: usize) {
    let runs = beside(at_once, cases, || Some(()), |(), case| holds(&case));
    say("hostile servers", &runs);
}

#[test]
fn a_fifth_of_the_hostile_cases_gets_a_message() {
    all_hold(cases().into_iter().step_by(5), BESIDE_OTHERS);
}

#[test]
#[cfg(tier_long)]
fn hardening_every_hostile_mode_gets_a_message() {
    all_hold(cases(), ALONE);
}
