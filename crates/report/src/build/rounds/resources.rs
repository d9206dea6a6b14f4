//! CPU time and disk reads of the server's process, by round and by query.

use crate::build::Context;
use crate::build::rows::Row;
use crate::document::{Block, Cell, Column, ColumnContent, Section, Table};
use crate::format;
use explain::Misses;
use record::names::{DEVICE_READS, SERVER_CPU, SERVER_READ};
use record::{Counters, Trial};
use stats::Estimate;
use stats::resource_use::{RowPart, counter};

/// A counter, its head, and what one of its units is of the counter's.
const MEASURES: [(&str, &str, f64); 3] = [
    (SERVER_CPU, "CPU time (s)", 1e6),
    (SERVER_READ, "read (MiB)", 1048576.0),
    (DEVICE_READS, "disk reads", 1.0),
];

/// None if the server's process could not be observed.
pub(crate) fn section(context: &Context) -> Option<Section> {
    let rounds = || context.trials.iter().flat_map(|trial| &trial.rounds);
    let has = |counters: &Counters| counters.contains_key(SERVER_CPU);
    if !rounds().any(|round| has(&round.counters)) {
        return None;
    }
    let about = "CPU time of the server, bytes that it read from disk, read requests of the disk, and pages that missed the buffer pool. A miss is served by the disk or by the page cache of the operating system.";
    let of_rounds = table(context, &["server and settings", "round"], |row| {
        rows(context, row, None)
    });
    let mut nodes = vec![
        Block::table(of_rounds).everywhere(),
        Block::remark(about).everywhere(),
    ];
    let mut queries = rounds().flat_map(|round| &round.queries);
    if queries.any(|query| has(&query.counters)) {
        let names = || context.run.question.workload.operations.iter();
        let of_row = |row: &Row| {
            names()
                .flat_map(|query| rows(context, row, Some(query)))
                .collect()
        };
        let of_queries = table(context, &["server and settings", "query", "round"], of_row);
        nodes.push(Block::fold("By query", false, vec![Block::table(of_queries).page()]).page());
    }
    Section::unless_empty("used", "Resource use per round", nodes)
}

/// The rows of the matrix that have figures.
fn table(context: &Context, labels: &[&str], of: impl Fn(&Row) -> Vec<Vec<Cell>>) -> Table {
    let measured = context
        .rows
        .list
        .iter()
        .filter(|row| row.figures.missing.is_none());
    let heads = MEASURES.map(|(_, head, _)| head);
    let columns = Column::list(&[
        (ColumnContent::Label, labels),
        (ColumnContent::Figure, &heads),
        (ColumnContent::Words, &["buffer pool misses"]),
    ]);
    Table::new("", columns, measured.flat_map(of))
}

fn rows(context: &Context, row: &Row, query: Option<&str>) -> Vec<Vec<Cell>> {
    let of_round = |round: &str| {
        let part = RowPart {
            server: row.figures.server.as_deref(),
            levels: &row.figures.levels,
            round,
            query,
        };
        let counted = MEASURES.map(|measure| counted(context.trials, part, measure));
        let labels = [Some(row.name.as_str()), query, Some(round)]
            .into_iter()
            .flatten();
        let figures = counted
            .iter()
            .map(|counted| Cell::estimate(counted.as_ref(), format::operations));
        // A level may leave a round out.
        let any = counted.iter().any(Option::is_some);
        let cells = labels.map(Cell::text).chain(figures);
        any.then(|| cells.chain([misses(context, row, part)]).collect())
    };
    let rounds = context.run.question.round_names().into_iter();
    rounds.filter_map(of_round).collect()
}

fn misses(context: &Context, row: &Row, part: RowPart) -> Cell {
    let mean = |name: &str| Some(counter(context.trials, part, name)?.mean);
    let mut settings = row.trials.iter().map(|trial| &trial.settings);
    let page_size = settings.find_map(|settings| settings.get("innodb_page_size"));
    in_words(Misses::of(mean, page_size.map(String::as_str)))
}

/// `40,255, served by the OS page cache`
pub(crate) fn in_words(misses: Option<Misses>) -> Cell {
    let Some(misses) = misses else {
        return Cell::none();
    };
    let count = format::operations(misses.count);
    Cell::text(match misses.served() {
        Some(served) => format!("{count}, {served}"),
        None => count,
    })
}

fn counted(
    trials: &[Trial],
    part: RowPart,
    (name, _, unit): (&str, &str, f64),
) -> Option<Estimate> {
    let found = counter(trials, part, name)?;
    Some(Estimate {
        mean: found.mean / unit,
        ci: found.ci.map(|(low, high)| (low / unit, high / unit)),
        min: found.min / unit,
        max: found.max / unit,
        values: found.values.iter().map(|value| value / unit).collect(),
        ..found
    })
}
