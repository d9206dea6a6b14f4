//! What the machine gives a trial and what disturbs it: limits, volumes, and other prony processes.

pub(crate) mod changes;
pub(crate) mod limits;
pub(crate) mod neighbours;
pub(crate) mod redo_log;
pub(crate) mod volume;
