//! The words for cells in sentences.

use record::claim::Cell;

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
