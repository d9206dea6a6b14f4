//! Downloads Debian packages of any suite, without root and without changing the machine's own packages.
//!
//! A private apt has its own lists and cache, and an empty list of installed packages, so that its solver finds all
//! dependencies down to the C library. It uses the mirrors, proxies and logins of the machine's apt. It installs nothing,
//! and no other package manager is supported. apt checks the signature of the distribution, and the age of its lists unless the
//! machine's own configuration says otherwise.

use super::catalogue::Packages;
use super::program::{self, Logs};
use super::sources::{self, Archive};
use super::unpack;
use crate::{ServerError, file_error};
use host::Leases;
use std::path::{Path, PathBuf};
use std::process::Command;

const NO_APT: &str =
    "it is part of every Debian system; on other systems give an unpacked server as path:BASEDIR";

/// The C library is left out if the machine has the same one.
const C_LIBRARY: &str = "libc6_";

/// Which packages to download for a list of names.
pub(super) enum Extent {
    /// The named packages only.
    Exact,
    /// The named packages and all their dependencies.
    Closure,
}

/// Packages to download, and where the output of a failure goes.
pub(super) struct Download<'a> {
    pub packages: &'a Packages,
    pub extent: Extent,
    pub logs: Logs<'a>,
}

impl Download<'_> {
    /// Downloads the packages and unpacks them into `to`. Returns their file names, which contain the versions.
    pub(super) fn unpack(
        &self,
        partial: &Path,
        to: &Path,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<Vec<String>, ServerError> {
        let folder = partial.join("apt");
        std::fs::create_dir_all(&folder).map_err(|error| file_error(&folder, &error))?;
        let names = self.packages.names;
        progress(&format!("downloading {} with apt", names.join(", ")));
        let apt = Apt::open(&folder, self.packages, self.logs, leases)?;
        let archives = match self.extent {
            Extent::Exact => apt.exact(names)?,
            Extent::Closure => apt.closure(names)?,
        };
        let (number, suite) = (archives.len(), apt.suite());
        progress(&format!("unpacking {number} packages from {suite}"));
        std::fs::create_dir_all(to).map_err(|error| file_error(to, &error))?;
        unpack::packages(&archives, to, leases)?;
        std::fs::remove_dir_all(&folder).map_err(|error| file_error(&folder, &error))?;
        Ok(archives.iter().map(|archive| file_name(archive)).collect())
    }
}

/// A private apt in a temporary folder.
struct Apt<'a> {
    folder: &'a Path,
    logs: Logs<'a>,
    leases: &'a Leases,
    archive: Archive,
    architecture: Option<&'static str>,
    own_suite: bool,
}

impl<'a> Apt<'a> {
    /// Sets up a private apt in `folder` for the requested suite (by default the machine's own) and downloads the lists.
    fn open(
        folder: &'a Path,
        packages: &Packages,
        logs: Logs<'a>,
        leases: &'a Leases,
    ) -> Result<Apt<'a>, ServerError> {
        let os_release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let codename = value_of(&os_release, "VERSION_CODENAME").unwrap_or_default();
        let archives = sources::read(Path::new("/etc/apt"));
        let mut archive = sources::main_archive(&archives, &codename).ok_or_else(no_archive)?;
        let own_suite = packages
            .suite
            .is_none_or(|suite| suite == archive.suite || suite == codename);
        archive.signed_by = Some(keyring(&archive, &os_release)?);
        if let Some(suite) = packages.suite.filter(|_| !own_suite) {
            archive.suite = suite.to_string();
        }
        let apt = Apt {
            folder,
            logs,
            leases,
            archive,
            architecture: packages.architecture,
            own_suite,
        };
        apt.write_configuration()
            .map_err(|error| file_error(folder, &error))?;
        logs.output(apt.command("apt-get").args(["-q", "update"]), NO_APT)?;
        Ok(apt)
    }

    /// The suite that packages come from.
    fn suite(&self) -> &str {
        &self.archive.suite
    }

    /// Downloads the packages and all their dependencies, except the C library if the machine has the same one.
    fn closure(&self, names: &[&str]) -> Result<Vec<PathBuf>, ServerError> {
        self.logs.output(
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
    fn exact(&self, names: &[&str]) -> Result<Vec<PathBuf>, ServerError> {
        let to = self.folder.join("exact");
        std::fs::create_dir_all(&to).map_err(|error| file_error(&to, &error))?;
        self.logs.output(
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
        program::write_private(
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

/// The keys that may sign the archive: those that the machine's sources name, or the distribution's. Any other key that the machine's
/// apt trusts, such as a vendor's, must not sign a server.
fn keyring(archive: &Archive, os_release: &str) -> Result<PathBuf, ServerError> {
    let id = value_of(os_release, "ID").unwrap_or_default();
    let own = format!("/usr/share/keyrings/{id}-archive-keyring.gpg");
    let known = [archive.signed_by.clone(), Some(PathBuf::from(&own))];
    let mut known = known.into_iter().flatten();
    known.find(|file| file.is_file()).ok_or_else(|| {
        ServerError::Unusable(format!(
            "no keys to check {} with: its source in /etc/apt has no signed-by, and {own} is missing; install the package with the distribution's keys ({id}-archive-keyring), or give an unpacked server as path:BASEDIR",
            archive.suite
        ))
    })
}

fn source_line(archive: &Archive) -> String {
    let keyring = archive.signed_by.as_deref().unwrap_or(Path::new(NO_KEYS));
    let (keyring, age) = (keyring.display(), archive.age_option());
    let (uri, suite) = (&archive.uri, &archive.suite);
    format!("deb [signed-by={keyring}{age}] {uri} {suite} main\n")
}

/// Trusts nothing.
const NO_KEYS: &str = "/dev/null";

/// The machine's apt configuration; empty without apt (the next step reports that).
fn machine_configuration(leases: &Leases) -> String {
    let dump = leases.command("apt-config").arg("dump").output();
    dump.map(|done| String::from_utf8_lossy(&done.stdout).into_owned())
        .unwrap_or_default()
}

/// The configuration lines needed to reach the mirrors: proxies, certificates, retries, and how old a list may be. Frozen mirrors, common
/// for repeatable measurements, have expired dates; a machine that uses one says so here.
fn transport(dump: &str) -> String {
    const WANTED: [&str; 5] = [
        "Acquire::http",
        "Acquire::https",
        "Acquire::Retries",
        "Acquire::Check-Valid-Until",
        "Acquire::Check-Date",
    ];
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
    ];
    let lines: String = settings
        .iter()
        .map(|(name, value)| format!("{name} \"{value}\";\n"))
        .collect();
    transport.to_string() + &lines
}

fn debs(folder: &Path) -> Result<Vec<PathBuf>, ServerError> {
    let entries = std::fs::read_dir(folder).map_err(|error| file_error(folder, &error))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "deb"))
        .collect();
    found.sort();
    Ok(found)
}

/// A package's file name, such as `mariadb-server-core_1%3a10.11.11-0+deb12u1_amd64.deb`.
fn file_name(package: &Path) -> String {
    package
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// A value of os-release(5).
fn value_of(os_release: &str, name: &str) -> Option<String> {
    let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix('=')?.to_string());
    let value = os_release.lines().find_map(value)?;
    Some(value.trim_matches('"').to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codename_is_read_with_and_without_quotes() {
        let codename = |text| value_of(text, "VERSION_CODENAME");
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

    fn archive(signed_by: Option<&Path>) -> Archive {
        Archive {
            uri: "http://mirror.test/debian".into(),
            suite: "sid".into(),
            components: vec!["main".into(), "contrib".into()],
            signed_by: signed_by.map(PathBuf::from),
            may_be_old: false,
        }
    }

    #[test]
    fn a_source_line_names_the_keys_and_only_the_main_component() {
        assert_eq!(
            source_line(&archive(Some(Path::new("/k.gpg")))),
            "deb [signed-by=/k.gpg] http://mirror.test/debian sid main\n"
        );
        let without = source_line(&archive(None));
        assert!(
            without.starts_with("deb [signed-by=/dev/null] "),
            "{without}"
        );
    }

    #[test]
    fn an_archive_without_keys_is_refused_with_the_fix() {
        let folder = tempfile::tempdir().unwrap();
        let keys = folder.path().join("keys.gpg");
        std::fs::write(&keys, "").unwrap();
        let os_release = "ID=none-such\n";
        assert_eq!(keyring(&archive(Some(&keys)), os_release).unwrap(), keys);
        for missing in [None, Some(Path::new("/dev/null/no"))] {
            let refused = keyring(&archive(missing), os_release)
                .unwrap_err()
                .to_string();
            assert!(refused.contains("install the package"), "{refused}");
        }
    }

    #[test]
    fn lists_may_be_old_only_if_the_machine_allows_it() {
        let text = |dump: &str| configuration(Path::new("/t"), &transport(dump));
        assert!(!text("").contains("Check-Valid-Until") && !text("").contains("Check-Date"));
        let allowed = "Acquire::Check-Valid-Until \"false\";\n";
        assert!(text(allowed).contains(allowed));
        let old = Archive {
            may_be_old: true,
            ..archive(Some(Path::new("/k.gpg")))
        };
        assert!(source_line(&old).contains("[signed-by=/k.gpg check-valid-until=no] "));
    }
}
