//! `prony server start|shell|stop`: servers started by hand, which leave nothing behind.
//!
//! Tiers: default, all.

use crate::support::process::{ended, nothing_is_left, send};
use crate::support::{Bench, Ended, has};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running `prony server start`, and what it has printed.
struct Running {
    prony: Child,
    printed: String,
}

impl Running {
    fn start(bench: &Bench, arguments: &[&str]) -> Running {
        let mut prony = bench.start(&[&["server", "start"], arguments].concat());
        let mut lines = BufReader::new(prony.stdout.as_mut().unwrap()).lines();
        let mut printed = String::new();
        while !printed.contains("Ctrl-C") {
            let Some(line) = lines.next() else {
                let mut says = String::new();
                let mut errors = prony.stderr.take().unwrap();
                errors.read_to_string(&mut says).unwrap();
                panic!("prony server start failed: {says}");
            };
            printed += &(line.unwrap() + "\n");
        }
        Running { prony, printed }
    }

    /// The word after `name:`.
    fn of(&self, name: &str) -> String {
        let mut lines = self.printed.lines();
        let line = lines.find_map(|line| line.strip_prefix(&format!("{name}:")));
        let word = line.and_then(|line| line.split_whitespace().next());
        word.unwrap_or_else(|| panic!("no {name} in {}", self.printed))
            .to_string()
    }
}

/// Statements to `prony server shell`.
fn shell(bench: &Bench, arguments: &[&str], statements: &str) -> Ended {
    let mut prony: Command = bench.prony(&[&["server", "shell"], arguments].concat());
    let mut prony = prony
        .stdin(Stdio::piped())
        .env("HOME", bench.home())
        .spawn()
        .unwrap();
    let mut input = prony.stdin.take().unwrap();
    input.write_all(statements.as_bytes()).unwrap();
    drop(input);
    ended(prony)
}

#[test]
fn start_prints_how_to_connect_and_ctrl_c_stops_it() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let running = Running::start(&bench, &["mariadb", "--set", "innodb_old_blocks_time=7"]);
    let options = PathBuf::from(running.of("options"));
    assert_eq!(
        std::fs::metadata(&options).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let text = std::fs::read_to_string(&options).unwrap();
    let password = text
        .lines()
        .find_map(|line| line.strip_prefix("password=\"")?.strip_suffix('"'));
    assert!(
        !running.printed.contains(password.unwrap()),
        "{}",
        running.printed
    );
    assert!(text.contains(&running.of("socket")), "{text}");

    // The printed text is enough for another client to connect.
    let mut session = server::Session::open(&spec::Dsn {
        user: "root".into(),
        password: password.map(String::from),
        host: "127.0.0.1".into(),
        port: running.of("port").parse().unwrap(),
        schema: None,
        socket: None,
        others: Vec::new(),
        protection: Default::default(),
        open: Default::default(),
    })
    .unwrap();
    let set = session.query("SELECT @@innodb_old_blocks_time").unwrap();
    assert_eq!(set.first_text().as_deref(), Some("7"));
    drop(session);

    send(running.prony.id(), Signal::INT);
    let ended = ended(running.prony);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    nothing_is_left(&bench);
}

#[test]
#[cfg(tier_all)]
fn stop_ends_every_started_server_of_this_home() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let both = [(); 2].map(|()| Running::start(&bench, &["mariadb"]));
    let stopped = bench.run(&["server", "stop"]);
    assert_eq!(stopped.status, 0, "{}", stopped.stderr);
    assert_eq!(
        stopped.stdout.matches("stopped ").count(),
        2,
        "{}",
        stopped.stdout
    );
    for running in both {
        assert_eq!(ended(running.prony).status, 0);
    }
    nothing_is_left(&bench);
    let again = bench.run(&["server", "stop"]);
    assert!(again.stdout.contains("no server of"), "{}", again.stdout);
}

#[test]
fn an_unknown_setting_is_named() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let ended = bench.run(&["server", "start", "mariadb", "--set", "no_such_setting=1"]);
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("no_such_setting"), "{}", ended.stderr);
    nothing_is_left(&bench);
}

#[test]
fn a_started_server_that_dies_is_reported() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let running = Running::start(&bench, &["mariadb"]);
    let process = running.printed.lines().next().unwrap();
    let pid = process.rsplit(' ').next().unwrap().parse().unwrap();
    send(pid, Signal::KILL);
    let ended = ended(running.prony);
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("exited: "), "{}", ended.stderr);
    nothing_is_left(&bench);
}

fn has_a_shell(build: &str) {
    if !has(build) {
        return;
    }
    let bench = Bench::new();
    // The user's own option file must not be read.
    std::fs::write(bench.home().join(".my.cnf"), "[client]\npassword=wrong\n").unwrap();
    let ended = shell(&bench, &[build], "SELECT user(), version();\n");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("root@localhost"), "{}", ended.stdout);
    nothing_is_left(&bench);
}

#[test]
fn the_shell_is_mariadbs_client() {
    has_a_shell("mariadb");
}

#[test]
fn the_shell_is_mysql_5_6s_client() {
    has_a_shell("mysql@5.6.14");
}

#[test]
fn a_failing_statement_fails_the_shell() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let ended = shell(&bench, &["mariadb"], "SELEC 1;\n");
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("SELEC"), "{}", ended.stderr);
    nothing_is_left(&bench);
}

#[test]
fn settings_that_shape_the_data_folder_apply_when_it_is_created() {
    // Each family creates it with a program of its own.
    for build in ["mariadb", "mysql@5.6.14"] {
        if !has(build) {
            continue;
        }
        let bench = Bench::new();
        let arguments = [build, "--set", "innodb_page_size=8K"];
        let ended = shell(&bench, &arguments, "SELECT @@innodb_page_size;\n");
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        assert!(ended.stdout.contains("8192"), "{}", ended.stdout);
        nothing_is_left(&bench);
    }
}
