//! Runs helper programs (apt, mvn, dpkg-deb, a server's `--help`) and explains their failures.

use crate::ServerError;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// How many of the last output lines an error message shows.
const SHOWN_LINES: usize = 12;

/// Runs the command without standard input and returns its standard output. `missing` is the advice for a program that
/// is not installed.
pub(super) fn output(command: &mut Command, missing: &str) -> Result<String, ServerError> {
    let name = name(command);
    let done = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| not_started(&name, &error, missing))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(failed(&name, &done))
}

/// The error for a program that failed, with the last lines of its output.
pub(crate) fn failed(name: &str, done: &Output) -> ServerError {
    let text = [&done.stdout[..], &done.stderr[..]]
        .map(String::from_utf8_lossy)
        .join("\n");
    ServerError::Unusable(format!(
        "{name} failed ({}):\n{}",
        done.status,
        last_lines(&text)
    ))
}

/// The error for a program that could not be started, with advice.
pub(crate) fn not_started(name: &str, error: &std::io::Error, missing: &str) -> ServerError {
    ServerError::Unusable(match error.kind() {
        ErrorKind::NotFound => format!("the program `{name}` is not installed; {missing}"),
        _ => format!("the program `{name}` cannot be started ({error}); {missing}"),
    })
}

pub(super) fn name(command: &Command) -> String {
    Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy()
        .into_owned()
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..]
        .iter()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_a_missing_program_says_what_to_install() {
        let error = output(
            &mut Command::new("/no/such/mvn"),
            "install it: apt-get install maven",
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the program `mvn` is not installed; install it: apt-get install maven"
        );
    }

    #[test]
    fn the_error_for_a_failed_program_shows_its_last_lines() {
        let error = output(
            Command::new("sh").args(["-c", "echo first; echo last >&2; exit 3"]),
            "",
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "sh failed (exit status: 3):\n  first\n  last"
        );
    }
}
