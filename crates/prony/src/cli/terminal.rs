//! What stdout is: a terminal of some width, or a file.

use std::io::IsTerminal;

/// Columns of what is no terminal: fits a page and an issue.
const WIDTH: usize = 100;

pub fn width() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => WIDTH,
    }
}

/// Colours only for people, and not where they asked for none (https://no-color.org).
pub fn colour() -> bool {
    std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
