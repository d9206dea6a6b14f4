//! The kinds of time of an operation.

use serde::{Deserialize, Serialize};

/// Which time of an operation; response is wait and service together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencyKind {
    Response,
    Wait,
    Service,
    /// The response of operations that the server refused, in closed loop their service; none in older records, where these are among
    /// the others.
    Failed,
}

impl LatencyKind {
    /// In a sentence: `latency`, `wait time`.
    pub fn noun(self) -> &'static str {
        match self {
            LatencyKind::Response => "latency",
            LatencyKind::Wait => "wait time",
            LatencyKind::Service => "service time",
            LatencyKind::Failed => "time of failed operations",
        }
    }

    /// The times of operations that were answered, by their names in files.
    pub const NAMED: [(&str, LatencyKind); 3] = [
        ("response", LatencyKind::Response),
        ("wait", LatencyKind::Wait),
        ("service", LatencyKind::Service),
    ];
}
