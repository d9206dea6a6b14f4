//! The words for cells and rounds in sentences.

use record::claim::{Cell, RoundSelector};

/// `hot 2`
pub(crate) fn round_words(selector: &RoundSelector) -> String {
    selector.index.map_or(selector.name.clone(), |index| {
        format!("{} {index}", selector.name)
    })
}

/// `variant small or large`; `this run` for a cell of all rows.
pub(crate) fn cell_words(cell: &Cell) -> String {
    let levels = cell
        .levels
        .iter()
        .map(|(factor, levels)| format!("{factor} {}", levels.join(" or ")));
    let words: Vec<String> = levels.collect();
    if words.is_empty() {
        "this run".to_string()
    } else {
        words.join(", ")
    }
}
