//! `prony bench ... --dry`: the limit of the load engine on this machine.
//!
//! Purpose: drives the same load on an in-process target, which costs nothing, and on a null server in its own process, which costs
//! the round trip. If a real server comes near these figures, they measure the load engine and not the server.

use super::Failure;
use crate::run::timed::drive;
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

/// A table with a line for each load of the experiment.
pub(super) fn table(experiment: &Experiment) -> Result<String, Failure> {
    let mut lines = vec![format!(
        "{:>24} {:>26} {:>26} {:>16}",
        "load", "in process, ops/s", "null server, ops/s", "CPU us/op"
    )];
    let planned = expand(experiment, 1).map_err(Failure::usage)?;
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
        lines.push(
            "rates given as a share of the maximum are left out: a null server has no maximum"
                .into(),
        );
    }
    Ok(lines.join("\n"))
}

fn line(experiment: &Experiment, trial: &PlannedTrial) -> Result<String, Failure> {
    let drive = drive::of(trial, &experiment.protocol, 1);
    let (in_process, _) = figures(&Nothing, &drive)?;
    let null = Null::start()?;
    let workload = workload::open(&experiment.workload, &trial.workload).map_err(Failure::usage)?;
    let target = workload::Target::Server {
        login: null.login(),
        session: &[],
    };
    let work = workload
        .work(&target, 1)
        .ok_or_else(|| Failure::usage("the workload has no operations for a timed load"))?;
    let (exchanged, cpu_us) = figures(work.driver.as_ref(), &drive)?;
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

/// False for a share of the maximum, which only a real server has.
fn is_known(load: &PlannedLoad) -> bool {
    !matches!(load, PlannedLoad::Open { rate, .. } if *rate == 0.0)
}

/// Throughput in ops/s, and the engine's CPU time per operation in microseconds.
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

/// A workload whose operations end at once.
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
/// It has a socket for each core. Clients use the sockets in turn, as the engine assigns clients to reactors. So a client and the
/// thread that answers it share a core. Otherwise the kernel's wake-up of the other core would dominate, above all in a virtual
/// machine.
struct Null {
    process: Child,
    sockets: Vec<PathBuf>,
    _folder: Lease,
}

impl Null {
    fn start() -> Result<Null, Failure> {
        let home = Home::from_environment().map_err(Failure::usage)?;
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
                return Err(Failure::failed("the null server did not start"));
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
