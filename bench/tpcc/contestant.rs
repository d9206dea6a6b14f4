//! The programs that are compared, and one turn of each: prony runs in a child process of its own, like its peers.

use crate::measured::{Figure, run};
use crate::server::Running;
use crate::{AS_CHILD, Settings, drive::drive, loading, workload};
use load::Load;
use std::path::PathBuf;
use std::process::Command;

pub(crate) enum Contestant {
    Prony,
    GoTpc(PathBuf),
    TpccMysql(PathBuf),
}

/// One turn of one program; its operations are New-Orders.
pub(crate) struct Turn {
    pub name: &'static str,
    pub figure: Figure,
}

impl Contestant {
    pub(crate) fn all(settings: &Settings) -> Vec<Contestant> {
        let go_tpc = settings.go_tpc.clone().map(Contestant::GoTpc);
        let tpcc_mysql = settings.tpcc_mysql.clone().map(Contestant::TpccMysql);
        [Contestant::Prony]
            .into_iter()
            .chain(go_tpc)
            .chain(tpcc_mysql)
            .collect()
    }

    pub(crate) fn turn(&self, settings: &Settings, running: &Running, clients: u32) -> Turn {
        let (name, mut command) = self.command(settings, running, clients);
        let measured = run(&mut command);
        let new_orders = self.new_orders(&measured.output);
        Turn {
            name,
            figure: Figure::of(&measured, clients, new_orders, f64::from(settings.time_s)),
        }
    }

    fn command(
        &self,
        settings: &Settings,
        running: &Running,
        clients: u32,
    ) -> (&'static str, Command) {
        let Settings {
            warehouses, time_s, ..
        } = settings;
        match self {
            Contestant::Prony => {
                let mut command = Command::new(std::env::current_exe().expect("this program"));
                command.arg(AS_CHILD).arg(running.port.to_string());
                command.args([*warehouses, clients, *time_s].map(|number| number.to_string()));
                ("prony", command)
            }
            Contestant::GoTpc(program) => {
                let mut command = loading::go_tpc(program, running, *warehouses);
                command.arg("run").arg(format!("--threads={clients}"));
                command.arg(format!("--time={time_s}s"));
                ("go-tpc", command)
            }
            Contestant::TpccMysql(folder) => {
                let mut command =
                    loading::tpcc_mysql(&folder.join("tpcc_start"), running, *warehouses);
                command.arg(format!("-c{clients}")).arg("-r0");
                command
                    .arg(format!("-l{time_s}"))
                    .arg(format!("-i{time_s}"));
                ("tpcc-mysql", command)
            }
        }
    }

    fn new_orders(&self, output: &str) -> f64 {
        match self {
            Contestant::Prony => number_after(output, ""),
            Contestant::GoTpc(_) => {
                number_after(after(output, "[Summary] NEW_ORDER - "), "Count: ")
            }
            // Late ones are done, too.
            Contestant::TpccMysql(_) => {
                let all = after(output, "<Raw Results>");
                number_after(all, "sc:") + number_after(all, "lt:")
            }
        }
    }
}

fn after<'t>(output: &'t str, label: &str) -> &'t str {
    let (_, rest) = output
        .split_once(label)
        .unwrap_or_else(|| panic!("the output has no {label:?}:\n{output}"));
    rest
}

/// The whole number after a label.
fn number_after(output: &str, label: &str) -> f64 {
    let rest = after(output, label).trim_start();
    let end = rest
        .find(|one: char| !one.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end]
        .parse()
        .unwrap_or_else(|_| panic!("no number after {label:?}:\n{output}"))
}

/// The child process, with the arguments PORT WAREHOUSES CLIENTS SECONDS. Prints the number of completed New-Orders.
pub(crate) fn child(arguments: &[String]) {
    let [port, rest @ ..] = arguments else {
        panic!("wrong arguments: the child process is started by its parent only");
    };
    let numbers: Vec<u32> = rest
        .iter()
        .map(|text| text.parse().expect("a number"))
        .collect();
    let [warehouses, clients, time_s] = numbers[..] else {
        panic!("wrong arguments: the child process is started by its parent only");
    };
    let load = Load::closed(clients);
    let driven = drive(workload(warehouses).as_ref(), port, load, time_s);
    println!("{}", driven.tallies[0].done());
}
