//! The built-in experiments, so that `prony run quickstart` works anywhere.

macro_rules! embedded {
    ($($name:literal,)*) => {
        [$(($name, include_str!(concat!("../../../../experiments/", $name, ".toml")))),*]
    };
}

/// (name, text). The name is the path below experiments/ without its extension.
pub(super) const EXPERIMENTS: [(&str, &str); 37] = embedded![
    "quickstart",
    "ssb/old-blocks-time",
    "ssb/old-blocks-open-questions",
    "ssb/join-direction",
    "ssb/datadir-upgrade",
    "ssb/optimizer",
    "engines/myisam-innodb",
    "engines/little-data",
    "engines/concurrency",
    "engines/aria",
    "oltp/update-cached",
    "oltp/update-cached-turns",
    "arrivals/workers",
    "arrivals/rate-sweep",
    "arrivals/side-load",
    "arrivals/old-blocks-scan",
    "optimizer/icp",
    "optimizer/mrr",
    "optimizer/bka",
    "optimizer/hash-join",
    "fileio/ssd-write-hours",
    "fileio/ssd-read-threads",
    "fileio/ssd-write-threads",
    "fileio/ext4-xfs-one-file",
    "fileio/ext4-xfs-mysql",
    "tpcc/quick",
    "tpcc/matrix",
    "tpcc/crash-recovery",
    "tpcc/io-capacity",
    "tpcc/redo-device",
    "tpcc/long",
    "tpcc/durability",
    "cluster/client-link-full",
    "cluster/nodes-1-2-3",
    "cluster/node-lost",
    "cluster/stale-reads",
    "cluster/group-or-galera",
];

/// Finds an experiment by its full name or by the last part of it.
pub(super) fn find(name: &str) -> Option<(&'static str, &'static str)> {
    EXPERIMENTS
        .into_iter()
        .find(|(known, _)| *known == name || known.rsplit('/').next() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_below_experiments_is_embedded() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                files.extend(
                    std::fs::read_dir(path)
                        .unwrap()
                        .flatten()
                        .map(|entry| entry.path()),
                );
            } else {
                files.push(path);
            }
        }
        // An example that reads files beside it is not part of the binary.
        files.retain(|file| {
            !file.starts_with(folder.join("sql")) && file.extension().is_some_and(|is| is == "toml")
        });
        for file in files {
            let name = file.strip_prefix(&folder).unwrap().with_extension("");
            assert!(
                EXPERIMENTS
                    .iter()
                    .any(|(known, _)| Path::new(known) == name),
                "{} is not embedded",
                name.display()
            );
        }
    }

    #[test]
    fn an_experiment_is_found_by_its_last_part() {
        assert_eq!(find("old-blocks-time").unwrap().0, "ssb/old-blocks-time");
        assert!(find("nothing").is_none());
    }
}
