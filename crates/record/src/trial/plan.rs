//! A query's plan in a form finer than its text. The record keeps plans as opaque texts; crate `explain` reads them.

use serde::{Deserialize, Serialize};

/// A plan in a form finer than its text, as one trial saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanForm {
    pub query: String,
    /// Its hash, a key of `Trial::plans`.
    pub plan: String,
    pub kind: FormKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FormKind {
    /// Without cost estimates, and without what is only possible or false.
    Json,
    /// With what the execution counted.
    Analyze,
}
