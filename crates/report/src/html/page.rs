//! The page's frame: its head, its sections in order, its data and its scripts.

use super::loads::{Loads, sheet};
use super::rows::Rows;
use super::{
    charts, coldness, counters, data, environment, events, plans, profile, queries, settings,
    summary, used, why,
};
use crate::matrix::Matrix;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use record::{Run, Trial};

const STYLE: &str = include_str!("style.css");
/// The browser holds the page to it that it loads nothing.
const NOTHING_FROM_ELSEWHERE: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
const SCRIPT: &str = include_str!("page.js");
/// ECharts, under the Apache License 2.0; see build.rs for where it comes from.
const CHART_LIBRARY: &str = include_str!(concat!(env!("OUT_DIR"), "/echarts.min.js"));

pub fn page(run: &Run, trials: &[Trial]) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(NOTHING_FROM_ELSEWHERE);
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "prony " (run.environment.prony_version) };
                title { (run.question.title) }
                style { (PreEscaped(STYLE)) }
                noscript { style { ".needs-script { display: none }" } }
            }
            body {
                (body(run, trials))
                script { (PreEscaped(CHART_LIBRARY)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

fn body(run: &Run, trials: &[Trial]) -> Markup {
    if crate::loads::timed(run) {
        timed(run, trials)
    } else {
        in_rounds(run, trials)
    }
}

fn timed(run: &Run, trials: &[Trial]) -> Markup {
    let loads = Loads::of(run, trials);
    html! {
        (summary::header(run, trials))
        main {
            (summary::claims(run, trials))
            (why::section(run, trials))
            (loads.sections(run, trials))
            (summary::warnings(run, trials))
            (events::section(run, trials))
            (limits(trials))
            (used::datasets(run, trials))
            (settings::section(&Rows::of(run, trials)))
            (environment::section(run))
            (environment::repeat(run))
        }
        (foot(run))
        (data::block("charts", &loads.options(run)))
    }
}

fn in_rounds(run: &Run, trials: &[Trial]) -> Markup {
    let matrix = Matrix::of(run, trials);
    let rows = Rows::of(run, trials);
    let compared = counters::Compared::of(run, trials);
    html! {
        (summary::header(run, trials))
        main {
            (summary::claims(run, trials))
            (why::section(run, trials))
            (summary::table(run, &matrix))
            (used::clients(run, trials))
            (charts::totals_section())
            (queries::section(&rows))
            (used::section(run, trials))
            (counters::section(&rows, &compared))
            (plans::section(run, trials))
            (summary::warnings(run, trials))
            (profile::section(&rows))
            (events::section(run, trials))
            (coldness::section(run, trials))
            (limits(trials))
            (used::datasets(run, trials))
            (settings::section(&rows))
            (environment::section(run))
            (environment::repeat(run))
        }
        (foot(run))
        (data::block("charts", &charts::options(&matrix, &rows)))
        (data::block("counters", &counters::data(&rows)))
    }
}

fn limits(trials: &[Trial]) -> Markup {
    html! {
        @if let Some(limits) = crate::limits::limits(trials) {
            section #limits { h2 { "Limits" } (sheet(&limits)) }
        }
    }
}

fn foot(run: &Run) -> Markup {
    html! { footer { "Made by prony " (run.environment.prony_version) " from run.sqlite alone." } }
}
