//! What a terminal shows: no line exceeds its width, the answer comes first, and a pipe gets ASCII.

use crate::fixture;
use crate::fixture::long_names::{LONG, LONG_NAME, WIDTHS, is_within, with_long_names};
use crate::fixture::{clients, forms, own_sql, timed, tpcc};
use record::{Run, Trial};
use report::{
    Badge, Block, Cell, Column, ColumnContent, Detail, Document, Headline, Screen, Section, Table,
};

fn all_runs() -> Vec<(Run, Vec<Trial>)> {
    vec![
        fixture::troubled(),
        clients::by_clients(),
        timed::troubled(),
        timed::open(),
        timed::searched(),
        tpcc::matrix(),
    ]
}

#[test]
fn no_line_of_any_run_exceeds_the_width() {
    for run in all_runs() {
        for (run, trials) in [run.clone(), with_long_names(run)] {
            let document = Document::of(&run, &trials, Detail::Brief);
            for width in WIDTHS {
                for (verbose, unicode) in [(true, true), (true, false), (false, true)] {
                    let screen = Screen {
                        verbose,
                        unicode,
                        ..forms::screen(width)
                    };
                    is_within(&report::terminal(&document, &screen), width);
                }
            }
        }
    }
}

/// A table of words and figures, and one of a factor with many levels.
fn with_wide_tables(document: &mut Document) {
    let claim = |word: &str, badge| {
        vec![
            Cell::text(word).badged(badge),
            Cell::text(LONG),
            Cell::text("1.50"),
            Cell::text("1.34 to 1.67"),
        ]
    };
    let columns = Column::list(&[
        (ColumnContent::Label, &["verdict"]),
        (ColumnContent::Words, &["claim"]),
        (ColumnContent::Figure, &["measured", "95 % CI"]),
    ]);
    let rows = [
        claim("not reproduced", Badge::No),
        claim("holds", Badge::Yes),
    ];
    let claims = Table::new("", columns, rows);
    let figures = (1..=24).map(|level| {
        let value = f64::from(level) * 1000.5;
        Cell::with_interval(value, Some((value / 1.2, value * 1.2)), |v| {
            format!("{v:.1}")
        })
    });
    let row: Vec<Cell> = [Cell::text(LONG_NAME)].into_iter().chain(figures).collect();
    let mut columns = Column::of(ColumnContent::Label, ["server"]);
    columns.extend(Column::of(
        ColumnContent::Figure,
        (1..=24).map(|n| (8 * n).to_string()),
    ));
    let levels = Table::new("ops/s by clients", columns, vec![row; 9]).across("clients", "ops/s");
    let settings = Table::new(
        "Settings",
        Column::of(
            ColumnContent::Code,
            (1..=9).map(|n| format!("variant number {n}")),
        ),
        [(1..=9).map(|n| Cell::text(format!("value_{n}"))).collect()],
    );
    let tables = [claims, levels, settings].map(|table| Block::table(table).everywhere());
    let verbatim = Block::Verbatim(format!("  -> {LONG}")).everywhere();
    let fact = Block::Facts(vec![(LONG_NAME.to_string(), LONG.to_string())]).everywhere();
    let nodes = tables.into_iter().chain([verbatim, fact]).collect();
    document.sections = vec![Section::unless_empty("wide", "Wide", nodes).unwrap()];
}

/// Without what a renderer puts between the letters of a word that it splits.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn wide_tables_are_wrapped_or_split_and_lose_nothing() {
    let (run, _) = fixture::published();
    let mut document = Document::of(&run, &[], Detail::Brief);
    with_wide_tables(&mut document);
    for width in WIDTHS {
        let text = report::terminal(&document, &forms::screen(width));
        is_within(&text, width);
        let shown = squeezed(&text);
        let figures: Vec<String> = (1..=24)
            .map(|n| format!("{:.1}", f64::from(n) * 1000.5))
            .collect();
        let values: Vec<String> = (1..=9).map(|n| format!("value_{n}")).collect();
        let parts = ["notreproduced", "1.34to1.67"].map(String::from);
        for part in figures.iter().chain(&values).chain(&parts) {
            assert!(shown.contains(part.as_str()), "{part} at {width}:\n{text}");
        }
    }
    // Row by row a claim is in one piece.
    let text = report::terminal(&document, &forms::screen(60));
    assert!(squeezed(&text).contains(&squeezed(LONG)), "{text}");
}

#[test]
fn a_table_that_does_not_fit_is_shown_row_by_row_or_in_parts() {
    let (run, _) = fixture::published();
    let mut document = Document::of(&run, &[], Detail::Brief);
    with_wide_tables(&mut document);
    insta::assert_snapshot!(report::terminal(&document, &forms::screen(80)));
}

#[test]
fn the_first_screen_has_the_answer_one_table_and_the_verdicts() {
    let (run, trials) = fixture::published();
    let text = first_screen(&run, &trials);
    insta::assert_snapshot!(text);
    let document = Document::of(&run, &trials, Detail::Brief);
    assert!(text.starts_with(document.headline.split(' ').next().unwrap()));
}

#[test]
fn the_first_screen_of_a_load_has_a_row_for_each_cell() {
    let (run, trials) = timed::closed();
    insta::assert_snapshot!(first_screen(&run, &trials));
}

#[test]
fn the_first_screen_of_an_open_load_shows_the_rate_that_a_share_became() {
    let (run, trials) = timed::open();
    let document = Document::of(&run, &trials, Detail::Brief);
    let screen = Screen {
        verbose: false,
        unicode: false,
        ..forms::screen(80)
    };
    let text = report::terminal(&document, &screen);
    insta::assert_snapshot!(text);
    assert!(text.is_ascii(), "{text}");
}

/// What a terminal of 80 columns shows first.
fn first_screen(run: &Run, trials: &[Trial]) -> String {
    let document = Document::of(run, trials, Detail::Brief);
    let screen = Screen {
        verbose: false,
        ..forms::screen(80)
    };
    report::terminal(&document, &screen)
}

#[test]
fn own_queries_on_one_server_are_listed_with_the_slowest_first_and_why_one_failed() {
    let (mut run, mut trials) = own_sql::external();
    run.question.rounds.retain(|name| name == "hot");
    for trial in &mut trials {
        trial.rounds.retain(|round| round.name == "hot");
        let failed = record::QueryError::Failed {
            code: Some(1054),
            message: "Unknown column 'nothing'".to_string(),
        };
        for round in &mut trial.rounds {
            round.queries[2].error = Some(failed.clone());
        }
    }
    let text = first_screen(&run, &trials);
    assert!(text.starts_with("1 of 3 queries failed (latest)"), "{text}");
    let caption = "Time of each query (s), the slowest first";
    let note = "[1] latest failed: 1054 Unknown column 'nothing'";
    let order = [caption, "latest [1]", "by_region", "customers_who", note];
    let places = order.map(|part| text.rfind(part));
    assert!(places.iter().all(Option::is_some), "{text}");
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn each_query_of_two_servers_has_a_ratio_and_a_mark_for_another_plan() {
    let (mut run, mut trials) = fixture::published();
    run.question.claims.clear();
    trials.retain(|trial| trial.key.level("variant") == Some("small pool"));
    let another = trials
        .iter_mut()
        .find(|trial| trial.key.server_name() == "5.6");
    for round in &mut another.unwrap().rounds {
        round.queries[12].plan_hash = Some("c0ffee0011223344".to_string());
    }
    insta::assert_snapshot!(first_screen(&run, &trials));
}

#[test]
fn two_servers_with_one_block_are_undecided_and_the_answer_says_by_how_much_they_differ() {
    let (mut run, mut trials) = fixture::published();
    run.question.claims.clear();
    trials.retain(|trial| trial.key.block == 0);
    trials.retain(|trial| trial.key.level("variant") == Some("small pool"));
    let text = first_screen(&run, &trials);
    assert!(text.contains("undecided"), "{text}");
    // Not a footnote on each row.
    assert_eq!(text.matches("ingle block").count(), 1, "{text}");
    assert!(!text.contains("[1]"), "{text}");
}

#[test]
fn without_unicode_every_run_is_ascii() {
    for (run, trials) in all_runs() {
        let document = Document::of(&run, &trials, Detail::Brief);
        let screen = Screen {
            unicode: false,
            ..forms::screen(80)
        };
        let text = report::terminal(&document, &screen);
        let other: Vec<&str> = text.lines().filter(|line| !line.is_ascii()).collect();
        assert_eq!(other, [""; 0]);
    }
}

#[test]
fn the_headline_is_stressed_alike_in_every_form() {
    let (run, trials) = fixture::published();
    let document = Document::of(&run, &trials, Detail::Full);
    let stressed: Vec<&str> = stressed(&document.headline);
    assert_eq!(stressed.len(), 1, "{}", document.headline);
    let ratio = stressed[0];
    assert!(report::markdown(&document).contains(&format!("**{ratio}**")));
    assert!(report::html(&document).contains(&format!("<strong>{ratio}</strong>")));
    let json: serde_json::Value = serde_json::from_str(&report::json(&document)).unwrap();
    assert_eq!(json["headline"], *document.headline);
    let colours = Screen {
        colour: true,
        ..forms::screen(200)
    };
    let text = report::terminal(&document, &colours);
    assert!(text.contains(&format!("\x1b[1m{ratio}\x1b[0m")), "{text}");
    let plain = report::terminal(&document, &forms::screen(200));
    assert!(!plain.contains('*') && !plain.contains('\x1b'), "{plain}");
}

fn stressed(headline: &Headline) -> Vec<&str> {
    let parts = headline.parts().into_iter();
    parts.filter(|(_, is)| *is).map(|(text, _)| text).collect()
}
