//! Shows the progress of a run on stderr: a moving line on a terminal, plain lines otherwise.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// Lines that stay, and one moving line at the bottom.
pub struct Progress {
    bar: ProgressBar,
    terminal: bool,
}

impl Progress {
    pub fn stderr() -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(if terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        });
        bar.set_style(
            ProgressStyle::with_template("{spinner} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        if terminal {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Progress { bar, terminal }
    }

    /// Prints nothing. For tests.
    pub fn silent() -> Progress {
        Progress {
            bar: ProgressBar::hidden(),
            terminal: true,
        }
    }

    /// Prints a line that stays.
    pub fn say(&self, line: &str) {
        if self.terminal {
            self.bar.println(line);
        } else {
            eprintln!("{line}");
        }
    }

    /// Shows the current activity, until the next call.
    pub fn now(&self, line: &str) {
        self.bar.set_message(line.to_string());
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
