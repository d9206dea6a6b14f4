//! Managed servers: prony starts and stops them. Only this machine can connect to them.
//!
//! A start succeeds with the first answered connection, or fails with the reason. A stop leaves a clean data folder. No
//! server outlives prony (see `host::Leases`). Creating data folders (`initialise`) and choosing settings happen elsewhere.

pub(crate) mod adjusted;
mod options;
pub(crate) mod password;
mod place;

use crate::builds::{Distribution, write_private};
use crate::cluster::{Member, Participation};
use crate::full_disk::FullDisk;
use crate::session::option_file;
use crate::{
    Abilities, Adjusted, Connector, Node, ServerError, Session, StartRequest, Started, access,
    lock, log,
};
use host::process::wait_within;
use host::supervisor::Supervisor;
use host::{LeaseError, Leases, interrupted, join};
use place::InstanceFolder;
use record::ServerIdentity;
use rustix::process::{Pid, Signal, kill_process};
use spec::Dsn;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Time limit of a start: crash recovery reads the whole redo log.
const START_WITHIN: Duration = Duration::from_secs(900);
/// Time limit of a stop: it writes all dirty pages of the buffer pool.
const STOP_WITHIN: Duration = Duration::from_secs(600);
/// A server that stops and wrote nothing for so long hangs.
const STUCK_AFTER: Duration = Duration::from_secs(60);
/// Time limit for the process to end after SIGKILL.
const KILL_WITHIN: Duration = Duration::from_secs(60);
/// Poll interval during a start; a small part of the shortest start (0.2 s).
const POLL_EVERY: Duration = Duration::from_millis(5);
/// How many ports a start tries, if other programs take them first.
const PORTS_TRIED: u32 = 3;
/// How many log lines the error for a failed start shows.
const SHOWN_LINES: usize = 15;

/// A server instance of a build. The process is killed when this value is dropped, and when prony ends.
pub struct Managed {
    distribution: Distribution,
    leases: Leases,
    folder: PathBuf,
    /// Its part in a cluster.
    member: Option<Member>,
    identity: Mutex<Option<ServerIdentity>>,
    /// Fixed by the first successful start.
    access: Mutex<Option<Arc<Access>>>,
    running: Mutex<Option<Running>>,
    started_with: Mutex<Option<StartRequest>>,
    /// Held during a start, so that no second one begins meanwhile.
    starting: Mutex<()>,
}

/// Where the node listens, and its password.
struct Access {
    place: InstanceFolder,
    port: u16,
    password: String,
    /// Where clients reach it, if not by its socket.
    clients: Option<Dsn>,
}

struct Running {
    process: Child,
    /// Dropped after the process has ended. None if it could not be started: the guard remains.
    _supervisor: Option<Supervisor>,
    access: Arc<Access>,
    data_folder: PathBuf,
    settings: Vec<(String, String)>,
    /// The byte offset in the log where this start begins.
    log_from: u64,
}

impl From<LeaseError> for ServerError {
    fn from(error: LeaseError) -> ServerError {
        ServerError::Unusable(error.to_string())
    }
}

impl Managed {
    /// A new instance that is not started, with its temporary files, socket and log in `folder`.
    pub fn new(distribution: Distribution, leases: Leases, folder: PathBuf) -> Managed {
        Managed {
            distribution,
            leases,
            folder,
            member: None,
            identity: Mutex::default(),
            access: Mutex::default(),
            running: Mutex::default(),
            started_with: Mutex::default(),
            starting: Mutex::default(),
        }
    }

    /// A new instance that is a node of a cluster.
    pub(crate) fn member(
        distribution: Distribution,
        leases: Leases,
        folder: PathBuf,
        member: Member,
    ) -> Managed {
        Managed {
            member: Some(member),
            ..Managed::new(distribution, leases, folder)
        }
    }

    /// Writes an option file (mode 0600) with which the standard clients connect as the administrator.
    pub fn write_option_file(&self, path: &Path) -> Result<(), ServerError> {
        let access = lock(&self.access).clone();
        let dsn = access.ok_or_else(|| self.not_running())?.dsn();
        write_private(path, &option_file::text(&dsn)).map_err(|error| {
            ServerError::Unusable(format!("cannot write {}: {error}", path.display()))
        })
    }

    fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    fn not_running(&self) -> ServerError {
        ServerError::Lost(format!("{} is not running", self.distribution.build))
    }

    /// The endpoint and password of earlier starts, or new ones.
    fn access(&self) -> Result<Arc<Access>, ServerError> {
        if let Some(access) = lock(&self.access).as_ref() {
            return Ok(access.clone());
        }
        let place = InstanceFolder::make(&self.folder, &self.leases)?;
        let (port, password) = match &self.member {
            Some(member) => (member.port(), member.password().to_string()),
            None => (access::free_port()?, access::password()?),
        };
        let mut access = Access {
            place,
            port,
            password,
            clients: None,
        };
        let member = self.member.as_ref();
        access.clients = member.and_then(|member| member.address(&access.dsn()));
        Ok(Arc::new(access))
    }

    fn launch(&self, access: &Arc<Access>, request: &StartRequest) -> Result<Running, ServerError> {
        let place = &access.place;
        let data_folder = request.data_folder.canonicalize().map_err(|error| {
            let folder = request.data_folder.display();
            ServerError::Unusable(format!(
                "cannot start {} on the data folder {folder}: {error}",
                self.distribution.build
            ))
        })?;
        let options = options::all(place, &data_folder, access.port, &request.settings)?;
        let with_options = || {
            let mut command = self.distribution.command(&self.leases);
            command.args(&options);
            command
        };
        let mut command = with_options();
        let statements = password::statements(
            self.distribution.flavor,
            self.distribution.version,
            &access.password,
        );
        let statements = match &self.member {
            Some(member) => {
                member.prepare(&data_folder)?;
                member
                    .equip(&mut command, &data_folder, &request.groups, with_options)
                    .map_err(|error| self.not_launched(&error))?;
                [
                    member.first_statements(),
                    &statements,
                    &member.last_statements(),
                ]
                .concat()
            }
            None => statements,
        };
        write_private(&place.init_file(), &statements)
            .map_err(|error| self.not_launched(&error))?;
        join(&mut command, &request.groups).map_err(|error| self.not_launched(&error))?;
        let (process, log_from) =
            spawn(command, place).map_err(|error| self.not_launched(&error))?;
        Ok(Running {
            _supervisor: Supervisor::start(process.id()).ok().flatten(),
            process,
            access: access.clone(),
            data_folder,
            settings: request.settings.clone(),
            log_from,
        })
    }

    /// Waits until the launched process answers or ends. It holds the lock only for each poll, so that an event can kill a
    /// starting node.
    fn first_answer(&self, access: &Access, data_folder: &Path) -> io::Result<Answer> {
        let began = Instant::now();
        let mut disk = FullDisk::of(data_folder);
        let mut waits = String::new();
        loop {
            match lock(&self.running).as_mut() {
                None => return Ok(Answer::Refused("it was killed during the start".into())),
                Some(running) => {
                    if let Some(status) = running.process.try_wait()? {
                        return Ok(Answer::Ended(status));
                    }
                }
            }
            match self.session_of_a_part(access) {
                Ok((session, Participation::Takes)) => {
                    return Ok(Answer::Session(Box::new(session)));
                }
                Ok((_, Participation::Waits(why) | Participation::NoQuorum(why))) => {
                    waits = format!(": {why}")
                }
                Err(ServerError::Lost(_)) => {}
                // A node that joins others may not know the accounts yet.
                Err(error) if self.member.is_some() => waits = format!(": {error}"),
                Err(error) => return Ok(Answer::Refused(error.to_string())),
            }
            if interrupted() {
                return Ok(Answer::Refused("interrupted".into()));
            }
            if disk.stays_full() {
                return Ok(Answer::Refused("its disk is full".into()));
            }
            if began.elapsed() > START_WITHIN {
                return Ok(Answer::Refused(format!(
                    "it was not ready within {} s{waits}",
                    START_WITHIN.as_secs()
                )));
            }
            std::thread::sleep(POLL_EVERY);
        }
    }

    /// A session, and whether the node takes part in its cluster.
    fn session_of_a_part(&self, access: &Access) -> Result<(Session, Participation), ServerError> {
        let mut session = Session::open(&access.dsn())?;
        let part = match &self.member {
            Some(member) => member.takes_part(&mut session)?,
            None => Participation::Takes,
        };
        Ok((session, part))
    }

    fn not_launched(&self, error: &io::Error) -> ServerError {
        ServerError::Unusable(format!(
            "cannot start {} in {}: {error}",
            self.distribution.build,
            self.folder.display()
        ))
    }

    /// The error for a server that ended, or had to be killed, before it answered.
    fn does_not_start(&self, running: Option<&Running>, how: &str) -> ServerError {
        let lines = running.map(Running::log_lines).unwrap_or_default();
        let settings = running.map_or(&[][..], |running| &running.settings);
        let mut message = format!("{} does not start: {how}", self.distribution.build);
        for suspect in log::suspects(&lines, settings) {
            message.push_str(&format!("\n  - {suspect}"));
        }
        let relevant = log::relevant(&lines);
        ServerError::NotStarted {
            message,
            log: log::tail(&relevant, SHOWN_LINES).to_vec(),
        }
    }

    fn identify(&self, session: &mut Session) -> Result<ServerIdentity, ServerError> {
        let sql = "SELECT version(), @@version_comment, @@version_compile_machine";
        let reply = session.control(|session| session.query(sql))?;
        let text = |column| reply.text(0, column).unwrap_or_default();
        Ok(ServerIdentity {
            build: self.distribution.build.clone(),
            version: text(0),
            comment: [text(1), text(2)].join(", "),
            binary_sha256: self.distribution.binary_sha256.clone(),
        })
    }
}

/// Starts the process with its output, including the dynamic loader's errors, appended to its log. Returns the process
/// and the log's length before the start.
fn spawn(mut command: Command, place: &InstanceFolder) -> io::Result<(Child, u64)> {
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(place.log())?;
    let log_from = log.metadata()?.len();
    let process = command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?;
    Ok((process, log_from))
}

enum Answer {
    Session(Box<Session>),
    /// The process ended before it answered.
    Ended(ExitStatus),
    /// The process runs but rejects connections, for this reason.
    Refused(String),
}

impl Access {
    fn dsn(&self) -> Dsn {
        Dsn {
            user: "root".into(),
            password: Some(self.password.clone()),
            host: "localhost".into(),
            port: self.port,
            schema: None,
            socket: Some(self.place.socket().to_path_buf()),
            others: Vec::new(),
            protection: Default::default(),
            open: Default::default(),
        }
    }
}

impl Running {
    fn kill(&mut self) -> io::Result<()> {
        self.process.kill()?;
        match wait_within(&mut self.process, KILL_WITHIN)? {
            Some(_) => Ok(()),
            None => Err(io::Error::other(format!(
                "process {} still runs after SIGKILL",
                self.process.id()
            ))),
        }
    }

    fn log_lines(&self) -> Vec<String> {
        log::lines_from(&self.access.place.log(), self.log_from)
    }

    /// Whether another program took the port first; the next port will do.
    fn lost_its_port(&self) -> bool {
        self.log_lines()
            .iter()
            .any(|line| line.contains("Address already in use"))
    }

    fn ending(&self, status: ExitStatus) -> String {
        let lines = self.log_lines();
        let last = lines
            .iter()
            .rev()
            .find(|line| line.contains("[ERROR]"))
            .or(lines.last());
        let last = last
            .map(|line| format!("; from its log: {line}"))
            .unwrap_or_default();
        format!("{}{last}", log::ending(status))
    }
}

/// Waits for the end of a server that received SIGTERM. None: it wrote nothing for `stuck_after`, or took [`STOP_WITHIN`].
fn wait_for_end(process: &mut Child, stuck_after: Duration) -> io::Result<Option<ExitStatus>> {
    let (began, pid) = (Instant::now(), process.id());
    let written_bytes = || Some(host::Process::read(pid)?.io?.written_bytes);
    let mut before = written_bytes();
    while began.elapsed() < STOP_WITHIN {
        if let Some(status) = wait_within(process, stuck_after)? {
            return Ok(Some(status));
        }
        let now = written_bytes();
        if now == before {
            break;
        }
        before = now;
    }
    Ok(None)
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.kill();
        let _ = std::fs::remove_file(self.access.place.init_file());
    }
}

impl Node for Managed {
    fn abilities(&self) -> Abilities {
        Abilities {
            restart: true,
            settings: true,
            mysql: true,
            snapshots: true,
        }
    }

    fn identity(&self) -> Option<ServerIdentity> {
        lock(&self.identity).clone()
    }

    fn start(&self, request: &StartRequest) -> Result<Started, ServerError> {
        let _starting = lock(&self.starting);
        if let Some(pid) = self.pid() {
            return Err(ServerError::Unusable(format!(
                "{} is already running as process {pid}; stop it first",
                self.distribution.build
            )));
        }
        if let Some(member) = &self.member {
            member.check_ports()?;
        }
        *lock(&self.started_with) = Some(request.clone());
        for tried in 1.. {
            let began = Instant::now();
            let access = self.access()?;
            *lock(&self.running) = Some(self.launch(&access, request)?);
            let answer = self
                .first_answer(&access, &request.data_folder)
                .map_err(|error| self.not_launched(&error))?;
            let elapsed_s = began.elapsed().as_secs_f64();
            if let Answer::Session(mut session) = answer {
                let _ = std::fs::remove_file(access.place.init_file());
                *lock(&self.identity) = Some(self.identify(&mut session)?);
                *lock(&self.access) = Some(access);
                return Ok(Started { elapsed_s });
            }
            let running = lock(&self.running).take();
            let lost_its_port = running.as_ref().is_some_and(Running::lost_its_port);
            match answer {
                // The other nodes of a cluster know its port, so it cannot take another one.
                Answer::Ended(_)
                    if tried < PORTS_TRIED && lost_its_port && self.member.is_none() => {}
                Answer::Ended(status) => {
                    return Err(self.does_not_start(running.as_ref(), &log::ending(status)));
                }
                Answer::Refused(why) => {
                    return Err(self.does_not_start(running.as_ref(), &why));
                }
                Answer::Session(_) => unreachable!("a session ends the loop"),
            }
        }
        unreachable!("the loop only returns")
    }

    fn started_with(&self) -> Option<StartRequest> {
        lock(&self.started_with).clone()
    }

    fn stop(&self) -> Result<(), ServerError> {
        let Some(mut running) = lock(&self.running).take() else {
            return Ok(());
        };
        let build = &self.distribution.build;
        let failed =
            |error: io::Error| ServerError::Unusable(format!("cannot stop {build}: {error}"));
        if let Some(status) = running.process.try_wait().map_err(failed)? {
            return Err(ServerError::Lost(format!(
                "{build} ended before it was stopped: {}",
                running.ending(status)
            )));
        }
        // All servers treat SIGTERM as SHUTDOWN, a statement that is missing before 5.7.9.
        kill_process(Pid::from_child(&running.process), Signal::TERM)
            .map_err(|error| failed(error.into()))?;
        let sent = Instant::now();
        match wait_for_end(&mut running.process, STUCK_AFTER).map_err(failed)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(ServerError::Lost(format!(
                "{build} did not stop cleanly: {}",
                running.ending(status)
            ))),
            None => {
                running.kill().map_err(failed)?;
                let waited_s = sent.elapsed().as_secs();
                Err(ServerError::Lost(format!(
                    "{build} did not stop within {waited_s} s and was killed: its data folder is not clean"
                )))
            }
        }
    }

    fn kill(&self) -> Result<(), ServerError> {
        let Some(mut running) = lock(&self.running).take() else {
            return Ok(());
        };
        let build = &self.distribution.build;
        running
            .kill()
            .map_err(|error| ServerError::Unusable(format!("cannot kill {build}: {error}")))
    }

    fn connector(&self) -> Result<Connector, ServerError> {
        let access = lock(&self.access).clone();
        let dsn = access.ok_or_else(|| self.not_running())?.dsn();
        Ok(Box::new(move || Session::open(&dsn)))
    }

    fn endpoint(&self) -> Option<Dsn> {
        let access = lock(&self.access).clone()?;
        Some(access.clients.clone().unwrap_or_else(|| access.dsn()))
    }

    fn pid(&self) -> Option<u32> {
        lock(&self.running)
            .as_ref()
            .map(|running| running.process.id())
    }

    fn data_folder(&self) -> Option<PathBuf> {
        lock(&self.running)
            .as_ref()
            .map(|running| running.data_folder.clone())
    }

    fn log_tail(&self, lines: usize) -> Vec<String> {
        log::tail(&log::lines_from(&self.log(), 0), lines).to_vec()
    }

    fn log_path(&self) -> Option<PathBuf> {
        Some(self.log())
    }

    fn exit_reason(&self) -> Option<String> {
        let mut running = lock(&self.running);
        let running = running.as_mut()?;
        let status = running.process.try_wait().ok().flatten()?;
        Some(running.ending(status))
    }

    fn adjusted(&self, session: &mut Session) -> Result<Vec<Adjusted>, ServerError> {
        let running = lock(&self.running)
            .as_ref()
            .map(|running| (running.settings.clone(), running.log_lines()));
        let Some((settings, log)) = running else {
            return Ok(Vec::new());
        };
        let mut adjusted = adjusted::find(&settings, session)?;
        adjusted.extend(log::not_used(&log, &settings));
        Ok(adjusted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_server_is_awaited_unless_it_hangs() {
        let start = |program: &str, argument: &str| {
            let started = Command::new(program).arg(argument).spawn();
            started.unwrap()
        };
        let mut ends = start("sleep", "0.05");
        let status = wait_for_end(&mut ends, Duration::from_secs(60)).unwrap();
        assert!(status.is_some_and(|status| status.success()));
        let mut hangs = start("sleep", "1000");
        let status = wait_for_end(&mut hangs, Duration::from_millis(20)).unwrap();
        assert!(status.is_none());
        hangs.kill().unwrap();
        hangs.wait().unwrap();
    }
}
