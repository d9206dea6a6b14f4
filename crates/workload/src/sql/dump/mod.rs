//! Dumps of mysqldump and mariadb-dump: read as a stream, statement by statement.
//!
//! Purpose: a dump of any server loads into prony's own schema on any other, where its SQL allows that. Boundaries: no other
//! translation of SQL than what a schema of another name needs.

mod file;
mod split;
mod statement;

pub(super) use file::{digest, open};
pub(super) use split::{Cut, Statements};
pub(super) use statement::{Action, Filter};
