//! End-to-end tests of server builds: download, initialise, start, query, stop.
//!
//! Builds are cached in PRONY_HOME or the user's cache, so only the first test run downloads anything.
//!
//! Tiers: default, all, long.

use crate::support::skip;
use host::{Home, Leases};
use server::{Cache, Distribution};
use server::{ServerError, Session};
use spec::{BuildSpec, Dsn};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

/// Servers need memory and disk, so only one runs at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

static HOME: LazyLock<Home> =
    LazyLock::new(|| Home::from_environment().expect("a home for the tests' servers"));

fn leases() -> Leases {
    Leases::open_with(&HOME, None).expect("a journal")
}

/// The build; None if it is not available on this machine and not required.
fn get(build: &BuildSpec, leases: &Leases) -> Option<Distribution> {
    match Cache::new(&HOME).get_verified(build, leases, &|line| eprintln!("{line}")) {
        Ok(distribution) => Some(distribution),
        Err(reason) => {
            skip::skipped(&format!("{build} is not available: {reason}"));
            None
        }
    }
}

/// A server on a socket in its own folder, killed when dropped.
struct Instance {
    process: Child,
    dsn: Dsn,
}

impl Instance {
    fn start(
        distribution: &Distribution,
        leases: &Leases,
        data: &Path,
        options: &[&str],
    ) -> Instance {
        let socket = data.join("s.sock");
        let log = std::fs::File::create(data.with_extension("log")).unwrap();
        let mut command = distribution.command(leases);
        command
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", socket.display()))
            .arg(format!("--pid-file={}", data.join("pid").display()))
            .arg(format!("--tmpdir={}", data.parent().unwrap().display()))
            .arg("--skip-networking")
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let process = command.spawn().expect("the server starts");
        let dsn = Dsn {
            user: "root".into(),
            password: None,
            host: "127.0.0.1".into(),
            port: 3306,
            schema: None,
            socket: Some(socket),
            others: Vec::new(),
            protection: Default::default(),
            open: Default::default(),
        };
        let mut instance = Instance { process, dsn };
        instance.wait(&data.with_extension("log"));
        instance
    }

    fn wait(&mut self, log: &Path) {
        let deadline = Instant::now() + Duration::from_secs(600);
        while let Err(error) = Session::open(&self.dsn) {
            let ended = self.process.try_wait().unwrap();
            let patient = ended.is_none() && Instant::now() < deadline;
            assert!(
                patient,
                "no answer ({error}), ended: {ended:?}\n{}",
                std::fs::read_to_string(log).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn session(&self) -> Session {
        Session::open(&self.dsn).unwrap()
    }

    fn stop(mut self) {
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.process),
            rustix::process::Signal::TERM,
        )
        .unwrap();
        let status = self.process.wait().unwrap();
        assert!(status.success(), "a clean stop, not {status}");
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn text(session: &mut Session, sql: &str) -> String {
    session.query(sql).unwrap().first_text().unwrap_or_default()
}

fn works(build: &BuildSpec) {
    let _alone = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let leases = leases();
    let Some(distribution) = get(build, &leases) else {
        return;
    };
    let known = distribution.known_settings(&leases).unwrap();
    assert!(known.knows("innodb_buffer_pool_size") && !known.knows("innodb_buffer_pool_sise"));
    let folder = leases.temporary("test").unwrap();
    let data = folder.path().join("data");
    let begun = Instant::now();
    distribution.initialise(&leases, &data, &[]).unwrap();
    let initialised = begun.elapsed();
    let wanted = ["--innodb_buffer_pool_size=32M", "--innodb_log_file_size=8M"];
    let understood = |option: &&str| known.knows(option[2..].split('=').next().unwrap());
    let options: Vec<&str> = wanted.into_iter().filter(understood).collect();
    let instance = Instance::start(&distribution, &leases, &data, &options);
    eprintln!(
        "{}: {} initialised in {initialised:?}, first answer after {:?}, {} settings",
        distribution.build,
        distribution.version_text,
        begun.elapsed() - initialised,
        known.names().count()
    );
    let mut session = instance.session();
    assert!(text(&mut session, "select version()").starts_with(&distribution.version_text));
    assert_eq!(
        text(
            &mut session,
            "select count(*) from mysql.user where User = ''"
        ),
        "0"
    );
    assert_eq!(
        text(
            &mut session,
            "select count(*) from mysql.user where User = 'root' and Host not in ('localhost', '127.0.0.1', '::1')"
        ),
        "0"
    );
    assert_eq!(
        text(
            &mut session,
            "select count(*) from information_schema.schemata where schema_name = 'test'"
        ),
        "0"
    );
    assert_eq!(text(&mut session, "select @@character_sets_dir <> ''"), "1");
    tables_work(&mut session);
    load_data_local_works(&mut session);
    instance.stop();
}

fn tables_work(session: &mut Session) {
    session.execute("create database t").unwrap();
    for engine in ["InnoDB", "MyISAM"] {
        session
            .execute(&format!(
                "create table t.{engine} (a int primary key, b varchar(10)) engine={engine}"
            ))
            .unwrap();
        assert_eq!(
            session
                .execute(&format!(
                    "insert into t.{engine} values (1, 'x'), (2, NULL)"
                ))
                .unwrap(),
            2
        );
        let reply = session
            .query(&format!("select a, b from t.{engine} order by a"))
            .unwrap();
        assert_eq!(reply.columns, ["a", "b"]);
        assert_eq!(reply.rows[1], [Some(b"2".to_vec()), None]);
    }
    let refused = session.query("select * from t.nothing").unwrap_err();
    assert!(
        matches!(refused, ServerError::Refused { code: 1146, .. }),
        "{refused}"
    );
}

fn load_data_local_works(session: &mut Session) {
    let load = "load data local infile 'rows' into table t.InnoDB fields terminated by '|'";
    let rows = |from: u32| -> server::Producer {
        Box::new(move |to| (from..from + 1000).try_for_each(|row| writeln!(to, "{row}|r{row}")))
    };
    match session.load(load, rows(10)) {
        Ok(count) => assert_eq!(count, 1000),
        Err(refused) => {
            assert!(refused.is_local_infile_refused(), "{refused}");
            session.execute("set global local_infile = 1").unwrap();
            assert_eq!(session.load(load, rows(10)).unwrap(), 1000);
        }
    }
    assert_eq!(
        text(session, "select sum(b = concat('r', a)) from t.InnoDB"),
        "1000"
    );
    session.execute("set global local_infile = 0").unwrap();
    let refused = session.load(load, rows(2000)).unwrap_err();
    assert!(refused.is_local_infile_refused(), "{refused}");
    assert_eq!(text(session, "select 1"), "1");
}

fn mysql(version: &str) -> BuildSpec {
    BuildSpec::Mysql(version.into())
}

fn mariadb(version: &str) -> BuildSpec {
    BuildSpec::MariaDb(Some(version.into()))
}

#[test]
fn mariadb_of_the_distribution_works() {
    works(&BuildSpec::MariaDb(None));
}

#[test]
fn mysql_5_6_14_works() {
    works(&mysql("5.6.14"));
}

#[test]
#[cfg(tier_all)]
fn mysql_5_5_34_works() {
    works(&mysql("5.5.34"));
}

#[test]
#[cfg(tier_all)]
fn mysql_5_6_21_works() {
    works(&mysql("5.6.21"));
}

#[test]
#[cfg(tier_all)]
fn mysql_8_0_33_works() {
    works(&mysql("8.0.33"));
}

#[test]
#[cfg(tier_all)]
fn mysql_9_7_works() {
    works(&mysql("9.7"));
}

#[test]
#[cfg(tier_all)]
fn mariadb_10_2_11_works() {
    works(&mariadb("10.2.11"));
}

#[test]
#[cfg(tier_all)]
fn mariadb_11_4_5_works() {
    works(&mariadb("11.4.5"));
}

#[test]
#[cfg(tier_all)]
fn mariadb_11_8_works() {
    works(&mariadb("11.8"));
}

/// Measures the client cost of a load: 600 MB into a BLACKHOLE table. It prints a figure and asserts nothing.
#[test]
#[cfg(tier_long)]
fn measure_loading_600_mb() {
    let _alone = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let leases = leases();
    let Some(distribution) = get(&mysql("5.6.14"), &leases) else {
        return;
    };
    let folder = leases.temporary("test").unwrap();
    let data = folder.path().join("data");
    distribution.initialise(&leases, &data, &[]).unwrap();
    let instance = Instance::start(&distribution, &leases, &data, &[]);
    let mut session = instance.session();
    session.execute("create database t").unwrap();
    session
        .execute("create table t.hole (a int, b varchar(100)) engine=blackhole")
        .unwrap();
    let load = "load data local infile 'x' into table t.hole fields terminated by '|'";
    let rows = format!("{}|{}\n", 1_234_567, "x".repeat(91)).repeat(10_000);
    let file = folder.path().join("rows");
    std::fs::write(&file, rows.repeat(600)).unwrap();
    let begun = Instant::now();
    session
        .load(
            load,
            Box::new(move |to| (0..600).try_for_each(|_| to.write_all(rows.as_bytes()))),
        )
        .unwrap();
    eprintln!("prony: {:?}", begun.elapsed());
    let mut client = distribution.client_command().unwrap();
    let load = load.replace("'x'", &format!("'{}'", file.display()));
    client
        .args(["--no-defaults", "--local-infile=1", "-uroot"])
        .arg(format!(
            "--socket={}",
            instance.dsn.socket.as_ref().unwrap().display()
        ));
    let begun = Instant::now();
    assert!(client.args(["-e", &load]).status().unwrap().success());
    eprintln!("the server's own client: {:?}", begun.elapsed());
    instance.stop();
}
