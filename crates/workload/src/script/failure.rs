//! The failure of a client whose connection cannot be used.

use load::Failure;
use wire::WireError;

/// Error code: too many prepared statements.
const TOO_MANY_STATEMENTS: u16 = 1461;

/// Why a session could not be opened, while it did `what`.
pub(crate) fn failure(what: &str, error: WireError) -> Failure {
    let code = error.code();
    let way_out = match code {
        TOO_MANY_STATEMENTS => {
            "; raise max_prepared_stmt_count, or use fewer clients, tables or operations"
        }
        _ => "",
    };
    Failure {
        code,
        text: format!("{what}: {error}{way_out}"),
        transient: error.is_transient(),
    }
}
