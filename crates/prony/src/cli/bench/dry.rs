//! `prony bench ... --dry`: what the engine itself can do on this machine.
//!
//! Goal: the same load on a target in the process, which costs nothing, and on a null server in a process of its own,
//! which costs the exchange. A figure of a real server near these is the engine's and not the server's.

use super::Failure;
use crate::run::timed::asked;
use host::{Home, Lease, Leases};
use spec::plan::{PlannedTrial, expand};
use spec::{Experiment, PlannedLoad};

use load::{Drivable, Drive, Driven, Endpoint, Io, Outcome, Request, Watch, Workload};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use wire::{Login, Tls};

const STARTED_WITHIN: Duration = Duration::from_secs(10);

/// One line for each load of the experiment.
pub fn table(experiment: &Experiment) -> Result<String, Failure> {
    let mut lines = vec![format!(
        "{:>24} {:>26} {:>26} {:>16}",
        "load", "in process, operations/s", "null server, operations/s", "CPU us each"
    )];
    let planned = expand(experiment, 1).map_err(Failure::asked)?;
    let (mut seen, mut are_shares_left_out) = (Vec::new(), false);
    for trial in planned {
        if !is_known(&trial.load) {
            are_shares_left_out = true;
        } else if !seen.contains(&trial.load) {
            lines.push(line(experiment, &trial)?);
            seen.push(trial.load);
        }
    }
    if are_shares_left_out {
        lines.push("shares of a maximum are left out: a server that does nothing has none".into());
    }
    Ok(lines.join("\n"))
}

fn line(experiment: &Experiment, trial: &PlannedTrial) -> Result<String, Failure> {
    let drive = asked::drive(trial, &experiment.protocol, 1);
    let (in_process, _) = figures(&Nothing, &drive)?;
    let null = Null::start()?;
    let workload = workload::open(&experiment.workload, &trial.workload).map_err(Failure::asked)?;
    let target = workload::Target::Server {
        login: null.login(),
        session: &[],
    };
    let driver = workload
        .driver(&target, 1)
        .ok_or_else(|| Failure::asked("this workload has no operations for a timed load"))?;
    let (exchanged, cpu_us) = figures(driver.as_ref(), &drive)?;
    Ok(format!(
        "{:>24} {in_process:>26.0} {exchanged:>26.0} {cpu_us:>16.2}",
        label(&trial.load)
    ))
}

fn label(load: &PlannedLoad) -> String {
    match load {
        PlannedLoad::Closed { clients: 1, .. } => "1 client".into(),
        PlannedLoad::Closed { clients, .. } => format!("{clients} clients"),
        PlannedLoad::Open { rate, workers, .. } => format!("{rate}/s, {workers} workers"),
    }
}

/// A share of a maximum that only a server has.
fn is_known(load: &PlannedLoad) -> bool {
    !matches!(load, PlannedLoad::Open { rate, .. } if *rate == 0.0)
}

/// Operations a second, and the engine's processor time for each in microseconds.
fn figures(workload: &dyn Drivable, drive: &Drive) -> Result<(f64, f64), Failure> {
    let mut done = 0;
    let watch = Watch {
        begun: &mut |_| (),
        second: &mut |second| done += second.tally.done(),
        window: &mut |_| (),
    };
    let driven: Driven = workload
        .drive(drive, &AtomicBool::new(false), watch)
        .map_err(Failure::failed)?;
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
///
/// It has a socket for each core, and clients take them in turn, as they are dealt out to the engine's reactors: so a
/// client and the thread that answers it share a core. Otherwise most of an exchange would be the kernel's waking of
/// the other core, which in a virtual machine costs more than all the rest.
struct Null {
    process: Child,
    sockets: Vec<PathBuf>,
    _folder: Lease,
}

impl Null {
    fn start() -> Result<Null, Failure> {
        let home = Home::from_environment().map_err(Failure::asked)?;
        let leases = Leases::open(&home).map_err(Failure::failed)?;
        let folder = leases.temporary("dry").map_err(Failure::failed)?;
        let cores = load::cores().into_iter();
        let socket = |core| folder.path().join(format!("null{core}.sock"));
        let sockets: Vec<PathBuf> = cores.map(socket).collect();
        let program = std::env::current_exe().map_err(Failure::failed)?;
        let process = Command::new(program)
            .arg("null")
            .args(&sockets)
            .stdin(Stdio::piped())
            .spawn()
            .map_err(Failure::failed)?;
        let null = Null {
            process,
            sockets,
            _folder: folder,
        };
        null.wait_until_it_listens()?;
        Ok(null)
    }

    fn wait_until_it_listens(&self) -> Result<(), Failure> {
        let begun = Instant::now();
        while !self.sockets.iter().all(|socket| socket.exists()) {
            if begun.elapsed() > STARTED_WITHIN {
                return Err(Failure::failed("the null server does not start"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn login(&self) -> Login {
        let sockets = self.sockets.iter().cloned();
        Login {
            endpoints: sockets.map(Endpoint::Unix).collect(),
            user: "root".into(),
            password: None,
            schema: None,
            tls: Tls::Off,
            login_timeout: STARTED_WITHIN,
            stall_timeout: None,
        }
    }
}

impl Drop for Null {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
