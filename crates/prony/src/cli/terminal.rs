//! What stdout can show: its width, colours and signs, which differ between a terminal and a file.

use crate::screen;
use report::Screen;
use std::io::IsTerminal;

/// Columns if stdout is not a terminal and COLUMNS is not set.
const WIDTH: usize = 80;
/// The variables that name the character set, in the order of POSIX: the first that is set decides.
const LOCALE: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];

/// How much of a document is printed.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(super) struct Detail {
    /// Print all sections: counters, resources, load times, warnings, environment
    #[arg(long, short)]
    pub(super) verbose: bool,
}

/// What a document is printed on. A pipe and a file get ASCII without colours.
pub(super) fn screen(detail: Detail) -> Screen {
    let is_terminal = std::io::stdout().is_terminal();
    Screen {
        width: width(),
        colour: is_terminal && !is_set("NO_COLOR"),
        unicode: is_terminal && speaks_utf8(),
        verbose: detail.verbose,
    }
}

/// Prints a line to stderr, in ASCII unless that is a terminal with more.
pub(super) fn warn(line: &str) {
    if std::io::stderr().is_terminal() && speaks_utf8() {
        screen::say(line)
    } else {
        screen::say(&report::in_ascii(line))
    }
}

/// Columns of stdout.
pub(super) fn width() -> usize {
    screen::columns(std::io::stdout()).unwrap_or(WIDTH)
}

fn speaks_utf8() -> bool {
    let mut named = LOCALE.into_iter().filter_map(variable);
    let named = named.next().map(|locale| locale.to_lowercase());
    named.is_some_and(|locale| locale.contains("utf-8") || locale.contains("utf8"))
}

/// An empty variable counts as absent (https://no-color.org, POSIX for the locale).
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}
