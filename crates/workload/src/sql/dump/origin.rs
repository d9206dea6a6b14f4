//! Whose statements a text has.

/// Whose statements they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Of another server: what concerns that server is passed over.
    #[default]
    Dump,
    /// Written for the experiment: settings of the server are meant.
    Setup,
}
