//! Panels of the storage's states: how near the checkpoint age and the dirty pages are to their limits, and why pages are flushed.

use crate::build::loads::grid::cell::{Block as OneBlock, Cell as Point};
use crate::document::{Band, Panel};
use record::State;

const LEVELS: [(&str, State); 2] = [
    ("checkpoint age", State::CheckpointAge),
    ("dirty pages", State::DirtyPages),
];
const CAUSES: [(&str, State); 5] = [
    ("adaptive", State::FlushedAdaptive),
    ("background", State::FlushedBackground),
    ("sync", State::FlushedSync),
    ("LRU", State::FlushedLru),
    ("pages read", State::PagesRead),
];

/// A panel for each state in the record. Its points are medians over the blocks, in spans of `width` seconds.
pub(crate) fn panels(cell: &Point, width: usize) -> Vec<Panel> {
    let levels = LEVELS
        .iter()
        .enumerate()
        .map(|(place, (name, state))| band(cell, width, place, name, share_of_limit(*state)));
    let causes = CAUSES.iter().enumerate().map(|(place, (name, state))| {
        let state = state.as_str();
        band(cell, width, 2 + place, name, move |block, second| {
            block.at(state, second)
        })
    });
    let panel = |name, curves: Vec<Band>| Panel {
        name,
        log: false,
        width,
        curves,
    };
    let panels = [
        panel("% of the limit", levels.flatten().collect()),
        panel(
            "pages/s flushed by cause, and read",
            causes.flatten().collect(),
        ),
    ];
    let drawn = panels.into_iter().filter(|panel| !panel.curves.is_empty());
    drawn.collect()
}

/// The state in percent of its limit.
fn share_of_limit(state: State) -> impl Fn(&OneBlock, usize) -> Option<f64> {
    move |block, second| {
        let share = state.share_of_limit(|state| block.at(state.as_str(), second))?;
        Some(100.0 * share)
    }
}

/// None if the server does not report the state, or it was 0 all the time.
fn band(
    cell: &Point,
    width: usize,
    colour: usize,
    name: &'static str,
    of: impl Fn(&OneBlock, usize) -> Option<f64>,
) -> Option<Band> {
    let found = cell.envelopes(width, of).into_iter();
    let points: Vec<Option<[f64; 3]>> = found
        .map(|point| point.map(|[_, median, _]| [median; 3]))
        .collect();
    let is_drawn = points.iter().flatten().any(|[value, ..]| *value != 0.0);
    is_drawn.then_some(Band {
        name,
        colour,
        points,
    })
}
