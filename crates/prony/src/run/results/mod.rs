//! Where a run is kept: its folder with the record, the logs and the recordings of disks.

pub(crate) mod folder;
pub(crate) mod recording;
