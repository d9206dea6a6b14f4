//! Finds the source span of a part of a checked experiment.
//!
//! Purpose: mistakes found after parsing are shown at their line too.

use super::experiment::Experiment;
use super::mistake::{Mistake, Notes, Span, SpecError};
use super::read::{Section, same_key};
use toml::de::DeTable;

/// A path through the file: tables by key, lists by index.
pub(crate) type Path = Vec<String>;

pub(crate) fn path(steps: &[&str]) -> Path {
    steps.iter().map(|step| step.to_string()).collect()
}

/// The span of the last step of the path that exists in the file. `[variant.X]` and `[factor.variant.X]` are the same.
fn place(file: &Section, path: &Path) -> Span {
    let short = match path.as_slice() {
        [factor, variant, rest @ ..] if factor == "factor" && variant == "variant" => {
            Some([&["variant".to_string()], rest].concat())
        }
        _ => None,
    };
    let long = file.follow(path);
    match short {
        // A level may have either form: take the one whose last key matches.
        Some(short)
            if long
                .as_ref()
                .zip(path.last())
                .is_none_or(|(node, last)| !same_key(node.key, last)) =>
        {
            file.follow(&short).or(long).map_or(0..0, |node| node.at())
        }
        _ => long.map_or(0..0, |node| node.at()),
    }
}

/// A mistake that is found after parsing.
#[derive(Clone)]
pub(crate) struct Late {
    pub path: Path,
    pub says: String,
    pub label: &'static str,
    pub help: String,
}

/// Returns an error with all mistakes, or Ok without any.
pub(crate) fn answer(experiment: &Experiment, found: Vec<Late>) -> Result<(), SpecError> {
    if found.is_empty() {
        return Ok(());
    }
    let tree = DeTable::parse(&experiment.source).ok();
    let notes = Notes::default();
    let file = tree
        .as_ref()
        .map(|tree| Section::file(&notes, tree.get_ref()));
    let at = |path: &Path| file.as_ref().map_or(0..0, |file| place(file, path));
    let mistakes = found
        .into_iter()
        .map(|late| Mistake::new(at(&late.path), late.says, late.label, late.help))
        .collect();
    Err(SpecError::new(
        &format!("{}.toml", experiment.name),
        &experiment.source,
        mistakes,
    ))
}
