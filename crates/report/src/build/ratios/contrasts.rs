//! New against old: the table, the answer in sentences.

use super::common::ComparedPlace;
use super::ratio::Way;
use crate::build::rows::Notes;
use crate::document::{
    Badge, Block, Cell, Column, ColumnContent, Document, Headline, Most, Node, Section, Table,
};
use crate::{format, names};
use record::claim::Unit;
use record::{Judged, Question, Value, Verdict};
use stats::{Basis, Compared, Comparison, Contrast, Estimate, each_once};

/// Values that no gate tests, in the terminal.
const MOST_SHOWN: usize = 12;
/// Sentences below a benchmark.
const MOST_SENTENCES: usize = 8;

/// The servers of a run without claims against its first one.
pub(crate) fn section(document: &Document) -> Option<Section> {
    let title = match document.run.question.servers.as_slice() {
        [old, new] => format!("{new} against {old}"),
        [first, ..] => format!("Against {first}"),
        [] => String::new(),
    };
    let nodes = nodes(&document.run.question, &document.contrasts);
    Section::unless_empty("contrasts", title, nodes)
}

/// The tables of each new side: what a gate tests, then the rest. Single queries have their own tables.
pub(crate) fn nodes(question: &Question, contrasts: &[Contrast]) -> Vec<Node> {
    let all: Vec<&Contrast> = contrasts.iter().collect();
    let sides = all_sides(&all);
    let mut nodes = Vec::new();
    for (decides, beside) in [(true, ""), (false, "not gated")] {
        let is_own = |c: &&&Contrast| c.subject.decides == decides && c.subject.query.is_none();
        let own: Vec<&Contrast> = all.iter().filter(is_own).copied().collect();
        let mut notes = Notes::default();
        let mut tables = Vec::new();
        for side in &sides {
            let of_side: Vec<&Contrast> = own.iter().copied().filter(|c| c.new == **side).collect();
            let name = match (sides.len(), of_side.first()) {
                (2.., Some(first)) => format!("{side} against {}", first.old),
                _ => String::new(),
            };
            let parts = [name.as_str(), beside].into_iter();
            let caption: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
            let rows = of_side.into_iter().map(|contrast| {
                let reason = contrast.judged.reason.clone();
                row(cell_name(question, contrast), contrast, reason, &mut notes)
            });
            let rows: Vec<Vec<Cell>> = rows.collect();
            tables.push((caption.join(", "), rows));
        }
        nodes.extend(family(tables, notes, decides));
    }
    nodes
}

/// The tables of values that are tested together, and their notes below. A note that all rows share is a remark.
fn family(mut tables: Vec<(String, Vec<Vec<Cell>>)>, notes: Notes, decides: bool) -> Vec<Node> {
    tables.retain(|(_, rows)| !rows.is_empty());
    let names = tables
        .iter_mut()
        .flat_map(|(_, rows)| rows.iter_mut().map(|row| &mut row[1]));
    let mut names: Vec<&mut Cell> = names.collect();
    let shared = match notes.texts.as_slice() {
        [one] if names.len() > 1 && names.iter().all(|name| !name.marks.is_empty()) => {
            names.iter_mut().for_each(|name| name.marks.clear());
            Some(Block::remark(format!("{}.", format::capitalised(one))))
        }
        _ => notes.block(),
    };
    let most = if decides {
        Most::ALL
    } else {
        Most::in_terminal(MOST_SHOWN)
    };
    let tables = tables.into_iter();
    let tables = tables.map(|(caption, rows)| {
        Block::table(Table::new(caption, columns("value"), rows).most(most))
    });
    let node = |block: Block| Node {
        first_screen: decides,
        ..block.everywhere()
    };
    tables.chain(shared).map(node).collect()
}

/// `what`: the head of what is compared.
pub(crate) fn columns(what: &str) -> Vec<Column> {
    Column::list(&[
        (ColumnContent::Label, &["verdict"]),
        (ColumnContent::Words, &[what]),
        (ColumnContent::Figure, &["old", "new", "new is", "95 % CI"]),
    ])
}

/// A row of a table of contrasts, with what its value is called and why it has none.
pub(crate) fn row(
    name: String,
    contrast: &Contrast,
    note: Option<String>,
    notes: &mut Notes,
) -> Vec<Cell> {
    let marks = note.map(|note| notes.number(note));
    let value = |found: &Option<Estimate>| match found {
        Some(bound) if bound.at_least => {
            let decimals = format::decimals([bound.mean]);
            Cell::text(format::at_least(bound.mean, decimals))
        }
        found => Cell::estimate(found.as_ref(), |v| figure(contrast, v)),
    };
    let way = way(contrast);
    vec![
        Cell::text(word(contrast)).badged(badge(contrast)),
        Cell::text(name).marked(marks.into_iter().collect()),
        value(&contrast.old_value).uncertain(contrast.old_is_uncertain),
        value(&contrast.new_value).uncertain(contrast.new_is_uncertain),
        way.as_ref()
            .map_or_else(Cell::none, |way| Cell::text(way.words())),
        Cell::text(
            way.and_then(|way| way.interval())
                .unwrap_or_else(|| "-".into()),
        ),
    ]
}

/// `equivalent`; `not available` where a side has no value.
pub(crate) fn word(contrast: &Contrast) -> &'static str {
    match contrast.judged.verdict {
        Verdict::NotAvailable => Verdict::NotAvailable.text(),
        _ => contrast.verdict().text(),
    }
}

fn badge(contrast: &Contrast) -> Badge {
    match (contrast.judged.verdict, contrast.verdict()) {
        (Verdict::NotAvailable, _) => Badge::None,
        (_, Comparison::Faster | Comparison::Equivalent) => Badge::Yes,
        (_, Comparison::Slower) => Badge::No,
        (_, Comparison::Inconclusive) => Badge::Open,
    }
}

/// `without by_region`: queries that failed on a side, so that the sum lacks them.
fn without(subject: &Compared) -> Option<String> {
    let without = &subject.without;
    (!without.is_empty()).then(|| format!("without {}", without.join(", ")))
}

/// `8 clients: throughput (ops/s)`
pub(crate) fn cell_name(question: &Question, contrast: &Contrast) -> String {
    let row = names::row_of(question, contrast.server.as_deref(), &contrast.levels);
    let subject = &contrast.subject;
    let round = subject.round.clone().into_iter();
    let query = subject.query.clone();
    let value = match &subject.value {
        Value::Elapsed => None,
        Value::Latency { percentile, .. } => Some(format!("{} response", percentile.title())),
        other => Some(other.noun()),
    };
    let without = without(subject);
    let parts: Vec<String> = round.chain(query).chain(without).chain(value).collect();
    names::before(&row) + &parts.join(" ") + subject.value.unit().suffix()
}

fn figure(contrast: &Contrast, value: f64) -> String {
    match contrast.subject.value.unit() {
        Unit::PerSecond => format::operations(value),
        Unit::Milliseconds => format::milliseconds(value),
        Unit::Seconds | Unit::Number => format::seconds(value, format::decimals([value])),
    }
}

fn way(contrast: &Contrast) -> Option<Way> {
    Way::of(&contrast.judged, &contrast.subject.value)
}

/// `new is 1.90× slower than old (1.70 to 2.20), from 2 of 3 blocks`, with the reason where nothing is decided.
pub(crate) fn sentence(contrast: &Contrast) -> String {
    let (old, new) = (&contrast.old, &contrast.new);
    let reason = contrast.judged.reason.as_ref();
    let Some(way) = way(contrast) else {
        let why = reason.map_or("no value", String::as_str);
        return format!("{new} against {old}: not available: {why}");
    };
    let words = way.words();
    let interval = way.interval().map(|interval| format!(" ({interval})"));
    let interval = interval.unwrap_or_default();
    let caveats = caveats(&contrast.judged, &contrast.basis);
    match contrast.verdict() {
        Comparison::Inconclusive => {
            let reason = reason
                .map(|reason| format!("; {reason}"))
                .unwrap_or_default();
            format!("{new} against {old}: inconclusive, {words}{interval}{reason}")
        }
        Comparison::Equivalent => {
            format!("{new} is equivalent to {old}: {words}{interval}{caveats}")
        }
        Comparison::Faster | Comparison::Slower => {
            format!("{new} is {words} than {old}{interval}{caveats}")
        }
    }
}

/// `, from 2 of 3 blocks; ~ server new, block 1: only 50 operations lie above the p99; 20 s would do`; empty if all blocks count and the value
/// is certain.
pub(crate) fn caveats(judged: &Judged, basis: &Basis) -> String {
    let blocks = judged.blocks.and_then(|blocks| blocks.words());
    let blocks = blocks.map(|words| format!(", {words}"));
    let doubt = basis.uncertain.as_ref().map(|why| format!("; {why}"));
    blocks.into_iter().chain(doubt).collect()
}

/// What a gate tests, each with its cell, for the last lines of a benchmark.
pub(crate) fn sentences(question: &Question, contrasts: &[Contrast]) -> Vec<String> {
    let tested = || contrasts.iter().filter(|contrast| contrast.subject.decides);
    let line = |contrast: &Contrast| {
        let cell = cell_name(question, contrast);
        format!("{}: {}", cell, sentence(contrast))
    };
    let mut lines: Vec<String> = tested().take(MOST_SENTENCES).map(line).collect();
    let more = tested().count().saturating_sub(MOST_SENTENCES);
    lines.extend((more > 0).then(|| format!("... {more} more in the table")));
    lines
}

/// The answer in a sentence: of a single cell its own, else of the one that differs most, and how many cells are slower:
/// `At 64 clients, new is 1.9× slower than old (1.7 to 2.2). new against old, 3 values: 1 slower, 2 equivalent.`
pub(crate) fn headline(question: &Question, contrasts: &[Contrast]) -> Option<Headline> {
    let tested: Vec<&Contrast> = contrasts.iter().filter(|c| c.subject.decides).collect();
    let counts = || {
        let sides = all_sides(&tested);
        let counts: Vec<String> = sides.iter().map(|side| counted(side, &tested)).collect();
        Headline::from(counts.join(" "))
    };
    let differ = tested.iter().filter(|contrast| {
        let verdict = contrast.verdict();
        matches!(verdict, Comparison::Slower | Comparison::Faster)
    });
    let size = |contrast: &&&Contrast| contrast.judged.measured.map_or(0.0, |r| r.ln().abs());
    let most = differ.max_by(|a, b| size(a).total_cmp(&size(b)));
    let most = most.and_then(|contrast| differing(question, contrast));
    let open = tested
        .iter()
        .filter(|c| c.verdict() == Comparison::Inconclusive);
    let open = || open.clone().max_by(|a, b| size(a).total_cmp(&size(b)));
    match (tested.as_slice(), most) {
        ([], _) => None,
        ([_], Some(most)) => Some(most),
        ([one], None) => Some(Headline::from(format!("{}.", sentence(one)))),
        (_, Some(most)) => Some(most.then(counts())),
        (_, None) => {
            let open = open().and_then(|contrast| undecided(question, contrast));
            Some(open.unwrap_or_default().then(counts()))
        }
    }
}

/// `Hot, new against old is undecided: 1.30× slower (one block, no interval).`
fn undecided(question: &Question, contrast: &Contrast) -> Option<Headline> {
    let way = way(contrast)?;
    let named = contrast.subject.round.clone().into_iter();
    let place = ComparedPlace::of(
        question,
        named.chain(without(&contrast.subject)),
        &contrast.levels,
    );
    let what = what_of(&contrast.subject);
    let start = place.before(&format!(
        "{what}{} against {} is ",
        contrast.new, contrast.old
    ));
    let found = format!(": {}{}.", way.short_words(), way.short_interval());
    Some(Headline::from(start).stress("undecided").plain(found))
}

/// `p99 of `; empty if the name of a side says it.
fn what_of(subject: &Compared) -> String {
    match &subject.value {
        Value::Elapsed | Value::Throughput => String::new(),
        Value::Latency { percentile, .. } => format!("{} of ", percentile.title()),
        other => format!("{} of ", other.noun()),
    }
}

/// `At 64 clients, new is 1.9× slower than old (1.7 to 2.2).`
fn differing(question: &Question, contrast: &Contrast) -> Option<Headline> {
    let Contrast {
        old, new, subject, ..
    } = contrast;
    let way = way(contrast)?;
    let named = subject
        .round
        .clone()
        .into_iter()
        .chain(subject.query.clone())
        .chain(without(subject));
    let place = ComparedPlace::of(question, named, &contrast.levels);
    let what = what_of(subject);
    let caveats = caveats(&contrast.judged, &contrast.basis);
    let rest = format!(" than {what}{old}{}{caveats}.", way.short_interval());
    Some(
        Headline::from(place.before(&format!("{what}{new} is ")))
            .stress(way.short_words())
            .plain(rest),
    )
}

/// The new sides, each once, in order.
fn all_sides<'c>(contrasts: &[&'c Contrast]) -> Vec<&'c str> {
    each_once(contrasts.iter().map(|contrast| contrast.new.as_str()))
}

fn counted(side: &str, all: &[&Contrast]) -> String {
    let of_side: Vec<&&Contrast> = all.iter().filter(|contrast| contrast.new == side).collect();
    let words = [
        "slower",
        "faster",
        "equivalent",
        "inconclusive",
        "not available",
    ];
    let counts = words.iter().filter_map(|known| {
        let count = of_side
            .iter()
            .filter(|contrast| word(contrast) == *known)
            .count();
        (count > 0).then(|| format!("{count} {known}"))
    });
    let old = &of_side[0].old;
    let cells = format::plural(of_side.len(), "value");
    format!(
        "{side} against {old}, {cells}: {}.",
        counts.collect::<Vec<_>>().join(", ")
    )
}
