//! The evidence that the cold rounds were cold.

use crate::build::Context;
use crate::build::rows::Row;
use crate::document::{Badge, Block, Cell, Column, ColumnContent, Node, Section, Table};
use crate::{format, names};
use record::names::{DEVICE_READ, SERVER_READ};
use record::{Coldness, Round};
use stats::resource_use::{RowPart, counter};

/// Rows of the matrix in the terminal.
const MOST: usize = 10;

/// Says of a cold round of several queries that only the first of them is cold, with what they read from disk. Empty if each
/// query was made cold.
pub(crate) fn first_query_only(context: &Context) -> Vec<Node> {
    let rounds = || context.trials.iter().flat_map(|trial| &trial.rounds);
    let Some(round) = rounds().find(|round| is_cold_once(round)) else {
        return Vec::new();
    };
    let first = &round.queries[0].name;
    let about = match round.clients() {
        1 => format!(
            "A cold round is cold for its first query only ({first}); the others find what was read before them. With unit = \"query\" each query is cold."
        ),
        clients => format!(
            "A cold round is cold at its start only: its {clients} clients find what one of them has read."
        ),
    };
    let rows = context.rows.list.iter();
    let items: Vec<String> = rows.filter_map(|row| read_in_words(context, row)).collect();
    let mut nodes = vec![Block::remark(about).everywhere().on_first_screen()];
    if !items.is_empty() {
        nodes.push(Block::list(items, MOST).everywhere());
    }
    nodes
}

fn is_cold_once(round: &Round) -> bool {
    let coldness = round.coldness.as_ref();
    coldness.is_some_and(|coldness| coldness.passes == Some(1)) && round.queries.len() > 1
}

/// `5.6 · small pool: Q1.1 read 512.0 MiB from disk, the other 12 queries 0 B to 31.0 MiB each`
fn read_in_words(context: &Context, row: &Row) -> Option<String> {
    let read = read_by_query(context, row);
    let ((first, bytes), others) = read.split_first()?;
    let each = others.iter().map(|(_, bytes)| *bytes as f64);
    let each = format::range(each, |bytes| format::bytes(bytes as u64))?;
    let others = match others.len() {
        1 => format!("the other query {each}"),
        count => format!("the other {count} queries {each} each"),
    };
    let bytes = format::bytes(*bytes);
    Some(format!(
        "{}: {first} read {bytes} from disk, {others}",
        row.name
    ))
}

/// The bytes that each query of the cold round read from disk: by the server's process, or else by all processes. Means over blocks;
/// empty if they could not be read.
fn read_by_query<'c>(context: &'c Context, row: &Row) -> Vec<(&'c str, u64)> {
    let names = context.run.question.workload.operations.iter();
    let read = |name: &'c String| {
        let part = RowPart {
            server: row.figures.server.as_deref(),
            levels: &row.figures.levels,
            round: "cold",
            query: Some(name),
        };
        let bytes = |counted: &str| counter(context.trials, part, counted);
        let bytes = bytes(SERVER_READ).or_else(|| bytes(DEVICE_READ))?;
        Some((name.as_str(), bytes.mean as u64))
    };
    names.filter_map(read).collect()
}

pub(crate) fn section(context: &Context) -> Option<Section> {
    let question = &context.run.question;
    let rounds = context.trials.iter().flat_map(|trial| {
        let rounds = trial.rounds.iter();
        rounds.map(move |round| (&trial.key, round))
    });
    let found: Vec<(String, &Coldness)> = rounds
        .filter_map(|(key, round)| {
            let trial = names::trial(context.run, key);
            let round_name = names::round(question, &round.name, round.index);
            Some((format!("{trial}, {round_name}"), round.coldness.as_ref()?))
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    let proved = found.iter().filter(|(_, coldness)| coldness.proved).count();
    let columns = Column::list(&[
        (ColumnContent::Words, &["round"]),
        (
            ColumnContent::Label,
            &["proved", "eviction", "server restarted"],
        ),
        (
            ColumnContent::Figure,
            &[
                "pages in the buffer pool",
                "data files in the page cache",
                "read from disk",
            ],
        ),
    ]);
    let table = Table::new(
        "",
        columns,
        found.iter().map(|(name, coldness)| cells(name, coldness)),
    );
    let summary = format!(
        "{proved} of {} cold rounds are proved cold. Buffer pool and page cache are read after the restart and the eviction, before the first query. The disk reads are those of the round.",
        found.len()
    );
    let mut nodes = vec![
        Block::text(summary).page(),
        Block::fold(
            "Each cold round",
            proved < found.len(),
            vec![Block::table(table).page()],
        )
        .page(),
    ];
    nodes.extend(by_query(context));
    Section::unless_empty("coldness", "Proof of coldness", nodes)
}

/// What each query of the cold rounds read from disk, a column per row of the matrix.
fn by_query(context: &Context) -> Option<Node> {
    let rows = context.rows.list.iter();
    let read = rows.map(|row| (row, read_by_query(context, row)));
    let read: Vec<_> = read.filter(|(_, queries)| !queries.is_empty()).collect();
    let mut columns = Column::of(ColumnContent::Label, ["query"]);
    columns.extend(Column::of(
        ColumnContent::Figure,
        read.iter().map(|(row, _)| &row.name),
    ));
    let operations = context.run.question.workload.operations.iter();
    let rows = operations.map(|name| {
        let of_row = |(_, queries): &(&Row, Vec<(&str, u64)>)| {
            let found = queries.iter().find(|(known, _)| known == name);
            found.map_or_else(Cell::none, |(_, bytes)| Cell::text(format::bytes(*bytes)))
        };
        std::iter::once(Cell::text(name))
            .chain(read.iter().map(of_row))
            .collect()
    });
    let table = Block::table(Table::new("", columns, rows)).page();
    let summary = "Bytes that each query of the cold rounds read from disk";
    (!read.is_empty()).then(|| Block::fold(summary, false, vec![table]).page())
}

fn cells(name: &str, coldness: &Coldness) -> Vec<Cell> {
    let known = |text: Option<String>| Cell::text(text.unwrap_or("unknown".to_string()));
    let proved = if coldness.proved {
        Cell::text("cold").badged(Badge::Yes)
    } else {
        Cell::text("not proved").badged(Badge::Open)
    };
    let restarted = if coldness.server_restarted {
        "yes"
    } else {
        "no"
    };
    let resident = coldness
        .resident_bytes
        .map(|resident| match coldness.file_bytes {
            Some(all) => format!("{} of {}", format::bytes(resident), format::bytes(all)),
            None => format::bytes(resident),
        });
    vec![
        Cell::text(name).remarked(coldness.reason.clone()),
        proved,
        Cell::text(&coldness.eviction),
        Cell::text(restarted),
        known(coldness.pool_pages.map(|pages| format::count(pages as f64))),
        known(resident),
        known(coldness.device_read_bytes.map(format::bytes)),
    ]
}
