//! The blocks of a section as markup.

use super::ratio::{self, Axis};
use crate::document::{
    Badge, Block, Cell, Charts, Column, ColumnContent, Compare, Node, Row, Section, Table, marks,
};
use maud::{Markup, html};
use serde_json::{Value, json};

/// Tables of more rows scroll by themselves, but for the verdicts.
const TALL: usize = 16;

pub(super) fn section(section: &Section) -> Markup {
    let title = format!("{}-title", section.id);
    html! { section id=(section.id) aria-labelledby=(title) { h2 id=(title) { (section.title) } (nodes(&section.nodes)) } }
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
    let shape = Shape::of(table);
    let mut covered = vec![0; table.columns.len()];
    let label = if table.caption.is_empty() {
        heads(table)
    } else {
        table.caption.clone()
    };
    let is_tall = table.rows.len() > TALL && shape.axes.iter().all(Option::is_none);
    html! {
        @if !table.caption.is_empty() { h3 { (table.caption) } }
        div.scroll.tall[is_tall] tabindex="0" role="region" aria-label=(label) { table.cards[shape.is_cards] {
            thead { tr { @for (column, axis) in table.columns.iter().zip(&shape.axes) {
                th.n[column.kind == ColumnContent::Figure] scope="col" { (column.head) }
                @if axis.is_some() { th scope="col" { "ratio (log scale)" } }
            } } }
            tbody { @for one in &table.rows { (row(one, &table.columns, &shape, &mut covered)) } }
        } }
    }
}

/// What all rows of a table share.
struct Shape {
    /// The axis of each column's drawings; none for a column without drawings.
    axes: Vec<Option<Axis>>,
    /// Rows of words become cards where the page is narrow; figures are compared down a column, so they scroll instead.
    is_cards: bool,
}

impl Shape {
    fn of(table: &Table) -> Shape {
        let axis = |place: usize| {
            let cells = table.rows.iter().filter_map(|row| row.cells.get(place));
            Axis::of(cells.filter_map(|cell| cell.drawn.as_ref()))
        };
        let mut kinds = table.columns.iter().map(|column| column.kind);
        let mut cells = table.rows.iter().flat_map(|row| &row.cells);
        Shape {
            axes: (0..table.columns.len()).map(axis).collect(),
            is_cards: kinds.any(|kind| kind == ColumnContent::Words)
                && cells.all(|cell| cell.below == 0),
        }
    }
}

/// `verdict, claim, measured`
fn heads(table: &Table) -> String {
    let heads = table.columns.iter().map(|column| column.head.as_str());
    heads.collect::<Vec<_>>().join(", ")
}

/// `covered`: by column, how many rows a cell from above still reaches down.
fn row(row: &Row, columns: &[Column], shape: &Shape, covered: &mut [usize]) -> Markup {
    let mut cells: Vec<Markup> = Vec::new();
    for (place, (one, column)) in row.cells.iter().zip(columns).enumerate() {
        if covered[place] > 0 {
            covered[place] -= 1;
            continue;
        }
        covered[place] = one.below;
        let is_head = place == 0 || column.kind == ColumnContent::Label && one.badge.is_none();
        let head = shape.is_cards.then_some(column.head.as_str());
        cells.push(if is_head && column.kind != ColumnContent::Figure {
            head_cell(one, column.kind)
        } else {
            cell(one, column.kind, head)
        });
        if let Some(axis) = &shape.axes[place] {
            let ratio = one.drawn.as_ref();
            let drawing = ratio.map(|ratio| ratio::drawing(ratio, axis));
            cells.push(html! { td { @if let Some(drawing) = drawing { (drawing) } } });
        }
    }
    html! { tr.quiet[row.quiet] { @for cell in cells { (cell) } } }
}

/// What names a row.
fn head_cell(cell: &Cell, kind: ColumnContent) -> Markup {
    let rows = (cell.below > 0).then_some(cell.below + 1);
    html! {
        th.words[kind != ColumnContent::Label] rowspan=[rows] scope="row" {
            @if kind == ColumnContent::Code { code { (cell.text) } (remarks(cell)) } @else { (words(cell)) }
        }
    }
}

/// `head`: that of its column, for a card.
fn cell(cell: &Cell, kind: ColumnContent, head: Option<&str>) -> Markup {
    let rows = (cell.below > 0).then_some(cell.below + 1);
    match kind {
        ColumnContent::Figure => {
            html! { td.n rowspan=[rows] title=[&cell.sentence] data-head=[head] { (figure(cell)) } }
        }
        ColumnContent::Code => html! { td.value rowspan=[rows] data-head=[head] { (cell.text) } },
        ColumnContent::Label => html! { td rowspan=[rows] { (words(cell)) } },
        ColumnContent::Words => {
            html! { td.words rowspan=[rows] data-head=[head] { (words(cell)) } }
        }
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

/// The place of one chart, its legend, and the choice of which; nothing is there without JavaScript.
fn charts(charts: &Charts) -> Markup {
    let Some(first) = charts.list.first() else {
        return html! {};
    };
    let caption = match charts.list.as_slice() {
        [only] if charts.caption.is_empty() => &only.title,
        _ => &charts.caption,
    };
    html! {
        div.figure.needs-script {
            @if !caption.is_empty() { h3 { (caption) } }
            @if charts.list.len() > 1 {
                form autocomplete="off" {
                    label { (charts.choice) " " select data-chooses=(first.name) {
                        @for chart in &charts.list { option value=(chart.name) { (chart.title) } }
                    } }
                }
            }
            ul.legend hidden {}
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
