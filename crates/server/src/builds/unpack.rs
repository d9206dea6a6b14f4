//! Unpacks server archives, without the parts that a measured server never uses: test suites, debug binaries, static
//! libraries, manuals.

use super::program;
use crate::{ServerError, file_error};
use flate2::read::DeflateDecoder;
use host::Leases;
use rawzip::{CompressionMethod, ZipArchive};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Unpacks the server below `folder` of a zip or jar into `to`, and verifies each file's CRC.
pub(super) fn zip(archive: File, folder: &str, to: &Path) -> Result<(), ServerError> {
    unzip(archive, folder, to).map_err(|error| {
        ServerError::Unusable(format!("cannot unpack it into {}: {error}", to.display()))
    })
}

fn unzip(archive: File, folder: &str, to: &Path) -> io::Result<()> {
    let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(archive, &mut buffer).map_err(io::Error::other)?;
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().map_err(io::Error::other)? {
        let name = std::str::from_utf8(entry.file_path().as_bytes()).map_err(io::Error::other)?;
        let Some(path) = name.strip_prefix(folder).and_then(plain_path) else {
            continue;
        };
        if entry.is_dir() || entry.mode().is_symlink() || !is_used(&path) {
            continue;
        }
        let target = to.join(&path);
        fs::create_dir_all(target.parent().unwrap_or(to))?;
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&target)?);
        let packed = archive.get_entry(entry.wayfinder());
        let packed = packed.map_err(io::Error::other)?;
        let plain: Box<dyn Read> = match entry.compression_method() {
            CompressionMethod::STORE => Box::new(packed.reader()),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(packed.reader())),
            other => {
                let why = format!("{name} is compressed by method {other:?}, not deflate");
                return Err(io::Error::other(why));
            }
        };
        io::copy(&mut packed.verifying_reader(plain), &mut file)?;
        file.into_inner()
            .map_err(io::Error::from)?
            .set_permissions(fs::Permissions::from_mode(mode(&path)))?;
    }
    Ok(())
}

/// The path, if it is relative and stays inside the folder.
fn plain_path(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    let plain = !name.is_empty()
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
    plain.then_some(path)
}

/// The file mode by path, because jars do not keep the executable bit.
fn mode(path: &Path) -> u32 {
    let runs = path.starts_with("bin")
        || path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().contains(".so"));
    if runs { 0o755 } else { 0o644 }
}

const PROGRAMS: [&str; 4] = ["bin/mysqld", "bin/mariadbd", "bin/mysql", "bin/mariadb"];
const FOLDERS: [&str; 4] = ["share", "lib/plugin", "lib/private", "libs"];
const LICENCES: [&str; 4] = ["COPYING", "LICENSE", "README", "EXCEPTIONS-CLIENT"];

/// Whether a measured server needs this file of a tarball.
fn is_used(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let unneeded =
        name.ends_with(".a") || name.ends_with(".jar") || path.starts_with("lib/plugin/debug");
    let wanted = PROGRAMS.iter().any(|program| path == Path::new(program))
        || FOLDERS.iter().any(|folder| path.starts_with(folder));
    (wanted && !unneeded) || LICENCES.contains(&path.to_string_lossy().as_ref())
}

/// Unpacks Debian packages into `to` and removes unused files.
pub(super) fn packages(
    archives: &[PathBuf],
    to: &Path,
    leases: &Leases,
) -> Result<(), ServerError> {
    for archive in archives {
        let mut command = leases.command("dpkg-deb");
        command.arg("-x").arg(archive).arg(to);
        program::output(
            &mut command,
            "it is part of every Debian system; on other systems give an unpacked server as path:BASEDIR",
        )?;
    }
    prune(to, Path::new("")).map_err(|error| file_error(to, &error))
}

const PACKAGE_FOLDERS: [&str; 6] = [
    "lib",
    "lib64",
    "usr/lib",
    "usr/lib64",
    "usr/share/mysql",
    "usr/share/mariadb",
];
const PACKAGE_PROGRAMS: [&str; 4] = [
    "usr/sbin/mysqld",
    "usr/sbin/mariadbd",
    "usr/bin/mysql",
    "usr/bin/mariadb",
];
/// Folders below a library folder that belong to other programs.
const UNNEEDED: [&str; 7] = [
    "perl",
    "perl5",
    "perl-base",
    "gconv",
    "systemd",
    "dpkg",
    "sysusers.d",
];

fn prune(root: &Path, below: &Path) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        let is_folder = entry.file_type()?.is_dir();
        match (is_folder, leads_to_used(&path)) {
            (true, true) => prune(root, &path)?,
            (true, false) => fs::remove_dir_all(entry.path())?,
            (false, _) if !is_used_package_file(&path) => fs::remove_file(entry.path())?,
            (false, _) => {}
        }
    }
    Ok(())
}

fn leads_to_used(folder: &Path) -> bool {
    let unneeded = folder
        .file_name()
        .is_some_and(|name| UNNEEDED.iter().any(|other| name == *other));
    let on_the_way =
        |wanted: &&str| Path::new(wanted).starts_with(folder) || folder.starts_with(wanted);
    let copyright =
        Path::new("usr/share/doc").starts_with(folder) || folder.starts_with("usr/share/doc");
    !unneeded
        && (copyright
            || PACKAGE_FOLDERS
                .iter()
                .chain(&PACKAGE_PROGRAMS)
                .any(on_the_way))
}

fn is_used_package_file(file: &Path) -> bool {
    let is_licence = file.starts_with("usr/share/doc") && file.ends_with("copyright");
    is_licence
        || PACKAGE_PROGRAMS
            .iter()
            .any(|program| file == Path::new(program))
        || PACKAGE_FOLDERS
            .iter()
            .any(|folder| file.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use std::io::Write;

    #[test]
    fn a_path_outside_the_folder_is_not_unpacked() {
        assert_eq!(plain_path("../etc/passwd"), None);
        assert_eq!(plain_path("/etc/passwd"), None);
        assert_eq!(
            plain_path("share/english/errmsg.sys"),
            Some("share/english/errmsg.sys".into())
        );
    }

    #[test]
    fn only_files_that_a_server_needs_are_kept() {
        for kept in [
            "bin/mysqld",
            "bin/mysql",
            "share/english/errmsg.sys",
            "lib/plugin/auth.so",
            "lib/private/libssl.so",
            "COPYING",
        ] {
            assert!(is_used(Path::new(kept)), "{kept}");
        }
        for dropped in [
            "bin/mysqld-debug",
            "mysql-test/t/a.test",
            "lib/libmysqld.a",
            "lib/plugin/debug/auth.so",
            "docs/mysql.info",
        ] {
            assert!(!is_used(Path::new(dropped)), "{dropped}");
        }
    }

    /// A jar of these files.
    fn packed(files: &[(&str, &str)]) -> Vec<u8> {
        let mut writer = rawzip::ZipArchiveWriter::new(Vec::new());
        for (name, text) in files {
            let file = writer.new_file(*name);
            let (mut entry, config) = file
                .compression_method(CompressionMethod::DEFLATE)
                .start()
                .unwrap();
            let mut data = config.wrap(DeflateEncoder::new(&mut entry, Compression::fast()));
            data.write_all(text.as_bytes()).unwrap();
            let (encoder, descriptor) = data.finish().unwrap();
            encoder.finish().unwrap();
            entry.finish(descriptor).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn a_file_of_a_jar_that_was_changed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let jar = folder.path().join("server.jar");
        let mut bytes = packed(&[("bin/mysqld", "the quick brown fox")]);
        // Behind the header and the name.
        bytes[30 + "bin/mysqld".len() + 5] ^= 1;
        fs::write(&jar, bytes).unwrap();
        let refused = zip(File::open(&jar).unwrap(), "", &folder.path().join("out"));
        assert!(refused.unwrap_err().to_string().contains("unpack"));
    }

    #[test]
    fn a_jar_is_unpacked_with_executable_bits() {
        let folder = tempfile::tempdir().unwrap();
        let jar = folder.path().join("server.jar");
        let files = [
            ("deep/linux/bin/mysqld", "elf"),
            ("deep/linux/share/x.sql", "sql"),
            ("META-INF/MANIFEST.MF", "no"),
        ];
        fs::write(&jar, packed(&files)).unwrap();
        let to = folder.path().join("out");
        zip(File::open(&jar).unwrap(), "deep/linux/", &to).unwrap();
        assert_eq!(fs::read(to.join("share/x.sql")).unwrap(), b"sql");
        assert_eq!(
            fs::metadata(to.join("bin/mysqld"))
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o755
        );
        assert!(!to.join("META-INF").exists());
    }

    #[test]
    fn packages_keep_licences_but_not_manuals() {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            "usr/sbin/mariadbd",
            "usr/share/man/x.1",
            "usr/share/doc/p/copyright",
            "usr/share/doc/p/changelog",
            "usr/lib/t/libz.so.1",
            "etc/x",
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        prune(folder.path(), Path::new("")).unwrap();
        for (file, kept) in [
            ("usr/sbin/mariadbd", true),
            ("usr/share/man", false),
            ("usr/share/doc/p/copyright", true),
            ("usr/share/doc/p/changelog", false),
            ("usr/lib/t/libz.so.1", true),
            ("etc", false),
        ] {
            assert_eq!(folder.path().join(file).exists(), kept, "{file}");
        }
    }
}
