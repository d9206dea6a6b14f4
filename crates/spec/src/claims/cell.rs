//! The cells of a claim: the part of the matrix that it selects.
//!
//! Purpose: every name exists, and no cell is empty because of an `only` or of the rounds of a level. Boundaries: `value` reads what is compared.

use crate::experiment::RoundKind;
use crate::file::read::Node;
use crate::load::MAX;
use crate::sections::names::Names;
use record::{Cell, RoundSelector};

/// Reads the part of the matrix that a claim selects.
pub(super) fn cell(node: &Node, names: &Names) -> Option<Cell> {
    let section = node.section(&format!(
        "{} = {{ server = \"5.6\", round = \"hot\" }}",
        node.key
    ))?;
    let mut cell = Cell::default();
    for node in section.entries() {
        match node.key {
            "round" => cell.round = round(&node, names),
            "query" => cell.query = node.words("query = \"Q1.1\""),
            factor => cell.levels.push((
                factor.to_string(),
                names.check_levels(&node, &["round", "query"], "the claim"),
            )),
        }
    }
    leave_out_the_maximum(&mut cell, names);
    check_not_empty(node, &cell, names);
    check_has_round(node, &cell, names);
    Some(cell)
}

/// A cell that names no rate averages over the rates of the file. The closed-loop trial that measures the maximum is not
/// one of them.
fn leave_out_the_maximum(cell: &mut Cell, names: &Names) {
    let rates = names.levels("rate").unwrap_or_default();
    if rates.contains(&MAX) && cell.levels.iter().all(|(factor, _)| factor != "rate") {
        let rates = rates.iter().filter(|rate| **rate != MAX);
        let rates = rates.map(|rate| rate.to_string()).collect();
        cell.levels.push(("rate".to_string(), rates));
    }
}

/// Notes a cell that combines two levels that `only` never combines.
fn check_not_empty(node: &Node, cell: &Cell, names: &Names) {
    if let Some(why) = names.apart(&cell.levels) {
        let says = format!("this cell contains no trials: {why}");
        node.note(says, "an empty cell", "see the level's \"only\"");
    }
}

/// Notes a cell whose levels all leave out its round.
fn check_has_round(node: &Node, cell: &Cell, names: &Names) {
    let Some(round) = &cell.round else {
        return;
    };
    let lacks = |rounds: &[RoundKind]| {
        let same = rounds.iter().filter(|kind| kind.name() == round.name);
        (same.count() as u32) < round.index.unwrap_or(1)
    };
    let leaves_out = |(factor, levels): &&(String, Vec<String>)| {
        let mut rounds = levels.iter().map(|level| names.rounds_of(factor, level));
        !levels.is_empty() && rounds.all(|rounds| rounds.is_some_and(lacks))
    };
    if let Some((_, levels)) = cell.levels.iter().find(leaves_out) {
        let index = round
            .index
            .map_or(String::new(), |index| format!(" {index}"));
        node.note(
            format!(
                "this cell contains no rounds: \"{}\" does not run \"{}{index}\"",
                levels.join("\", \""),
                round.name
            ),
            "an empty cell",
            "name another round, or add it to the rounds of the level",
        );
    }
}

/// `"hot"` or `"hot 2"`, if the protocol has that round.
fn round(node: &Node, names: &Names) -> Option<RoundSelector> {
    let text = node.words("round = \"hot\"")?;
    let (name, index) = match text.split_once(' ') {
        None => (text.as_str(), None),
        Some((name, index)) => (name, Some(index.trim())),
    };
    let count = names
        .rounds
        .iter()
        .filter(|kind| kind.name() == name)
        .count() as u32;
    if count == 0 {
        let mut known: Vec<&str> = names.rounds.iter().map(|kind| kind.name()).collect();
        known.dedup();
        node.notes.unknown(node.at(), "the round", name, &known);
        return None;
    }
    let number = index.and_then(|index| index.parse::<u32>().ok());
    let number = number.filter(|number| (1..=count).contains(number));
    if index.is_some() && number.is_none() {
        let says = format!(
            "unknown round \"{text}\": the protocol has {count} that {} {name}",
            record::for_count(count as usize, "is", "are")
        );
        let help =
            format!("write \"{name}\" for the mean of all, or \"{name} {count}\" for the last");
        node.note(says, "no such round", help);
        return None;
    }
    Some(RoundSelector {
        name: name.to_string(),
        index: number,
    })
}
