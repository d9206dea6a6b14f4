//! Volumes of a server: the redo log on a device of its own, and refusals of machines that cannot have a volume.
//!
//! Tiers: default, all.

use crate::support::process::{as_nobody, nothing_is_left};
use crate::support::timed::{flags, oltp};
use crate::support::{Bench, Ended, can_mount, has};
use store::Store;

const PLACE: &str = "innodb_log_group_home_dir";

/// An experiment with `[host]` of these keys, on a server of this build.
fn experiment(bench: &Bench, build: &str, host: &str) -> String {
    let text = format!(
        "title = \"Volumes\"\n[server.a]\nbuild = \"{build}\"\n[host]\n{host}\n{}[load.closed]\nclients = 2\n[protocol]\ntime = \"3s\"\nwarmup = \"0s\"\n",
        oltp("update-index")
    );
    bench.experiment("volumes", &text)
}

/// Each of these keeps its redo log in another form.
#[test]
#[cfg(tier_all)]
fn the_redo_log_lies_on_a_volume_of_its_own() {
    for build in ["mariadb", "mysql@5.6.14", "mysql@9.7"] {
        if !can_mount() || !has(build) {
            continue;
        }
        let bench = Bench::with_shared_snapshots();
        let file = experiment(&bench, build, "redo_volume = { kind = \"loop\" }");
        let ended = bench.run(&["run", &file]);
        assert!([0, 3].contains(&ended.status), "{build}: {}", ended.stderr);
        let run = bench.runs().pop().unwrap();
        let trial = bench.json(&run)["trials"][0].clone();
        let flag = flags(&trial, "loop_volume");
        assert!(flag.contains("redo log"), "{build}: {}", trial["flags"]);
        assert_eq!(flags(&trial, "setting_adjusted"), "", "{build}");
        assert!(trial["throughput"].as_f64() > Some(0.0), "{build}: {trial}");
        let store = Store::open(&run.join("run.sqlite")).unwrap();
        let place = &store.trials_with(&[PLACE]).unwrap()[0].settings[PLACE];
        assert!(place.contains("redo-volume"), "{build}: {place}");
        nothing_is_left(&bench);
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let folder = bench.folder.path().display().to_string();
        assert!(!mounts.contains(&folder), "{build}: still mounted");
    }
}

#[test]
fn a_redo_volume_beside_a_volatile_one_or_the_setting_is_refused() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    let redo = "redo_volume = { kind = \"loop\" }";
    for (host, says) in [
        (
            format!("{redo}\nvolume = {{ kind = \"volatile\" }}"),
            "would survive a power cut",
        ),
        (
            format!("{redo}\n[settings]\ninnodb_log_group_home_dir = \"redo\""),
            "remove one of them",
        ),
    ] {
        let refused = bench.run(&["check", &experiment(&bench, "mariadb", &host)]);
        assert_eq!(refused.status, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
        assert!(refused.stderr.contains(redo), "{}", refused.stderr);
    }
}

#[test]
fn a_volume_without_root_is_refused_with_the_way_out() {
    // Only root can switch to the user nobody.
    if !can_mount() {
        return;
    }
    for host in [
        "volume = { kind = \"volatile\" }",
        "redo_volume = { kind = \"loop\" }",
    ] {
        let bench = Bench::new();
        let file = experiment(&bench, "mariadb", host);
        is_refused(
            &as_nobody(&bench, &["check", &file]),
            "run prony as root, or remove",
        );
    }
}

/// Runs `prony check` where `hide`, a command of the shell, has hidden a part of the machine from it.
fn check_without(bench: &Bench, hide: &str, file: &str) -> Ended {
    let mut command = std::process::Command::new("unshare");
    let script = format!("{hide} && exec \"$0\" check \"$1\"");
    command.args([
        "--mount",
        "sh",
        "-c",
        &script,
        env!("CARGO_BIN_EXE_prony"),
        file,
    ]);
    command.env("PRONY_HOME", bench.home());
    Ended::from(command.output().unwrap())
}

fn is_refused(refused: &Ended, says: &str) {
    assert_eq!(refused.status, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains(says), "{}", refused.stderr);
}

#[test]
fn a_volume_without_its_mkfs_is_refused_with_the_package_that_has_it() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    let file = experiment(&bench, "mariadb", "volume = { kind = \"loop\" }");
    // A device is no program.
    let hide = "mount --bind /dev/null \"$(command -v mkfs.ext4 || echo /usr/sbin/mkfs.ext4)\"";
    let refused = check_without(&bench, hide, &file);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    for part in [
        "mkfs.ext4 is not installed; install it (apt-get install e2fsprogs)",
        "volume = { kind = \"loop\" }",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
}

#[test]
fn a_volatile_volume_without_fuse_is_refused_with_what_a_kill_cannot_show() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    let file = experiment(&bench, "mariadb", "volume = { kind = \"volatile\" }");
    let hide = "mount -t tmpfs none /dev && touch /dev/loop-control && mknod -m 666 /dev/null c 1 3 \
         && mknod -m 666 /dev/urandom c 1 9";
    let refused = check_without(&bench, hide, &file);
    is_refused(&refused, "a volume requires /dev/fuse, which is missing");
    assert!(
        refused.stderr.contains("say nothing about fsync"),
        "{}",
        refused.stderr
    );
}
