//! The parameters of a server start.

use std::path::PathBuf;

/// How to start a server on a data folder.
#[derive(Clone, Debug, Default)]
pub struct StartRequest {
    /// The data folder: a clone of a snapshot, or a fresh one. An external server ignores it.
    pub data_folder: PathBuf,
    /// Server settings by name, as the server accepts them: (`innodb_buffer_pool_size`, `134217728`).
    pub settings: Vec<(String, String)>,
    /// Control groups that the process joins before exec (`host::Group::joins`).
    pub groups: Vec<PathBuf>,
}
