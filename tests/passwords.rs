//! Passwords reach neither other processes nor messages.
//!
//! Tier: default.

use crate::support::Bench;
use std::os::unix::fs::PermissionsExt;

const PASSWORD: &str = "0penSesame7";

/// A server's program that only writes its environment to a file and prints a version.
const SPY: &str = "#!/bin/sh
env > \"$SPY_FILE\"
echo 'mysqld  Ver 5.6.14 for linux on x86_64 (MySQL Community Server)'
";

#[test]
fn a_child_process_does_not_inherit_the_password() {
    let bench = Bench::new();
    let program = bench.folder.path().join("spy/bin/mysqld");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::write(&program, SPY).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let seen = bench.folder.path().join("seen");
    let build = format!("path:{}/spy", bench.folder.path().display());
    let mut prony = bench.prony(&["server", "get", &build]);
    prony.env("PRONY_PASSWORD", PASSWORD).env("SPY_FILE", &seen);
    let ended = prony.output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.contains("SPY_FILE="), "{seen}");
    assert!(!seen.contains("PRONY_PASSWORD"), "{seen}");
    assert!(!seen.contains(PASSWORD), "{seen}");
}

#[test]
fn no_error_for_a_mistyped_dsn_shows_its_password() {
    let bench = Bench::new();
    for dsn in ["mysq://me:0penSesame7@db", "mysql:/me:0pen=Sesame7@db"] {
        let file = bench.experiment(
            "mistyped",
            &format!("title = \"t\"\n[server.a]\nbuild = \"{dsn}\"\n[workload.ssb]\nscale = 1\n"),
        );
        let named = format!("a={dsn}");
        for arguments in [
            &["check", &file][..],
            &["check", "quickstart", "--server", dsn],
            &["check", "quickstart", "--server", &named],
            &["bench", "oltp-point-select", "--server", dsn],
            &["bench", "oltp-point-select", "--server", &named],
            &["server", "get", dsn],
        ] {
            let ended = bench.run(arguments);
            assert_eq!(ended.status, 2, "{}", ended.stderr);
            for word in ["Sesame", "0pen"] {
                assert!(!ended.stderr.contains(word), "{}", ended.stderr);
                assert!(!ended.stdout.contains(word), "{}", ended.stdout);
            }
        }
    }
}

#[test]
fn a_password_on_the_command_line_causes_a_hint() {
    let bench = Bench::new();
    let dsn = |login: &str| format!("mysql://{login}@127.0.0.1:1/");
    let says = |dsn: &str| bench.run(&["check", "quickstart", "--server", dsn]).stderr;
    let visible = says(&dsn(&format!("me:{PASSWORD}")));
    assert_eq!(
        visible.matches("set PRONY_PASSWORD instead").count(),
        1,
        "{visible}"
    );
    assert!(!visible.contains(PASSWORD), "{visible}");
    let hidden = says(&dsn("me"));
    assert!(!hidden.contains("hint: other users"), "{hidden}");
}
