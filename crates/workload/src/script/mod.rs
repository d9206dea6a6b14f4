//! Operations as data: statements, their parameters and the mix, which a driver runs over connections of its own.
//!
//! Goals: a new operation is a text and not code; a session allocates everything when it opens, so that an operation neither allocates
//! nor formats. Non-goals: when an operation is due (crate `load`), the protocol (crate `wire`), answers: rows are counted.

mod build;
mod cursor;
mod driver;
mod generator;
mod headings;
mod lex;
mod mix;
mod policy;
mod session;
mod split;

pub use build::{Builder, Part};
pub use driver::Driver;
pub use generator::{Generator, Literal};
pub use headings::{Headed, headed};
pub use lex::{Kind, lex};
pub use mix::WEIGHT_MAX;
pub use policy::{DUPLICATE, Policy};
pub use split::{SqlMistake, name_length, statements};

use generator::Parameter;
use mix::Mix;

/// A compiled list of operations.
#[derive(Clone, Debug)]
pub struct Script {
    operations: Vec<Operation>,
    mix: Mix,
    statements: Vec<Statement>,
    parameters: Vec<Parameter>,
    /// How many tables there are for `{n}`, which is then 1 to so many; at least one.
    tables: u32,
    policy: Policy,
}

#[derive(Clone, Debug)]
struct Operation {
    name: String,
    steps: Vec<Step>,
    /// It begins a transaction, so what fails within is rolled back.
    transaction: bool,
}

/// Statements that share one draw of their parameters, repeated with a new draw each time on the same table.
#[derive(Clone, Debug)]
struct Step {
    /// At least once.
    times: u16,
    /// Places in [`Script::parameters`], those first that others rest on.
    draws: Vec<u16>,
    /// Places in [`Script::statements`], at least one.
    statements: Vec<u16>,
    /// For each of them: whether it makes changes permanent, so that nobody knows what became of them where its answer is
    /// lost.
    commits: Vec<bool>,
}

#[derive(Clone, Debug)]
struct Statement {
    /// With `?` for parameters and, where there is one for each table, `{n}` for its number.
    sql: String,
    /// Places in [`Script::parameters`], one for each `?`.
    parameters: Vec<u16>,
    /// There is one for each table.
    per_table: bool,
    /// Begins or ends a transaction: always sent as text, since not every server prepares it.
    control: bool,
    /// Where a session keeps it; with `per_table` that of the first table, the others follow.
    place: u32,
}

impl Script {
    /// Prepared statements that each session has: the server limits them over all (`max_prepared_stmt_count`).
    pub fn prepared_per_session(&self) -> usize {
        let prepared = self.statements.iter().filter(|known| !known.control);
        prepared
            .map(|statement| statement.copies(self.tables) as usize)
            .sum()
    }

    /// Places for statements in a session.
    fn places(&self) -> usize {
        let end = |statement: &Statement| statement.place + statement.copies(self.tables);
        self.statements.iter().map(end).max().unwrap_or(0) as usize
    }

    fn text_bytes(&self) -> usize {
        let end =
            |parameter: &Parameter| parameter.text_from + parameter.generator.text_bytes_max();
        self.parameters.iter().map(end).max().unwrap_or(0)
    }
}

impl Statement {
    /// How many a session keeps where there are so many tables.
    fn copies(&self, tables: u32) -> u32 {
        if self.per_table { tables } else { 1 }
    }

    /// The texts of these, in the order of the tables.
    fn texts(&self, tables: u32) -> Vec<String> {
        let text = |table: u32| match self.per_table {
            true => self.sql.replace(build::TABLE, &table.to_string()),
            false => self.sql.clone(),
        };
        (1..=self.copies(tables)).map(text).collect()
    }
}
