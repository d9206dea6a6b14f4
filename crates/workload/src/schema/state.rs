//! What a server holds of a workload's tables, and which of them may be dropped.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatasetState {
    /// The schema does not exist, or holds none of the tables.
    Absent,
    /// Completely loaded, with the fingerprint of the data, which may differ from that of this dataset.
    Complete(String),
    /// As `Complete`, but a timed load has changed rows since, so that a trial would not measure what it was planned for.
    Changed(String),
    /// The marker is empty, or tables are missing: a load that did not finish.
    Partial,
    /// Tables of these names without a marker: prony did not make them.
    Theirs,
}

/// Which tables may be dropped so that the dataset can be loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AllowDrop {
    #[default]
    No,
    /// Those that prony made: their schema has its marker.
    Pronys,
    /// These of the user's too.
    Named(Vec<String>),
}

impl AllowDrop {
    pub(crate) fn allows_pronys(&self) -> bool {
        *self != AllowDrop::No
    }

    pub(crate) fn names(&self, table: &str) -> bool {
        matches!(self, AllowDrop::Named(names) if names.iter().any(|name| name == table))
    }
}
