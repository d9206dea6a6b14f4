//! `prony bench ... --dry`: the limit of the load engine on this machine.
//!
//! Purpose: drives the same load on an in-process target, which costs nothing, and on a null server in its own process, which costs
//! the round trip. If a real server comes near these figures, they measure the load engine and not the server.
//!
//! Where client and null server run decides the round trip: on the same core a message costs a switch of threads, on another core the
//! wake-up of that core, ten times as much in a virtual machine. The kernel places threads as it likes, so both are pinned, and both
//! places are measured.

use super::Failure;
use crate::run::drive;
use host::{Home, Lease};
use spec::plan::{PlannedTrial, expand};
use spec::{Experiment, PlannedLoad};

use load::{Drivable, Drive, Driven, Endpoint, Watch};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use wire::Login;

const STARTED_WITHIN: Duration = Duration::from_secs(60);

/// A table with a line for each load of the experiment.
pub(super) fn table(experiment: &Experiment) -> Result<String, Failure> {
    let heads = [
        ["", "", "null server, ops/s", "CPU us/op"],
        [
            "load",
            "in process, ops/s",
            "same core   other core",
            "same core",
        ],
    ];
    let mut lines = heads
        .map(|[load, in_process, null, cpu]| {
            format!("{load:>22} {in_process:>18} {null:>25} {cpu:>10}")
        })
        .to_vec();
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
    lines.push(PLACES.into());
    if are_shares_left_out {
        lines.push(
            "rates given as a share of the maximum are left out: a null server has no maximum"
                .into(),
        );
    }
    Ok(lines.join("\n"))
}

/// Explains the columns of the null server.
const PLACES: &str = "\
same core: a client and the thread that answers it share a core
other core: each message wakes another core, which takes long if that core sleeps";

fn line(experiment: &Experiment, trial: &PlannedTrial) -> Result<String, Failure> {
    let drive = drive::planned(trial, &experiment.protocol, 1);
    let workload = workload::open(&experiment.workload, &trial.workload).map_err(Failure::usage)?;
    let null = Null::start()?;
    let cores = load::cores();
    let used = &cores[..cores.len().min(trial.load.clients() as usize)];
    let exchanges = |shift: usize| {
        let target = workload::Target::Server {
            readers: None,
            login: null.login(used.len(), shift),
            session: Vec::new(),
        };
        let work = workload
            .work(&target, 1)
            .ok_or_else(|| Failure::usage("the workload has no operations for a timed load"))?;
        figures(work.driver.as_ref(), &drive, used)
    };
    let (in_process, _) = figures(load::null(), &drive, used)?;
    let (same_core, cpu_us) = exchanges(0)?;
    let other_core = match cores.len() {
        1 => "-".to_string(),
        _ => format!("{:.0}", exchanges(1)?.0),
    };
    Ok(format!(
        "{:>22} {in_process:>18.0} {same_core:>12.0} {other_core:>12} {cpu_us:>10.2}",
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

/// Throughput in ops/s, and the engine's CPU time per operation in microseconds. The clients run on these cores.
fn figures(workload: &dyn Drivable, drive: &Drive, cores: &[usize]) -> Result<(f64, f64), Failure> {
    let mut done = 0;
    let watch = Watch {
        second: &mut |second| done += second.tally.done(),
        ..Watch::default()
    };
    let driven: Driven = std::thread::scope(|scope| {
        let driving = scope.spawn(|| {
            load::pin(cores).map_err(Failure::failed)?;
            workload
                .drive(drive, &AtomicBool::new(false), watch)
                .map_err(Failure::failed)
        });
        driving
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let cpu_s = driven.cpu_user_s + driven.cpu_system_s;
    let operations = f64::max(done as f64, 1.0);
    Ok((
        done as f64 / driven.elapsed.as_secs_f64(),
        cpu_s * 1e6 / operations,
    ))
}

/// The null server as a process of its own, killed when dropped.
///
/// It has a socket for each core, and clients use sockets in turn, as the engine assigns clients to reactors.
struct Null {
    process: Child,
    sockets: Vec<PathBuf>,
    _folder: Lease,
}

impl Null {
    fn start() -> Result<Null, Failure> {
        let home = Home::from_environment().map_err(Failure::usage)?;
        let leases = crate::cli::leases(&home)?;
        // Not in the home, whose path may be too long for a socket.
        let folder = leases.temporary_in(Path::new("/tmp"), "prony");
        let folder = folder.map_err(Failure::failed)?;
        let cores = load::cores().into_iter();
        let socket = |core| folder.path().join(format!("null{core}.sock"));
        let sockets: Vec<PathBuf> = cores.map(socket).collect();
        // Not its path: a newer build may have replaced the file since the start.
        let process = Command::new("/proc/self/exe")
            .arg("null")
            .args(&sockets)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(&error.to_string()))?;
        let mut null = Null {
            process,
            sockets,
            _folder: folder,
        };
        null.wait_until_it_listens()?;
        Ok(null)
    }

    fn wait_until_it_listens(&mut self) -> Result<(), Failure> {
        let begun = Instant::now();
        while !self.sockets.iter().all(|socket| socket.exists()) {
            if self.process.try_wait().is_ok_and(|ended| ended.is_some()) {
                let errors = self.process.stderr.take();
                let says = errors.and_then(|errors| io::read_to_string(errors).ok());
                let says = says.unwrap_or_default();
                return Err(not_started(says.trim().trim_start_matches("error: ")));
            }
            if begun.elapsed() > STARTED_WITHIN {
                let why = format!("it does not listen after {} s", STARTED_WITHIN.as_secs());
                return Err(not_started(&why));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn login(&self, cores: usize, shift: usize) -> Login {
        Login {
            endpoints: endpoints(&self.sockets, cores, shift),
            user: "root".into(),
            password: None,
            schema: None,
            protection: Default::default(),
            login_timeout: STARTED_WITHIN,
            stall_timeout: None,
        }
    }
}

fn not_started(why: &str) -> Failure {
    Failure::failed(format!(
        "cannot start the null server of --dry: {why}; free space in /tmp, or run it again when the machine is less busy"
    ))
}

/// The sockets of clients on the first `cores` cores, each answered `shift` cores further.
fn endpoints(sockets: &[PathBuf], cores: usize, shift: usize) -> Vec<Endpoint> {
    let sockets = sockets.iter().cycle().skip(shift).take(cores);
    sockets.cloned().map(Endpoint::Unix).collect()
}

impl Drop for Null {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sockets of clients on the first `cores` of three cores.
    fn sockets(cores: usize, shift: usize) -> Vec<String> {
        let sockets = ["0", "1", "2"].map(PathBuf::from);
        let endpoints = endpoints(&sockets, cores, shift);
        let path = |endpoint| match endpoint {
            Endpoint::Unix(path) => path.display().to_string(),
            other => panic!("{other:?}"),
        };
        endpoints.into_iter().map(path).collect()
    }

    #[test]
    fn a_client_is_answered_on_its_own_core_or_on_the_next_one() {
        assert_eq!(sockets(3, 0), ["0", "1", "2"]);
        assert_eq!(sockets(3, 1), ["1", "2", "0"]);
    }

    #[test]
    fn one_client_has_one_socket_and_so_one_place() {
        assert_eq!(sockets(1, 0), ["0"]);
        assert_eq!(sockets(1, 1), ["1"]);
    }
}
