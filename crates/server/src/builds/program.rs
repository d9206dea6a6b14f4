//! Runs helper programs (apt, mvn, dpkg-deb, a server's `--help`) and explains their failures.

use crate::ServerError;
use record::visible::shortened;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// How many of the last output lines an error message shows.
const SHOWN_LINES: usize = 12;

/// Runs the command without standard input and returns its standard output. `missing` is the advice for a program that
/// is not installed.
pub(super) fn output(command: &mut Command, missing: &str) -> Result<String, ServerError> {
    let (name, done) = run(command, missing)?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(failed(&name, &done))
}

/// The program's name and what it did, without standard input.
fn run(command: &mut Command, missing: &str) -> Result<(String, Output), ServerError> {
    let name = name(command);
    match command.stdin(Stdio::null()).output() {
        Ok(done) => Ok((name, done)),
        Err(error) => Err(not_started(&name, &error, missing)),
    }
}

/// Where the output of a failed download is kept: `FOLDER/BUILD-PROGRAM.log`.
#[derive(Clone, Copy)]
pub(super) struct Logs<'a> {
    pub folder: &'a Path,
    pub build: &'a str,
}

/// Characters of the line that names the cause.
const CAUSE_CHARS_MAX: usize = 300;

impl Logs<'_> {
    /// Like [`output`]. apt and Maven print dozens of lines: the error has the one that names the cause, and the file has all.
    pub(super) fn output(&self, command: &mut Command, missing: &str) -> Result<(), ServerError> {
        let (name, done) = run(command, missing)?;
        if done.status.success() {
            return Ok(());
        }
        let text = text_of(&done);
        let file = self.folder.join(format!("{}-{name}.log", self.build));
        let kept = match write_private(&file, &text) {
            Ok(()) => format!("its whole output is in {}", file.display()),
            Err(error) => format!(
                "its output cannot be written to {}: {error}",
                file.display()
            ),
        };
        Err(ServerError::Unusable(format!(
            "{name} failed ({}): {}; {kept}",
            done.status,
            shortened(cause(&text), CAUSE_CHARS_MAX)
        )))
    }
}

/// The line that names the cause: the first one that apt or Maven marks as an error, else the last one.
fn cause(text: &str) -> &str {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let marked = |line: &str| line.starts_with("E: ") || line.starts_with("[ERROR] ");
    let found = lines()
        .find(|line| marked(line))
        .or_else(|| lines().next_back());
    let line = found.unwrap_or("it printed nothing");
    let line = line
        .trim_start_matches("E: ")
        .trim_start_matches("[ERROR] ");
    line.strip_suffix(" -> [Help 1]").unwrap_or(line)
}

/// Writes a file that only this user can read, and replaces an existing one. It may hold a password, if only that of a proxy.
pub(crate) fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?
        .write_all(text.as_bytes())
}

fn text_of(done: &Output) -> String {
    [&done.stdout[..], &done.stderr[..]]
        .map(String::from_utf8_lossy)
        .join("\n")
}

/// The error for a program that failed, with the last lines of its output.
pub(crate) fn failed(name: &str, done: &Output) -> ServerError {
    ServerError::Unusable(format!(
        "{name} failed ({}):\n{}",
        done.status,
        last_lines(&text_of(done))
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
    fn a_failed_download_is_one_line_and_its_output_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let logs = Logs {
            folder: folder.path(),
            build: "mysql@5.6.14",
        };
        let script = "seq 1000; echo 'E: Unable to locate package x' >&2; echo more >&2; exit 100";
        let mut command = Command::new("sh");
        let error = logs.output(command.args(["-c", script]), "").unwrap_err();
        let file = folder.path().join("mysql@5.6.14-sh.log");
        assert_eq!(
            error.to_string(),
            format!(
                "sh failed (exit status: 100): Unable to locate package x; its whole output is in {}",
                file.display()
            )
        );
        let kept = std::fs::read_to_string(file).unwrap();
        assert!(kept.starts_with("1\n2\n") && kept.ends_with("more\n"));
    }

    #[test]
    fn only_the_owner_can_read_a_private_file_whoever_could_read_it_before() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mysql@5.6.14-mvn.log");
        std::fs::write(&path, "open to all").unwrap();
        write_private(&path, "secret").unwrap();
        let about = std::fs::metadata(&path).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "secret");
    }

    #[test]
    fn the_cause_is_the_first_line_marked_as_an_error_or_the_last_one() {
        let maven = "[INFO] a\n[ERROR] Failed to execute goal x: not found -> [Help 1]\n[ERROR] \n";
        assert_eq!(cause(maven), "Failed to execute goal x: not found");
        assert_eq!(cause("one\ntwo\n\n"), "two");
        assert_eq!(cause("\n"), "it printed nothing");
    }

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
