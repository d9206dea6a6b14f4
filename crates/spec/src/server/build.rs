//! The source of a server and its text form: `mysql@5.6.14`, `mariadb`, `path:/opt/mysql`, `mysql://user@host/schema`, `sqlite`.
//!
//! Boundaries: `text::dsn` reads and prints DSNs; crate `server` downloads and starts builds.

use crate::file::mistake::nearest;
use crate::file::read::Node;
use crate::text::dsn::{Dsn, DsnError, SCHEMES};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The source of a server: `mysql@5.6.14`, `mariadb`, `path:/opt/mysql`, `mysql://...`, `sqlite`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildSpec {
    Mysql(String),
    /// None: the version of the distribution, or the installed one.
    MariaDb(Option<String>),
    Path(PathBuf),
    External(Dsn),
    Sqlite,
}

/// The builds that prony can download.
pub(crate) const KNOWN_BUILDS: [&str; 10] = [
    "mysql@5.5.34",
    "mysql@5.6.14",
    "mysql@5.6.21",
    "mysql@8.0.33",
    "mysql@9.7",
    "mariadb",
    "mariadb@10.2.11",
    "mariadb@11.4.5",
    "mariadb@11.8",
    "sqlite",
];

/// The forms of a build with a part chosen by the user.
pub(crate) const OPEN_BUILDS: &str =
    "path:BASEDIR for an unpacked server, mysql://user@host:port/schema for a running one";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    #[error("there is no build \"{0}\"")]
    Unknown(String),
    #[error("path: must be followed by the folder of an unpacked server")]
    NoPath,
    #[error(transparent)]
    Dsn(#[from] DsnError),
}

impl BuildError {
    /// How to fix it.
    pub fn help(&self) -> String {
        match self {
            BuildError::Unknown(name) => {
                let near = nearest(name, &KNOWN_BUILDS)
                    .map(|near| format!("did you mean \"{near}\"? "))
                    .unwrap_or_default();
                format!("{near}builds: {}; {OPEN_BUILDS}", KNOWN_BUILDS.join(", "))
            }
            BuildError::NoPath => "write \"path:/opt/mysql-5.1\"".to_string(),
            BuildError::Dsn(_) => {
                "write \"mysql://user:password@host:port/schema\", with host:port,host:port for several nodes, ?socket=/path for a socket \
                and ?tls=verify-identity; the password may come from PRONY_PASSWORD instead"
                    .to_string()
            }
        }
    }
}

impl BuildSpec {
    /// A server that prony neither starts nor stops.
    pub fn is_external(&self) -> bool {
        matches!(self, BuildSpec::External(_))
    }

    /// A server that prony starts and stops.
    pub fn is_managed(&self) -> bool {
        !matches!(self, BuildSpec::External(_) | BuildSpec::Sqlite)
    }
}

impl FromStr for BuildSpec {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<BuildSpec, BuildError> {
        if SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            return Ok(BuildSpec::External(text.parse()?));
        }
        if is_address(text) {
            return Ok(BuildSpec::External(format!("mysql://{text}/").parse()?));
        }
        if let Some(folder) = text.strip_prefix("path:") {
            return if folder.is_empty() {
                Err(BuildError::NoPath)
            } else {
                Ok(BuildSpec::Path(PathBuf::from(folder)))
            };
        }
        let known = newest(text).ok_or_else(|| BuildError::Unknown(name_of(text)))?;
        Ok(match known.split_once('@') {
            Some(("mysql", version)) => BuildSpec::Mysql(version.to_string()),
            Some((_, version)) => BuildSpec::MariaDb(Some(version.to_string())),
            None if known == "sqlite" => BuildSpec::Sqlite,
            None => BuildSpec::MariaDb(None),
        })
    }
}

/// `localhost`, `db.example:3306`
fn is_address(text: &str) -> bool {
    let is_host = |host: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
        !host.is_empty() && host.bytes().all(is_part)
    };
    match text.split_once(':') {
        None => text == "localhost",
        Some((host, port)) => is_host(host) && port.parse::<u16>().is_ok(),
    }
}

impl fmt::Display for BuildSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildSpec::Mysql(version) => write!(f, "mysql@{version}"),
            BuildSpec::MariaDb(None) => f.write_str("mariadb"),
            BuildSpec::MariaDb(Some(version)) => write!(f, "mariadb@{version}"),
            BuildSpec::Path(folder) => write!(f, "path:{}", folder.display()),
            BuildSpec::External(dsn) => dsn.fmt(f),
            BuildSpec::Sqlite => f.write_str("sqlite"),
        }
    }
}

/// Splits `NAME=BUILD` into the name and the build. A DSN, even a mistyped one, and a path may contain a = after their colon.
pub(crate) fn split_name(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((name, build)) if !name.contains(':') => (Some(name.trim()), build.trim()),
        _ => (None, text.trim()),
    }
}

/// What a message shows of a text that is no build. It ends at the first character that no build has in its name: a password may follow.
pub fn name_of(text: &str) -> String {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "@.-_+ ".contains(c);
    match text.find(|c: char| !is_of_a_name(c)) {
        Some(end) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// A known build, or the newest one of a series: `mysql@8.0` is `mysql@8.0.33`.
fn newest(text: &str) -> Option<&'static str> {
    let is_of_series = |build: &&&str| {
        let rest = build.strip_prefix(text);
        rest.is_some_and(|rest| text.contains('@') && rest.starts_with('.'))
    };
    let exact = KNOWN_BUILDS.iter().find(|build| **build == text);
    let series = KNOWN_BUILDS.iter().filter(is_of_series);
    exact
        .or_else(|| series.max_by_key(|build| version(build)))
        .copied()
}

/// The numbers of a build's version, which compare as versions do.
fn version(build: &str) -> Vec<u32> {
    let (_, version) = build.split_once('@').unwrap_or_default();
    version
        .split('.')
        .filter_map(|part| part.parse().ok())
        .collect()
}

/// Reads a key that names a build and notes mistakes.
pub(crate) fn read(node: &Node) -> Option<BuildSpec> {
    match node.text("build = \"mariadb\"")?.parse::<BuildSpec>() {
        Ok(build) => Some(build),
        Err(error) => {
            let label = if matches!(error, BuildError::Dsn(_)) {
                "not a DSN"
            } else {
                "no such build"
            };
            node.note(error.to_string(), label, error.help());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_build_survives_a_round_trip() {
        for build in KNOWN_BUILDS.iter().chain(&["path:/opt/mysql-5.1"]) {
            assert_eq!(build.parse::<BuildSpec>().unwrap().to_string(), *build);
        }
    }

    #[test]
    fn a_series_means_its_newest_build() {
        let build = |text: &str| text.parse::<BuildSpec>().map(|build| build.to_string());
        assert_eq!(build("mysql@8.0").unwrap(), "mysql@8.0.33");
        assert_eq!(build("mysql@5.6").unwrap(), "mysql@5.6.21");
        assert_eq!(build("mariadb@11").unwrap(), "mariadb@11.8");
        assert_eq!(build("mysql@9").unwrap(), "mysql@9.7");
        for unknown in ["mysql@5.6.1", "mysql@", "mysql", "maria"] {
            assert!(build(unknown).is_err(), "{unknown}");
        }
    }

    #[test]
    fn an_unknown_build_names_the_nearest() {
        let error = "mysql@5.6.41".parse::<BuildSpec>().unwrap_err();
        assert!(
            error.help().starts_with("did you mean \"mysql@5.6.14\"?"),
            "{}",
            error.help()
        );
    }

    #[test]
    fn an_address_alone_is_a_running_server() {
        for (text, shown) in [
            ("localhost", "mysql://root@localhost:3306"),
            ("127.0.0.1:3307", "mysql://root@127.0.0.1:3307"),
            ("mariadb://db/", "mysql://root@db:3306"),
        ] {
            let build = text.parse::<BuildSpec>().unwrap();
            assert_eq!(build.to_string(), shown);
        }
        assert!("me:secret@db".parse::<BuildSpec>().is_err());
    }

    #[test]
    fn a_server_is_named_only_before_the_colon_of_its_build() {
        assert_eq!(split_name("5.6 = mariadb"), (Some("5.6"), "mariadb"));
        assert_eq!(split_name("a=mysq:/me:s@h"), (Some("a"), "mysq:/me:s@h"));
        for unnamed in ["mariadb", "mysql:/me:se=cret@h", "path:/a=b"] {
            assert_eq!(split_name(unnamed), (None, unnamed));
        }
    }
}
