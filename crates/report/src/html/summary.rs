//! The answer: title and question, verdicts, the published table, warnings.

use crate::matrix::{Line, Matrix, marks};
use crate::{digest, format};
use maud::{Markup, html};
use record::{Judged, Run, Trial, Verdict};

pub fn header(run: &Run, trials: &[Trial]) -> Markup {
    html! {
        header {
            h1 { (run.question.title) }
            p.question { (run.question.question) }
            p.quiet { (digest::subtitle(run, trials)) }
            p.quiet { "Run " (run.id) ", begun " (format::moment(run.started_ns)) }
        }
    }
}

pub fn claims(run: &Run, trials: &[Trial]) -> Markup {
    let claims = explain::judge(&run.question, trials);
    let Some(summary) = digest::verdicts(&claims) else {
        return html! {};
    };
    html! {
        section #claims {
            h2 { "Verdict: " (summary) }
            div.scroll tabindex="0" { table {
                thead { tr {
                    th scope="col" { "Verdict" } th scope="col" { "Claim" }
                    th.n scope="col" { "Published" } th.n scope="col" { "Measured" }
                    th.n scope="col" { "95 % interval" } th.n scope="col" { "Threshold" }
                } }
                tbody { @for claim in &claims { (claim_row(claim)) } }
            } }
            p.quiet { "Published and measured are ratios. The intervals are over blocks, and the verdicts are held against all claims together (Holm)." }
        }
    }
}

fn claim_row(claim: &Judged) -> Markup {
    html! {
        tr {
            td { span class={ "verdict " (class(claim.verdict)) } { (claim.verdict.text()) } }
            td.words { (claim.claim.says) @if let Some(reason) = &claim.reason { p.quiet { (reason) } } }
            td.n { (claim.claim.published.map_or("-".to_string(), format::ratio)) }
            td.n { (digest::measured(claim)) }
            td.n { (digest::interval(claim)) }
            td.n { (claim.threshold) }
        }
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "yes",
        Verdict::NotReproduced => "no",
        Verdict::Inconclusive => "open",
        Verdict::NotAvailable => "none",
    }
}

pub fn table(run: &Run, matrix: &Matrix) -> Markup {
    html! {
        section #table {
            h2 { "Rounds" }
            p.quiet #table-caption { (matrix.caption(run)) "." }
            div.scroll tabindex="0" { table aria-describedby="table-caption" {
                thead { tr {
                    @for factor in &matrix.factors { th scope="col" { (factor) } }
                    @for round in &matrix.rounds { th.n scope="col" { (round) } }
                } }
                tbody { @for line in &matrix.lines { (table_row(line, matrix.decimals)) } }
            } }
            @if !matrix.notes.is_empty() {
                ol.notes { @for note in &matrix.notes { li { (note) } } }
            }
        }
    }
}

fn table_row(line: &Line, decimals: usize) -> Markup {
    let last = line.labels.len().saturating_sub(1);
    html! {
        tr {
            @for (place, label) in line.labels.iter().enumerate() {
                th scope="row" { (label) @if place == last { " " (mark(&line.marks)) } }
            }
            @for cell in &line.cells {
                td.n {
                    (mark(&cell.marks)) (cell.figure(decimals))
                    @if let Some(spread) = cell.spread(decimals) { span.spread { (spread) } }
                }
            }
        }
    }
}

fn mark(numbers: &[usize]) -> Markup {
    html! { @if !numbers.is_empty() { sup { (marks(numbers)) "\u{a0}" } } }
}

pub fn warnings(run: &Run, trials: &[Trial]) -> Markup {
    let warnings = digest::warnings(run, trials);
    html! {
        @if !warnings.is_empty() {
            section #warnings {
                h2 { "Warnings" }
                div.scroll tabindex="0" { table {
                    thead { tr { th scope="col" { "Kind" } th scope="col" { "What" } th scope="col" { "Where" } } }
                    tbody { @for warning in &warnings {
                        tr {
                            td { code { (warning.kind) } }
                            td.words { (warning.text) }
                            td.words {
                                @if warning.trials.len() == 1 { (warning.trials[0]) } @else {
                                    details { summary { (warning.whose(trials.len())) } (warning.trials.join("; ")) }
                                }
                            }
                        }
                    } }
                } }
            }
        }
    }
}
