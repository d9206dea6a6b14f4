//! Where the run took place, and how to repeat it.

use crate::format;
use maud::{Markup, html};
use record::Run;

pub fn section(run: &Run) -> Markup {
    let at = &run.environment;
    let facts = [
        ("Machine", at.machine.clone()),
        (
            "CPU",
            format!("{}, {}", at.cpu, format::plural(at.cores as usize, "core")),
        ),
        ("Memory", format::bytes(at.memory_bytes)),
        ("System", format!("{}, kernel {}", at.system, at.kernel)),
        ("Work folder", at.file_system.clone()),
        ("prony", at.prony_version.clone()),
    ];
    html! {
        section #environment {
            h2 { "Environment" }
            dl { @for (name, value) in &facts { dt { (name) } dd { (value) } } }
            div.scroll tabindex="0" { table {
                thead { tr { th scope="col" { "Server" } th scope="col" { "Build" } th scope="col" { "Says that it is" } th scope="col" { "SHA-256 of its binary" } } }
                tbody { @for (name, server) in &at.servers {
                    tr {
                        th scope="row" { (name) } td { (server.build) } td.words { (server.version) " " span.quiet { (server.comment) } }
                        td { @if server.binary_sha256.is_empty() { span.quiet { "not known" } } @else { code.hash { (server.binary_sha256) } } }
                    }
                } }
            } }
        }
    }
}

pub fn repeat(run: &Run) -> Markup {
    let file = format!("{}.toml", run.question.name);
    let arguments: String = run
        .overrides
        .iter()
        .map(|argument| format!(" {}", shell(argument)))
        .collect();
    html! {
        section #repeat {
            h2 { "How to repeat it" }
            p { "Save the file below as " code { (file) } ", then, with prony " (run.environment.prony_version) ":" }
            pre { "prony check " (shell(&file)) (arguments) "\nprony run " (shell(&file)) (arguments) }
            p {
                "This run's seed was " code { (run.seed) } "; it decides the order of the trials within a block. "
                "Every figure above is in " code { "run.sqlite" } " beside this page: " code { "prony show " (shell(&run.id)) " --format csv" } "."
            }
            details { summary { "The experiment file, to the letter" } pre { (run.experiment_toml) } }
        }
    }
}

/// An argument as a POSIX shell takes it whole.
fn shell(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_string()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::shell;

    #[test]
    fn an_argument_with_spaces_or_quotes_is_quoted() {
        assert_eq!(shell("server=5.6"), "server=5.6");
        assert_eq!(shell("variant=small pool"), "'variant=small pool'");
        assert_eq!(shell("it's"), "'it'\\''s'");
    }
}
