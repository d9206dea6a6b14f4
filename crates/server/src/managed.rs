//! A server that prony starts and stops itself, in a folder of its own, reachable from this machine alone.
//!
//! Goal: a start that either answers or says why not; an end that leaves a clean data folder; nothing that outlives prony
//! (see `host::leases`). Non-goals: making data folders (`builds`), choosing settings.

pub mod adjusted;
mod options;
mod password;
mod place;

use crate::builds::Distribution;
use crate::session::option_file;
use crate::{Abilities, Connector, Server, ServerError, Session, StartRequest, Started, log};
use adjusted::Adjusted;
use host::{LeaseError, Leases, interrupted, join, wait_within};
use place::Place;
use record::ServerIdentity;
use rustix::process::{Pid, Signal, kill_process};
use spec::Dsn;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a start may take: recovery after a kill reads the whole redo log.
const START_WITHIN: Duration = Duration::from_secs(900);
/// How long a stop may take: it writes all that the pool holds.
const STOP_WITHIN: Duration = Duration::from_secs(600);
/// How long a server may take to be gone after SIGKILL.
const KILL_WITHIN: Duration = Duration::from_secs(60);
/// Between two looks at a server that is starting; a small part of the shortest start (0.2 s).
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Starts with another port, where another program was faster at taking it.
const PORTS_TRIED: u32 = 3;
/// Lines of its log in the message about a server that does not start.
const SHOWN_LINES: usize = 15;

/// An instance of a build. It dies with this value, and with prony.
pub struct Managed {
    distribution: Distribution,
    leases: Leases,
    folder: PathBuf,
    identity: Option<ServerIdentity>,
    running: Option<Running>,
}

struct Running {
    process: Child,
    place: Place,
    port: u16,
    password: String,
    data_folder: PathBuf,
    settings: Vec<(String, String)>,
    /// Where in the log this start begins, in bytes.
    log_from: u64,
}

impl From<LeaseError> for ServerError {
    fn from(error: LeaseError) -> ServerError {
        ServerError::Unusable(error.to_string())
    }
}

impl Managed {
    /// An instance with its temporary files, socket and log in `folder`, not started.
    pub fn new(distribution: Distribution, leases: Leases, folder: PathBuf) -> Managed {
        Managed {
            distribution,
            leases,
            folder,
            identity: None,
            running: None,
        }
    }

    /// Its log over all starts.
    pub fn log_path(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    /// How the administrator gets in while it runs.
    pub fn dsn(&self) -> Option<Dsn> {
        self.running.as_ref().map(Running::dsn)
    }

    /// Writes the option file (mode 0600) by which clients of the family get in as the administrator.
    pub fn write_option_file(&self, path: &Path) -> Result<(), ServerError> {
        let dsn = self.dsn().ok_or_else(|| self.not_running())?;
        password::write(path, &option_file::text(&dsn)).map_err(|error| {
            ServerError::Unusable(format!("cannot write {}: {error}", path.display()))
        })
    }

    fn not_running(&self) -> ServerError {
        ServerError::Lost(format!("{} is not running", self.distribution.build))
    }

    fn launch(&self, request: &StartRequest) -> Result<Running, ServerError> {
        let place = Place::make(&self.folder, &self.leases)?;
        let (port, password) = (place::free_port()?, password::draw()?);
        let data_folder = request.data_folder.canonicalize().map_err(|error| {
            let folder = request.data_folder.display();
            ServerError::Unusable(format!(
                "cannot start {} on the data folder {folder}: {error}",
                self.distribution.build
            ))
        })?;
        let options = options::all(&place, &data_folder, port, &request.settings)?;
        let statements = password::statements(
            self.distribution.flavor,
            self.distribution.version,
            &password,
        );
        password::write(&place.first_statements(), &statements)
            .map_err(|error| self.not_launched(&error))?;
        let mut command = self.distribution.command(&self.leases);
        command.args(options);
        join(&mut command, &request.groups).map_err(|error| self.not_launched(&error))?;
        let (process, log_from) =
            spawn(command, &place).map_err(|error| self.not_launched(&error))?;
        let settings = request.settings.clone();
        Ok(Running {
            process,
            place,
            port,
            password,
            data_folder,
            settings,
            log_from,
        })
    }

    fn not_launched(&self, error: &io::Error) -> ServerError {
        ServerError::Unusable(format!(
            "{} cannot be started in {}: {error}",
            self.distribution.build,
            self.folder.display()
        ))
    }

    /// The message about a server that ended, or had to be ended, before it answered.
    fn does_not_start(&self, running: &Running, how: &str) -> ServerError {
        let lines = running.log_lines();
        let mut says = format!("{} does not start: {how}", self.distribution.build);
        for suspect in log::suspects(&lines, &running.settings) {
            says.push_str(&format!("\n  - {suspect}"));
        }
        let telling = log::telling(&lines);
        ServerError::NotStarted {
            says,
            log: log::tail(&telling, SHOWN_LINES).to_vec(),
        }
    }

    fn identify(&self, session: &mut Session) -> Result<ServerIdentity, ServerError> {
        let reply =
            session.query("SELECT version(), @@version_comment, @@version_compile_machine")?;
        let mut texts = reply
            .rows
            .into_iter()
            .flatten()
            .map(|cell| String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned());
        Ok(ServerIdentity {
            build: self.distribution.build.clone(),
            version: texts.next().unwrap_or_default(),
            comment: texts.collect::<Vec<_>>().join(", "),
            binary_sha256: self.distribution.binary_sha256.clone(),
        })
    }
}

/// What it says goes to its log, also what the dynamic loader says before it lives. Gives where in the log that begins.
fn spawn(mut command: Command, place: &Place) -> io::Result<(Child, u64)> {
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
    /// It ended before.
    Ended(ExitStatus),
    /// It lives and does not let prony in; why.
    Refused(String),
}

impl Running {
    /// Waits until it answers or ends.
    fn first_answer(&mut self) -> io::Result<Answer> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait()? {
                return Ok(Answer::Ended(status));
            }
            match self.connect() {
                Ok(session) => return Ok(Answer::Session(Box::new(session))),
                Err(ServerError::Lost(_)) => {}
                Err(error) => return Ok(Answer::Refused(error.to_string())),
            }
            if interrupted() {
                return Ok(Answer::Refused("interrupted".into()));
            }
            if began.elapsed() > START_WITHIN {
                return Ok(Answer::Refused(format!(
                    "no answer within {} s",
                    START_WITHIN.as_secs()
                )));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn connect(&self) -> Result<Session, ServerError> {
        Session::open(&self.dsn())
    }

    fn dsn(&self) -> Dsn {
        Dsn {
            user: "root".into(),
            password: Some(self.password.clone()),
            host: "localhost".into(),
            port: self.port,
            schema: None,
            socket: Some(self.place.socket().to_path_buf()),
            others: Vec::new(),
            tls_required: false,
        }
    }

    fn kill(&mut self) -> io::Result<()> {
        self.process.kill()?;
        match wait_within(&mut self.process, KILL_WITHIN)? {
            Some(_) => Ok(()),
            None => Err(io::Error::other(format!(
                "process {} is still there after SIGKILL",
                self.process.id()
            ))),
        }
    }

    fn log_lines(&self) -> Vec<String> {
        log::lines_from(&self.place.log(), self.log_from)
    }

    /// Another program has the port: only a race, the next port will do.
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
            .map(|line| format!("; its log says: {line}"))
            .unwrap_or_default();
        format!("{}{last}", log::ending(status))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.kill();
        let _ = std::fs::remove_file(self.place.first_statements());
    }
}

impl Server for Managed {
    fn abilities(&self) -> Abilities {
        Abilities {
            restart: true,
            settings: true,
            mysql: true,
            snapshots: true,
        }
    }

    fn identity(&self) -> Option<&ServerIdentity> {
        self.identity.as_ref()
    }

    fn start(&mut self, request: &StartRequest) -> Result<Started, ServerError> {
        if let Some(running) = &self.running {
            let (build, pid) = (&self.distribution.build, running.process.id());
            return Err(ServerError::Unusable(format!(
                "{build} runs already, as process {pid}: stop it before it is started"
            )));
        }
        for tried in 1.. {
            let began = Instant::now();
            let mut running = self.launch(request)?;
            let answer = running
                .first_answer()
                .map_err(|error| self.not_launched(&error))?;
            let elapsed_s = began.elapsed().as_secs_f64();
            match answer {
                Answer::Session(mut session) => {
                    let _ = std::fs::remove_file(running.place.first_statements());
                    self.identity = Some(self.identify(&mut session)?);
                    self.running = Some(running);
                    return Ok(Started { elapsed_s });
                }
                Answer::Ended(_) if tried < PORTS_TRIED && running.lost_its_port() => {}
                Answer::Ended(status) => {
                    return Err(self.does_not_start(&running, &log::ending(status)));
                }
                Answer::Refused(why) => return Err(self.does_not_start(&running, &why)),
            }
        }
        unreachable!("the loop has no end of its own")
    }

    fn stop(&mut self) -> Result<(), ServerError> {
        let Some(mut running) = self.running.take() else {
            return Ok(());
        };
        let build = &self.distribution.build;
        let failed =
            |error: io::Error| ServerError::Unusable(format!("{build} cannot be stopped: {error}"));
        if let Some(status) = running.process.try_wait().map_err(failed)? {
            return Err(ServerError::Lost(format!(
                "{build} had ended before it was stopped: {}",
                running.ending(status)
            )));
        }
        // All servers take SIGTERM for SHUTDOWN; the statement is missing before 5.7.9.
        kill_process(Pid::from_child(&running.process), Signal::TERM)
            .map_err(|error| failed(error.into()))?;
        match wait_within(&mut running.process, STOP_WITHIN).map_err(failed)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(ServerError::Lost(format!(
                "{build} did not stop cleanly: {}",
                running.ending(status)
            ))),
            None => {
                running.kill().map_err(failed)?;
                let waited_s = STOP_WITHIN.as_secs();
                Err(ServerError::Lost(format!(
                    "{build} did not stop within {waited_s} s and was killed: its data folder is not clean"
                )))
            }
        }
    }

    fn kill(&mut self) -> Result<(), ServerError> {
        let Some(mut running) = self.running.take() else {
            return Ok(());
        };
        let build = &self.distribution.build;
        running
            .kill()
            .map_err(|error| ServerError::Unusable(format!("{build} cannot be killed: {error}")))
    }

    fn connector(&self) -> Result<Connector, ServerError> {
        let dsn = self.dsn().ok_or_else(|| self.not_running())?;
        Ok(Box::new(move || Session::open(&dsn)))
    }

    fn dsn(&self) -> Option<Dsn> {
        self.running.as_ref().map(Running::dsn)
    }

    fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.process.id())
    }

    fn data_folder(&self) -> Option<&Path> {
        self.running
            .as_ref()
            .map(|running| running.data_folder.as_path())
    }

    fn log_tail(&self, lines: usize) -> Vec<String> {
        log::tail(&log::lines_from(&self.log_path(), 0), lines).to_vec()
    }

    fn exit_reason(&mut self) -> Option<String> {
        let running = self.running.as_mut()?;
        let status = running.process.try_wait().ok().flatten()?;
        Some(running.ending(status))
    }

    fn adjusted(&self, session: &mut Session) -> Result<Vec<Adjusted>, ServerError> {
        match &self.running {
            Some(running) => adjusted::find(&running.settings, session),
            None => Ok(Vec::new()),
        }
    }
}
