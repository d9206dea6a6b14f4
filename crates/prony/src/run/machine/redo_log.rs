//! The redo log of a data folder, between a clean shutdown and the next start.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// `ib_logfile0` and so on; since MySQL 8.0.30 a folder instead.
const FILES: &str = "ib_logfile";
const FOLDER: &str = "#innodb_redo";

/// The setting of the folder that holds the redo log.
pub(crate) const PLACE: &str = "innodb_log_group_home_dir";

/// Removes the files. After a clean shutdown they hold nothing, and the server creates new ones of the configured size.
pub(crate) fn remove(data_folder: &Path) -> io::Result<()> {
    files(data_folder)?.iter().try_for_each(fs::remove_file)
}

/// Moves the redo log to another folder, which must not exist, perhaps on another device, and waits until it is on disk.
pub(crate) fn relocate(data_folder: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for file in files(data_folder)? {
        host::clone::file(&file, &to.join(file.file_name().unwrap_or_default()))?;
        fs::remove_file(&file)?;
    }
    let folder = data_folder.join(FOLDER);
    if folder.is_dir() {
        host::clone::folder(&folder, &to.join(FOLDER)).map_err(io::Error::other)?;
        fs::remove_dir_all(&folder)?;
    }
    Ok(())
}

fn files(data_folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_log = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(FILES)
    };
    let entries = fs::read_dir(data_folder)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    Ok(paths
        .collect::<io::Result<Vec<_>>>()?
        .into_iter()
        .filter(is_log)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_redo_log_of_either_form_moves_and_the_data_stays() {
        let place = tempfile::tempdir().unwrap();
        let (data, to) = (place.path().join("data"), place.path().join("redo"));
        fs::create_dir_all(data.join(FOLDER)).unwrap();
        for name in [
            "ib_logfile0",
            "ib_logfile1",
            "ibdata1",
            "#innodb_redo/#ib_redo7",
        ] {
            fs::write(data.join(name), name).unwrap();
        }
        relocate(&data, &to).unwrap();
        let of = |folder: &Path, name: &str| fs::read_to_string(folder.join(name)).ok();
        for name in ["ib_logfile0", "ib_logfile1", "#innodb_redo/#ib_redo7"] {
            assert_eq!(of(&to, name).as_deref(), Some(name));
            assert_eq!(of(&data, name), None);
        }
        assert_eq!(of(&data, "ibdata1").as_deref(), Some("ibdata1"));
        remove(&to).unwrap();
        assert_eq!(of(&to, "ib_logfile0"), None);
    }

    #[test]
    fn a_redo_log_that_moves_is_copied_as_a_data_folder_is() {
        use std::os::unix::fs::{FileExt, MetadataExt};
        // The temporary folder can be a tmpfs, which does not tell its holes.
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (data, to) = (place.path().join("data"), place.path().join("redo"));
        fs::create_dir(&data).unwrap();
        let log = fs::File::create(data.join("ib_logfile0")).unwrap();
        log.write_all_at(&[7; 65_536], 0).unwrap();
        log.set_len(10 << 20).unwrap();
        relocate(&data, &to).unwrap();
        let moved = fs::metadata(to.join("ib_logfile0")).unwrap();
        assert_eq!(moved.len(), 10 << 20);
        assert!(moved.blocks() * 512 < 5 << 20, "{}", moved.blocks());
    }
}
