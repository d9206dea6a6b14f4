//! What shows that the cold rounds were cold.

use crate::{format, names};
use maud::{Markup, html};
use record::{Coldness, Run, Trial};

pub fn section(run: &Run, trials: &[Trial]) -> Markup {
    let rounds: Vec<_> = trials
        .iter()
        .flat_map(|trial| trial.rounds.iter().map(move |round| (trial, round)))
        .filter_map(|(trial, round)| Some((trial, round, round.coldness.as_ref()?)))
        .collect();
    let proved = rounds
        .iter()
        .filter(|(_, _, coldness)| coldness.proved)
        .count();
    html! {
        @if !rounds.is_empty() {
            section #coldness {
                h2 { "Proof of coldness" }
                p { (proved) " of " (rounds.len()) " cold rounds are proved cold. The pool and the residency are taken after the restart and the eviction, before the first query; the device's reads are those of the round." }
                details open[proved < rounds.len()] {
                    summary { "Each cold round" }
                    div.scroll.tall tabindex="0" { table {
                        thead { tr {
                            th scope="col" { "Round" } th scope="col" { "Proved" } th scope="col" { "Eviction" } th scope="col" { "Restarted" }
                            th.n scope="col" { "Pages in the pool" } th.n scope="col" { "Data files in memory" } th.n scope="col" { "Read from the device" }
                        } }
                        tbody { @for (trial, round, coldness) in &rounds {
                            (line(&format!("{}, {}", names::trial(&run.question, &trial.key), names::round(&run.question, &round.name, round.index)), coldness))
                        } }
                    } }
                }
            }
        }
    }
}

fn line(name: &str, coldness: &Coldness) -> Markup {
    html! {
        tr {
            th.words scope="row" { (name) @if let Some(reason) = &coldness.reason { p.quiet { (reason) } } }
            td { span.verdict.yes[coldness.proved].open[!coldness.proved] { @if coldness.proved { "cold" } @else { "not proved" } } }
            td { (coldness.eviction) }
            td { @if coldness.server_restarted { "yes" } @else { "no" } }
            td.n { (coldness.pool_pages.map_or("not known".to_string(), |pages| format::count(pages as f64))) }
            td.n { (resident(coldness)) }
            td.n { (coldness.device_read_bytes.map_or("not known".to_string(), format::bytes)) }
        }
    }
}

fn resident(coldness: &Coldness) -> String {
    match (coldness.resident_bytes, coldness.file_bytes) {
        (Some(resident), Some(all)) => {
            format!("{} of {}", format::bytes(resident), format::bytes(all))
        }
        (Some(resident), None) => format::bytes(resident),
        (None, _) => "not known".to_string(),
    }
}
