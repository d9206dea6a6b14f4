//! Terminal, Markdown and page of a small document with every kind of block.

use crate::fixture;
use report::{
    Badge, Block, Cell, Column, ColumnContent, Detail, Document, Forms, List, Most, Section, Table,
};

/// What a document shows is put in by hand; the record behind it is empty.
fn with_small_document(check: impl Fn(&Document)) {
    let (run, _) = fixture::published();
    let mut document = Document::of(&run, &[], Detail::Full);
    document.headline = "A is 2.00× slower than B.".into();
    document.sections = vec![
        Section::unless_empty("words", "Words", words()).unwrap(),
        Section::unless_empty("figures", "Figures", figures()).unwrap(),
    ];
    check(&document);
}

fn words() -> Vec<report::Node> {
    let items = ["first", "second", "third"].map(String::from).to_vec();
    let fact = ("A".to_string(), "5.6 · <small> pool".to_string());
    let rows = [
        vec![
            Cell::text("reproduced").badged(Badge::Yes),
            Cell::text("a claim")
                .marked(vec![1])
                .remarked(["a remark".to_string()]),
            Cell::text("1.50"),
        ],
        vec![
            Cell::text("inconclusive").badged(Badge::Open),
            Cell {
                folded: Some("all of it".to_string()),
                ..Cell::text("in short")
            },
            Cell::none(),
        ],
    ];
    let columns = Column::list(&[
        (ColumnContent::Label, &["verdict"]),
        (ColumnContent::Words, &["claim"]),
        (ColumnContent::Figure, &["ratio"]),
    ]);
    vec![
        Block::text("Text with *marks* and a | bar.").everywhere(),
        Block::table(Table::new("", columns, rows)).everywhere(),
        Block::Notes(vec!["a footnote".to_string()]).everywhere(),
        Block::List(List {
            items,
            most: Most {
                terminal: 2,
                markdown: 3,
            },
        })
        .everywhere(),
        Block::Facts(vec![fact]).everywhere(),
        Block::Heading("A heading".to_string()).everywhere(),
        Block::remark("In text forms alone.").shown(Forms::TEXT),
        Block::fold(
            "More",
            false,
            vec![Block::Verbatim("a < b\n  c".to_string()).everywhere()],
        )
        .everywhere(),
    ]
}

fn figures() -> Vec<report::Node> {
    let cell = |value: f64| {
        Cell::with_interval(value, Some((value / 1.1, value * 1.1)), |value| {
            format!("{value:.1}")
        })
    };
    let row = |name: &str, scale: f64| {
        let label = Cell::text(name).marked(if scale > 1.0 { vec![1] } else { vec![] });
        let unstable = Cell {
            beside: Some("+400/s".to_string()),
            sentence: Some("unstable: the queue grows".to_string()),
            ..Cell::text("unstable").marked(vec![1, 2])
        };
        vec![label, cell(10.0 * scale), cell(2000.0 * scale), unstable]
    };
    let table = |caption: &str, figure: &str| {
        Table::new(
            caption,
            Column::list(&[
                (ColumnContent::Label, &["server"]),
                (ColumnContent::Figure, &["1", "8", "64"]),
            ]),
            [row("5.5", 1.0), row("5.6", 2.0)],
        )
        .across("clients", figure)
    };
    let tables = vec![
        table("Throughput (ops/s) by clients", "ops/s"),
        table("p99 latency (ms) by clients", "p99 (ms)"),
    ];
    let spanning = Cell {
        below: 1,
        ..Cell::text("both")
    };
    let spans = Table::new(
        "Before and after",
        Column::list(&[
            (ColumnContent::Label, &["event"]),
            (ColumnContent::Figure, &["ops/s"]),
        ]),
        [
            vec![spanning, Cell::text("1")],
            vec![Cell::default(), Cell::text("2")],
        ],
    );
    vec![
        Block::Tables(tables).everywhere(),
        Block::table(spans.most(Most::in_terminal(1))).everywhere(),
    ]
}

#[test]
fn the_terminal_shows_every_block() {
    with_small_document(|document| {
        insta::assert_snapshot!(report::terminal(document, &fixture::forms::screen(100)));
    });
}

#[test]
fn a_narrower_terminal_puts_intervals_on_a_line_of_their_own() {
    with_small_document(|document| {
        document_part(document, 56, "on_two_lines");
    });
}

#[test]
fn a_narrow_terminal_shows_row_by_row() {
    with_small_document(|document| {
        document_part(document, 40, "row_by_row");
    });
}

fn document_part(document: &Document, width: usize, name: &str) {
    let text = report::terminal(document, &fixture::forms::screen(width));
    let figures = text.find("\nFigures").expect("the second section");
    insta::assert_snapshot!(name, &text[figures..]);
}

#[test]
fn markdown_shows_every_block() {
    with_small_document(|document| insta::assert_snapshot!(report::markdown(document)));
}

#[test]
fn the_page_shows_every_block() {
    with_small_document(|document| {
        let page = report::html(document);
        let (start, end) = (page.find("<main").unwrap(), page.find("</main>").unwrap());
        insta::assert_snapshot!(page[start..end].replace("><", ">\n<"));
    });
}
