//! Every command and every experiment file of the documents is read as the program reads it.

use super::Cli;
use crate::cli::experiment::{self, Overrides};
use clap::Parser;
use clap::error::ErrorKind;
use std::path::{Path, PathBuf};

/// What cannot be read as it stands, and why.
const NOT_COMMANDS: [(&str, &str); 4] = [
    ("prony completions", "a verb of the packages' build"),
    ("prony man", "a verb of the packages' build"),
    (
        "prony pack RUN --slim [--out FILE]",
        "brackets: an option may be left out",
    ),
    (
        "prony data tpcc --scale 1 --out",
        "its value is on the next line",
    ),
];

/// What a part of a file needs to be one: a text that it holds, and the rest.
const COMPLETED: [(&str, &str); 11] = [
    ("topology ", "[workload.oltp]\n[protocol]\ntime = '30s'\n"),
    (
        "redo_volume",
        "[server.mariadb]\nbuild = 'mariadb'\n[workload.oltp]\n[protocol]\ntime = '30s'\n",
    ),
    (
        "power_cut",
        "[server.mariadb]\nbuild = 'mariadb'\n[workload.tpcc]\n[protocol]\ntime = '60s'\n",
    ),
    (
        "2 x 4G",
        "[server.\"8.0\"]\nbuild = 'mysql@8.0'\n[server.\"5.6\"]\nbuild = 'mysql@5.6.14'\n[workload.ssb]\n",
    ),
    (
        "[workload.tpcc]",
        "[server.mariadb]\nbuild = 'mariadb'\n[protocol]\ntime = '30s'\n",
    ),
    (
        "[workload.oltp]",
        "[server.mariadb]\nbuild = 'mariadb'\n[protocol]\ntime = '30s'\n",
    ),
    (
        "[workload.sql]",
        "[server.mariadb]\nbuild = 'mariadb'\n[protocol]\ntime = '30s'\n",
    ),
    ("[workload.fileio]", "[protocol]\ntime = '30s'\n"),
    (
        "[factor.engine.Aria]",
        "[server.mariadb]\nbuild = 'mariadb'\n[workload.ssb]\n",
    ),
    (
        "[factor.mrr.on]",
        "[server.mariadb]\nbuild = 'mariadb'\n[workload.tpch]\n",
    ),
    (
        "every = \"5s\"",
        "[server.mariadb]\nbuild = 'mariadb'\n[variant.\"small pool\"]\n[variant.large]\n[workload.tpcc]\n[protocol]\ntime = '60s'\n",
    ),
];
const CLAIMS: &str = "[server.\"5.5\"]\nbuild = 'mysql@5.5.34'\n[server.\"5.6\"]\nbuild = 'mysql@5.6.14'\n[variant.\"small pool\"]\n[variant.large]\n[workload.ssb]\n";

fn documents() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = std::fs::read_dir(root.join("docs")).unwrap().flatten();
    let pages = pages.map(|entry| entry.path());
    let pages = pages.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let all = pages.chain([root.join("README.md")]);
    all.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
        .collect()
}

/// The commands in code, without what a shell takes for a comment, and those within a sentence.
fn commands(page: &str) -> (Vec<String>, Vec<String>) {
    let joined = page.replace("\\\n", " ");
    let mut is_fenced = false;
    let lines = joined.lines().filter_map(|line| {
        is_fenced ^= line.starts_with("```");
        let is_code = is_fenced || line.starts_with("    ");
        let command = line.trim().trim_start_matches("$ ");
        let command = command.split(" #").next().unwrap_or_default().trim();
        (is_code && command.starts_with("prony ")).then(|| command.to_string())
    });
    let spans = page
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let spans = spans.filter(|span| span.starts_with("prony "));
    (lines.collect(), spans.map(String::from).collect())
}

#[test]
fn every_command_of_the_documents_is_one() {
    let mut wrong = Vec::new();
    let mut check = |path: &Path, command: &str, names_the_verb: bool| {
        let is_known = NOT_COMMANDS.iter().any(|(text, _)| command == *text);
        let read = Cli::try_parse_from(command.split_whitespace());
        let Some(error) = read.err().filter(|error| error.use_stderr() && !is_known) else {
            return;
        };
        let is_mention = names_the_verb && error.kind() == ErrorKind::MissingRequiredArgument;
        if !is_mention {
            wrong.push(format!("{}: {command}: {error}", path.display()));
        }
    };
    for (path, page) in documents() {
        let (lines, spans) = commands(&page);
        lines.iter().for_each(|line| check(&path, line, false));
        spans.iter().for_each(|span| check(&path, span, true));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_experiment_of_the_documents_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["shop.sql", "queries.sql", "q.sql"] {
        std::fs::write(folder.path().join(name), "select 1;").unwrap();
    }
    for name in ["old.cnf", "new.cnf"] {
        std::fs::write(folder.path().join(name), "[mysqld]\nsync_binlog = 0\n").unwrap();
    }
    let shown = folder.path().join("x.toml").display().to_string();
    let mut wrong = Vec::new();
    for (path, page) in documents() {
        let blocks = page.split("```toml\n").skip(1);
        for block in blocks.filter_map(|rest| rest.split("```").next()) {
            let rest = COMPLETED.iter().find(|(part, _)| block.contains(part));
            let rest = rest.map_or(CLAIMS, |(_, rest)| rest);
            let source = if block.starts_with("title") {
                block.to_string()
            } else {
                format!("title = 't'\n{block}\n{rest}")
            };
            if let Err(failure) = experiment::parse("x", &shown, &source, &Overrides::default()) {
                wrong.push(format!("{}: {failure:?}\n{source}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
