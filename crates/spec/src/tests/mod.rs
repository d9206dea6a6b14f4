//! The file format as a whole.

mod experiments;
mod format;
mod hostile;
mod load;
mod mistakes;
mod observe;
mod server;
mod slices;

use super::{Experiment, Section, SpecError, TargetKind, parse};

/// Reads `[workload.ssb]` as its workload does.
fn check_ssb(name: &str, section: &Section) -> Option<TargetKind> {
    if name != "ssb" {
        section
            .notes
            .unknown(section.at.clone(), "the workload", name, &["ssb"]);
        return None;
    }
    section.allow(
        "[workload.ssb]",
        &["scale", "engine", "joins", "index_build"],
    );
    if let Some(node) = section.get("scale") {
        node.positive("scale = 0.1");
    }
    let choices = [
        ("engine", ["InnoDB", "MyISAM", "Aria"].as_slice()),
        ("index_build", &["with", "after"]),
        (
            "joins",
            &["original", "ansi", "fact first", "dimension first"],
        ),
    ];
    for (key, names) in choices {
        let names: Vec<(&str, ())> = names.iter().map(|name| (*name, ())).collect();
        if let Some(node) = section.get(key) {
            node.choice(&names);
        }
    }
    Some(TargetKind::Server)
}

fn read(source: &str) -> Result<Experiment, SpecError> {
    parse("x", "x.toml", source, &check_ssb)
}

/// Reads a file whose workload runs on a server, whatever its keys.
pub(crate) fn read_on_server(source: &str) -> Result<Experiment, SpecError> {
    parse("t", "t.toml", source, &|_, _| Some(TargetKind::Server))
}

/// The mistakes in such a file.
pub(crate) fn mistakes_in(source: &str) -> Vec<String> {
    match read_on_server(source) {
        Ok(_) => Vec::new(),
        Err(error) => error.mistakes().iter().map(|one| one.to_string()).collect(),
    }
}

/// The error as the terminal shows it.
fn shown(error: &SpecError) -> String {
    error.text(Some(100))
}

/// A small valid file that the tests extend.
const RIGHT: &str = r#"title = "t"
[server."5.5"]
build = "mysql@5.5.34"
[server."5.6"]
build = "mysql@5.6.14"
[variant."small pool"]
settings = { innodb_buffer_pool_size = "data / 8" }
[variant."old"]
only = { server = ["5.6"] }
settings = { innodb_old_blocks_time = 0 }
[workload.ssb]
scale = 1
"#;
