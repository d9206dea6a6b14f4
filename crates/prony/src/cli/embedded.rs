//! The built-in experiments, so that `prony run quickstart` works anywhere.

/// (name, text). The name is the path below experiments/ without its extension.
pub(super) const EXPERIMENTS: [(&str, &str); 35] = [
    (
        "quickstart",
        include_str!("../../../../experiments/quickstart.toml"),
    ),
    (
        "ssb/old-blocks-time",
        include_str!("../../../../experiments/ssb/old-blocks-time.toml"),
    ),
    (
        "ssb/old-blocks-open-questions",
        include_str!("../../../../experiments/ssb/old-blocks-open-questions.toml"),
    ),
    (
        "ssb/join-direction",
        include_str!("../../../../experiments/ssb/join-direction.toml"),
    ),
    (
        "ssb/datadir-upgrade",
        include_str!("../../../../experiments/ssb/datadir-upgrade.toml"),
    ),
    (
        "ssb/optimizer",
        include_str!("../../../../experiments/ssb/optimizer.toml"),
    ),
    (
        "engines/myisam-innodb",
        include_str!("../../../../experiments/engines/myisam-innodb.toml"),
    ),
    (
        "engines/concurrency",
        include_str!("../../../../experiments/engines/concurrency.toml"),
    ),
    (
        "engines/aria",
        include_str!("../../../../experiments/engines/aria.toml"),
    ),
    (
        "oltp/update-cached",
        include_str!("../../../../experiments/oltp/update-cached.toml"),
    ),
    (
        "arrivals/workers",
        include_str!("../../../../experiments/arrivals/workers.toml"),
    ),
    (
        "arrivals/rate-sweep",
        include_str!("../../../../experiments/arrivals/rate-sweep.toml"),
    ),
    (
        "arrivals/side-load",
        include_str!("../../../../experiments/arrivals/side-load.toml"),
    ),
    (
        "arrivals/old-blocks-scan",
        include_str!("../../../../experiments/arrivals/old-blocks-scan.toml"),
    ),
    (
        "optimizer/icp",
        include_str!("../../../../experiments/optimizer/icp.toml"),
    ),
    (
        "optimizer/mrr",
        include_str!("../../../../experiments/optimizer/mrr.toml"),
    ),
    (
        "optimizer/bka",
        include_str!("../../../../experiments/optimizer/bka.toml"),
    ),
    (
        "optimizer/hash-join",
        include_str!("../../../../experiments/optimizer/hash-join.toml"),
    ),
    (
        "fileio/ssd-write-hours",
        include_str!("../../../../experiments/fileio/ssd-write-hours.toml"),
    ),
    (
        "fileio/ssd-read-threads",
        include_str!("../../../../experiments/fileio/ssd-read-threads.toml"),
    ),
    (
        "fileio/ssd-write-threads",
        include_str!("../../../../experiments/fileio/ssd-write-threads.toml"),
    ),
    (
        "fileio/ext4-xfs-one-file",
        include_str!("../../../../experiments/fileio/ext4-xfs-one-file.toml"),
    ),
    (
        "fileio/ext4-xfs-mysql",
        include_str!("../../../../experiments/fileio/ext4-xfs-mysql.toml"),
    ),
    (
        "tpcc/quick",
        include_str!("../../../../experiments/tpcc/quick.toml"),
    ),
    (
        "tpcc/matrix",
        include_str!("../../../../experiments/tpcc/matrix.toml"),
    ),
    (
        "tpcc/crash-recovery",
        include_str!("../../../../experiments/tpcc/crash-recovery.toml"),
    ),
    (
        "tpcc/io-capacity",
        include_str!("../../../../experiments/tpcc/io-capacity.toml"),
    ),
    (
        "tpcc/redo-device",
        include_str!("../../../../experiments/tpcc/redo-device.toml"),
    ),
    (
        "tpcc/long",
        include_str!("../../../../experiments/tpcc/long.toml"),
    ),
    (
        "tpcc/durability",
        include_str!("../../../../experiments/tpcc/durability.toml"),
    ),
    (
        "cluster/client-link-full",
        include_str!("../../../../experiments/cluster/client-link-full.toml"),
    ),
    (
        "cluster/nodes-1-2-3",
        include_str!("../../../../experiments/cluster/nodes-1-2-3.toml"),
    ),
    (
        "cluster/node-lost",
        include_str!("../../../../experiments/cluster/node-lost.toml"),
    ),
    (
        "cluster/stale-reads",
        include_str!("../../../../experiments/cluster/stale-reads.toml"),
    ),
    (
        "cluster/group-or-galera",
        include_str!("../../../../experiments/cluster/group-or-galera.toml"),
    ),
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
        files.retain(|file| !file.starts_with(folder.join("sql")));
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
