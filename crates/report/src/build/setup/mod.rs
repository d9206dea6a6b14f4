//! What a run was measured on and with: machine, servers, settings, limits, datasets.

pub(crate) mod datasets;
pub(crate) mod differences;
pub(crate) mod environment;
pub(crate) mod limits;
pub(crate) mod settings;
