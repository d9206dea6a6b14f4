//! Hints beside clap's own: a wrong command line is answered with the word that prony has.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use spec::Dsn;
use spec::build::name_of;
use spec::dsn::mask_suspects;

/// Other tools' names of flags.
const OTHERS: [(&str, &str); 3] = [
    ("--threads", "--clients"),
    ("--events", "--time"),
    ("--table-size", "--rows"),
];

/// Printed if a password is on the command line.
const VISIBLE_PASSWORD: &str = "hint: other users of this machine can see the password on the command line; set PRONY_PASSWORD instead, or write it to ~/.my.cnf under [client]";

/// The same for several, for which one password cannot stand.
const VISIBLE_PASSWORDS: &str = "hint: other users of this machine can see the passwords on the command line; PRONY_PASSWORD and ~/.my.cnf hold one for all servers, so write the DSNs into an experiment file that only you can read (build = \"mysql://...\" under [server.NAME])";

/// What to do about passwords among the arguments; None without any.
pub(super) fn about_passwords(arguments: impl Iterator<Item = String>) -> Option<&'static str> {
    match arguments.filter(|one| shows_a_password(one)).count() {
        0 => None,
        1 => Some(VISIBLE_PASSWORD),
        _ => Some(VISIBLE_PASSWORDS),
    }
}

/// Whether an argument is, or contains, a DSN with a password.
fn shows_a_password(argument: &str) -> bool {
    let mut starts = ["mysql://", "mariadb://"].into_iter();
    starts.any(|start| {
        let dsn = argument.find(start).map(|at| &argument[at..]);
        let dsn = dsn.and_then(|text| text.parse::<Dsn>().ok());
        dsn.is_some_and(|dsn| dsn.password.is_some())
    })
}

/// The error with our flag suggested, and without verbs that only prony itself runs. It repeats no password.
pub(super) fn hinted(mut error: clap::Error) -> clap::Error {
    hide_passwords(&mut error);
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => {
            let flag = flag.split('=').next().unwrap_or_default().to_string();
            if let Some((_, ours)) = OTHERS.iter().find(|(other, _)| *other == flag) {
                error.insert(
                    ContextKind::SuggestedArg,
                    ContextValue::String(ours.to_string()),
                );
            }
        }
        (ErrorKind::InvalidSubcommand, _) => without_hidden_verbs(&mut error),
        _ => (),
    }
    error
}

/// clap repeats what it rejects, which may be a mistyped DSN.
fn hide_passwords(error: &mut clap::Error) {
    let text = |value: &ContextValue| match value {
        ContextValue::String(text) => Some(text.clone()),
        _ => None,
    };
    let argument = error.get(ContextKind::InvalidArg).and_then(text);
    let is_build = argument.is_some_and(|argument| argument.contains("BUILD"));
    let texts: Vec<_> = (error.context())
        .filter_map(|(kind, value)| Some((kind, text(value)?)))
        .collect();
    for (kind, text) in texts {
        let hidden = match kind {
            ContextKind::InvalidValue if is_build => name_of(&text),
            _ => mask_suspects(&text),
        };
        error.insert(kind, ContextValue::String(hidden));
    }
}

fn without_hidden_verbs(error: &mut clap::Error) {
    let Some(ContextValue::Strings(verbs)) = error.remove(ContextKind::SuggestedSubcommand) else {
        return;
    };
    let cli = super::Cli::command();
    let is_shown = |verb: &String| {
        let found = cli.find_subcommand(verb);
        found.is_some_and(|found| !found.is_hide_set())
    };
    let shown: Vec<String> = verbs.into_iter().filter(is_shown).collect();
    if !shown.is_empty() {
        error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(shown),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn says(arguments: &[&str]) -> String {
        let arguments = std::iter::once(&"prony").chain(arguments);
        let error = super::super::Cli::try_parse_from(arguments).err().unwrap();
        hinted(error).to_string()
    }

    #[test]
    fn threads_are_called_clients() {
        let bench = says(&["bench", "oltp-read-write", "--threads", "8"]);
        assert!(bench.contains("'--clients'"), "{bench}");
        let run = says(&["run", "quickstart", "--threads=8"]);
        assert!(run.contains("'--clients'"), "{run}");
    }

    #[test]
    fn no_error_shows_the_share_of_a_load_as_required() {
        for arguments in [
            &["run", "quickstart", "--no-such"][..],
            &["bench", "--no-such"],
        ] {
            let text = says(arguments);
            assert!(text.contains("[OPTIONS]"), "{text}");
            assert!(!text.contains("--shard"), "{text}");
        }
    }

    #[test]
    fn no_error_repeats_the_password_of_a_dsn() {
        for dsn in [
            "mysql://me:s3cret@db",
            "mysq://me:s3cret@db",
            "mysql:/me:s3cret@db",
            "me:s3cret@db",
        ] {
            for arguments in [
                &["server", "get", dsn, "more"][..],
                &["bench", "oltp-point-select", dsn],
                &["run", "quickstart", dsn],
                &["bench", "oltp-point-select", "--clients", dsn],
                &[dsn],
                &["list", &format!("--server={dsn}")],
            ] {
                let text = says(arguments);
                assert!(!text.contains("s3cret"), "{arguments:?}: {text}");
            }
        }
        let text = says(&["server", "get", "root:s3cret"]);
        assert!(!text.contains("s3cret") && text.contains("root…"), "{text}");
    }

    #[test]
    fn only_a_dsn_with_a_password_shows_one() {
        assert!(shows_a_password("theirs=mysql://me:s3cret@db/x"));
        assert!(shows_a_password("mysql://me:s3cret@db"));
        assert!(shows_a_password("new=mariadb://me:s3cret@db"));
        for other in [
            "mysql://me@db:3306/x",
            "mysql://db:3306",
            "mariadb",
            "--server",
        ] {
            assert!(!shows_a_password(other), "{other}");
        }
    }

    #[test]
    fn two_passwords_need_a_file() {
        let said =
            |arguments: &[&str]| about_passwords(arguments.iter().map(|one| one.to_string()));
        let (one, other) = ("a=mysql://me:s3cret@db", "mysql://me:other@db2");
        assert_eq!(said(&["bench", "--server", "mariadb"]), None);
        assert!(
            said(&["--server", one])
                .unwrap()
                .contains("set PRONY_PASSWORD instead")
        );
        let both = said(&["--server", one, "--server", other]).unwrap();
        assert!(both.contains("into an experiment file"), "{both}");
    }

    #[test]
    fn a_verb_that_only_prony_runs_is_not_suggested() {
        for near in ["gaurd", "nul", "gauges", "dsk"] {
            let text = says(&[near]);
            assert!(!text.contains("similar"), "{text}");
        }
        assert!(says(&["lst"]).contains("'list'"));
    }
}
