//! A build on disk: its version, and how to run its programs.
//!
//! All differences between the sources of builds end here. Starting instances is the task of `managed`, downloading that
//! of `cache`.

use super::layout::Layout;
use super::manifest::Manifest;
use super::{manifest, program};
use crate::{ServerError, file_error};
use host::Leases;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The server family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    MySql,
    MariaDb,
}

/// A build on disk that runs on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Its name in the experiment file: `mysql@5.6.14`.
    pub build: String,
    pub flavor: Flavor,
    pub version: (u32, u32, u32),
    /// The version as the server prints it: `10.11.11-MariaDB-0+deb12u1`.
    pub version_text: String,
    /// How every command line of the server begins: its own loader if it needs one, the server, `--no-defaults`, and the
    /// options that name its folders.
    pub program: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    /// How the command line of the build's own client begins, without options; None if the build has no client.
    pub client: Option<Vec<OsString>>,
    pub basedir: PathBuf,
    pub binary_sha256: String,
    pub(crate) layout: Layout,
    /// The folder for cached output of the server, such as its list of settings.
    pub(crate) notes: PathBuf,
}

impl Distribution {
    /// Inspects the server in `folder`. Runs it with `--version`, so a build that cannot run on this machine fails here.
    /// `notes` is a folder for cached output of the server. `verified` is the manifest that `folder` was just checked against.
    pub(super) fn inspect(
        build: &str,
        folder: &Path,
        notes: &Path,
        verified: Option<&Manifest>,
        leases: &Leases,
    ) -> Result<Distribution, ServerError> {
        let layout = Layout::find(folder)?;
        let call = Call::find(folder, &layout);
        let line = program::output(
            call.command(&layout.server, leases)
                .args(["--no-defaults", "--version"]),
            "its loader is missing: the build is for another machine or system",
        )
        .map_err(|error| {
            ServerError::Unusable(format!(
                "{build}: the server does not run on this machine: {error}"
            ))
        })?;
        let (flavor, version, version_text) = parse_version(&line).ok_or_else(|| {
            ServerError::Unusable(format!(
                "{build}: {} --version prints no version: {line}",
                layout.server.display()
            ))
        })?;
        let below = layout.server.strip_prefix(folder).unwrap_or(&layout.server);
        let binary_sha256 = match verified.and_then(|manifest| manifest.sha256_of(below)) {
            Some(known) => known.to_string(),
            None => manifest::sha256(&layout.server)
                .map_err(|error| file_error(&layout.server, &error))?,
        };
        let mut program = call.words(&layout.server);
        program.extend(fixed_options(&layout, flavor, version));
        Ok(Distribution {
            build: build.to_string(),
            flavor,
            version,
            version_text,
            program,
            environment: call.environment.clone(),
            client: layout.client.as_deref().map(|client| call.words(client)),
            basedir: layout.basedir.clone(),
            binary_sha256,
            notes: notes.to_path_buf(),
            layout,
        })
    }

    /// Checks that a downloaded server is the one that its name promises: a package of a distribution changes with it.
    ///
    /// # Errors
    /// It is of another family or version.
    pub(super) fn is_as_named(&self) -> Result<(), ServerError> {
        let (family, version) = self
            .build
            .split_once('@')
            .unwrap_or((self.build.as_str(), ""));
        let flavor = match self.flavor {
            Flavor::MySql => "mysql",
            Flavor::MariaDb => "mariadb",
        };
        let (major, minor, patch) = self.version;
        let own = format!("{major}.{minor}.{patch}.");
        let is_version = version.is_empty() || own.starts_with(&format!("{version}."));
        if flavor == family && is_version {
            return Ok(());
        }
        Err(ServerError::Unusable(format!(
            "{}: what was downloaded under this name is {flavor} {}; nothing is measured with it; unpack the server that you mean and give its folder as path:BASEDIR",
            self.build, self.version_text
        )))
    }

    /// The server's command with the build's own options; the caller adds those of the instance.
    pub fn command(&self, leases: &Leases) -> Command {
        let mut command = leases.command(&self.program[0]);
        command
            .args(&self.program[1..])
            .envs(self.environment.iter().cloned());
        command
    }

    /// The command of the build's client, if it has one. The caller adds the connection options, `--no-defaults` first.
    /// The client is the user's process on the user's terminal, so it carries no lease.
    pub fn client_command(&self) -> Option<Command> {
        let (program, arguments) = self.client.as_ref()?.split_first()?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env(LOGIN_PATHS, "/nonexistent")
            .envs(self.environment.iter().cloned());
        Some(command)
    }
}

/// Names the file of the user's login paths (`mysql_config_editor`). MySQL's client reads it whatever option files it gets, and the host and
/// password in it win: it would open a shell on another server.
const LOGIN_PATHS: &str = "MYSQL_TEST_LOGIN_FILE";

/// How to run a program of the build.
struct Call {
    loader: Option<PathBuf>,
    libraries: OsString,
    environment: Vec<(OsString, OsString)>,
}

impl Call {
    /// A build with its own C library runs through that library's loader. Other builds run directly, with their downloaded
    /// libraries in LD_LIBRARY_PATH.
    fn find(folder: &Path, layout: &Layout) -> Call {
        let machine = Machine::of(&layout.server);
        let libraries = library_folders(folder, &layout.basedir, &machine);
        let libraries = std::env::join_paths(libraries).unwrap_or_default();
        let loader = machine
            .loaders(folder)
            .into_iter()
            .find(|path| path.is_file());
        let environment = if loader.is_none() && !libraries.is_empty() {
            vec![(OsString::from("LD_LIBRARY_PATH"), libraries.clone())]
        } else {
            Vec::new()
        };
        Call {
            loader,
            libraries,
            environment,
        }
    }

    fn words(&self, program: &Path) -> Vec<OsString> {
        match &self.loader {
            None => vec![program.into()],
            Some(loader) => vec![
                loader.into(),
                "--library-path".into(),
                self.libraries.clone(),
                program.into(),
            ],
        }
    }

    fn command(&self, program: &Path, leases: &Leases) -> Command {
        let words = self.words(program);
        let mut command = leases.command(&words[0]);
        command
            .args(&words[1..])
            .envs(self.environment.iter().cloned());
        command
    }
}

/// The architecture of a program, by Debian's names.
struct Machine {
    triple: String,
    loader: &'static str,
}

impl Machine {
    fn of(program: &Path) -> Machine {
        let (triple, loader) = match std::env::consts::ARCH {
            "aarch64" => ("aarch64-linux-gnu", "ld-linux-aarch64.so.1"),
            _ if is_32_bit(program).unwrap_or(false) => ("i386-linux-gnu", "ld-linux.so.2"),
            _ => ("x86_64-linux-gnu", "ld-linux-x86-64.so.2"),
        };
        Machine {
            triple: triple.to_string(),
            loader,
        }
    }

    /// Where an unpacked C library may keep its loader.
    fn loaders(&self, folder: &Path) -> Vec<PathBuf> {
        let roots = [folder.to_path_buf(), folder.join(OLD_LIBRARY_FOLDER)];
        let path =
            |root: &PathBuf, below: &str| root.join(below).join(&self.triple).join(self.loader);
        roots
            .iter()
            .flat_map(|root| [path(root, "usr/lib"), path(root, "lib")])
            .collect()
    }
}

/// The fifth byte of an ELF file is its class: 1 for 32 bits, 2 for 64 (ELF specification, e_ident).
fn is_32_bit(program: &Path) -> std::io::Result<bool> {
    let mut start = [0; 5];
    std::io::Read::read_exact(&mut std::fs::File::open(program)?, &mut start)?;
    Ok(start == *b"\x7fELF\x01")
}

/// The folders of the build's own libraries. An installed server (`/usr`) needs none.
fn library_folders(folder: &Path, basedir: &Path, machine: &Machine) -> Vec<PathBuf> {
    if basedir == Path::new("/usr") {
        return Vec::new();
    }
    let triple = &machine.triple;
    let below = [
        format!("usr/lib/{triple}"),
        format!("lib/{triple}"),
        "usr/lib/mysql".to_string(),
        "usr/lib/mysql/private".to_string(),
        "libs".to_string(),
        format!("{OLD_LIBRARY_FOLDER}/usr/lib/{triple}"),
        format!("{OLD_LIBRARY_FOLDER}/lib/{triple}"),
    ];
    below
        .iter()
        .map(|path| folder.join(path))
        .filter(|path| path.is_dir())
        .collect()
}

/// The folder below a build for libraries that newer systems lack.
pub(super) const OLD_LIBRARY_FOLDER: &str = "old-libraries";

/// The options of every command line of the server: ignore the machine's option files, where its parts are, and run as
/// root if prony does.
fn fixed_options(layout: &Layout, flavor: Flavor, version: (u32, u32, u32)) -> Vec<OsString> {
    let mut options = vec![
        OsString::from("--no-defaults"),
        option("--basedir=", &layout.basedir),
    ];
    if let Some(messages) = &layout.messages {
        options.push(if version < (5, 5, 0) {
            option("--language=", &messages.join("english"))
        } else {
            option("--lc-messages-dir=", messages)
        });
    }
    let charsets = layout.charsets.iter();
    options.extend(charsets.map(|folder| option("--character-sets-dir=", folder)));
    let plugins = layout.plugins.iter().filter(|_| version >= (5, 1, 0));
    options.extend(plugins.map(|folder| option("--plugin-dir=", folder)));
    if flavor == Flavor::MySql && version >= (5, 7, 0) {
        // The folder that packages compile in does not exist here, and 9.x does not start without it.
        options.push("--secure-file-priv=".into());
    }
    if flavor == Flavor::MySql && version >= (8, 0, 11) {
        // The X protocol opens a second port that prony does not use.
        options.push("--loose-mysqlx=OFF".into());
    }
    if rustix::process::geteuid().is_root() {
        options.push("--user=root".into());
    }
    options
}

/// An option with a path, which may be no UTF-8.
pub(crate) fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// Parses `mysqld  Ver 5.6.14 for linux-glibc2.5 on x86_64 (MySQL Community Server (GPL))`.
fn parse_version(line: &str) -> Option<(Flavor, (u32, u32, u32), String)> {
    // The path of the program comes first, and a folder may have any name.
    let (_, line) = line.split_once(" Ver ")?;
    let text = line.split_whitespace().next()?;
    let flavor = if line.contains("MariaDB") {
        Flavor::MariaDb
    } else {
        Flavor::MySql
    };
    let mut numbers = text
        .split(|character: char| !character.is_ascii_digit())
        .map(str::parse);
    let mut number = || numbers.next()?.ok();
    Some((flavor, (number()?, number()?, number()?), text.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_lines_of_all_families_are_parsed() {
        let cases = [
            (
                "mysqld  Ver 5.6.14 for linux-glibc2.5 on x86_64 (MySQL Community Server (GPL))",
                Flavor::MySql,
                (5, 6, 14),
                "5.6.14",
            ),
            (
                "/x/mariadbd  Ver 10.11.11-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)",
                Flavor::MariaDb,
                (10, 11, 11),
                "10.11.11-MariaDB-0+deb12u1",
            ),
            (
                "mysqld  Ver 5.1.73-rel14.12 for unknown-linux-gnu on x86_64 (Percona Server)",
                Flavor::MySql,
                (5, 1, 73),
                "5.1.73-rel14.12",
            ),
            (
                "/srv/MySQL and MariaDB/bin/mysqld  Ver 5.7.44 for Linux on x86_64 (MySQL Community Server (GPL))",
                Flavor::MySql,
                (5, 7, 44),
                "5.7.44",
            ),
        ];
        for (line, flavor, version, text) in cases {
            assert_eq!(
                parse_version(line),
                Some((flavor, version, text.to_string()))
            );
        }
        assert_eq!(parse_version("usage: mysqld"), None);
    }

    #[test]
    fn servers_before_5_5_get_the_language_option() {
        let layout = Layout {
            basedir: "/b".into(),
            server: "/b/bin/mysqld".into(),
            client: None,
            messages: Some("/b/share".into()),
            charsets: None,
            plugins: None,
            scripts: None,
        };
        let has = |flavor, version, name: &str| {
            fixed_options(&layout, flavor, version)
                .iter()
                .any(|option| option.to_string_lossy().starts_with(name))
        };
        assert!(has(
            Flavor::MySql,
            (5, 1, 73),
            "--language=/b/share/english"
        ));
        assert!(has(Flavor::MySql, (5, 5, 34), "--lc-messages-dir=/b/share"));
        assert!(has(Flavor::MySql, (9, 7, 0), "--secure-file-priv="));
        assert!(!has(Flavor::MariaDb, (11, 8, 0), "--secure-file-priv="));
    }

    #[test]
    fn no_defaults_is_the_first_option() {
        let layout = Layout {
            basedir: "/b".into(),
            server: "/b/bin/mysqld".into(),
            client: None,
            messages: None,
            charsets: None,
            plugins: None,
            scripts: None,
        };
        assert_eq!(
            fixed_options(&layout, Flavor::MySql, (5, 5, 0))[0],
            "--no-defaults"
        );
    }
}
