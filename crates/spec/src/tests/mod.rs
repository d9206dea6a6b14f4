//! The file format as a whole.

mod experiments;
mod format;
mod load;
mod mistakes;
mod observe;

use super::{Experiment, KeyMistake, SpecError, parse};

/// The keys of `[workload.ssb]` as its workload takes them.
fn check_ssb(name: &str, section: &toml::Table) -> Result<(), KeyMistake> {
    let mistake = |key: &str, says: String, help: &str| {
        Err(KeyMistake {
            key: key.to_string(),
            says,
            help: help.to_string(),
        })
    };
    if name != "ssb" {
        return mistake(
            name,
            format!("there is no workload \"{name}\""),
            "allowed: ssb",
        );
    }
    for (key, value) in section {
        let fits = match key.as_str() {
            "scale" => {
                value.as_integer().is_some_and(|n| n > 0)
                    || value.as_float().is_some_and(|n| n > 0.0)
            }
            "engine" => matches!(value.as_str(), Some("InnoDB" | "MyISAM" | "Aria")),
            "index_build" => matches!(value.as_str(), Some("with" | "after")),
            "joins" => matches!(
                value.as_str(),
                Some("original" | "ansi" | "fact first" | "dimension first")
            ),
            _ => {
                return mistake(
                    key,
                    format!("unknown key \"{key}\" in [workload.ssb]"),
                    "allowed: scale, engine, joins",
                );
            }
        };
        if !fits {
            return mistake(
                key,
                format!("{key} = {value} is not a value of \"{key}\""),
                "scale is a number above 0",
            );
        }
    }
    Ok(())
}

fn read(source: &str) -> Result<Experiment, SpecError> {
    parse("x", "x.toml", source, &check_ssb)
}

/// As the terminal shows it, without colours.
fn shown(error: &SpecError) -> String {
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_width(100);
    let mut text = String::new();
    handler
        .render_report(&mut text, error)
        .expect("a text takes everything");
    text
}

/// A small file that is right, to which the tests add.
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
