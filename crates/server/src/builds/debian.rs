//! Downloads Debian packages of any suite, without root and without changing the machine's own packages.
//!
//! A private apt has its own lists and cache, and an empty list of installed packages, so that its solver finds all
//! dependencies down to the C library. It uses the mirrors, proxies and logins of the machine's apt. It installs nothing,
//! and no other package manager is supported.

use super::catalogue::Packages;
use super::program;
use super::sources::{self, Archive};
use crate::ServerError;
use host::Leases;
use std::path::{Path, PathBuf};
use std::process::Command;

const DEBIAN_KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const NO_APT: &str =
    "it is part of every Debian system; on other systems give an unpacked server as path:BASEDIR";

/// The C library is left out if the machine has the same one.
const C_LIBRARY: &str = "libc6_";

/// A private apt in a temporary folder.
pub(super) struct Apt<'a> {
    folder: &'a Path,
    leases: &'a Leases,
    archive: Archive,
    architecture: Option<&'static str>,
    own_suite: bool,
}

impl<'a> Apt<'a> {
    /// Sets up a private apt in `folder` for the requested suite (by default the machine's own) and downloads the lists.
    pub(super) fn open(
        folder: &'a Path,
        packages: &Packages,
        leases: &'a Leases,
    ) -> Result<Apt<'a>, ServerError> {
        let codename = codename(&std::fs::read_to_string("/etc/os-release").unwrap_or_default())
            .unwrap_or_default();
        let archives = sources::read(Path::new("/etc/apt"));
        let mut archive = sources::main_archive(&archives, &codename).ok_or_else(no_archive)?;
        let own_suite = packages
            .suite
            .is_none_or(|suite| suite == archive.suite || suite == codename);
        if let Some(suite) = packages.suite.filter(|_| !own_suite) {
            archive.suite = suite.to_string();
        }
        let apt = Apt {
            folder,
            leases,
            archive,
            architecture: packages.architecture,
            own_suite,
        };
        apt.write_configuration()
            .map_err(|error| ServerError::Unusable(format!("{}: {error}", folder.display())))?;
        program::output(apt.command("apt-get").args(["-q", "update"]), NO_APT)?;
        Ok(apt)
    }

    /// The suite that packages come from.
    pub(super) fn suite(&self) -> &str {
        &self.archive.suite
    }

    /// Downloads the packages and all their dependencies, except the C library if the machine has the same one.
    pub(super) fn closure(&self, names: &[&str]) -> Result<Vec<PathBuf>, ServerError> {
        program::output(
            self.command("apt-get")
                .args(["-q", "-y", "--download-only", "install"])
                .args(names),
            NO_APT,
        )?;
        let mut found = debs(&self.folder.join("cache/archives"))?;
        found.retain(|file| !self.own_suite || !file_name(file).starts_with(C_LIBRARY));
        Ok(found)
    }

    /// Downloads these packages without their dependencies.
    pub(super) fn exact(&self, names: &[&str]) -> Result<Vec<PathBuf>, ServerError> {
        let to = self.folder.join("exact");
        std::fs::create_dir_all(&to)
            .map_err(|error| ServerError::Unusable(format!("{}: {error}", to.display())))?;
        program::output(
            self.command("apt-get")
                .current_dir(&to)
                .args(["-q", "download"])
                .args(names),
            NO_APT,
        )?;
        debs(&to)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = self.leases.command(program);
        command
            .env("APT_CONFIG", self.folder.join("apt.conf"))
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("LC_ALL", "C");
        command
    }

    fn architecture_lines(&self) -> String {
        let lines = |name| {
            format!("APT::Architecture \"{name}\";\nAPT::Architectures {{ \"{name}\"; }};\n")
        };
        self.architecture.map(lines).unwrap_or_default()
    }

    fn write_configuration(&self) -> std::io::Result<()> {
        for below in ["state/lists/partial", "cache/archives/partial", "log"] {
            std::fs::create_dir_all(self.folder.join(below))?;
        }
        std::fs::write(self.folder.join("state/status"), "")?;
        std::fs::write(self.folder.join("sources.list"), source_line(&self.archive))?;
        // A proxy address may contain a password, so only this user may read the file.
        write_private(
            &self.folder.join("apt.conf"),
            &(configuration(self.folder, &transport(&machine_configuration(self.leases)))
                + &self.architecture_lines()),
        )
    }
}

fn no_archive() -> ServerError {
    ServerError::Unusable(
        "/etc/apt/sources.list and sources.list.d name no archive of a Debian suite with the component main; \
        add one, install a server, or give an unpacked one as path:BASEDIR"
            .to_string(),
    )
}

fn source_line(archive: &Archive) -> String {
    let keyring = archive
        .signed_by
        .clone()
        .filter(|file| file.is_file())
        .or_else(|| Some(PathBuf::from(DEBIAN_KEYRING)).filter(|file| file.is_file()));
    let options = keyring
        .map(|file| format!("[signed-by={}] ", file.display()))
        .unwrap_or_default();
    format!("deb {options}{} {} main\n", archive.uri, archive.suite)
}

/// The machine's apt configuration; empty without apt (the next step reports that).
fn machine_configuration(leases: &Leases) -> String {
    let dump = leases.command("apt-config").arg("dump").output();
    dump.map(|done| String::from_utf8_lossy(&done.stdout).into_owned())
        .unwrap_or_default()
}

/// The configuration lines needed to reach the mirrors: proxies, certificates, retries.
fn transport(dump: &str) -> String {
    const WANTED: [&str; 3] = ["Acquire::http", "Acquire::https", "Acquire::Retries"];
    let wanted = |line: &&str| WANTED.iter().any(|prefix| line.starts_with(prefix));
    dump.lines()
        .filter(wanted)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The content of the private `apt.conf`. apt reads `APT_CONFIG` first, and the `/dev/null` entries then keep it from
/// reading the machine's files and hooks.
fn configuration(folder: &Path, transport: &str) -> String {
    let path = |below: &str| folder.join(below).display().to_string();
    let settings = [
        ("Dir::State", path("state")),
        ("Dir::State::lists", path("state/lists")),
        ("Dir::State::status", path("state/status")),
        ("Dir::Cache", path("cache")),
        ("Dir::Cache::archives", path("cache/archives")),
        ("Dir::Log", path("log")),
        ("Dir::Etc::Main", "/dev/null".into()),
        ("Dir::Etc::Parts", "/dev/null".into()),
        ("Dir::Etc::SourceList", path("sources.list")),
        ("Dir::Etc::SourceParts", "/dev/null".into()),
        ("Dir::Etc::Preferences", "/dev/null".into()),
        ("Dir::Etc::PreferencesParts", "/dev/null".into()),
        ("APT::Sandbox::User", String::new()),
        ("APT::Install-Recommends", "false".into()),
        ("APT::Install-Suggests", "false".into()),
        ("APT::Get::List-Cleanup", "false".into()),
        ("Acquire::Languages", "none".into()),
        // Frozen mirrors, common for repeatable measurements, have expired dates. Signatures are still checked.
        ("Acquire::Check-Valid-Until", "false".into()),
        ("Acquire::Check-Date", "false".into()),
    ];
    let lines: String = settings
        .iter()
        .map(|(name, value)| format!("{name} \"{value}\";\n"))
        .collect();
    transport.to_string() + &lines
}

fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file)?
        .write_all(text.as_bytes())
}

fn debs(folder: &Path) -> Result<Vec<PathBuf>, ServerError> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| ServerError::Unusable(format!("{}: {error}", folder.display())))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "deb"))
        .collect();
    found.sort();
    Ok(found)
}

/// A package's file name, such as `mariadb-server-core_1%3a10.11.11-0+deb12u1_amd64.deb`.
pub(super) fn file_name(package: &Path) -> String {
    package
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn codename(os_release: &str) -> Option<String> {
    let value = os_release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(value.trim_matches('"').to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codename_is_read_with_and_without_quotes() {
        assert_eq!(
            codename("NAME=\"D\"\nVERSION_CODENAME=bookworm\n").as_deref(),
            Some("bookworm")
        );
        assert_eq!(
            codename("VERSION_CODENAME=\"noble\"").as_deref(),
            Some("noble")
        );
        assert_eq!(codename("ID=x"), None);
    }

    #[test]
    fn the_machines_proxy_is_used_and_its_hooks_are_not() {
        let dump = "Acquire::http::Proxy \"http://proxy.test:3128\";\nDPkg::Post-Invoke:: \"rm -f /x\";\nAcquire::Languages \"de\";\n";
        let text = configuration(Path::new("/t"), &transport(dump));
        assert!(text.starts_with("Acquire::http::Proxy \"http://proxy.test:3128\";\n"));
        assert!(!text.contains("Post-Invoke") && text.contains("Dir::Etc::Parts \"/dev/null\";"));
        assert!(text.contains("Acquire::Languages \"none\";") && !text.contains("\"de\""));
    }

    #[test]
    fn a_source_line_names_only_the_main_component() {
        let archive = Archive {
            uri: "http://mirror.test/debian".into(),
            suite: "sid".into(),
            components: vec!["main".into(), "contrib".into()],
            signed_by: Some("/dev/null/no".into()),
        };
        assert!(source_line(&archive).ends_with("http://mirror.test/debian sid main\n"));
    }
}
