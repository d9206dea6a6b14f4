//! Why the two cells of each claim differ: its sentence, and below it the counters.

use crate::digest;
use crate::why::{self, Explained};
use maud::{Markup, html};
use record::{Run, Trial};

pub fn section(run: &Run, trials: &[Trial]) -> Markup {
    let explained = why::claims(run, trials);
    if explained.is_empty() {
        return html! {};
    }
    html! {
        section #why {
            h2 { "Why, by the counters" }
            p.quiet {
                "What of the two cells of each claim differs beyond its noise, and what goes with it on one side alone."
                @if let Some(caveat) = why::caveat(&explained, None) { " " (caveat) }
            }
            @for one in &explained { (claim(one)) }
        }
    }
}

fn claim(one: &Explained) -> Markup {
    let sentence = one.sentence();
    html! {
        p { strong { (one.says) } ": " (sentence.as_deref().unwrap_or("no counter that is known goes with it")) "." }
        details {
            summary { "Counters per " (why::per(&one.why)) ": A = " (one.of) ", B = " (one.to) }
            div.scroll tabindex="0" { table {
                thead { tr {
                    th scope="col" { "Counter" } th.n scope="col" { "A" } th.n scope="col" { "B" } th.n scope="col" { "A / B" } th scope="col" { "Meaning" }
                } }
                tbody { @for difference in &one.why.differences {
                    tr.quiet[difference.beyond_noise == Some(false)] {
                        th scope="row" { code { (difference.counter) } }
                        td.n { (digest::counter(difference.of)) }
                        td.n { (digest::counter(difference.to)) }
                        td.n { (digest::counter_ratio(difference)) }
                        td.words { (why::meaning(difference)) }
                    }
                } }
            } }
            @if let Some(note) = digest::counter_note(&one.why) { p.quiet { (note) } }
        }
    }
}
