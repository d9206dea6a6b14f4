//! How the response is distributed: milliseconds by percentile, and the percentiles in a table.

use super::super::charts::frame;
use super::cells::Measured;
use super::option::{COLOURS, rounded};
use crate::format;
use maud::{Markup, html};
use record::{Kind, Percentile};
use serde_json::{Value, json};

pub fn section(cells: &[Measured]) -> Markup {
    let groups = groups(cells);
    let kinds: Vec<Kind> = [Kind::Response, Kind::Wait, Kind::Service]
        .into_iter()
        .filter(|kind| {
            *kind == Kind::Response || cells.iter().any(|cell| cell.open && has(cell, *kind))
        })
        .collect();
    html! {
        @if !groups.is_empty() {
            section #distribution {
                h2 { "How the response is distributed" }
                form.needs-script autocomplete="off" {
                    label { "row " select data-chooses="distribution" {
                        @for (place, group) in groups.iter().enumerate() { option value=(name(place)) { (title(group)) } }
                    } }
                }
                (frame("distribution", "Milliseconds of the response by percentile; the table below has the usual percentiles"))
                p.quiet { "All blocks together, by adding the counts of their histograms. A curve ends where fewer than 100 operations lie above it." }
                details { summary { "Percentiles of each block, in milliseconds" }
                    div.scroll.tall tabindex="0" { table {
                        thead { tr {
                            th scope="col" { "Cell" } th.n scope="col" { "Block" } th scope="col" { "Kind" }
                            @for percentile in Percentile::ALL { th.n scope="col" { (percentile.text()) } } th.n scope="col" { "Operations" }
                        } }
                        tbody { @for cell in cells { @for block in &cell.blocks { @for kind in &kinds {
                            @if let Some(found) = block.summary.latency.of(*kind) { tr {
                                th.words scope="row" { (cell.name) ", " (cell.loop_words()) }
                                td.n { (block.trial.key.block + 1) } td { (kind_words(*kind)) }
                                @for percentile in Percentile::ALL { td.n { (found.at(percentile).map_or("-".to_string(), format::milliseconds)) } }
                                td.n { (format::count(found.count as f64)) }
                            } }
                        } } } }
                    } }
                }
            }
        }
    }
}

fn has(cell: &Measured, kind: Kind) -> bool {
    cell.blocks
        .iter()
        .any(|block| block.summary.latency.of(kind).is_some())
}

fn kind_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Response => "response",
        Kind::Wait => "wait",
        Kind::Service => "service",
    }
}

fn name(place: usize) -> String {
    match place {
        0 => "distribution".to_string(),
        place => format!("distribution-{place}"),
    }
}

fn title(group: &[&Measured]) -> String {
    group.first().map_or(String::new(), |cell| {
        format!("{}, {}", cell.line, cell.loop_words())
    })
}

/// The stable cells of each line.
fn groups<'c, 't>(cells: &'c [Measured<'t>]) -> Vec<Vec<&'c Measured<'t>>> {
    let mut groups: Vec<Vec<&Measured>> = Vec::new();
    for cell in cells.iter().filter(|cell| !cell.unstable()) {
        match groups
            .iter_mut()
            .find(|group| group[0].line == cell.line && group[0].open == cell.open)
        {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups
}

pub fn options(cells: &[Measured]) -> Vec<(String, Value)> {
    let groups = groups(cells);
    let named = groups.iter().enumerate();
    named
        .map(|(place, group)| (name(place), option(group)))
        .collect()
}

fn option(group: &[&Measured]) -> Value {
    let series: Vec<Value> = group
        .iter()
        .map(|cell| {
            let points: Vec<Value> = cell
                .quantiles()
                .into_iter()
                .map(|(one_in, ms)| json!([rounded(one_in), rounded(ms)]))
                .collect();
            json!({ "type": "line", "name": cell.level, "symbolSize": 3, "data": points })
        })
        .collect();
    json!({
        "height": 380,
        "baseOption": {
            "color": COLOURS,
            "title": { "text": title(group), "textStyle": { "fontSize": 13 } },
            "legend": { "type": "scroll", "top": 22 },
            "tooltip": { "trigger": "item", "formatter": "{a}: 1 in, ms: {c}" },
            "grid": { "containLabel": true, "left": 8, "right": 40, "top": 70, "bottom": 34 },
            "xAxis": { "type": "log", "name": "percentile", "nameLocation": "middle", "nameGap": 26, "axisLabel": { "formatter": "percentile" } },
            "yAxis": { "type": "log", "name": "milliseconds", "nameTextStyle": { "align": "left" } },
            "series": series,
        },
    })
}
