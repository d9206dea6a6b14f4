//! What the server and the load generator took of the machine.

use super::cells::{Block, Measured};
use crate::format;
use maud::{Markup, html};

pub fn section(cells: &[Measured]) -> Markup {
    html! {
        @if !cells.is_empty() {
            section #machine {
                h2 { "Server, device and load generator" }
                p.quiet { "Means over the measured seconds of all blocks; \"-\" where it could not be read. The lateness is the load generator's own, against its schedule: 99th percentile, the worst block." }
                div.scroll.tall tabindex="0" { table {
                    thead { tr {
                        th scope="col" { "Cell" } th.n scope="col" { "Server CPU (cores)" } th.n scope="col" { "Context switches an operation" }
                        th.n scope="col" { "Device read/s" } th.n scope="col" { "Device written/s" } th.n scope="col" { "Network/s" }
                        th.n scope="col" { "Generator CPU (cores)" } th.n scope="col" { "Share of the machine" } th.n scope="col" { "Lateness (us)" }
                        th.n scope="col" { "Sampler CPU (cores)" }
                    } }
                    tbody { @for cell in cells { (line(cell)) } }
                } }
            }
        }
    }
}

fn line(cell: &Measured) -> Markup {
    let cores = |value: Option<f64>| value.map_or("-".to_string(), |cores| format!("{cores:.2}"));
    let bytes = |name: &str| {
        cell.mean(name)
            .map_or("-".to_string(), |bytes| format::bytes(bytes as u64))
    };
    let switches = cell
        .mean("server context switches")
        .zip(cell.mean("throughput").filter(|done| *done > 0.0));
    let lateness = cell
        .blocks
        .iter()
        .filter_map(|block| block.load.engine.lateness_us_p99)
        .reduce(f64::max);
    let first = cell.blocks.first().map(|block| &block.load.engine);
    html! {
        tr {
            th.words scope="row" {
                (cell.name)
                @if let Some(engine) = first { p.quiet { (engine.backend) ", " (format::plural(engine.reactors as usize, "reactor")) } }
                @for sentence in said(cell) { p.quiet { (sentence) } }
            }
            td.n { (cores(cell.mean("server cpu"))) }
            td.n { (switches.map_or("-".to_string(), |(switches, done)| format::ratio(switches / done))) }
            td.n { (bytes("device read bytes")) } td.n { (bytes("device written bytes")) } td.n { (bytes("network bytes")) }
            td.n { (cores(over_blocks(cell, |block| block.summary.engine.cores))) }
            td.n { (over_blocks(cell, |block| block.summary.engine.share).map_or("-".to_string(), |share| format!("{:.0} %", share * 100.0))) }
            td.n { (lateness.map_or("-".to_string(), |us| format!("{us:.0}"))) }
            td.n { (cell.mean("sampler cpu").map_or("-".to_string(), |cores| format!("{cores:.4}"))) }
        }
    }
}

fn over_blocks(cell: &Measured, of: impl Fn(&Block) -> f64) -> Option<f64> {
    let count = cell.blocks.len();
    (count > 0).then(|| cell.blocks.iter().map(of).sum::<f64>() / count as f64)
}

/// What the load generator had to do with the result.
fn said<'m>(cell: &'m Measured) -> Vec<&'m String> {
    let engines = cell.blocks.iter().map(|block| &block.summary.engine);
    let mut said: Vec<&String> = engines
        .flat_map(|engine| [&engine.invalid, &engine.limit, &engine.note])
        .flatten()
        .collect();
    said.dedup();
    said
}
