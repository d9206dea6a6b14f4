use super::*;
use server::{Fake, Reply, ServerError};
use spec::{EventKind, EventTime};
use std::process::{Child, Command};

fn sqlite() -> Session {
    Session::Sqlite(rusqlite::Connection::open_in_memory().unwrap())
}

fn event(kind: EventKind) -> EventSpec {
    EventSpec {
        when: EventTime::At(Duration::ZERO),
        kind,
        only: Vec::new(),
    }
}

fn sql(sql: &str) -> EventSpec {
    event(EventKind::Sql(sql.into()))
}

/// A server whose only node says that this is its process.
fn server_of(process: Option<u32>) -> Server {
    let mut fake = Fake::new("fake", |_| Ok(Reply::default()));
    fake.process = process;
    Server::of(fake)
}

fn happening(event: EventSpec, session: Session) -> Happening {
    Happening {
        event,
        session,
        server: server_of(None),
        is_cancelled: Arc::default(),
    }
}

fn repeat(event: EventSpec, goes_on: bool) -> Happened {
    happening(event, sqlite()).repeat(Instant::now(), |_| goes_on)
}

#[test]
fn an_event_whose_time_does_not_come_is_told() {
    let happened = repeat(sql("select 1"), false);
    assert!(happened.notes.is_empty());
    let missed = &happened.missed[0];
    assert!(missed.ends_with("never ran: select 1"), "{missed}");
}

#[test]
fn a_statement_that_is_refused_is_told_and_the_next_runs() {
    let happened = repeat(sql("select nothing; select 1;"), true);
    assert_eq!((happened.notes.len(), happened.failed.len()), (2, 1));
    assert!(happened.missed.is_empty());
}

#[test]
fn an_event_is_noted_with_its_beginning_and_its_end() {
    let before = host::now_ns();
    let happened = repeat(sql("select 1 union select 2"), true);
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
    let mut later = sql("select 1");
    later.when = EventTime::At(Duration::from_secs(1000));
    let origin = Instant::now() - Duration::from_secs(1000);
    let happened = happening(later, sqlite()).repeat(origin, |pause| pause.is_zero());
    assert_eq!(happened.notes.len(), 1);
}

#[test]
fn a_dump_says_how_much_it_read() {
    let happened = repeat(event(EventKind::Dump), true);
    assert_eq!(happened.notes[0].kind, "dump");
    assert!(
        happened.notes[0]
            .text
            .starts_with("dump: 0 tables, 0 rows in")
    );
}

#[test]
fn a_server_of_somebody_else_is_not_paused() {
    let happened = repeat(event(EventKind::Pause(Duration::ZERO)), true);
    assert_eq!(
        happened.failed,
        ["pause: prony pauses only servers that it started itself"]
    );
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
    let means = Means {
        session: sqlite(),
        stopper: Box::new(|| ()),
        server: server_of(Some(server.id())),
    };
    let pause = event(EventKind::Pause(Duration::from_secs(1000)));
    let events = PreparedEvents::new(&[pause], vec![means]).begin(Instant::now());
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
    let means = Means {
        session,
        stopper: Box::new(move || {
            let _ = cancel.send(());
        }),
        server: server_of(None),
    };
    let events = [sql("a long one; another")];
    let events = PreparedEvents::new(&events, vec![means]).begin(Instant::now());
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
