//! A build that is there: how its programs are called, and what it says of itself.
//!
//! Goal: everything that depends on where a build came from ends here. Non-goals: instances (`managed`), getting (`cache`).

use super::layout::Layout;
use super::manifest::Manifest;
use super::{manifest, program};
use crate::ServerError;
use host::Leases;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    MySql,
    MariaDb,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// As in the experiment: `mysql@5.6.14`.
    pub build: String,
    pub flavor: Flavor,
    pub version: (u32, u32, u32),
    /// `10.11.11-MariaDB-0+deb12u1`
    pub version_text: String,
    /// The arguments that every call of the server begins with: its own loader where it needs one, the server,
    /// `--no-defaults`, and where its parts lie.
    pub program: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    /// The build's own client, called in the same way (without options).
    pub client: Option<Vec<OsString>>,
    pub basedir: PathBuf,
    pub binary_sha256: String,
    pub(crate) layout: Layout,
    /// Where what was asked of the server itself is kept.
    pub(crate) notes: PathBuf,
}

impl Distribution {
    /// Finds out all about the server in `folder`: it is asked for its version, so that a build that cannot run here is
    /// found at once. `notes` is a folder for what is remembered about it; `verified` is the manifest that `folder` was just compared with.
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
            "the file is there but its loader is not: it is built for another machine or system",
        )
        .map_err(|error| {
            ServerError::Unusable(format!("{build}: the server does not run here: {error}"))
        })?;
        let (flavor, version, version_text) = parse_version(&line).ok_or_else(|| {
            ServerError::Unusable(format!(
                "{build}: {} does not tell its version: {line}",
                layout.server.display()
            ))
        })?;
        let below = layout.server.strip_prefix(folder).unwrap_or(&layout.server);
        let binary_sha256 = match verified.and_then(|manifest| manifest.sha256_of(below)) {
            Some(known) => known.to_string(),
            None => manifest::sha256(&layout.server).map_err(|error| {
                ServerError::Unusable(format!("{}: {error}", layout.server.display()))
            })?,
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

    /// The server with its fixed options; the caller adds the instance's own.
    pub fn command(&self, leases: &Leases) -> Command {
        let mut command = leases.command(&self.program[0]);
        command
            .args(&self.program[1..])
            .envs(self.environment.iter().cloned());
        command
    }

    /// The build's client, where it has one: the caller adds the connection's options (`--no-defaults` first).
    /// It is the user's own process on the user's terminal, so it carries no lease.
    pub fn client_command(&self) -> Option<Command> {
        let (program, arguments) = self.client.as_ref()?.split_first()?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(self.environment.iter().cloned());
        Some(command)
    }
}

/// How a program of the build is started.
struct Call {
    loader: Option<PathBuf>,
    libraries: OsString,
    environment: Vec<(OsString, OsString)>,
}

impl Call {
    /// A build that brought its C library is started through that library's loader. All others are started as they are,
    /// with the libraries that were fetched for them in LD_LIBRARY_PATH.
    fn find(folder: &Path, layout: &Layout) -> Call {
        let machine = Machine::of(&layout.server);
        let libraries = join_paths(&library_folders(folder, &layout.basedir, &machine));
        let loader = machine
            .loaders(folder)
            .into_iter()
            .find(|path| path.is_file());
        let environment = match loader.is_none() && !libraries.is_empty() {
            true => vec![(OsString::from("LD_LIBRARY_PATH"), libraries.clone())],
            false => Vec::new(),
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

/// What a program is made for: the names that Debian has for it.
struct Machine {
    triple: String,
    loader: &'static str,
}

impl Machine {
    fn of(program: &Path) -> Machine {
        let (triple, loader) = match std::env::consts::ARCH {
            "aarch64" => ("aarch64-linux-gnu", "ld-linux-aarch64.so.1"),
            _ if is_of_32_bits(program).unwrap_or(false) => ("i386-linux-gnu", "ld-linux.so.2"),
            _ => ("x86_64-linux-gnu", "ld-linux-x86-64.so.2"),
        };
        Machine {
            triple: triple.to_string(),
            loader,
        }
    }

    /// The loader's places in an unpacked C library.
    fn loaders(&self, folder: &Path) -> Vec<PathBuf> {
        let roots = [folder.to_path_buf(), folder.join(OLD_LIBRARY_FOLDER)];
        let place =
            |root: &PathBuf, below: &str| root.join(below).join(&self.triple).join(self.loader);
        roots
            .iter()
            .flat_map(|root| [place(root, "usr/lib"), place(root, "lib")])
            .collect()
    }
}

/// The fifth byte of an ELF file is its class: 1 for 32 bits, 2 for 64 (ELF specification, e_ident).
fn is_of_32_bits(program: &Path) -> std::io::Result<bool> {
    let mut start = [0; 5];
    std::io::Read::read_exact(&mut std::fs::File::open(program)?, &mut start)?;
    Ok(start == *b"\x7fELF\x01")
}

/// Folders with libraries that belong to the build. An installed server (`/usr`) needs none of them named.
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

/// Below a build's folder: libraries that newer systems do not have.
pub(super) const OLD_LIBRARY_FOLDER: &str = "old-libraries";

fn join_paths(paths: &[PathBuf]) -> OsString {
    std::env::join_paths(paths).unwrap_or_default()
}

/// What must be said to every call of the server: that no option file of the machine counts, where its parts are, and
/// that as root it stays root.
fn fixed_options(layout: &Layout, flavor: Flavor, version: (u32, u32, u32)) -> Vec<OsString> {
    let mut options = vec![
        OsString::from("--no-defaults"),
        option("--basedir=", &layout.basedir),
    ];
    if let Some(messages) = &layout.messages {
        options.push(match version < (5, 5, 0) {
            true => option("--language=", &messages.join("english")),
            false => option("--lc-messages-dir=", messages),
        });
    }
    options.extend(
        layout
            .charsets
            .iter()
            .map(|folder| option("--character-sets-dir=", folder)),
    );
    options.extend(
        layout
            .plugins
            .iter()
            .filter(|_| version >= (5, 1, 0))
            .map(|folder| option("--plugin-dir=", folder)),
    );
    if flavor == Flavor::MySql && version >= (5, 7, 0) {
        // Compiled-in folders of packages do not exist here, and 9.x stops when its own is missing.
        options.push("--secure-file-priv=".into());
    }
    if flavor == Flavor::MySql && version >= (8, 0, 11) {
        // A second port that nobody asks for.
        options.push("--loose-mysqlx=OFF".into());
    }
    if rustix::process::geteuid().is_root() {
        options.push("--user=root".into());
    }
    options
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// `mysqld  Ver 5.6.14 for linux-glibc2.5 on x86_64 (MySQL Community Server (GPL))`
fn parse_version(line: &str) -> Option<(Flavor, (u32, u32, u32), String)> {
    let mut words = line
        .split_whitespace()
        .skip_while(|word| *word != "Ver")
        .skip(1);
    let text = words.next()?;
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
    fn versions_are_read_as_the_servers_write_them() {
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
    fn the_old_servers_get_the_old_option_for_messages() {
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
    fn no_defaults_comes_first_because_the_servers_want_it_there() {
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
