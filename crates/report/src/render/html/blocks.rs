//! The blocks of a section as markup.

use crate::document::{
    Badge, Block, Cell, Charts, Column, Compare, Kind, Node, Row, Section, Table, marks,
};
use maud::{Markup, html};
use serde_json::{Value, json};

/// Tables of more rows scroll by themselves.
const TALL: usize = 16;

pub(super) fn section(section: &Section) -> Markup {
    html! {
        @if section.nodes.iter().any(|node| node.forms.page) {
            section id=(section.id) { h2 { (section.title) } (nodes(&section.nodes)) }
        }
    }
}

fn nodes(nodes: &[Node]) -> Markup {
    html! { @for node in nodes.iter().filter(|node| node.forms.page) { (block(&node.block)) } }
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Heading(text) => html! { h3 { (text) } },
        Block::Text(text) => html! { p { (text) } },
        Block::Remark(text) => html! { p.quiet { (text) } },
        Block::List(list) => html! { ul { @for item in &list.items { li { (item) } } } },
        Block::Notes(notes) => html! { ol.notes { @for note in notes { li { (note) } } } },
        Block::Facts(facts) => {
            html! { dl { @for (name, value) in facts { dt { (name) } dd { (value) } } } }
        }
        Block::Tables(tables) => html! { @for one in tables { (table(one)) } },
        Block::Verbatim(text) => html! { pre { (text) } },
        Block::Charts(one) => charts(one),
        Block::Compare(one) => compare(one),
        Block::Fold {
            summary,
            open,
            nodes: of,
        } => html! { details open[*open] { summary { (summary) } (nodes(of)) } },
    }
}

fn table(table: &Table) -> Markup {
    let mut covered = vec![0; table.columns.len()];
    html! {
        @if !table.caption.is_empty() { h3 { (table.caption) } }
        div.scroll.tall[table.rows.len() > TALL] tabindex="0" { table {
            thead { tr { @for column in &table.columns { th.n[column.kind == Kind::Figure] scope="col" { (column.head) } } } }
            tbody { @for one in &table.rows { (row(one, &table.columns, &mut covered)) } }
        } }
    }
}

/// `covered`: by column, how many rows a cell from above still reaches down.
fn row(row: &Row, columns: &[Column], covered: &mut [usize]) -> Markup {
    let mut cells: Vec<Markup> = Vec::new();
    for (place, (one, column)) in row.cells.iter().zip(columns).enumerate() {
        if covered[place] > 0 {
            covered[place] -= 1;
            continue;
        }
        covered[place] = one.below;
        cells.push(cell(one, column.kind, place == 0));
    }
    html! { tr.quiet[row.quiet] { @for cell in cells { (cell) } } }
}

fn cell(cell: &Cell, kind: Kind, is_first: bool) -> Markup {
    let below = (cell.below > 0).then_some(cell.below + 1);
    let head = is_first || kind == Kind::Label && cell.badge.is_none();
    match (kind, head) {
        (Kind::Figure, _) => {
            html! { td.n rowspan=[below] title=[&cell.sentence] { (figure(cell)) } }
        }
        (Kind::Code, true) => {
            html! { th.words scope="row" { code { (cell.text) } (remarks(cell)) } }
        }
        (Kind::Code, false) => html! { td.value { (cell.text) } },
        (Kind::Words, true) => html! { th.words rowspan=[below] scope="row" { (words(cell)) } },
        (Kind::Words, false) => html! { td.words { (words(cell)) } },
        (Kind::Label, _) => html! { th scope="row" { (words(cell)) } },
    }
}

fn figure(cell: &Cell) -> Markup {
    html! {
        @if !cell.marks.is_empty() { sup { (marks(&cell.marks)) "\u{a0}" } }
        (cell.text)
        @if let Some(beside) = cell.interval.as_ref().or(cell.beside.as_ref()) { span.spread { (beside) } }
    }
}

fn words(cell: &Cell) -> Markup {
    html! {
        @match (&cell.badge, &cell.folded) {
            (Some(badge), _) => span class={ "verdict " (class(*badge)) } { (cell.text) },
            (None, Some(folded)) => details { summary { (cell.text) } (folded) },
            (None, None) => (cell.text),
        }
        @if !cell.marks.is_empty() { " " sup { (marks(&cell.marks)) } }
        (remarks(cell))
    }
}

fn remarks(cell: &Cell) -> Markup {
    html! { @for remark in &cell.remarks { p.quiet { (remark) } } }
}

fn class(badge: Badge) -> &'static str {
    match badge {
        Badge::Yes => "yes",
        Badge::No => "no",
        Badge::Open => "open",
        Badge::None => "none",
    }
}

/// The place of one chart, and the choice of which; nothing is there without JavaScript.
fn charts(charts: &Charts) -> Markup {
    let Some(first) = charts.list.first() else {
        return html! {};
    };
    html! {
        div.needs-script {
            @if !charts.caption.is_empty() { h3 { (charts.caption) } }
            @if charts.list.len() > 1 {
                form autocomplete="off" {
                    label { (charts.choice) " " select data-chooses=(first.name) {
                        @for chart in &charts.list { option value=(chart.name) { (chart.title) } }
                    } }
                }
            }
            div.scroll { div.chart id={ "chart-" (first.name) } data-chart=(first.name) role="img" aria-label=(charts.label) {} }
        }
    }
}

fn compare(compare: &Compare) -> Markup {
    html! {
        form.needs-script #counter-choice autocomplete="off" {
            @for (id, chosen) in [("A", compare.of), ("B", compare.to)] {
                label { (id) " " select name=(id) {
                    @for (place, row) in compare.rows.iter().enumerate() { option value=(place) selected[Some(place) == chosen] { (row) } }
                } }
            }
            label { "round " select name="round" {
                @for round in &compare.rounds { option value=(round) selected[*round == compare.round] { (round) } }
            } }
            label { "only names with " input type="search" name="filter" size="16"; }
        }
    }
}

/// The means of all counters, for the page's script.
pub(super) fn counters(compare: &Compare) -> Value {
    let (counters, rows) = &compare.doubled;
    json!({
        "rows": compare.means,
        "meanings": compare.meanings,
        "doubled": { "counters": counters, "rows": rows },
    })
}
