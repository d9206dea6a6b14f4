//! The factors that `[load]` brings.

/// A factor whose levels are a list in `[load]`. The trials of a series differ only in these, so they share a server start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadFactor {
    Clients,
    Workers,
    Rate,
}

impl LoadFactor {
    pub const ALL: [LoadFactor; 3] = [LoadFactor::Clients, LoadFactor::Workers, LoadFactor::Rate];

    /// The name in the file and in the record.
    pub const fn name(self) -> &'static str {
        match self {
            LoadFactor::Clients => "clients",
            LoadFactor::Workers => "workers",
            LoadFactor::Rate => "rate",
        }
    }

    /// The factor of this name; None if the file defines it under `[factor]`.
    pub fn named(name: &str) -> Option<LoadFactor> {
        LoadFactor::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Whether its levels are counts of clients or workers, so that one of 1 shows what a single one achieves.
    pub const fn is_count(self) -> bool {
        match self {
            LoadFactor::Clients | LoadFactor::Workers => true,
            LoadFactor::Rate => false,
        }
    }
}
