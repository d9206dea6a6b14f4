//! The kinds of time of an operation.

use serde::{Deserialize, Serialize};

/// Which time of an operation; response is wait and service together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Response,
    Wait,
    Service,
    /// The response of operations that the server refused, in closed loop their service; none in older records, where these are among
    /// the others.
    Failed,
}

impl Kind {
    /// In a sentence: `latency`, `wait time`.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Response => "latency",
            Kind::Wait => "wait time",
            Kind::Service => "service time",
            Kind::Failed => "time of failed operations",
        }
    }

    /// The times of operations that were answered, by their names in files.
    pub const NAMED: [(&str, Kind); 3] = [
        ("response", Kind::Response),
        ("wait", Kind::Wait),
        ("service", Kind::Service),
    ];
}
