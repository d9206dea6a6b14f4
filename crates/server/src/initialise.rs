//! Initialises a data folder: the system tables, root without a password, no other accounts, no schema `test`.
//!
//! The result is the same for every build, and needs neither perl nor the build's install script. MySQL since 5.7.6
//! initialises itself; every other server runs its own SQL scripts in bootstrap mode. The password is not set here: each
//! start sets a new one with an init file (`managed`).

use crate::builds::{Distribution, Flavor, failed, not_started};
use crate::full_disk::FullDisk;
use crate::{ServerError, file_error};
use host::process::wait_within;
use host::{Leases, interrupted};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// How often the disk, and whether the user interrupted prony, is looked at while a server initialises its data folder.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The scripts in order, each with its names in the various families and versions. A build needs the first two, and of
/// the others those that it has.
#[rustfmt::skip]
const SCRIPTS: [&[&str]; 6] = [
    &["mariadb_system_tables.sql", "mysql_system_tables.sql"],
    &["mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"],
    &["mariadb_performance_tables.sql", "mysql_performance_tables.sql"],
    &["maria_add_gis_sp_bootstrap.sql"],
    &["mariadb_sys_schema.sql", "mysql_sys_schema.sql"],
    &["fill_help_tables.sql"],
];
const NECESSARY: usize = 2;

/// Runs before the scripts, one statement per line. MariaDB's scripts read the variables: root logs in with a password
/// instead of the system user's name, and there are no anonymous accounts.
const BEGINNING: &str = "create database if not exists mysql;\nuse mysql;\nset @auth_root_socket = NULL;\nset @skip_auth_anonymous = 1;\n";

/// Runs after the scripts. Older scripts create anonymous accounts, and grant everybody rights on the schema `test`.
const END: &str = "use mysql;\ndelete from user where User = '' or Host not in ('localhost', '127.0.0.1', '::1');\ndelete from db where Db like 'test%';\n";

/// Like `END`, for MariaDB since 10.4, where `user` is a view.
const END_WITH_GLOBAL_PRIV: &str = "use mysql;\ndelete from global_priv where User = '' or (User = 'root' and Host not in ('localhost', '127.0.0.1', '::1'));\ndelete from db where Db like 'test%';\n";

impl Distribution {
    /// Initialises `folder`, which must be empty or not exist, as a data folder with only the system tables. `settings`
    /// are those that a data folder keeps for its lifetime, such as InnoDB's page size.
    pub fn initialise(
        &self,
        leases: &Leases,
        folder: &Path,
        settings: &[(String, String)],
    ) -> Result<(), ServerError> {
        fs::create_dir_all(folder).map_err(|error| file_error(folder, &error))?;
        let mut options: Vec<String> = settings
            .iter()
            .map(|(name, value)| format!("--{name}={value}"))
            .collect();
        if self.initialises_itself() {
            options.push("--initialize-insecure".to_string());
            self.run(leases, folder, &options, Stdio::null())
        } else {
            self.bootstrap(leases, folder, options)
        }
    }

    fn initialises_itself(&self) -> bool {
        self.flavor == Flavor::MySql && self.version >= (5, 7, 6)
    }

    fn bootstrap(
        &self,
        leases: &Leases,
        folder: &Path,
        mut options: Vec<String>,
    ) -> Result<(), ServerError> {
        let scripts = self.scripts()?;
        // A file instead of a pipe: otherwise writing to a server that itself waits for a reader could deadlock.
        let mut statements = tempfile::tempfile_in(folder.parent().unwrap_or(folder))
            .map_err(|error| file_error(folder, &error))?;
        self.write_statements(&scripts, &mut statements)
            .map_err(|error| file_error(folder, &error))?;
        options.push("--bootstrap".to_string());
        if self.version < (5, 6, 0) {
            // Without InnoDB's files: the settings of the first real start determine their sizes, and 5.5 refuses to
            // start if they differ. Its system tables are all MyISAM.
            let without = ["--loose-skip-innodb", "--default-storage-engine=MyISAM"];
            options.extend(without.map(String::from));
        }
        self.run(leases, folder, &options, Stdio::from(statements))
    }

    fn write_statements(&self, scripts: &[PathBuf], to: &mut File) -> io::Result<()> {
        to.write_all(BEGINNING.as_bytes())?;
        for script in scripts {
            io::copy(&mut File::open(script)?, to)?;
            to.write_all(b"\n")?;
        }
        let has_global_priv = self.flavor == Flavor::MariaDb && self.version >= (10, 4, 0);
        to.write_all(
            if has_global_priv {
                END_WITH_GLOBAL_PRIV
            } else {
                END
            }
            .as_bytes(),
        )?;
        to.rewind()
    }

    fn scripts(&self) -> Result<Vec<PathBuf>, ServerError> {
        let folder = self.layout.scripts.as_ref().ok_or_else(|| {
            ServerError::Unusable(format!(
                "{}: the scripts that create the system tables (mysql_system_tables.sql) are not below {}; use a complete copy of the server",
                self.build,
                self.basedir.display()
            ))
        })?;
        let find = |names: &[&str]| {
            names
                .iter()
                .map(|name| folder.join(name))
                .find(|path| path.is_file())
        };
        let found: Vec<PathBuf> = SCRIPTS.iter().filter_map(|names| find(names)).collect();
        match SCRIPTS[..NECESSARY]
            .iter()
            .find(|names| find(names).is_none())
        {
            Some(names) => Err(ServerError::Unusable(format!(
                "{}: {} is missing in {}; use a complete copy of the server",
                self.build,
                names[0],
                folder.display()
            ))),
            None => Ok(found),
        }
    }

    fn run(
        &self,
        leases: &Leases,
        folder: &Path,
        options: &[String],
        input: Stdio,
    ) -> Result<(), ServerError> {
        // A private folder: in a shared one a starting server removes the temporary tables of all others.
        let temporary = tempfile::tempdir_in(folder.parent().unwrap_or(folder))
            .map_err(|error| file_error(folder, &error))?;
        let mut command: Command = self.command(leases);
        command
            .arg(format!("--datadir={}", folder.display()))
            .arg(format!("--tmpdir={}", temporary.path().display()))
            .args(options)
            .stdin(input);
        let done = output(&mut command, folder, interrupted)
            .map_err(|error| not_started(&self.build, &error, "download the build again"))?;
        // In bootstrap mode an error in a statement does not always change the exit status.
        let complete = folder.join("mysql").is_dir();
        if done.status.success() && complete {
            Ok(())
        } else {
            Err(failed(
                &format!(
                    "{}: creating the system tables in {}",
                    self.build,
                    folder.display()
                ),
                &done,
            ))
        }
    }
}

/// Like [`Command::output`], with both streams in one. A server that still runs when `stops` returns true, or that waits for space on a full
/// disk, is killed. What it prints goes to memory, where it has a place even then.
pub(crate) fn output(
    command: &mut Command,
    folder: &Path,
    stops: fn() -> bool,
) -> io::Result<Output> {
    let mut printed = File::from(memfd_create("initialise", MemfdFlags::CLOEXEC)?);
    let mut process = command
        .stdout(printed.try_clone()?)
        .stderr(printed.try_clone()?)
        .spawn()?;
    let mut disk = FullDisk::of(folder);
    let status = loop {
        if stops() || disk.stays_full() {
            process.kill()?;
            break process.wait()?;
        }
        if let Some(status) = wait_within(&mut process, LOOK_EVERY)? {
            break status;
        }
    };
    let mut stdout = Vec::new();
    printed.rewind()?;
    printed.read_to_end(&mut stdout)?;
    Ok(Output {
        status,
        stdout,
        stderr: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_server_that_initialises_is_killed_when_the_user_interrupts_prony() {
        let began = Instant::now();
        let mut server = Command::new("sleep");
        let done = output(server.arg("60"), Path::new("/"), || true).unwrap();
        assert!(!done.status.success());
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
