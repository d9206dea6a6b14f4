//! What a start needs to know.

use std::path::PathBuf;

/// A server's start on a data folder.
#[derive(Clone, Debug, Default)]
pub struct StartRequest {
    /// The data folder (a clone of a snapshot, or a fresh one); ignored by an external server.
    pub data_folder: PathBuf,
    /// Server configuration as the server takes it, resolved: (`innodb_buffer_pool_size`, `134217728`).
    pub settings: Vec<(String, String)>,
    /// Control groups that the process joins before it becomes the server (`host::Group::joins`).
    pub groups: Vec<PathBuf>,
}
