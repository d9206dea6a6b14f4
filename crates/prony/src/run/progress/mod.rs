//! Shows the progress of a run on stderr: a moving line on a terminal, plain lines otherwise.

pub(crate) mod news;
pub(crate) mod remaining;

use crate::lock;
use crate::screen;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use record::visible::{visible, visible_line};
use spec::plan::estimate::seconds_text;
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Lines that stay, and one moving line at the bottom.
pub struct Progress {
    bar: ProgressBar,
    terminal: bool,
    left: Arc<Mutex<Option<Left>>>,
}

/// When the run is expected to end.
#[derive(Clone, Copy, Debug)]
struct Left {
    ends: Instant,
    /// What comes after the current trial, however long that takes.
    rest: Duration,
}

impl Left {
    fn at(&self, now: Instant) -> Duration {
        self.ends.saturating_duration_since(now).max(self.rest)
    }
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
        let progress = Progress::from_bar(bar, terminal);
        let left = progress.left.clone();
        let remaining = move |_: &ProgressState, out: &mut dyn Write| {
            let left = *lock(&left);
            if let Some(left) = left {
                let seconds = left.at(Instant::now()).as_secs_f64();
                let _ = write!(out, "{} left", seconds_text(seconds));
            }
        };
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {left}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        progress.bar.set_style(style.with_key("left", remaining));
        if terminal {
            progress.bar.enable_steady_tick(Duration::from_millis(200));
        }
        progress
    }

    /// Prints nothing. For tests.
    pub fn silent() -> Progress {
        Progress::from_bar(ProgressBar::hidden(), true)
    }

    fn from_bar(bar: ProgressBar, terminal: bool) -> Progress {
        Progress {
            bar,
            terminal,
            left: Arc::default(),
        }
    }

    /// Prints a line that stays.
    pub fn say(&self, line: &str) {
        let line = &visible(line);
        if self.terminal {
            let columns = screen::columns(std::io::stderr());
            self.bar.println(screen::wrap(line, columns));
        } else {
            screen::say(line);
        }
    }

    /// Shows the current activity, until the next call, behind the trial.
    pub fn now(&self, line: &str) {
        let prefix = self.bar.prefix();
        self.bar
            .set_message(visible_line(&format!("{prefix}{line}")));
    }

    /// A trial begins: its place and name, the expected seconds of it and of all after it. None where that is unknown.
    pub(crate) fn trial(&self, name: &str, expected_s: Option<(f64, f64)>) {
        self.bar.set_prefix(format!("{name}: "));
        let left = expected_s.map(|(own_s, rest_s)| Left {
            ends: Instant::now() + Duration::from_secs_f64(own_s + rest_s),
            rest: Duration::from_secs_f64(rest_s),
        });
        *lock(&self.left) = left;
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_falls_to_what_comes_after_the_trial() {
        let began = Instant::now();
        let left = Left {
            ends: began + Duration::from_secs(30),
            rest: Duration::from_secs(20),
        };
        let after = |seconds| left.at(began + Duration::from_secs(seconds)).as_secs();
        assert_eq!([after(0), after(4), after(10), after(60)], [30, 26, 20, 20]);
    }
}
