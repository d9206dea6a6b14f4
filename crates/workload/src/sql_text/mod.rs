//! SQL as text: its statements, their headings and parameters, and what its words mean.
//!
//! Purpose: the user's SQL is read in one place. Boundaries: no grammar; only a server knows whether a statement is valid. `sql::dump` reads
//! streams.

mod headings;
pub(crate) mod lexer;
mod pieces;
mod statements;

pub use headings::{Headed, headed};
pub(crate) use headings::{heading_of, is_name, name_and_weight};
pub use lexer::{SessionSet, hinted_sets, is_set_global, session_sets};
pub use pieces::{PieceKind, lex};
pub use statements::{SqlMistake, statements};
pub(crate) use statements::{name_length, named};
