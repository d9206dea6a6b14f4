//! The cache of downloaded builds, shared by all prony processes of a user.
//!
//! Each build has its own folder, which appears in one rename: a build is either complete or absent, even if prony is
//! killed. A build is verified at each use, and downloaded again if it is damaged. The second use needs no network. A
//! user's own build (`path:`) is used in place and never copied into the cache.
//!
//! Layout: `builds/NAME/root` holds the server, `builds/NAME/build.json` the manifest. `builds/NAME.lock` is locked
//! shared while a build is checked and exclusively while it is created or removed. Its time is the time of the last use.

use super::cached::{self, Depth, Held, ROOT, Record, Unfit};
use super::catalogue::{self, Artifact, Packages, Source};
use super::debian::{Download, Extent};
use super::distribution::{Distribution, OLD_LIBRARY_FOLDER};
use super::manifest::Manifest;
use super::program::Logs;
use super::{maven, unpack};
use crate::{ServerError, file_error};
use host::{Home, Leases, process};
use rustix::fs::{FlockOperation, flock};
use spec::BuildSpec;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folders in which packages place the library of Galera.
const GALERA_FOLDERS: [&str; 2] = ["usr/lib/galera", "usr/lib"];

/// The build cache of one PRONY_HOME.
pub struct Cache {
    builds: PathBuf,
}

impl Cache {
    /// The cache in this home.
    pub fn new(home: &Home) -> Cache {
        Cache {
            builds: home.builds(),
        }
    }

    /// Returns the build, and downloads it first if the cache lacks it. `progress` gets a line before each slow step.
    pub fn get(
        &self,
        build: &BuildSpec,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<Distribution, ServerError> {
        self.get_to(Depth::Quick, build, leases, progress)
    }

    /// Like `get`, but verifies the checksum of every file of a cached build.
    pub fn get_verified(
        &self,
        build: &BuildSpec,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<Distribution, ServerError> {
        self.get_to(Depth::Full, build, leases, progress)
    }

    /// Lists the builds in the cache, by name.
    pub fn held(&self) -> Vec<Held> {
        catalogue::build_names()
            .filter_map(|name| cached::read(&self.builds.join(name)).ok())
            .map(Record::held)
            .collect()
    }

    /// Whether the build needs no download: it is in the cache, or installed on this machine.
    pub fn has(&self, build: &BuildSpec) -> bool {
        match build {
            BuildSpec::Path(_) => true,
            BuildSpec::MariaDb(None) if installed_mariadb().is_some() => true,
            build => catalogue::name(build)
                .is_some_and(|name| cached::read(&self.builds.join(name)).is_ok()),
        }
    }

    /// Removes a build; the next use downloads it again. Returns false if a prony process checks it, or a program of it runs.
    pub fn remove(&self, name: &str) -> Result<bool, ServerError> {
        let folder = self.builds.join(name);
        let lock = self.lock(name)?;
        let is_free = try_lock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        if !is_free || process::runs_from(&folder) {
            return Ok(false);
        }
        // A kill in between leaves no half a build, but a leftover.
        self.remove_leftovers(&partial(name));
        let leftover = self.builds.join(format!("{}-removed", partial(name)));
        fs::rename(&folder, &leftover)
            .and_then(|()| fs::remove_dir_all(&leftover))
            .map_err(|error| file_error(&folder, &error))?;
        Ok(true)
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
                    "path:{}: {error}; give the folder of an unpacked server, the one that contains bin/",
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
                "an external server or sqlite is not a build that prony can download".to_string(),
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

    /// Returns the library of Galera for a build, and downloads it first if neither the machine nor the cache has it.
    pub fn galera(
        &self,
        build: &str,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<PathBuf, ServerError> {
        let (name, source) = catalogue::galera(build);
        let installed = GALERA_FOLDERS.map(|folder| Path::new("/").join(folder));
        let below = |folder: PathBuf| folder.join(catalogue::GALERA_LIBRARY);
        let is_own_suite = matches!(source, Source::Library(Packages { suite: None, .. }));
        if is_own_suite
            && let Some(found) = installed.map(below).into_iter().find(|file| file.is_file())
        {
            return Ok(found);
        }
        let (folder, _) = self.complete(&name, &source, Depth::Quick, leases, progress)?;
        let root = folder.join(ROOT);
        let unpacked = GALERA_FOLDERS.map(|folder| below(root.join(folder)));
        unpacked
            .into_iter()
            .find(|file| file.is_file())
            .ok_or_else(|| {
                let (file, root) = (catalogue::GALERA_LIBRARY, root.display());
                ServerError::Unusable(format!("{name}: its package has no {file}, see {root}"))
            })
    }

    fn cached(
        &self,
        name: &str,
        source: &Source,
        depth: Depth,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<Distribution, ServerError> {
        let (folder, record) = self.complete(name, source, depth, leases, progress)?;
        let root = folder.join(ROOT);
        let found = Distribution::inspect(name, &root, &folder, Some(&record.manifest), leases)?;
        found.is_as_named()?;
        Ok(found)
    }

    /// The folder of this name, downloaded if it is missing or damaged.
    fn complete(
        &self,
        name: &str,
        source: &Source,
        depth: Depth,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<(PathBuf, Record), ServerError> {
        let folder = self.builds.join(name);
        let lock = self.lock(name)?;
        let change = |to| flock(&lock, to).map_err(|error| file_error(&folder, &error.into()));
        if !try_lock(&lock, FlockOperation::NonBlockingLockShared)? {
            progress(&format!(
                "{name}: another prony process is downloading it; waiting for it"
            ));
            change(FlockOperation::LockShared)?;
        }
        if cached::check(&folder, source, depth).is_err() {
            change(FlockOperation::Unlock)?;
            change(FlockOperation::LockExclusive)?;
            // Another prony process may have created it between the two locks.
            match cached::check(&folder, source, depth) {
                Ok(_) => {}
                Err(Unfit::Missing) => self.create(name, source, leases, progress)?,
                Err(Unfit::Damaged(how)) => {
                    progress(&format!(
                        "{name}: the cached build is damaged ({how}); downloading it again"
                    ));
                    fs::remove_dir_all(&folder).map_err(|error| file_error(&folder, &error))?;
                    self.create(name, source, leases, progress)?;
                }
            }
        }
        let record = cached::read(&folder).map_err(|error| file_error(&folder, &error))?;
        // In a cache that cannot be written, nothing is removed either.
        let _ = lock.set_modified(SystemTime::now());
        Ok((folder, record))
    }

    fn create(
        &self,
        name: &str,
        source: &Source,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<(), ServerError> {
        let logs = Logs {
            folder: &self.builds,
            build: name,
        };
        let prefix = partial(name);
        self.remove_leftovers(&prefix);
        let lease = leases.temporary_in(&self.builds, &prefix)?;
        let partial = lease.path().to_path_buf();
        let root = partial.join(ROOT);
        let origin = match source {
            Source::Maven(artifact) => {
                self.create_from_artifact(artifact, &partial, logs, leases, progress)
            }
            Source::Debian(packages) | Source::Library(packages) => {
                let extent = match source {
                    Source::Library(_) => Extent::Exact,
                    _ => Extent::Closure,
                };
                let download = Download {
                    packages,
                    extent,
                    logs,
                };
                download.unpack(&partial, &root, leases, progress)
            }
        }
        .map_err(|error| ServerError::Unusable(format!("{name} is not available: {error}")))?;
        if !matches!(source, Source::Library(_)) {
            Distribution::inspect(name, &root, &partial, None, leases)?.is_as_named()?;
        }
        progress(&format!("{name}: verifying"));
        let target = self.builds.join(name);
        let manifest = Manifest::read(&root).map_err(|error| file_error(&root, &error))?;
        let record = Record::new(name, origin, source, manifest);
        cached::write(&partial, &record)
            .and_then(|()| fs::rename(&partial, &target))
            .map_err(|error| file_error(&target, &error))
    }

    fn create_from_artifact(
        &self,
        artifact: &Artifact,
        partial: &Path,
        logs: Logs,
        leases: &Leases,
        progress: &dyn Fn(&str),
    ) -> Result<Vec<String>, ServerError> {
        let root = partial.join(ROOT);
        if std::env::consts::ARCH != "x86_64" {
            return Err(ServerError::Unusable(
                "it exists for x86-64 only; use `mariadb`, or your own build as path:BASEDIR"
                    .to_string(),
            ));
        }
        // One Maven at a time: its repository does not support concurrent writers.
        let maven_lock = self.lock(".maven")?;
        flock(&maven_lock, FlockOperation::LockExclusive)
            .map_err(|error| file_error(&self.builds, &error.into()))?;
        let archive = maven::fetch(
            artifact,
            &self.builds.join(".maven"),
            logs,
            leases,
            progress,
        )?;
        drop(maven_lock);
        let checked = archive.checked(artifact)?;
        progress(&format!("unpacking {}", archive.file.display()));
        unpack::zip(checked, artifact.folder, &root)?;
        let mut origin = vec![maven::coordinates(artifact)];
        let libraries = root.join(OLD_LIBRARY_FOLDER);
        let download = Download {
            packages: &artifact.libraries,
            extent: Extent::Exact,
            logs,
        };
        match download.unpack(partial, &libraries, leases, progress) {
            Ok(packages) => origin.extend(packages),
            // The machine may have these libraries itself, so the server decides: does it run?
            Err(error) => Distribution::inspect("", &root, partial, None, leases)
                .map(drop)
                .map_err(|_| error)?,
        }
        Ok(origin)
    }

    /// Removes the partial folders of killed prony processes whose journal was lost too. We hold the lock, so no other
    /// process is using them.
    fn remove_leftovers(&self, prefix: &str) {
        for entry in fs::read_dir(&self.builds).into_iter().flatten().flatten() {
            if entry
                .file_name()
                .to_string_lossy()
                .starts_with(&format!("{prefix}-"))
            {
                // A folder that cannot be removed does no harm: the next one gets another name.
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
            .map_err(|error| file_error(&path, &error))
    }

    /// The folder for notes on builds outside the cache.
    fn notes(&self) -> Result<PathBuf, ServerError> {
        let folder = self.builds.join(".notes");
        fs::create_dir_all(&folder).map_err(|error| file_error(&folder, &error))?;
        Ok(folder)
    }
}

/// The start of the names of folders that are not a build yet, or no longer are.
fn partial(name: &str) -> String {
    format!(".partial-{name}")
}

fn try_lock(file: &File, operation: FlockOperation) -> Result<bool, ServerError> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(ServerError::Unusable(format!(
            "cannot lock the build cache: {error}"
        ))),
    }
}

/// The base folder of the machine's own `mariadbd`.
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
    let known: Vec<&str> = catalogue::build_names().collect();
    ServerError::Unusable(format!(
        "{name} is not a build that prony can download ({}); unpack it yourself and give its folder as path:BASEDIR",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::super::cached::tests::{add_build, write_server};
    use super::*;
    use std::cell::RefCell;

    struct Fixture {
        _folder: tempfile::TempDir,
        cache: Cache,
        leases: Leases,
    }

    /// A cache in a temporary home.
    fn fixture() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        let leases = Leases::open_with(&home, None).unwrap();
        Fixture {
            cache: Cache::new(&home),
            leases,
            _folder: folder,
        }
    }

    fn mysql(version: &str) -> BuildSpec {
        BuildSpec::Mysql(version.to_string())
    }

    #[test]
    fn a_cached_build_is_used_without_progress_messages() {
        let fixture = fixture();
        add_build(&fixture.cache.builds, "mysql@5.6.14");
        let messages = RefCell::new(Vec::new());
        let found = fixture
            .cache
            .get_verified(&mysql("5.6.14"), &fixture.leases, &|line| {
                messages.borrow_mut().push(line.to_string())
            })
            .unwrap();
        assert_eq!(
            (found.version, found.build.as_str()),
            ((5, 6, 14), "mysql@5.6.14")
        );
        assert!(messages.borrow().is_empty());
        assert_eq!(fixture.cache.held().len(), 1);
    }

    #[test]
    fn only_leftovers_of_a_killed_download_are_removed() {
        let fixture = fixture();
        let kept = add_build(&fixture.cache.builds, "mysql@5.6.14");
        let leftover = fixture.cache.builds.join(".partial-mysql@5.6.14-0a1b");
        let other = fixture.cache.builds.join(".partial-mysql@5.5.34-0a1b");
        fs::create_dir_all(leftover.join("root")).unwrap();
        fs::create_dir_all(&other).unwrap();
        fixture.cache.remove_leftovers(".partial-mysql@5.6.14");
        assert!(kept.exists() && other.exists() && !leftover.exists());
    }

    #[test]
    fn a_build_is_removed_unless_it_is_in_use() {
        let fixture = fixture();
        let folder = add_build(&fixture.cache.builds, "mysql@5.6.14");
        let remove = || fixture.cache.remove("mysql@5.6.14").unwrap();

        let checked = fixture.cache.lock("mysql@5.6.14").unwrap();
        flock(&checked, FlockOperation::LockShared).unwrap();
        assert!(!remove() && folder.exists());
        drop(checked);

        assert!(remove());
        assert_eq!(fixture.cache.held(), []);
        let names = fs::read_dir(&fixture.cache.builds).unwrap().flatten();
        let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["mysql@5.6.14.lock"]);
    }

    #[test]
    fn the_error_for_an_unknown_build_lists_the_known_ones() {
        let fixture = fixture();
        let error = fixture
            .cache
            .get(&mysql("4.1"), &fixture.leases, &|_| ())
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
    fn a_build_of_another_version_or_family_than_its_name_is_refused() {
        let fixture = fixture();
        let get = |build: BuildSpec| {
            add_build(&fixture.cache.builds, &catalogue::name(&build).unwrap());
            let found = fixture.cache.get(&build, &fixture.leases, &|_| ());
            found.map(|found| found.version_text)
        };
        assert_eq!(get(mysql("5.6.14")).unwrap(), "5.6.14");
        // The script of these tests is 5.6.14, as a later suite may have a later server.
        for build in [mysql("9.7"), BuildSpec::MariaDb(Some("11.8".into()))] {
            let error = get(build).unwrap_err().to_string();
            assert!(error.contains("is mysql 5.6.14"), "{error}");
        }
    }

    #[test]
    fn the_client_of_a_build_reads_no_login_paths_of_the_user() {
        let fixture = fixture();
        let own = tempfile::tempdir().unwrap();
        fs::create_dir(own.path().join("bin")).unwrap();
        for program in ["bin/mysqld", "bin/mysql"] {
            write_server(&own.path().join(program));
        }
        let build = BuildSpec::Path(own.path().into());
        let found = fixture.cache.get(&build, &fixture.leases, &|_| ());
        let client = found.unwrap().client_command().unwrap();
        let mut set = client.get_envs();
        assert!(set.any(|(name, value)| name == "MYSQL_TEST_LOGIN_FILE" && value.is_some()));
    }

    #[test]
    fn a_users_own_folder_is_used_in_place() {
        let fixture = fixture();
        let own = tempfile::tempdir().unwrap();
        fs::create_dir(own.path().join("bin")).unwrap();
        write_server(&own.path().join("bin/mysqld"));
        let found = fixture
            .cache
            .get(
                &BuildSpec::Path(own.path().into()),
                &fixture.leases,
                &|_| (),
            )
            .unwrap();
        assert_eq!(found.basedir, fs::canonicalize(own.path()).unwrap());
        assert!(!fixture.cache.builds.join("root").exists());
    }
}
