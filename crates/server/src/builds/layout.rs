//! Finds the parts of an unpacked server. Tarballs, source builds, Debian packages and jars place them differently.

use crate::ServerError;
use std::path::{Path, PathBuf};

/// Where the parts of a server are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub basedir: PathBuf,
    pub server: PathBuf,
    pub client: Option<PathBuf>,
    /// The folder with `english/errmsg.sys`.
    pub messages: Option<PathBuf>,
    /// The folder with `Index.xml`.
    pub charsets: Option<PathBuf>,
    pub plugins: Option<PathBuf>,
    /// The folder with the SQL scripts that create the system tables.
    pub scripts: Option<PathBuf>,
}

const SERVERS: [&str; 8] = [
    "bin/mariadbd",
    "bin/mysqld",
    "sbin/mariadbd",
    "sbin/mysqld",
    "libexec/mariadbd",
    "libexec/mysqld",
    "usr/sbin/mariadbd",
    "usr/sbin/mysqld",
];
const CLIENTS: [&str; 2] = ["bin/mariadb", "bin/mysql"];
const SHARES: [&str; 4] = ["share", "share/mysql", "share/mariadb", "scripts"];
const PLUGINS: [&str; 4] = [
    "lib/plugin",
    "lib/mysql/plugin",
    "lib64/mysql/plugin",
    "lib/mariadb/plugin",
];

impl Layout {
    /// Finds the server in a base folder, or in a root folder that contains `usr`.
    pub(crate) fn find(folder: &Path) -> Result<Layout, ServerError> {
        let server = SERVERS
            .iter()
            .map(|name| folder.join(name))
            .find(|path| path.is_file())
            .ok_or_else(|| no_server(folder))?;
        let basedir = if server.starts_with(folder.join("usr")) {
            folder.join("usr")
        } else {
            folder.to_path_buf()
        };
        let first = |names: &[&str], holds: &dyn Fn(&Path) -> bool| {
            names
                .iter()
                .map(|name| basedir.join(name))
                .find(|path| holds(path))
        };
        Ok(Layout {
            client: first(&CLIENTS, &|path| path.is_file()),
            messages: first(&SHARES, &|path| path.join("english/errmsg.sys").is_file()),
            charsets: first(&SHARES, &|path| path.join("charsets/Index.xml").is_file())
                .map(|path| path.join("charsets")),
            plugins: first(&PLUGINS, &|path| path.is_dir()),
            scripts: first(&SHARES, &|path| {
                ["mysql", "mariadb"]
                    .iter()
                    .any(|name| path.join(format!("{name}_system_tables.sql")).is_file())
            }),
            basedir,
            server,
        })
    }
}

fn no_server(folder: &Path) -> ServerError {
    ServerError::Unusable(format!(
        "no server in {}: prony looks for {}; give the folder that contains one of them",
        folder.display(),
        SERVERS.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn the_parts_of_a_tarball_are_found() {
        let folder = folder_with(&[
            "bin/mysqld",
            "bin/mysql",
            "share/english/errmsg.sys",
            "share/charsets/Index.xml",
            "share/mysql_system_tables.sql",
        ]);
        let layout = Layout::find(folder.path()).unwrap();
        assert_eq!(layout.server, folder.path().join("bin/mysqld"));
        assert_eq!(layout.scripts, Some(folder.path().join("share")));
        assert_eq!(layout.plugins, None);
    }

    #[test]
    fn the_base_folder_of_debian_packages_is_usr() {
        let folder = folder_with(&[
            "usr/sbin/mariadbd",
            "usr/bin/mariadb",
            "usr/share/mysql/english/errmsg.sys",
            "usr/share/mariadb/mariadb_system_tables.sql",
        ]);
        let layout = Layout::find(folder.path()).unwrap();
        assert_eq!(layout.basedir, folder.path().join("usr"));
        assert_eq!(layout.messages, Some(folder.path().join("usr/share/mysql")));
        assert_eq!(
            layout.scripts,
            Some(folder.path().join("usr/share/mariadb"))
        );
    }

    #[test]
    fn the_error_for_a_folder_without_a_server_lists_the_expected_files() {
        let error = Layout::find(Path::new("/no/such")).unwrap_err().to_string();
        assert!(
            error.contains("no server in /no/such") && error.contains("bin/mysqld"),
            "{error}"
        );
    }
}
