//! Hints beside clap's own: a wrong command line is answered with the word that prony has.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Other tools' names of flags.
const OTHERS: [(&str, &str); 3] = [
    ("--threads", "--clients"),
    ("--events", "--time"),
    ("--table-size", "--rows"),
];

/// The error with our flag suggested, and without verbs that only prony itself runs.
pub(super) fn hinted(mut error: clap::Error) -> clap::Error {
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
    fn a_verb_that_only_prony_runs_is_not_suggested() {
        for near in ["gaurd", "nul", "gauges", "dsk"] {
            let text = says(&[near]);
            assert!(!text.contains("similar"), "{text}");
        }
        assert!(says(&["lst"]).contains("'list'"));
    }
}
