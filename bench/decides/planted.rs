//! A build of MariaDB that is slower by a known share.
//!
//! It is a wrapper that preloads planted.c, which makes every request of a connection longer by a share of its own time. With one client, the
//! ratio of throughputs is 1 + share, by arithmetic. What was burned in fact, with the cost of reading the clock, is the truth: the server adds
//! it up itself, in every run.

use super::runs::Options;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Planted {
    pub build: PathBuf,
    /// Where all its processes add up their time (planted.c).
    pub account: PathBuf,
}

impl Planted {
    /// Links to MariaDB in prony's cache, and a script in the place of the server.
    pub(crate) fn new(options: &Options, share: f64) -> Planted {
        let cache = std::env::var_os("PRONY_HOME")
            .map(PathBuf::from)
            .expect("PRONY_HOME names the cache that has the build mariadb");
        let original = cache.join("builds/mariadb/root");
        let server = original.join("usr/sbin/mariadbd");
        assert!(
            server.exists(),
            "{}: run an experiment with the build mariadb first",
            server.display()
        );
        let build = options.folder.join(format!("build-{share}"));
        let account = options.folder.join(format!("account-{share}"));
        let library = library(&options.folder);
        std::fs::create_dir_all(build.join("usr/sbin")).expect("the build can be made");
        for part in ["lib", "usr/lib", "usr/share", "usr/bin"] {
            let link = build.join(part);
            if original.join(part).exists() && !link.exists() {
                symlink(original.join(part), link).expect("the build can be linked");
            }
        }
        let script = build.join("usr/sbin/mariadbd");
        let text = format!(
            "#!/bin/sh\nPRONY_SHARE={share} PRONY_ACCOUNT={} LD_PRELOAD={} exec {} \"$@\"\n",
            account.display(),
            library.display(),
            server.display()
        );
        std::fs::write(&script, text).expect("the script can be written");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755))
            .expect("the script can be run");
        Planted { build, account }
    }

    /// The build, as prony takes it.
    pub(crate) fn name(&self) -> String {
        format!("path:{}", self.build.display())
    }
}

fn library(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("planted.c"), folder.join("planted.so"));
    if !library.exists() {
        std::fs::write(&source, include_str!("planted.c")).expect("the source can be written");
        let compiled = Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-o"])
            .args([&library, &source])
            .status();
        assert!(
            compiled.expect("cc is installed").success(),
            "planted.c does not compile"
        );
    }
    library
}
