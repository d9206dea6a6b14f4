use super::kinds::KINDS;
use super::uptime::Phase;
use super::*;
use crate::run::tests::read_on_server;
use server::{Fake, Reply, ServerError};
use spec::{EventTime, Experiment};
use std::collections::BTreeMap;
use std::process::{Child, Command};

fn sqlite() -> Session {
    Session::Sqlite(rusqlite::Connection::open_in_memory().unwrap())
}

/// Opens further such sessions.
fn reopen() -> Reopen {
    Box::new(|| Ok((sqlite(), Box::new(|| ()))))
}

/// A file with this event, due at once.
fn file(event: &str) -> Experiment {
    let source = format!(
        "title = 't'\nquestion = 'q'\n[server.a]\nbuild = 'mariadb'\n[workload.oltp]\n\
         [protocol]\ntime = '60s'\n[[event]]\nat = '0s'\n{event}\n"
    );
    read_on_server(&source)
}

/// The event and what it does.
fn event(event: &str) -> (EventSpec, Action) {
    event_of(&file(event))
}

fn event_of(experiment: &Experiment) -> (EventSpec, Action) {
    let mut actions = spec::events::read(experiment, &KINDS).unwrap();
    (experiment.events[0].clone(), actions.remove(0))
}

fn sql(sql: &str) -> (EventSpec, Action) {
    event(&format!("sql = '{sql}'"))
}

/// A server whose only node says that this is its process.
fn server_of(process: Option<u32>) -> Server {
    let mut fake = Fake::new("fake", |_| Ok(Reply::default()));
    fake.process = process;
    Server::of(fake)
}

/// The event on SQLite, with what ends its load.
fn happening((event, action): (EventSpec, Action)) -> (Sender<()>, Happening) {
    let (stop, stopped) = channel();
    let happening = Happening {
        event,
        action,
        session: Some(sqlite()),
        reopen: reopen(),
        stops: Stops::new(Box::new(|| ()), None),
        server: Some(server_of(None)),
        power: None,
        changes: Arc::default(),
        uptime: Arc::default(),
        observed: Arc::default(),
        opened_after: 0,
        is_cancelled: Arc::default(),
        stopped,
        happened: Happened::default(),
        log: None,
        numbers: BTreeMap::new(),
        node: None,
    };
    (stop, happening)
}

/// Runs it while the load goes on.
fn happened(event: (EventSpec, Action)) -> Happened {
    let (_stop, happening) = happening(event);
    happening.repeat(Instant::now())
}

#[test]
fn every_kind_that_a_file_may_name_has_its_row() {
    let mut named = spec::event::KINDS;
    let mut rows = KINDS.map(|kind| kind.name);
    named.sort_unstable();
    rows.sort_unstable();
    assert_eq!(named, rows);
}

#[test]
fn an_event_whose_time_does_not_come_is_told() {
    let (stop, happening) = happening(sql("select 1"));
    drop(stop);
    let happened = happening.repeat(Instant::now());
    assert!(happened.notes.is_empty());
    let missed = &happened.missed[0];
    assert!(missed.ends_with("this \"sql\" event never ran"), "{missed}");
}

#[test]
fn a_statement_that_is_refused_is_told_and_the_next_runs() {
    let happened = happened(sql("select nothing; select 1;"));
    assert_eq!((happened.notes.len(), happened.failed.len()), (2, 1));
    assert!(happened.missed.is_empty());
}

#[test]
fn an_event_is_noted_with_its_beginning_and_its_end() {
    let before = host::now_ns();
    let happened = happened(sql("select 1 union select 2"));
    let note = &happened.notes[0];
    let ended = note.ended_ns.unwrap();
    assert!(before <= note.at_ns && note.at_ns <= ended && ended <= host::now_ns());
    assert!(
        note.text.starts_with("select 1 union select 2: 2 rows in "),
        "{}",
        note.text
    );
}

#[test]
fn times_count_from_the_origin_and_not_from_the_beginning_of_the_thread() {
    let (mut later, action) = sql("select 1");
    later.when = EventTime::At(Duration::from_secs(1000));
    let (_stop, happening) = happening((later, action));
    let happened = happening.repeat(Instant::now() - Duration::from_secs(1000));
    assert_eq!(happened.notes.len(), 1);
}

#[test]
fn a_dump_says_how_much_it_read() {
    let happened = happened(event("dump = {}"));
    assert_eq!(happened.notes[0].kind, "dump");
    assert!(
        happened.notes[0]
            .text
            .starts_with("dump: 0 tables, 0 rows in")
    );
}

#[test]
fn a_server_of_somebody_else_is_not_paused() {
    let happened = happened(event("pause = { for = '1s' }"));
    assert_eq!(
        happened.failed,
        ["pause: prony pauses only servers that it started itself"]
    );
}

#[test]
fn a_pause_waits_for_no_other_node() {
    let source = "title = 't'\nquestion = 'q'\n[server.a]\nbuild = 'mariadb'\ntopology = 'galera'\nnodes = 2\n\
                  [workload.oltp]\n[protocol]\ntime = '60s'\n[[event]]\nat = '0s'\npause = { node = 2, for = '1s' }\n";
    let (stop, happening) = happening(event_of(&read_on_server(source)));
    assert_eq!(happening.uptime.begin(1), Phase::Up);
    let left_down = Phase::Down("kill", Instant::now());
    happening.uptime.end(1, left_down);
    let thread = std::thread::spawn(move || happening.repeat(Instant::now()));
    let began = Instant::now();
    while !thread.is_finished() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(stop);
    // The fake server has one node.
    let expected = "pause: prony pauses only servers that it started itself";
    assert_eq!(thread.join().unwrap().failed, [expected]);
}

#[test]
fn an_event_that_an_outage_kept_off_says_so() {
    let (_stop, happening) = happening(sql("select 1"));
    happening.uptime.end(1, Phase::Lost);
    let happened = happening.repeat(Instant::now());
    let missed = &happened.missed[0];
    assert!(missed.contains("the server was up again"), "{missed}");
}

/// The means of an event whose statement `stopper` ends, on a server with this process.
fn means(session: Session, stopper: Stopper, process: Option<u32>) -> Means {
    Means {
        power: None,
        changes: Arc::default(),
        session: Some(session),
        stopper,
        reopen: reopen(),
        server: Some(server_of(process)),
    }
}

fn prepared((event, action): (EventSpec, Action), means: Means) -> PreparedEvents {
    let means = std::cell::Cell::new(Some(means));
    let once = || means.take().ok_or(());
    PreparedEvents::open(&[event], &[action], once).unwrap()
}

fn is_stopped(child: &Child) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    stat.contains(") T ")
}

fn comes_to(child: &Child, stopped: bool) -> bool {
    let began = Instant::now();
    while is_stopped(child) != stopped && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    is_stopped(child) == stopped
}

#[test]
fn a_pause_ends_with_the_load_and_the_server_goes_on() {
    let mut server = Command::new("sleep").arg("1000").spawn().unwrap();
    let means = means(sqlite(), Box::new(|| ()), Some(server.id()));
    let pause = event("pause = { for = '1000s' }");
    let events = prepared(pause, means).begin(Instant::now());
    assert!(comes_to(&server, true));
    let happened = events.cancel();
    assert!(comes_to(&server, false));
    let text = &happened.notes[0].text;
    assert!(text.ends_with("s, then the load was over"), "{text}");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_statement_under_way_at_the_end_is_cancelled_and_no_failure() {
    let (cancel, cancelled) = channel();
    let (running, runs) = channel();
    let session = Session::Scripted(Box::new(move |_| {
        running.send(()).unwrap();
        cancelled.recv().unwrap();
        let message = "Query execution was interrupted".into();
        Err::<Reply, _>(ServerError::Refused {
            code: 1317,
            message,
        })
    }));
    let stopper = Box::new(move || {
        let _ = cancel.send(());
    });
    let means = means(session, stopper, None);
    let events = prepared(sql("a long one; another"), means).begin(Instant::now());
    runs.recv().unwrap();
    let happened = events.cancel();
    assert!(happened.failed.is_empty());
    let texts: Vec<&str> = happened
        .notes
        .iter()
        .map(|note| note.text.as_str())
        .collect();
    assert_eq!(texts, ["a long one: cancelled, since the load was over"]);
}

/// What is wrong with a file with this event, in one line.
fn refused(event: &str) -> String {
    let error = spec::events::read(&file(event), &KINDS).err().unwrap();
    error.mistakes()[0].to_string()
}

#[test]
fn a_wrong_value_of_an_event_is_refused_before_the_run() {
    assert!(
        refused("pause = {}").contains("for"),
        "{}",
        refused("pause = {}")
    );
    assert!(refused("dump = { all = true }").contains("all"));
    assert!(refused("sql = 'select 1; select \"'").contains('"'));
    let down = refused("kill = { restart = false, within = '10s' }");
    assert!(down.contains("starts nothing"), "{down}");
}

#[test]
fn only_sql_happens_beside_rounds() {
    let in_rounds: Vec<&str> = KINDS
        .iter()
        .filter(|kind| kind.in_rounds)
        .map(|kind| kind.name)
        .collect();
    assert_eq!(in_rounds, ["sql"]);
    let needs_process: Vec<&str> = KINDS
        .iter()
        .filter(|kind| kind.needs == spec::Needs::Process)
        .map(|kind| kind.name)
        .collect();
    assert_eq!(
        needs_process,
        ["pause", "kill", "stop", "start", "power_cut", "set"]
    );
}

#[test]
fn a_power_cut_needs_a_volatile_volume() {
    let (_stop, mut happening) = happening(event("power_cut = { survive = 'torn', seed = 7 }"));
    happening.server = Some(server_of(Some(std::process::id())));
    let happened = happening.repeat(Instant::now());
    let expected = "power_cut: the data does not lie on a volatile volume";
    assert_eq!(happened.failed, [expected]);
}

#[test]
fn an_unknown_mode_of_survival_is_refused() {
    let says = refused("power_cut = { survive = 'half' }");
    assert!(
        says.contains("what survives \"half\" is not known"),
        "{says}"
    );
    assert!(refused("power_cut = { seed = -1 }").contains("seed"));
}

/// An event that waits for a checkpoint age.
fn at_a_state() -> (EventSpec, Action) {
    let source = "title = 't'\nquestion = 'q'\n[server.a]\nbuild = 'mariadb'\n[workload.oltp]\n\
                  [protocol]\ntime = '60s'\n[[event]]\nwhen = 'checkpoint_age > 80%'\nsql = 'select 1'\n";
    event_of(&read_on_server(source))
}

fn checkpoint_age(value: f64) -> BTreeMap<String, f64> {
    BTreeMap::from([
        ("checkpoint age".to_string(), value),
        ("checkpoint age limit".to_string(), 100.0),
    ])
}

#[test]
fn an_event_with_a_condition_happens_once_when_it_is_met() {
    let (_stop, happening) = happening(at_a_state());
    let observed = happening.observed.clone();
    observed.put(&checkpoint_age(79.0));
    let thread = std::thread::spawn(move || happening.repeat(Instant::now()));
    std::thread::sleep(Duration::from_millis(200));
    assert!(!thread.is_finished(), "79 % is not above 80 %");
    observed.put(&checkpoint_age(81.0));
    let happened = thread.join().unwrap();
    assert_eq!((happened.notes.len(), happened.missed.len()), (1, 0));
}

#[test]
fn a_condition_that_is_never_met_is_flagged_with_the_last_value() {
    let (stop, happening) = happening(at_a_state());
    happening.observed.put(&checkpoint_age(79.0));
    drop(stop);
    let happened = happening.repeat(Instant::now());
    assert!(happened.notes.is_empty());
    let missed = &happened.missed[0];
    assert!(
        missed.contains("checkpoint_age > 80% was true (last value: 79)"),
        "{missed}"
    );
}

#[test]
fn a_setting_of_which_the_server_uses_another_value_is_named() {
    let set = event("set = { settings = { innodb_io_capacity = 100000 } }");
    let (_stop, mut happening) = happening(set);
    happening.session = Some(Session::Scripted(Box::new(|sql| {
        if sql.contains("@@SESSION.") {
            return Err(ServerError::Refused {
                code: 1238,
                message: "it is a GLOBAL variable".into(),
            });
        }
        Ok(Reply {
            rows: vec![vec![Some(b"2000".to_vec())]],
            ..Reply::default()
        })
    })));
    let happened = happening.repeat(Instant::now());
    assert!(happened.failed.is_empty(), "{:?}", happened.failed);
    let expected =
        "a \"set\" event requested innodb_io_capacity = 100000, and the server uses 2000";
    assert_eq!(happened.adjusted, [expected]);
}

#[test]
fn a_statement_that_changes_the_server_for_good_is_named() {
    let (_stop, mut happening) = happening(sql("set @a = 1; set global b = 2"));
    let reply = |_: &str| Ok::<_, ServerError>(Reply::default());
    happening.session = Some(Session::Scripted(Box::new(reply)));
    let happened = happening.repeat(Instant::now());
    assert_eq!((happened.notes.len(), happened.left.len()), (2, 1));
    assert!(happened.left[0].contains(": set global b = 2;"));
}

#[test]
fn an_earlier_outage_does_not_excuse_an_event_without_a_connection() {
    let (_stop, happening) = happening(event("set = { limits = { write_iops = 200 } }"));
    assert_eq!(happening.uptime.begin(1), Phase::Up);
    happening.uptime.end(1, Phase::Up);
    let happened = happening.repeat(Instant::now());
    assert_eq!(happened.failed, ["set: the target has no limits"]);
}
