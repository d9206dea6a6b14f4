//! Files that nobody writes by hand: control characters, endless lines, tens of thousands of names.

use super::{RIGHT, read, shown};
use crate::check::settings;
use crate::plan::Plan;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// What was quadratic took 20 s for this many names; each of these takes well under a second.
const NAMES: usize = 60_000;
const AT_MOST: Duration = Duration::from_secs(20);

#[test]
fn control_characters_of_a_file_are_escapes_in_its_errors() {
    for wrong in [
        "\"\\u001b[31mred\" = 1 # \u{202e}\n",
        "[settings]\nx = \"\u{85}data / \u{9b}\"\n[variant.\"\u{feff}\"]\nonly = { server = \"\\u0007\" }\n",
        "x = \"\u{1b}[2J\"\n",
    ] {
        let error = read(&format!("{RIGHT}{wrong}")).unwrap_err();
        let text = shown(&error);
        let is_hidden = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{feff}".contains(c);
        assert!(!text.contains(is_hidden), "{text:?}");
        assert!(!error.to_string().contains(is_hidden), "{error:?}");
    }
}

#[test]
fn an_error_shows_little_of_a_long_line() {
    let long = "k".repeat(100_000);
    let source = format!("{RIGHT}{long} = {{ {long} = 1 }}\n");
    let text = shown(&read(&source).unwrap_err());
    assert!(text.chars().count() < 3_000, "{} characters", text.len());
    assert!(text.contains(&"k".repeat(200)) && text.contains('…'));
}

/// One server, so that many levels are few trials.
const SMALL: &str = "title = \"t\"\n[workload.ssb]\n[server.\"5.6\"]\nbuild = \"mariadb\"\n";

/// The time to read and plan a file; its mistakes are drawn, if it has any.
fn elapsed(added: &str) -> Duration {
    let began = Instant::now();
    match read(&format!("{SMALL}{added}")) {
        Err(error) => assert!(shown(&error).len() < 100_000),
        Ok(experiment) => {
            let plan = Plan::new(&experiment, 1);
            assert!(plan.is_ok_and(|plan| plan.trials().count() > 0));
            settings::unknown(&experiment, &[]).unwrap();
        }
    }
    began.elapsed()
}

fn lines(line: impl Fn(usize) -> String) -> String {
    (0..NAMES).fold(String::new(), |mut text, n| {
        writeln!(text, "{}", line(n)).unwrap();
        text
    })
}

#[test]
fn tens_of_thousands_of_levels_and_unknown_keys_take_linear_time() {
    let only = "only = { server = [\"5.6\"] }";
    for (what, added) in [
        ("levels", lines(|n| format!("[factor.f.l{n}]\n{only}"))),
        ("variants", lines(|n| format!("[variant.v{n}]\n{only}"))),
        (
            "settings",
            format!("[settings]\n{}", lines(|n| format!("s{n} = 1"))),
        ),
        (
            "unknown keys",
            format!("[protocol]\n{}", lines(|n| format!("clok{n} = 1"))),
        ),
        (
            "unknown names",
            lines(|n| format!("[variant.v{n}]\nonly = {{ server = [\"6.{n}\"] }}")),
        ),
        (
            "servers",
            lines(|n| format!("[server.s{n}]\nbuild = \"mariadb\"")),
        ),
    ] {
        let elapsed = elapsed(&added);
        assert!(elapsed < AT_MOST, "{what}: {elapsed:?}");
    }
}
