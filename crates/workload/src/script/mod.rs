//! Operations as data: statements, parameters and the mix, which a driver runs over its own connections.
//!
//! Purpose: a new operation is text, not code. A session allocates everything when it opens, so that an operation neither
//! allocates nor formats. Boundaries: crate `load` schedules operations, crate `wire` implements the protocol; results are
//! only counted.

mod build;
pub(crate) mod commits;
mod cursor;
mod driver;
mod effects;
pub(crate) mod failure;
mod first_errors;
mod generator;
mod locks;
mod mix;
mod policy;
mod session;

pub use build::{Builder, StatementGroup};
pub use driver::Driver;
pub use generator::{Generator, Literal};
pub(crate) use mix::{Mix as Weights, WEIGHT_MAX};
pub(crate) use policy::DUPLICATE;
pub use policy::{Policy, Verdict};

use effects::Purpose;
use generator::Parameter;
use mix::Mix;

/// A compiled list of operations.
#[derive(Clone, Debug)]
pub struct Script {
    operations: Vec<Operation>,
    mix: Mix,
    statements: Vec<Statement>,
    parameters: Vec<Parameter>,
    /// The number of tables, at least one; `{n}` is a number from 1 to this.
    tables: u32,
    policy: Policy,
}

#[derive(Clone, Debug)]
struct Operation {
    name: String,
    steps: Vec<Step>,
    /// Whether it starts a transaction, so that a failure is rolled back.
    transaction: bool,
    /// Whether it turns autocommit off, so that a failure turns it on again.
    turns_autocommit_off: bool,
    /// Whether no statement of it changes anything.
    reads_only: bool,
}

/// Statements that share parameter values; each repetition draws new values for the same table.
#[derive(Clone, Debug)]
struct Step {
    /// At least once.
    times: u16,
    /// Indices into [`Script::parameters`], dependencies first.
    draws: Vec<u16>,
    /// Indices into [`Script::statements`], at least one.
    statements: Vec<u16>,
    /// For each statement: whether it commits changes. If its reply is lost, the outcome is unknown.
    commits: Vec<bool>,
}

#[derive(Clone, Debug)]
struct Statement {
    /// The SQL with `?` for parameters and, if it is per table, `{n}` for the number of the table.
    sql: String,
    /// Indices into [`Script::parameters`], one for each `?`.
    parameters: Vec<u16>,
    /// Whether there is one statement per table.
    per_table: bool,
    /// Whether it starts or ends a transaction. Such statements are sent as text, since not every server can prepare them.
    control: bool,
    /// The effect that its replies are to show.
    purpose: Purpose,
    /// Its slot in a session; with `per_table` the slot of the first table, followed by the others.
    place: u32,
}

impl Script {
    /// Prepared statements per session; the server limits the total (`max_prepared_stmt_count`).
    pub(crate) fn prepared_per_session(&self) -> usize {
        let prepared = self.statements.iter().filter(|known| !known.control);
        prepared
            .map(|statement| statement.copies(self.tables) as usize)
            .sum()
    }

    /// The statements that a server can prepare, each with its operation; of one per table that of the first.
    pub(crate) fn prepared(&self) -> impl Iterator<Item = (&str, String)> {
        self.operations.iter().flat_map(move |operation| {
            let steps = operation.steps.iter().flat_map(|step| &step.statements);
            let statements = steps.map(move |place| &self.statements[usize::from(*place)]);
            let prepared = statements.filter(|statement| !statement.control);
            prepared.flat_map(move |statement| {
                let first = statement.texts(1).into_iter();
                first.map(move |text| (operation.name.as_str(), text))
            })
        })
    }

    /// Whether an operation changes something.
    pub(crate) fn writes(&self) -> bool {
        let mut operations = self.operations.iter();
        operations.any(|operation| !operation.reads_only)
    }

    /// Slots for statements in a session.
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
    /// The number of slots in a session with this many tables.
    fn copies(&self, tables: u32) -> u32 {
        if self.per_table { tables } else { 1 }
    }

    /// The texts of these, in the order of the tables.
    fn texts(&self, tables: u32) -> Vec<String> {
        let text = |table: u32| {
            if self.per_table {
                self.sql.replace(build::TABLE, &table.to_string())
            } else {
                self.sql.clone()
            }
        };
        (1..=self.copies(tables)).map(text).collect()
    }
}

/// Whether the reply to a statement has the rows that it finds.
pub fn finds_rows(sql: &str) -> bool {
    build::purpose(sql) == Purpose::Find
}
