//! A build with a fresh data folder, for tests that start a server themselves.
//!
//! Builds are cached in the user's home (or PRONY_HOME) by the first test run. All folders are leased there, so the guard
//! removes them after the test program has ended for any reason.

use super::skip;
use host::{Home, Lease, Leases, clone};
use server::{Cache, Distribution, Managed, Node, StartRequest};
use spec::BuildSpec;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

static HOME: LazyLock<Home> = LazyLock::new(|| Home::from_environment().unwrap());
static LEASES: LazyLock<Leases> = LazyLock::new(|| Leases::open(&HOME).unwrap());

/// Builds with an initialised data folder, created once per test binary; None: not available on this machine.
static TEMPLATES: Mutex<BTreeMap<&str, Arc<OnceLock<Option<Template>>>>> =
    Mutex::new(BTreeMap::new());

/// A build of each family and age that prony supports, for tables and measurements over all of them.
pub(crate) const BUILDS: [&str; 6] = [
    "mysql@5.5.34",
    "mysql@5.6.14",
    "mysql@8.0.33",
    "mysql@9.7",
    "mariadb",
    "mariadb@11.8",
];

struct Template {
    distribution: Distribution,
    folder: Lease,
}

/// A build with its own data folder.
pub(crate) struct Fresh {
    pub distribution: Distribution,
    pub leases: Leases,
    pub data_folder: PathBuf,
    folder: Lease,
}

impl Fresh {
    /// A fresh data folder of a build; None if the build is not available. Prints the reason, and panics where servers are
    /// required.
    pub(crate) fn of(build: &'static str) -> Option<Fresh> {
        // Other builds are not kept waiting while this one is downloaded.
        let known = TEMPLATES.lock().unwrap().entry(build).or_default().clone();
        let template = known.get_or_init(|| Template::create(build)).as_ref()?;
        let folder = LEASES.temporary("test").unwrap();
        let data_folder = folder.path().join("data");
        clone::folder(&template.folder.path().join("data"), &data_folder).unwrap();
        Some(Fresh {
            distribution: template.distribution.clone(),
            leases: LEASES.clone(),
            data_folder,
            folder,
        })
    }

    pub(crate) fn instance(&self) -> PathBuf {
        self.folder.path().join("instance")
    }

    pub(crate) fn managed(&self) -> Managed {
        Managed::new(
            self.distribution.clone(),
            self.leases.clone(),
            self.instance(),
        )
    }

    /// A start from the data folder with these settings.
    pub(crate) fn request(&self, settings: &[(&str, &str)]) -> StartRequest {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        StartRequest {
            data_folder: self.data_folder.clone(),
            settings: settings.iter().map(owned).collect(),
            groups: Vec::new(),
        }
    }

    /// A running server with these settings.
    pub(crate) fn started(&self, settings: &[(&str, &str)]) -> Managed {
        let server = self.managed();
        server.start(&self.request(settings)).unwrap();
        server
    }
}

impl Template {
    fn create(build: &str) -> Option<Template> {
        let got = Cache::new(&HOME).get(&spec(build), &LEASES, &|line| eprintln!("{line}"));
        let distribution = match got {
            Ok(distribution) => distribution,
            Err(reason) => {
                skip::skipped(&format!("{build} is not available: {reason}"));
                return None;
            }
        };
        let folder = LEASES.temporary("template").unwrap();
        distribution
            .initialise(&LEASES, &folder.path().join("data"), &[])
            .unwrap();
        Some(Template {
            distribution,
            folder,
        })
    }
}

fn spec(build: &str) -> BuildSpec {
    match build.split_once('@') {
        Some(("mysql", version)) => BuildSpec::Mysql(version.into()),
        Some((_, version)) => BuildSpec::MariaDb(Some(version.into())),
        None => BuildSpec::MariaDb(None),
    }
}
