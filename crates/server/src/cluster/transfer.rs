//! The state transfer between two nodes of Galera on one machine: a joining node gets the files of another one.
//!
//! The servers call a program of this name (the manual of Galera Cluster, "Scriptable State Snapshot Transfers"). The usual ones need rsync
//! or mariadb-backup, and fail as root. This one copies the files while the giving node writes nothing. If the joining node needs only what
//! it missed, no file is copied, and the nodes send it to each other.

use crate::ServerError;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The name of the method; the program is called `wsrep_sst_METHOD`.
pub(super) const METHOD: &str = "prony";
const PROGRAM: &str = include_str!("transfer.sh");
/// Where the two sides find each other.
const MEETING: &str = "PRONY_TRANSFERS";

/// Writes the program into this folder, which is created.
pub(super) fn install(folder: &Path) -> Result<(), ServerError> {
    let program = folder.join(format!("wsrep_sst_{METHOD}"));
    let write = || -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(&program, PROGRAM)?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700))
    };
    write().map_err(|error| {
        ServerError::Unusable(format!("cannot write {}: {error}", program.display()))
    })
}

/// Lets a server find the program, and the program its other side.
pub(super) fn environment(folder: &Path) -> Vec<(&'static str, OsString)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path);
    let all = std::iter::once(folder.to_path_buf()).chain(folders);
    let joined = std::env::join_paths(all).unwrap_or(path.clone());
    vec![("PATH", joined), (MEETING, folder.into())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{BufRead, BufReader, Read};
    use std::path::PathBuf;
    use std::process::{Child, Command, ExitStatus, Stdio};

    /// The folders of the transfers, of the giving node and of the joining one.
    fn folders(place: &Path) -> [PathBuf; 3] {
        let folders = ["transfers", "from", "to"].map(|name| place.join(name));
        for folder in &folders {
            fs::create_dir(folder).unwrap();
        }
        install(&folders[0]).unwrap();
        folders
    }

    fn side(transfers: &Path, role: &str, data: &Path) -> Child {
        side_of(std::process::id(), transfers, role, data)
    }

    /// Started by the server with this process id.
    fn side_of(server: u32, transfers: &Path, role: &str, data: &Path) -> Child {
        Command::new(transfers.join("wsrep_sst_prony"))
            .args(["--role", role, "--address", "127.0.0.1:1", "--datadir"])
            .arg(data)
            .args(["--gtid", "u-u-i-d:3", "--parent", &server.to_string()])
            .envs(environment(transfers))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// How the donor ends, and what it prints. Its server flushes the tables on request.
    fn given(transfers: &Path, from: &Path) -> (ExitStatus, String) {
        let mut donor = side(transfers, "donor", from);
        let mut says = BufReader::new(donor.stdout.take().unwrap());
        let mut printed = String::new();
        says.read_line(&mut printed).unwrap();
        assert_eq!(printed, "flush tables\n");
        let flushed = from.join("tables_flushed");
        assert!(!flushed.exists(), "it is that of an earlier transfer");
        fs::write(&flushed, "u-u-i-d:7").unwrap();
        says.read_to_string(&mut printed).unwrap();
        (donor.wait().unwrap(), printed)
    }

    #[test]
    fn a_joining_node_gets_the_files_and_the_position_of_the_other_one() {
        let place = tempfile::tempdir().unwrap();
        let [transfers, from, to] = folders(place.path());
        fs::create_dir(from.join("shop")).unwrap();
        fs::write(from.join("shop/orders.ibd"), "rows").unwrap();
        fs::write(from.join("grastate.dat"), "its own").unwrap();
        fs::write(from.join("tables_flushed"), "u-u-i-d:5").unwrap();
        fs::write(to.join("old.ibd"), "old").unwrap();
        let joiner = side(&transfers, "joiner", &to);
        let meets = transfers.join("127.0.0.1_1.folder");
        while !meets.exists() {
            std::thread::yield_now();
        }
        let (ended, printed) = given(&transfers, &from);
        let joiner = joiner.wait_with_output().unwrap();
        assert_eq!(joiner.stdout, b"ready 127.0.0.1:1\nu-u-i-d:7\n");
        assert_eq!(printed, "flush tables\ncontinue\ndone u-u-i-d:7\n");
        assert!(ended.success());
        let copied = fs::read_to_string(to.join("shop/orders.ibd")).unwrap();
        assert_eq!(copied, "rows");
        assert!(!to.join("old.ibd").exists() && !to.join("grastate.dat").exists());
    }

    #[test]
    fn a_transfer_ends_with_its_server() {
        let place = tempfile::tempdir().unwrap();
        let [transfers, _, to] = folders(place.path());
        let mut server = Command::new("true").spawn().unwrap();
        server.wait().unwrap();
        let joiner = side_of(server.id(), &transfers, "joiner", &to);
        let ended = joiner.wait_with_output().unwrap();
        assert!(!ended.status.success());
        assert_eq!(ended.stdout, b"ready 127.0.0.1:1\n");
    }

    /// As on a full disk.
    #[test]
    fn a_transfer_fails_if_a_file_cannot_be_copied() {
        let place = tempfile::tempdir().unwrap();
        let [transfers, from, to] = folders(place.path());
        fs::write(from.join("orders.ibd"), "rows").unwrap();
        let meets = transfers.join("127.0.0.1_1.folder");
        fs::write(meets, to.display().to_string()).unwrap();
        let cp = transfers.join("cp");
        fs::write(&cp, "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(&cp, fs::Permissions::from_mode(0o700)).unwrap();
        let (ended, printed) = given(&transfers, &from);
        assert!(!ended.success() && printed == "flush tables\n", "{printed}");
    }
}
