//! Footnotes of a table of timed loads: one for each kind of caveat, however many cells have it.

use super::cell::Cell;
use crate::build::rows::left_out;
use crate::format;
use record::{LatencyKind, Percentile, Summary};
use stats::{by_key, each_once};

/// What a footnote is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Missing,
    Unstable,
    Invalid,
    LeftOut,
    Generator,
    Failed,
    Unknown,
    NotSteady,
    Stalls,
    Shift,
    Period,
    TooFew,
    Uncertain,
}

/// One thing about one cell.
pub(crate) struct Found {
    about: About,
    /// The cell's name.
    cell: String,
    text: String,
}

pub(crate) struct Note {
    /// The first is number 1.
    pub texts: Vec<String>,
    /// True of every cell with the same words.
    pub remarks: Vec<String>,
    /// The marks of each cell, in the order of the cells.
    pub marks: Vec<Vec<usize>>,
}

/// In the order of their footnotes, with the words that these begin with.
const ABOUT: [(About, &str); 13] = [
    (About::Missing, "no figure"),
    (About::Unstable, "no percentiles"),
    (
        About::Invalid,
        "the percentiles include lateness of the load generator",
    ),
    (About::LeftOut, "a block is left out"),
    (About::Generator, "the load generator affected the result"),
    (About::Failed, "operations failed"),
    (About::Unknown, "operations with unknown outcome"),
    (About::NotSteady, "no steady state"),
    (About::Stalls, "stalls"),
    (About::Shift, "level shifts"),
    (About::Period, "periodic drops"),
    (About::TooFew, "too few operations"),
    (About::Uncertain, "~ uncertain percentiles"),
];

/// Every caveat of a cell, whose table shows these percentiles, the first of them as its own.
pub(crate) fn caveats(cell: &Cell, shown: &[Percentile]) -> Vec<Found> {
    if !cell.exists() {
        return Vec::new();
    }
    let found = |(about, text): (About, String)| Found {
        about,
        cell: cell.name.clone(),
        text,
    };
    if let Some(why) = &cell.missing {
        return vec![found((About::Missing, why.clone()))];
    }
    let mut all: Vec<Found> = of_blocks(cell).into_iter().map(found).collect();
    let left_out = cell.left_out.iter().filter_map(|trial| left_out(trial));
    all.extend(left_out.map(|text| found((About::LeftOut, text))));
    let of_own = shown
        .first()
        .and_then(|percentile| too_few(cell, *percentile));
    all.extend(of_own.map(found));
    all.extend(uncertain(cell, shown).map(found));
    all
}

/// The caveats of the blocks, with the block. A text that several blocks share appears once, without it.
fn of_blocks(cell: &Cell) -> Vec<(About, String)> {
    let found = cell.blocks.iter().flat_map(|block| {
        let mut found = of_summary(block.summary);
        let load = block.trial.load.as_ref();
        // It is the schedule that is not steady.
        if load.is_some_and(|load| load.mode.has_changing_rate()) {
            found.retain(|(about, _)| *about != About::NotSteady);
        }
        let found = found.into_iter();
        found.map(move |one| (one, block.trial.key.block))
    });
    let single = cell.blocks.len() == 1;
    let all = by_key(found).into_iter();
    all.map(|((about, text), blocks)| match blocks[..] {
        [block] if !single => (about, format!("block {}: {text}", block + 1)),
        _ => (about, text),
    })
    .collect()
}

fn of_summary(summary: &Summary) -> Vec<(About, String)> {
    let unstable = summary
        .offered
        .as_ref()
        .and_then(|offered| offered.unstable.clone());
    // Operations that were lost, and all of older records, are among the others.
    let times = match summary.latency.failed {
        Some(_) => "leave out those that the server refused",
        None => "include their times",
    };
    let errors = (summary.errors > 0).then(|| {
        format!(
            "{} of {} operations; the percentiles {times}",
            format::count(summary.errors as f64),
            format::count((summary.errors + summary.operations) as f64)
        )
    });
    let unknown = (summary.unknown > 0).then(|| {
        let count = format::count(summary.unknown as f64);
        format!("{count} whose COMMIT was sent and whose answer was lost")
    });
    let not_steady = (!summary.steady.shape.is_steady()).then(|| summary.steady.reason.clone());
    let engine = &summary.engine;
    let single = [
        (About::Unstable, unstable),
        (About::Invalid, engine.invalid.clone()),
        (About::Generator, engine.limit.clone()),
        (About::Generator, engine.note.clone()),
        (About::Failed, errors),
        (About::Unknown, unknown),
        (About::NotSteady, not_steady),
        (About::Stalls, summary.stalled()),
        (
            About::Period,
            summary.period.as_ref().map(|period| period.sentence()),
        ),
    ];
    let shifts = summary
        .shifts
        .iter()
        .map(|shift| (About::Shift, shift.sentence()));
    single
        .into_iter()
        .filter_map(|(about, text)| Some((about, text?)))
        .chain(shifts)
        .collect()
}

fn too_few(cell: &Cell, percentile: Percentile) -> Option<(About, String)> {
    let load = cell.load.as_ref()?;
    let known = load.latency.of(LatencyKind::Response, percentile).is_some();
    if known || !load.unstable.is_empty() {
        return None;
    }
    let blocks = cell.blocks.iter();
    let mut latencies = blocks.filter_map(|block| block.summary.latency.of(LatencyKind::Response));
    let lacking = latencies.find(|one| one.at(percentile).is_none())?;
    let text = match lacking.unanswered {
        0 => format!(
            "fewer than {} operations lie above the {}, so it is not shown",
            record::SAMPLES_ABOVE_MIN,
            percentile.text()
        ),
        _ => format!("no {}: {}", percentile.text(), lacking.why_not(percentile)),
    };
    Some((About::TooFew, text))
}

/// Why the first of these percentiles that is uncertain is it.
fn uncertain(cell: &Cell, shown: &[Percentile]) -> Option<(About, String)> {
    let why = |percentile: &Percentile| {
        let mut blocks = cell.blocks.iter();
        blocks.find_map(|block| {
            let response = block.summary.latency.of(LatencyKind::Response)?;
            response.why_uncertain(*percentile, block.summary.steady.seconds())
        })
    };
    Some((About::Uncertain, shown.iter().find_map(why)?))
}

/// One note for each kind; what every cell with a figure has is a remark without a number.
pub(crate) fn grouped(found: Vec<Vec<Found>>) -> Note {
    let mut note = Note {
        texts: Vec::new(),
        remarks: Vec::new(),
        marks: vec![Vec::new(); found.len()],
    };
    let measured = found
        .iter()
        .filter(|of_cell| of_cell.iter().all(|one| one.about != About::Missing))
        .count();
    for (about, words) in ABOUT {
        let mut own: Vec<&Found> = Vec::new();
        let mut cells: Vec<usize> = Vec::new();
        for (cell, of_cell) in found.iter().enumerate() {
            let count = own.len();
            own.extend(of_cell.iter().filter(|one| one.about == about));
            if own.len() > count {
                cells.push(cell);
            }
        }
        let Some(first) = own.first() else {
            continue;
        };
        let alike = own.iter().all(|one| one.text == first.text);
        if cells.len() == measured && cells.len() > 1 && about != About::Missing {
            note.remarks.push(remark(words, first, alike));
            continue;
        }
        note.texts.push(text(words, &own, cells.len(), alike));
        let number = note.texts.len();
        cells
            .into_iter()
            .for_each(|cell| note.marks[cell].push(number));
    }
    note
}

fn remark(words: &str, first: &Found, alike: bool) -> String {
    if alike {
        format!("Every cell: {}.", first.text)
    } else {
        format!("Every cell: {words}; {}: {}.", first.cell, first.text)
    }
}

fn text(words: &str, own: &[&Found], cells: usize, alike: bool) -> String {
    let first = own[0];
    match (alike, cells) {
        (true, _) | (false, 1) => format!("{words}: {}", listed(own)),
        (false, _) => format!("{words}, in {cells} cells; {}: {}", first.cell, first.text),
    }
}

/// How many texts of one cell a note gives; those of 60 blocks would hide the table. The record has them all.
const TEXTS_MAX: usize = 3;

/// Different texts, each once; of many, the first.
fn listed(own: &[&Found]) -> String {
    let texts = each_once(own.iter().map(|one| one.text.clone()));
    format::first_few(texts, TEXTS_MAX, "; ")
}

#[cfg(test)]
mod tests {
    use super::{About, Found, grouped};

    fn note(blocks: usize) -> String {
        let found = |block| Found {
            about: About::Failed,
            cell: "old".to_string(),
            text: format!("block {block}: {block} of 100"),
        };
        let note = grouped(vec![(1..=blocks).map(found).collect()]);
        note.texts.concat()
    }

    #[test]
    fn a_note_names_three_blocks_and_counts_the_others() {
        let three = "operations failed: block 1: 1 of 100; block 2: 2 of 100; block 3: 3 of 100";
        assert_eq!(note(3), three);
        assert_eq!(note(60), format!("{three}; and 57 more"));
    }
}
