//! Query by query, cold and hot: two charts and the table with the same figures.

use super::charts;
use super::rows::Rows;
use crate::format;
use maud::{Markup, html};
use record::stats::Estimate;

pub fn section(rows: &Rows) -> Markup {
    html! {
        section #queries {
            h2 { "Queries" }
            h3.needs-script { "Cold" }
            (charts::frame("cold", "Seconds of each query in the cold round by server and levels; the table below has the same figures"))
            h3.needs-script { "Hot" }
            (charts::frame("hot", "Seconds of each query, mean of the hot rounds, by server and levels; the table below has the same figures"))
            details { summary { "Seconds of each query" }
                p.quiet #queries-caption { "Seconds; the mean over blocks, hot: of all hot rounds. Point at a figure for its interval." }
                div.scroll tabindex="0" { table aria-describedby="queries-caption" {
                    (head(rows))
                    tbody { @for place in 0..rows.list.first().map_or(0, |row| row.queries.len()) { (line(rows, place)) } }
                } }
            }
        }
    }
}

fn head(rows: &Rows) -> Markup {
    html! {
        thead {
            tr { th rowspan="2" scope="col" { "Query" } @for row in &rows.list { th.group colspan="2" scope="colgroup" { (row.name) } } }
            tr { @for _ in &rows.list { th.n scope="col" { "cold" } th.n scope="col" { "hot" } } }
        }
    }
}

fn line(rows: &Rows, place: usize) -> Markup {
    html! {
        tr {
            th scope="row" { (rows.list[0].queries[place].query) }
            @for row in &rows.list {
                (figure(row.queries[place].cold_s.as_ref(), rows.decimals))
                (figure(row.queries[place].hot_s.as_ref(), rows.decimals))
            }
        }
    }
}

fn figure(estimate: Option<&Estimate>, decimals: usize) -> Markup {
    let spread = estimate.and_then(|estimate| crate::matrix::spread(estimate, decimals));
    let text = match estimate {
        Some(estimate) if estimate.at_least => crate::matrix::at_least(estimate.mean, decimals),
        Some(estimate) => format::seconds(estimate.mean, decimals),
        None => "-".to_string(),
    };
    html! { td.n title=[spread] { (text) } }
}
