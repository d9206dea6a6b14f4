//! The width and colours of stdout, which is a terminal or a file.

use std::io::IsTerminal;

/// Columns if stdout is not a terminal. It fits a page and an issue.
const WIDTH: usize = 100;

pub(super) fn width() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => WIDTH,
    }
}

/// Colours on a terminal, unless NO_COLOR is set (https://no-color.org).
pub(super) fn colour() -> bool {
    std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
