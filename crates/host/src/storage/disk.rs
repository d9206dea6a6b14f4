//! Free space of a file system, the size of a folder, and sizes as text.

pub use record::number::metric_size as shown;
use std::fs;
use std::io;
use std::path::Path;

/// Free bytes for this user on the file system of a path (statvfs(3), `f_bavail`). The path need not exist yet.
pub fn free(path: &Path) -> io::Result<u64> {
    let there = path
        .ancestors()
        .find(|ancestor| ancestor.exists())
        .unwrap_or(Path::new("/"));
    let system = rustix::fs::statvfs(there)?;
    Ok(system.f_bavail * system.f_frsize)
}

/// Bytes that the files of a folder occupy on disk (less than their length for sparse files).
pub fn used(folder: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += if about.is_dir() {
            used(&entry.path())?
        } else {
            about.blocks() * 512
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_folder_includes_its_subfolders() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("below/file"), vec![1; 100_000]).unwrap();
        fs::File::create(folder.path().join("sparse"))
            .unwrap()
            .set_len(1 << 30)
            .unwrap();
        let bytes = used(folder.path()).unwrap();
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn free_space_is_known_for_a_folder_that_does_not_exist_yet() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free(&folder.path().join("a/b")).unwrap() > 0);
    }
}
