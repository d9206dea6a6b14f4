//! A trial as it is planned: every level chosen, every patch applied.

use crate::spec::{EventSpec, Pairs, Setting};
use record::TrialKey;

#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTrial {
    pub key: TrialKey,
    /// Server configuration, later patches winning; sizes relative to the data are still open.
    pub settings: Pairs<Setting>,
    pub session: Pairs<Setting>,
    /// The workload's section with the levels' keys laid over it.
    pub workload: toml::Table,
    pub clients: u32,
    pub events: Vec<EventSpec>,
}
