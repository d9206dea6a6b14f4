//! Runs sysbench with its own scripts, whose statements prony's operations reproduce.

use crate::Settings;
use crate::engine::{ROWS, TABLES};
use crate::measured::{Figure, run};
use crate::server::Running;
use std::process::Command;

pub(crate) fn figure(
    settings: &Settings,
    running: &Running,
    operation: &str,
    clients: u32,
) -> Figure {
    let mut command = Command::new("sysbench");
    command
        .arg(script(operation))
        .arg(format!("--threads={clients}"))
        .arg(format!("--time={}", settings.time_s))
        .arg(format!("--tables={TABLES}"))
        .arg(format!("--table-size={ROWS}"))
        .args([
            "--rand-type=uniform",
            "--db-ps-mode=auto",
            "--mysql-user=bench",
        ])
        .arg(format!("--mysql-db={}", running.schema));
    match settings.tcp {
        true => command.args([
            "--mysql-host=127.0.0.1".into(),
            format!("--mysql-port={}", running.port),
        ]),
        false => command.arg(format!("--mysql-socket={}", running.socket.display())),
    };
    if let Some(rate) = settings.rate {
        command.arg(format!("--rate={rate}"));
    }
    let measured = run(command.arg("run"));
    let operations = number_after(&measured.output, "transactions:");
    Figure::of(&measured, clients, operations, f64::from(settings.time_s))
}

fn script(operation: &str) -> &'static str {
    match operation {
        "point-select" => "oltp_point_select",
        "update-index" => "oltp_update_index",
        "read-write" => "oltp_read_write",
        other => panic!(
            "no sysbench script corresponds to {other}: give point-select, update-index or read-write"
        ),
    }
}

fn number_after(output: &str, label: &str) -> f64 {
    let after = output.split(label).nth(1);
    after
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("the output of sysbench has no {label}\n{output}"))
}
