//! Dumps and other files of SQL: read as a stream, statement by statement.
//!
//! Purpose: a dump of any server loads into prony's own schema on any other, where its SQL allows that. Boundaries: no other
//! translation of SQL than what a schema of another name needs.

mod command;
mod cut;
mod definer;
mod effect;
mod file;
mod folder;
mod included;
mod input;
mod names;
mod origin;
mod settings;
mod split;
mod statement;

pub(super) use cut::{Cause, Cut};
pub(super) use effect::Effect;
pub(super) use file::{beside, digest, open};
pub(super) use folder::{has_bodies, rows, script};
pub(super) use included::{included, included_in};
pub(super) use names::mapped;
pub(super) use origin::Origin;
pub(super) use split::{Piece, Statement, Statements};
pub(super) use statement::{Action, Filter};
