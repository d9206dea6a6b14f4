//! Whether the flushes of a disk can be honest.
//!
//! Purpose: compare how long a commit takes with what a device of this kind can do. This never proves anything: only a power cut does.

use super::Measured;
use host::Mount;
use host::storage::{Disk, DiskKind, WriteCache};
use record::Percentile;

/// What the figures allow to conclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing speaks against it.
    Plausible,
    /// Something does.
    Suspicious,
    /// There is nothing to compare with.
    Unknown,
}

impl Verdict {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Verdict::Plausible => "plausible",
            Verdict::Suspicious => "suspicious",
            Verdict::Unknown => "unknown",
        }
    }
}

/// A verdict with its reason in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flushes {
    pub(crate) verdict: Verdict,
    pub(crate) why: String,
}

/// What the verdict rests on.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    pub(super) kind: Option<DiskKind>,
    pub(super) write_cache: Option<WriteCache>,
    pub(super) filesystem: String,
    pub(super) mount_options: String,
    pub(super) commits: u64,
    pub(super) commits_per_s: f64,
    /// Median time of a commit.
    pub(super) commit_ms: f64,
    /// Flushes that the kernel sent to the device meanwhile. None: not counted.
    pub(super) flushes: Option<u64>,
}

impl Evidence {
    /// `commits`: appends by one client, each with an fdatasync.
    pub(super) fn of(
        mount: &Mount,
        disk: Option<&Disk>,
        commits: &Measured,
        flushes: Option<u64>,
    ) -> Evidence {
        Evidence {
            kind: disk.map(|disk| disk.kind),
            write_cache: disk.and_then(|disk| disk.write_cache),
            filesystem: mount.kind.clone(),
            mount_options: mount.all_options(),
            commits: commits.operations,
            commits_per_s: commits.operations_per_s(),
            commit_ms: commits.ms(Percentile::P50).unwrap_or(0.0),
            flushes,
        }
    }

    fn is_without_barriers(&self) -> bool {
        let mut options = self.mount_options.split(',');
        options.any(|option| WITHOUT_BARRIERS.contains(&option))
    }

    /// Flushes of a stacked device are counted by the devices below it.
    fn sends_no_flushes(&self) -> bool {
        let few = |flushes: u64| flushes < self.commits / 2;
        self.kind != Some(DiskKind::Stacked) && self.commits > 0 && self.flushes.is_some_and(few)
    }
}

/// A disk of 15,000 rotations a minute writes the end of a log at most once a rotation.
const ROTATIONS_PER_S: f64 = 250.0;
/// NAND flash takes longer to program a page, and a round trip to a hypervisor's storage takes longer too.
const FLUSH_MS_MIN: f64 = 0.05;
/// Options with which a file system sends no flush.
const WITHOUT_BARRIERS: [&str; 2] = ["nobarrier", "barrier=0"];
const ONLY_A_POWER_CUT: &str = "only a power cut can prove it";

pub(super) fn judge(evidence: &Evidence) -> Flushes {
    let Evidence {
        commits,
        commits_per_s,
        commit_ms,
        ..
    } = *evidence;
    let (verdict, why) = match (evidence.kind, evidence.write_cache) {
        _ if evidence.is_without_barriers() => (
            Verdict::Suspicious,
            "the file system is mounted without barriers, so an fdatasync does not flush the cache of the device".to_string(),
        ),
        (None, _) if evidence.filesystem == "tmpfs" => (
            Verdict::Suspicious,
            "tmpfs is memory: nothing on it survives a power cut".to_string(),
        ),
        (None, _) => (
            Verdict::Unknown,
            format!("{} does not show its device", evidence.filesystem),
        ),
        (Some(DiskKind::Memory), _) => (
            Verdict::Suspicious,
            "the device is memory, whose contents a power cut may take".to_string(),
        ),
        (Some(DiskKind::Rotating), _) if commits_per_s > ROTATIONS_PER_S => (
            Verdict::Suspicious,
            format!(
                "{commits_per_s:.0} commits a second are more than a disk rotates ({ROTATIONS_PER_S:.0} at 15,000 a minute): without a cache with a battery they are lost in a power cut"
            ),
        ),
        (Some(_), Some(WriteCache::Back)) if evidence.sends_no_flushes() => (
            Verdict::Suspicious,
            format!(
                "the device reports a volatile write cache, but {commits} commits sent only {} flushes to it",
                evidence.flushes.unwrap_or(0)
            ),
        ),
        (Some(DiskKind::Solid | DiskKind::Virtual), Some(WriteCache::Back))
            if commit_ms < FLUSH_MS_MIN =>
        (
            Verdict::Suspicious,
            format!(
                "a commit takes {commit_ms:.3} ms with a volatile write cache, less than flash needs: expected only of devices with power-loss protection"
            ),
        ),
        (Some(DiskKind::Virtual), _) => (
            Verdict::Plausible,
            format!(
                "a commit takes {commit_ms:.3} ms; what the hypervisor does with a flush cannot be seen from inside, {ONLY_A_POWER_CUT}"
            ),
        ),
        (Some(_), Some(WriteCache::Through)) => (
            Verdict::Plausible,
            format!(
                "the device reports no volatile write cache, so no flush is sent to it; a commit takes {commit_ms:.3} ms, and {ONLY_A_POWER_CUT}"
            ),
        ),
        (Some(kind), _) => (
            Verdict::Plausible,
            format!(
                "a commit takes {commit_ms:.3} ms, which a {} can do; {ONLY_A_POWER_CUT}",
                match kind {
                    DiskKind::Stacked => "device made of others",
                    other => other.text(),
                }
            ),
        ),
    };
    Flushes { verdict, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk whose commits take this long, each with a flush.
    fn evidence(kind: DiskKind, commit_ms: f64) -> Evidence {
        let commits_per_s = 1_000.0 / commit_ms;
        Evidence {
            kind: Some(kind),
            write_cache: Some(WriteCache::Back),
            filesystem: "ext4".into(),
            mount_options: "rw,relatime".into(),
            commits: commits_per_s as u64,
            commits_per_s,
            commit_ms,
            flushes: Some(commits_per_s as u64),
        }
    }

    fn verdict(evidence: &Evidence) -> Verdict {
        judge(evidence).verdict
    }

    #[test]
    fn commits_faster_than_the_device_can_are_suspicious() {
        for (kind, commit_ms, expected) in [
            (DiskKind::Rotating, 8.3, Verdict::Plausible),
            (DiskKind::Rotating, 4.1, Verdict::Plausible),
            (DiskKind::Rotating, 0.2, Verdict::Suspicious),
            (DiskKind::Solid, 0.4, Verdict::Plausible),
            (DiskKind::Solid, 0.02, Verdict::Suspicious),
            (DiskKind::Virtual, 0.8, Verdict::Plausible),
            (DiskKind::Virtual, 0.02, Verdict::Suspicious),
            (DiskKind::Stacked, 0.02, Verdict::Plausible),
            (DiskKind::Memory, 0.02, Verdict::Suspicious),
        ] {
            let found = judge(&evidence(kind, commit_ms));
            assert_eq!(
                found.verdict, expected,
                "{kind:?} {commit_ms}: {}",
                found.why
            );
        }
    }

    #[test]
    fn a_device_without_a_volatile_cache_may_be_fast() {
        let fast = Evidence {
            write_cache: Some(WriteCache::Through),
            flushes: Some(0),
            ..evidence(DiskKind::Solid, 0.015)
        };
        let found = judge(&fast);
        assert_eq!(found.verdict, Verdict::Plausible);
        assert!(
            found
                .why
                .starts_with("the device reports no volatile write cache")
        );
    }

    #[test]
    fn commits_that_send_no_flush_are_suspicious() {
        let silent = Evidence {
            flushes: Some(3),
            ..evidence(DiskKind::Virtual, 0.5)
        };
        let found = judge(&silent);
        assert_eq!(found.verdict, Verdict::Suspicious);
        assert!(
            found
                .why
                .ends_with("2000 commits sent only 3 flushes to it")
        );
        let uncounted = Evidence {
            flushes: None,
            ..silent.clone()
        };
        assert_eq!(verdict(&uncounted), Verdict::Plausible);
        let stacked = Evidence {
            kind: Some(DiskKind::Stacked),
            ..silent
        };
        assert_eq!(verdict(&stacked), Verdict::Plausible);
    }

    #[test]
    fn a_mount_without_barriers_and_a_file_system_in_memory_are_suspicious() {
        let without = Evidence {
            mount_options: "rw,nobarrier".into(),
            ..evidence(DiskKind::Solid, 1.0)
        };
        assert_eq!(verdict(&without), Verdict::Suspicious);
        let of = |filesystem: &str| Evidence {
            kind: None,
            write_cache: None,
            filesystem: filesystem.into(),
            ..evidence(DiskKind::Solid, 1.0)
        };
        assert_eq!(verdict(&of("tmpfs")), Verdict::Suspicious);
        assert_eq!(verdict(&of("nfs4")), Verdict::Unknown);
    }
}
