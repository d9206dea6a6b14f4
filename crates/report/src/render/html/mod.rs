//! `report.html`: one file that holds everything, works offline and loads nothing.
//!
//! Purpose: the answer first, then the evidence, then how to repeat it. Every text of the record is escaped. Without JavaScript
//! the tables still hold every figure; charts and the choice of rows need it.

mod blocks;
mod charts;
mod data;
mod ratio;

use crate::document::{Block, Charts, Document, Node, Section};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Map, Value};

const STYLE: &str = include_str!("style.css");
/// The browser enforces that the page loads nothing.
const NOTHING_FROM_ELSEWHERE: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
const SCRIPTS: [&str; 2] = [include_str!("charts.js"), include_str!("counters.js")];
/// ECharts, under the Apache License 2.0; see build.rs for where it comes from.
const CHART_LIBRARY: &str = include_str!(concat!(env!("OUT_DIR"), "/echarts.min.js"));

/// The whole page of a document with full detail.
pub fn html(document: &Document) -> String {
    let question = &document.run.question;
    let version = &document.run.environment.prony_version;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(NOTHING_FROM_ELSEWHERE);
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "prony " (version) };
                title { (question.title) }
                style { (PreEscaped(STYLE)) }
                noscript { style { ".needs-script { display: none }" } }
            }
            body {
                a.skip href="#content" { "Skip to content" }
                header {
                    h1 { (question.title) }
                    p.question { (question.question) }
                    p.headline {
                        @for (text, is_stressed) in document.headline.parts() {
                            @if is_stressed { strong { (text) } } @else { (text) }
                        }
                    }
                    p.quiet { (document.measured_on) }
                    p.quiet { (document.subtitle) }
                }
                div.columns {
                    (contents(document))
                    main #content { @for section in document.sections.iter().filter(|section| is_shown(section)) { (blocks::section(section)) } }
                }
                footer { "Recorded by prony " (version) ". Made from run.sqlite alone." }
                (data(document))
                script { (PreEscaped(CHART_LIBRARY)) }
                script { @for part in SCRIPTS { (PreEscaped(part)) } }
            }
        }
    };
    page.into_string()
}

/// The contents bar.
fn contents(document: &Document) -> Markup {
    let shown = document.sections.iter().filter(|section| is_shown(section));
    html! {
        nav.contents aria-label="Contents" { ul {
            @for section in shown { li { a href={ "#" (section.id) } { (section.title) } } }
        } }
    }
}

fn is_shown(section: &Section) -> bool {
    section.nodes.iter().any(|node| node.forms.page)
}

/// What the page's script reads: the options of the charts by their names, and the counters of all rows.
fn data(document: &Document) -> Markup {
    let mut options = Map::new();
    let mut compare = None;
    for section in &document.sections {
        visit(&section.nodes, &mut |block| match block {
            Block::Charts(Charts { list, .. }) => {
                let named = list
                    .iter()
                    .map(|chart| (chart.name.clone(), charts::option(chart)));
                options.extend(named);
            }
            Block::Compare(found) => compare = Some(blocks::counters(found)),
            _ => (),
        });
    }
    html! {
        (data::block("charts", &Value::Object(options)))
        @if let Some(counters) = compare { (data::block("counters", &counters)) }
    }
}

fn visit(nodes: &[Node], found: &mut impl FnMut(&Block)) {
    for node in nodes.iter().filter(|node| node.forms.page) {
        found(&node.block);
        if let Block::Fold { nodes, .. } = &node.block {
            visit(nodes, found);
        }
    }
}
