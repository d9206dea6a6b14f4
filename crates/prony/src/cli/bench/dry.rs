//! `prony bench ... --dry`: what the engine itself can do on this machine.
//!
//! Goal: the same load on a target in the process, which costs nothing, and on a null server in a process of its own,
//! which costs the exchange. A figure of a real server near these is the engine's and not the server's.

use super::Failure;
use crate::host::{Home, Leases};
use crate::plan::{PlannedTrial, expand};
use crate::run::timed::asked;
use crate::spec::{Dsn, Experiment};
use crate::workload;
use load::{Drive, Driven, Io, Outcome, Request, Watch, Workload};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const STARTED_WITHIN: Duration = Duration::from_secs(10);

/// One line for each load of the experiment.
pub fn table(experiment: &Experiment) -> Result<String, Failure> {
    let mut lines = vec![format!(
        "{:>8} {:>26} {:>26} {:>16}",
        "clients", "in process, operations/s", "null server, operations/s", "CPU us each"
    )];
    let planned = expand(experiment, 1).map_err(Failure::asked)?;
    let mut seen = Vec::new();
    for trial in planned {
        if !seen.contains(&trial.load) {
            lines.push(line(experiment, &trial)?);
            seen.push(trial.load);
        }
    }
    Ok(lines.join("\n"))
}

fn line(experiment: &Experiment, trial: &PlannedTrial) -> Result<String, Failure> {
    let drive = asked::drive(trial, &experiment.protocol, 1);
    let (in_process, _) = figures(&Nothing, &drive)?;
    let null = Null::start()?;
    let dataset = workload::open(&experiment.workload, &trial.workload).map_err(Failure::asked)?;
    let login = asked::login(null.dsn(), dataset.schema());
    let driver = dataset
        .driver(login, &[], 1)
        .ok_or_else(|| Failure::asked("this workload has no operations for a timed load"))?;
    let (exchanged, cpu_us) = figures(&driver, &drive)?;
    Ok(format!(
        "{:>8} {in_process:>26.0} {exchanged:>26.0} {cpu_us:>16.2}",
        trial.load.clients()
    ))
}

/// Operations a second, and the engine's processor time for each in microseconds.
fn figures<W: Workload>(workload: &W, drive: &Drive) -> Result<(f64, f64), Failure> {
    let mut done = 0;
    let watch = Watch {
        begun: &mut |_| (),
        second: &mut |second| done += second.done,
    };
    let driven: Driven =
        load::drive(workload, drive, &AtomicBool::new(false), watch).map_err(Failure::failed)?;
    let cpu_s = driven.cpu_user_s + driven.cpu_system_s;
    let operations = f64::max(done as f64, 1.0);
    Ok((
        done as f64 / driven.elapsed.as_secs_f64(),
        cpu_s * 1e6 / operations,
    ))
}

/// A workload whose operations are over at once.
struct Nothing;

impl Workload for Nothing {
    type Session = ();

    fn operations(&self) -> Vec<String> {
        vec!["nothing".into()]
    }

    fn pick(&self, _number: u64) -> u16 {
        0
    }

    async fn open(&self, _io: &Io, _client: u32) -> Result<(), load::Failure> {
        Ok(())
    }

    async fn operate(&self, _session: &mut (), _request: &Request) -> Outcome {
        Outcome::Done
    }

    async fn close(&self, _session: ()) {}
}

/// The null server as a process of its own, killed when dropped.
struct Null {
    process: Child,
    folder: crate::host::Lease,
}

impl Null {
    fn start() -> Result<Null, Failure> {
        let home = Home::from_environment().map_err(Failure::asked)?;
        let leases = Leases::open(&home).map_err(Failure::failed)?;
        let folder = leases.temporary("dry").map_err(Failure::failed)?;
        let socket = socket(folder.path());
        let program = std::env::current_exe().map_err(Failure::failed)?;
        let process = Command::new(program)
            .arg("null")
            .arg(&socket)
            .stdin(Stdio::piped())
            .spawn()
            .map_err(Failure::failed)?;
        let null = Null { process, folder };
        let begun = Instant::now();
        while !socket.exists() {
            if begun.elapsed() > STARTED_WITHIN {
                return Err(Failure::failed("the null server does not start"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(null)
    }

    fn dsn(&self) -> Dsn {
        Dsn {
            user: "root".into(),
            password: None,
            host: "localhost".into(),
            port: 0,
            schema: None,
            socket: Some(socket(self.folder.path())),
            tls_required: false,
        }
    }
}

impl Drop for Null {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn socket(folder: &Path) -> std::path::PathBuf {
    folder.join("null.sock")
}
