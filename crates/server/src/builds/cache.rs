//! The cache of builds: a folder each, made in one step, verified at each use, shared by all pronys of a user.
//!
//! Goal: a build is either whole or not there, however a prony ends; a damaged one is found and fetched again; the second
//! use needs no network. Non-goals: builds of the user's own (`path:`), which are used where they lie.
//!
//! Layout: `builds/NAME/root` holds the server, `builds/NAME/build.json` the manifest. `builds/NAME.lock` is locked
//! shared while a build is looked at and exclusively while it is made.

use super::catalogue::{self, Artifact, Packages, Source};
use super::debian::{self, Apt};
use super::distribution::{Distribution, OLD_LIBRARY_FOLDER};
use super::manifest::{Entry, Manifest};
use super::{maven, unpack};
use crate::ServerError;
use host::{Home, Leases};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use spec::BuildSpec;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

const FORMAT: u32 = 1;
const RECORD: &str = "build.json";
const ROOT: &str = "root";

pub struct Cache {
    builds: PathBuf,
}

/// A build that the cache holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub name: String,
    /// Where its files came from: the artifact, or the packages with their versions.
    pub origin: Vec<String>,
    pub bytes: u64,
}

/// What lies beside a build's files.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    format: u32,
    build: String,
    origin: Vec<String>,
    manifest: Manifest,
}

/// How much of a cached build is read before it is used.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    /// Sizes of all files, and the contents of the server's binary.
    Quick,
    Full,
}

impl Cache {
    pub fn new(home: &Home) -> Cache {
        Cache {
            builds: home.builds(),
        }
    }

    /// The build, fetched where it is not there yet. `progress` gets a line at each step that can take long.
    pub fn get(
        &self,
        build: &BuildSpec,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<Distribution, ServerError> {
        self.get_to(Depth::Quick, build, leases, progress)
    }

    /// As `get`, but every byte of a cached build is compared with what was fetched.
    pub fn get_verified(
        &self,
        build: &BuildSpec,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<Distribution, ServerError> {
        self.get_to(Depth::Full, build, leases, progress)
    }

    /// What the cache holds, by name.
    pub fn held(&self) -> Vec<Held> {
        let names = catalogue::BUILDS.iter().map(|(name, _)| *name);
        names
            .filter_map(|name| read_record(&self.builds.join(name)).ok())
            .map(Record::held)
            .collect()
    }

    fn get_to(
        &self,
        depth: Depth,
        build: &BuildSpec,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<Distribution, ServerError> {
        if let BuildSpec::Path(folder) = build {
            let folder = fs::canonicalize(folder).map_err(|error| {
                ServerError::Unusable(format!(
                    "path:{}: {error}; give the folder of an unpacked server, the one that has bin/ in it",
                    folder.display()
                ))
            })?;
            return Distribution::inspect(
                &format!("path:{}", folder.display()),
                &folder,
                &self.notes()?,
                None,
                leases,
            );
        }
        let Some(name) = catalogue::name(build) else {
            return Err(ServerError::Unusable(
                "an external server or sqlite is not a build that can be fetched".to_string(),
            ));
        };
        if *build == BuildSpec::MariaDb(None)
            && let Some(folder) = installed_mariadb()
        {
            return Distribution::inspect(&name, &folder, &self.notes()?, None, leases);
        }
        let source = catalogue::source(&name).ok_or_else(|| unknown(&name))?;
        self.cached(&name, &source, depth, leases, progress)
    }

    fn cached(
        &self,
        name: &str,
        source: &Source,
        depth: Depth,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<Distribution, ServerError> {
        let folder = self.builds.join(name);
        let lock = self.lock(name)?;
        if !try_lock(&lock, FlockOperation::NonBlockingLockShared)? {
            progress(&format!(
                "{name}: another prony is fetching it; waiting until it is there"
            ));
            flock(&lock, FlockOperation::LockShared)
                .map_err(|error| about(&folder, &error.into()))?;
        }
        if check(&folder, depth).is_err() {
            flock(&lock, FlockOperation::Unlock).map_err(|error| about(&folder, &error.into()))?;
            flock(&lock, FlockOperation::LockExclusive)
                .map_err(|error| about(&folder, &error.into()))?;
            // Between the two locks another prony may have made it.
            match check(&folder, depth) {
                Ok(_) => {}
                Err(Unfit::Missing) => self.make(name, source, leases, progress)?,
                Err(Unfit::Damaged(how)) => {
                    progress(&format!(
                        "{name}: the cached build is damaged ({how}); fetching it again"
                    ));
                    fs::remove_dir_all(&folder).map_err(|error| about(&folder, &error))?;
                    self.make(name, source, leases, progress)?;
                }
            }
        }
        let record = read_record(&folder).map_err(|error| about(&folder, &error))?;
        Distribution::inspect(
            name,
            &folder.join(ROOT),
            &folder,
            Some(&record.manifest),
            leases,
        )
    }

    fn make(
        &self,
        name: &str,
        source: &Source,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<(), ServerError> {
        let prefix = format!(".partial-{name}");
        self.remove_leftovers(&prefix);
        let lease = leases
            .temporary_in(&self.builds, &prefix)
            .map_err(|error| ServerError::Unusable(error.to_string()))?;
        let partial = lease.path().to_path_buf();
        let root = partial.join(ROOT);
        let origin = match source {
            Source::Maven(artifact) => self.make_of_artifact(artifact, &partial, leases, progress),
            Source::Debian(packages) => {
                make_of_packages(packages, Extent::Closure, &partial, &root, leases, progress)
            }
        }
        .map_err(|error| ServerError::Unusable(format!("{name} cannot be had: {error}")))?;
        Distribution::inspect(name, &root, &partial, None, leases)?;
        progress(&format!("{name}: verifying"));
        let target = self.builds.join(name);
        let manifest = Manifest::of(&root).map_err(|error| about(&root, &error))?;
        let record = Record {
            format: FORMAT,
            build: name.to_string(),
            origin,
            manifest,
        };
        write_record(&partial, &record)
            .and_then(|()| fs::rename(&partial, &target))
            .map_err(|error| about(&target, &error))
    }

    fn make_of_artifact(
        &self,
        artifact: &Artifact,
        partial: &Path,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<Vec<String>, ServerError> {
        let root = partial.join(ROOT);
        if std::env::consts::ARCH != "x86_64" {
            return Err(ServerError::Unusable(
                "it exists for x86-64 only; use `mariadb`, or a build of your own as path:BASEDIR"
                    .to_string(),
            ));
        }
        // One Maven at a time: its repository is not made for two that write to it.
        let alone = self.lock(".maven")?;
        flock(&alone, FlockOperation::LockExclusive)
            .map_err(|error| about(&self.builds, &error.into()))?;
        let archive = maven::fetch(artifact, &self.builds.join(".maven"), leases, progress)?;
        drop(alone);
        progress(&format!("unpacking {}", archive.file.display()));
        unpack::zip(&archive.file, artifact.folder, &root)?;
        let mut origin = vec![maven::coordinates(artifact)];
        let libraries = root.join(OLD_LIBRARY_FOLDER);
        match make_of_packages(
            &artifact.libraries,
            Extent::Alone,
            partial,
            &libraries,
            leases,
            progress,
        ) {
            Ok(packages) => origin.extend(packages),
            // The machine may have them itself.
            Err(error) => Distribution::inspect("", &root, partial, None, leases)
                .map(drop)
                .map_err(|_| error)?,
        }
        Ok(origin)
    }

    /// Folders of pronys whose journal was lost with them; the lock says that nobody is at work in them.
    fn remove_leftovers(&self, prefix: &str) {
        for entry in fs::read_dir(&self.builds).into_iter().flatten().flatten() {
            if entry
                .file_name()
                .to_string_lossy()
                .starts_with(&format!("{prefix}-"))
            {
                // What cannot be removed is in nobody's way: the next folder has another name.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    fn lock(&self, name: &str) -> Result<File, ServerError> {
        let path = self.builds.join(format!("{name}.lock"));
        File::options()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| about(&path, &error))
    }

    /// Where notes on builds that are not the cache's own are kept.
    fn notes(&self) -> Result<PathBuf, ServerError> {
        let folder = self.builds.join(".notes");
        fs::create_dir_all(&folder).map_err(|error| about(&folder, &error))?;
        Ok(folder)
    }
}

/// Which packages are fetched with those that are named.
enum Extent {
    Alone,
    /// All that they depend on.
    Closure,
}

/// Fetches and unpacks packages into `to`, and gives their names with versions.
fn make_of_packages(
    packages: &Packages,
    extent: Extent,
    partial: &Path,
    to: &Path,
    leases: &Leases,
    progress: &dyn Fn(&str),
) -> Result<Vec<String>, ServerError> {
    let folder = partial.join("apt");
    fs::create_dir_all(&folder).map_err(|error| about(&folder, &error))?;
    progress(&format!("fetching {} by apt", packages.names.join(", ")));
    let apt = Apt::open(&folder, packages, leases)?;
    let archives = match extent {
        Extent::Alone => apt.exactly(packages.names)?,
        Extent::Closure => apt.closure(packages.names)?,
    };
    progress(&format!(
        "unpacking {} packages of {}",
        archives.len(),
        apt.suite()
    ));
    fs::create_dir_all(to).map_err(|error| about(to, &error))?;
    unpack::packages(&archives, to, leases)?;
    fs::remove_dir_all(&folder).map_err(|error| about(&folder, &error))?;
    Ok(archives
        .iter()
        .map(|archive| debian::file_name(archive))
        .collect())
}

/// Why a cached build cannot be used.
enum Unfit {
    Missing,
    Damaged(String),
}

fn check(folder: &Path, depth: Depth) -> Result<(), Unfit> {
    if !folder.exists() {
        return Err(Unfit::Missing);
    }
    let record =
        read_record(folder).map_err(|error| Unfit::Damaged(format!("{RECORD}: {error}")))?;
    let is_server = |path: &Path| {
        path.file_name()
            .is_some_and(|name| name == "mysqld" || name == "mariadbd")
    };
    match record.manifest.difference(&folder.join(ROOT), &|path| {
        depth == Depth::Full || is_server(path)
    }) {
        None => Ok(()),
        Some(how) => Err(Unfit::Damaged(how)),
    }
}

impl Record {
    fn held(self) -> Held {
        let bytes = |entry: &Entry| {
            if let Entry::File { bytes, .. } = entry {
                *bytes
            } else {
                0
            }
        };
        Held {
            bytes: self.manifest.files.values().map(bytes).sum(),
            name: self.build,
            origin: self.origin,
        }
    }
}

fn read_record(folder: &Path) -> io::Result<Record> {
    let record: Record = serde_json::from_slice(&fs::read(folder.join(RECORD))?)?;
    match record.format == FORMAT {
        true => Ok(record),
        false => Err(io::Error::other(
            "it was written by another version of prony",
        )),
    }
}

fn write_record(folder: &Path, record: &Record) -> io::Result<()> {
    fs::write(folder.join(RECORD), serde_json::to_vec(record)?)
}

fn try_lock(file: &File, operation: FlockOperation) -> Result<bool, ServerError> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(ServerError::Unusable(format!(
            "the cache cannot be locked: {error}"
        ))),
    }
}

/// The base folder of a `mariadbd` that is installed on the machine.
fn installed_mariadb() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec"].map(PathBuf::from);
    let server = std::env::split_paths(&path)
        .chain(usual)
        .map(|folder| folder.join("mariadbd"))
        .find(|file| file.is_file())?;
    Some(
        fs::canonicalize(server)
            .ok()?
            .parent()?
            .parent()?
            .to_path_buf(),
    )
}

fn unknown(name: &str) -> ServerError {
    let known: Vec<&str> = catalogue::BUILDS.iter().map(|(name, _)| *name).collect();
    ServerError::Unusable(format!(
        "{name} is not a build that prony can fetch ({}); unpack it yourself and give its folder as path:BASEDIR",
        known.join(", ")
    ))
}

fn about(path: &Path, error: &io::Error) -> ServerError {
    ServerError::Unusable(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    struct House {
        _folder: tempfile::TempDir,
        cache: Cache,
        leases: Leases,
    }

    /// A cache in a folder of its own.
    fn house() -> House {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        let leases = Leases::open_with(&home, None).unwrap();
        House {
            cache: Cache::new(&home),
            leases,
            _folder: folder,
        }
    }

    /// A folder as `make` leaves it, with a script for a server.
    fn put_a_build(cache: &Cache, name: &str) -> PathBuf {
        let folder = cache.builds.join(name);
        let server = folder.join("root/bin/mysqld");
        fs::create_dir_all(server.parent().unwrap()).unwrap();
        put_a_server(&server);
        let manifest = Manifest::of(&folder.join(ROOT)).unwrap();
        let record = Record {
            format: FORMAT,
            build: name.into(),
            origin: vec!["a test".into()],
            manifest,
        };
        write_record(&folder, &record).unwrap();
        folder
    }

    fn put_a_server(file: &Path) {
        use std::os::unix::fs::PermissionsExt;
        fs::write(
            file,
            "#!/bin/sh\necho 'mysqld  Ver 5.6.14 for test (MySQL)'\n",
        )
        .unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn mysql(version: &str) -> BuildSpec {
        BuildSpec::Mysql(version.to_string())
    }

    #[test]
    fn a_cached_build_is_used_without_a_word() {
        let house = house();
        put_a_build(&house.cache, "mysql@5.6.14");
        let says = RefCell::new(Vec::new());
        let found = house
            .cache
            .get_verified(&mysql("5.6.14"), &house.leases, &|line| {
                says.borrow_mut().push(line.to_string())
            })
            .unwrap();
        assert_eq!(
            (found.version, found.build.as_str()),
            ((5, 6, 14), "mysql@5.6.14")
        );
        assert!(says.borrow().is_empty());
        assert_eq!(house.cache.held().len(), 1);
    }

    #[test]
    fn damage_to_the_server_is_found_at_each_use_and_other_damage_by_verification() {
        let house = house();
        let folder = put_a_build(&house.cache, "mysql@5.6.14");
        fs::write(
            folder.join("root/bin/mysqld"),
            "#!/bin/sh\necho 'mysqld  Ver 6.6.14 for test (MySQL)'\n",
        )
        .unwrap();
        assert!(
            matches!(check(&folder, Depth::Quick), Err(Unfit::Damaged(how)) if how == "the contents of bin/mysqld have changed")
        );
        fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(check(&folder, Depth::Quick), Err(Unfit::Missing)));
    }

    #[test]
    fn a_record_that_was_cut_off_is_damage() {
        let house = house();
        let folder = put_a_build(&house.cache, "mysql@5.6.14");
        fs::write(folder.join(RECORD), "{\"format\":").unwrap();
        assert!(matches!(
            check(&folder, Depth::Quick),
            Err(Unfit::Damaged(_))
        ));
    }

    #[test]
    fn leftovers_of_a_killed_download_are_removed_and_nothing_else() {
        let house = house();
        let kept = put_a_build(&house.cache, "mysql@5.6.14");
        let leftover = house.cache.builds.join(".partial-mysql@5.6.14-0a1b");
        let other = house.cache.builds.join(".partial-mysql@5.5.34-0a1b");
        fs::create_dir_all(leftover.join("root")).unwrap();
        fs::create_dir_all(&other).unwrap();
        house.cache.remove_leftovers(".partial-mysql@5.6.14");
        assert!(kept.exists() && other.exists() && !leftover.exists());
    }

    #[test]
    fn a_build_that_nobody_knows_is_answered_with_those_that_are() {
        let house = house();
        let error = house
            .cache
            .get(&mysql("4.1"), &house.leases, &|_| ())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("mysql@4.1 is not a build")
                && error.contains("mysql@5.6.14")
                && error.contains("path:BASEDIR"),
            "{error}"
        );
    }

    #[test]
    fn a_folder_of_the_users_own_is_used_where_it_lies() {
        let house = house();
        let own = tempfile::tempdir().unwrap();
        fs::create_dir(own.path().join("bin")).unwrap();
        put_a_server(&own.path().join("bin/mysqld"));
        let found = house
            .cache
            .get(&BuildSpec::Path(own.path().into()), &house.leases, &|_| ())
            .unwrap();
        assert_eq!(found.basedir, fs::canonicalize(own.path()).unwrap());
        assert!(!house.cache.builds.join("root").exists());
    }
}
