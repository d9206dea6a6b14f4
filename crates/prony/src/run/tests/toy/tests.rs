//! The toy through the seam, as a run uses a workload.

use super::*;
use load::{Backend, Drive, Driven, Load, Watch};
use server::fake_reply as reply;
use server::{Fake, Node as _, Reply, StartRequest};
use std::sync::Mutex;
use wire::Login;

fn fake(script: impl FnMut(&str) -> Result<Reply, ServerError> + Send + 'static) -> Fake {
    let server = Fake::new("fake", script);
    server.start(&StartRequest::default()).unwrap();
    server
}

/// A server that answers everything with an empty reply.
fn silent() -> Fake {
    fake(|_| Ok(Reply::default()))
}

fn load(data: &dyn Dataset, server: &Fake) -> Result<Loaded, LoadError> {
    data.create(&mut server.connect().unwrap(), &AllowDrop::No)?;
    let connect = server.connector().unwrap();
    data.load(&*connect, &|_| {}, &|| false)
}

#[test]
fn data_loads_and_verifies_on_a_server_that_answers_nothing() {
    let toy = Toy::rounds();
    let (data, server) = (toy.data().unwrap(), silent());
    let session = &mut server.connect().unwrap();
    assert_eq!(data.state(session).unwrap(), DatasetState::Absent);
    assert_eq!(load(data, &server).unwrap().rows, 10);
    data.verify(session).unwrap();
    let complete = DatasetState::Complete(data.fingerprint());
    assert_eq!(data.state(session).unwrap(), complete);
    assert_eq!(data.data_bytes(session).unwrap(), data.estimate().rows);
    assert_eq!(data.preload(session).unwrap().indexes, 1);
}

#[test]
fn a_server_decides_what_it_holds_if_its_replies_have_cells() {
    let toy = Toy::rounds();
    let (data, server) = (toy.data().unwrap(), fake(|_| Ok(reply("c", &[Some("9")]))));
    let session = &mut server.connect().unwrap();
    assert_eq!(
        data.state(session).unwrap(),
        DatasetState::Complete("9".into())
    );
    let exists = load(data, &server).unwrap_err();
    assert!(matches!(exists, LoadError::Exists { .. }), "{exists}");
    data.create(session, &AllowDrop::Pronys).unwrap();
    let wrong = data.verify(session).unwrap_err().to_string();
    assert!(wrong.starts_with("toy: it has 9 rows"), "{wrong}");
}

#[test]
fn a_load_fails_by_script_and_leaves_no_data() {
    let mut data = ToyData::new(4);
    data.fails = Some(|| LoadError::Cancelled {
        rows: 2,
        rows_total: 4,
    });
    let server = silent();
    let failed = load(&data, &server).unwrap_err();
    assert!(matches!(failed, LoadError::Cancelled { rows: 2, .. }));
    let state = data.state(&mut server.connect().unwrap()).unwrap();
    assert_eq!(state, DatasetState::Absent);
}

#[test]
fn a_load_fails_when_its_server_dies() {
    let mut server = silent();
    server.dies_at = Some(4);
    let died = load(&ToyData::new(4), &server).unwrap_err();
    let LoadError::Server { cause, .. } = died else {
        panic!("{died}");
    };
    assert!(matches!(cause, ServerError::Lost(_)));
}

#[test]
fn a_cancelled_load_reports_progress_until_then() {
    let (data, server) = (ToyData::new(4), silent());
    let seen = Mutex::new(Vec::new());
    let connect = server.connector().unwrap();
    let progress = |one: Progress| seen.lock().unwrap().push(one.rows);
    let cancel = || !seen.lock().unwrap().is_empty();
    let cancelled = data.load(&*connect, &progress, &cancel).unwrap_err();
    assert!(matches!(cancelled, LoadError::Cancelled { .. }));
    assert_eq!(*seen.lock().unwrap(), [2]);
}

#[test]
fn queries_come_in_order_with_their_reference() {
    let mut toy = Toy::rounds();
    toy.reference = Some(Reference::Rows(Vec::new()));
    let queries = toy.queries().unwrap();
    let sent: Vec<String> = queries.operations().into_iter().map(|q| q.mysql).collect();
    assert_eq!(sent, [sql("Q1"), sql("Q2")]);
    assert_eq!(queries.reference("Q1"), toy.reference);
    assert!(Toy::timed().queries().is_none());
}

fn server_target() -> Target {
    Target::Server {
        readers: None,
        login: Login {
            endpoints: Vec::new(),
            user: "nobody".into(),
            password: None,
            schema: None,
            protection: Default::default(),
            login_timeout: Duration::ZERO,
            stall_timeout: None,
        },
        session: Vec::new(),
    }
}

/// The audit of a load that ended like this.
fn audit(toy: &Toy, place: Audited, tallies: &[Tally]) -> Result<AuditNote, AuditError> {
    let target = match place {
        Audited::Folder(folder) => Target::Folder(folder.into()),
        Audited::Server { .. } => server_target(),
    };
    let ended = Ended {
        tallies,
        crashes_ns: &[],
    };
    let work = toy.work(&target, 1).unwrap();
    let note = work.audit.unwrap().audit(place, &ended)?;
    Ok(note.unwrap())
}

/// Two clients for a second, in which a busy machine lets each of them run.
fn drive(toy: &Toy, target: &Target) -> Driven {
    let asked = Drive::new(Load::closed(2), Duration::from_secs(1));
    let work = toy.work(target, 1).unwrap();
    work.driver
        .drive(&asked, &AtomicBool::new(false), Watch::default())
        .unwrap()
}

#[test]
fn a_timed_load_ends_as_scripted_without_a_server() {
    let toy = Toy {
        outcome: |request| match request.operation {
            0 => Outcome::Done,
            _ => Outcome::Failed(1205),
        },
        ..Toy::timed()
    };
    let driven = drive(&toy, &server_target());
    assert_eq!(driven.tallies.len(), 2);
    let (read, write) = (driven.tallies[0], driven.tallies[1]);
    assert!(read.done() > 0 && read.not_done() == 0, "{read:?}");
    assert!(write[Ending::Failed] > 0 && write.done() == 0, "{write:?}");
    let work = toy.work(&server_target(), 1).unwrap();
    assert_eq!(work.driver.operations(), ["read", "write"]);
}

#[test]
fn a_folder_is_driven_by_threads_and_its_audit_finds_lost_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let toy = Toy::on_folder();
    let driven = drive(&toy, &Target::Folder(folder.path().into()));
    assert_eq!(driven.backend, Backend::Blocking);
    let path = folder.path().to_path_buf();
    let audited = || audit(&toy, Audited::Folder(&path), &driven.tallies);
    let passed = AuditNote {
        acknowledged: driven.tallies[0].done(),
        ..AuditNote::default()
    };
    assert_eq!(audited().unwrap(), passed);
    std::fs::write(path.join("client-0"), "").unwrap();
    assert_eq!(audited().unwrap().violations.len(), 1);
    folder.close().unwrap();
    assert!(matches!(audited(), Err(AuditError::Folder { .. })));
}

#[test]
fn an_audit_on_a_server_sees_its_sessions_and_the_tallies() {
    let toy = Toy {
        audit: Some(|place, ended| {
            let Audited::Server { connect, .. } = place else {
                panic!("the target is a server");
            };
            let rows = connect()?.query("SELECT 1")?.rows.len() as u64;
            Ok(AuditNote {
                acknowledged: ended.tallies.iter().map(Tally::done).sum(),
                lost: rows,
                ..AuditNote::default()
            })
        }),
        ..Toy::timed()
    };
    let mut tally = Tally::default();
    tally[Ending::Done] = 3;
    let server = silent();
    let connect = || server.connect();
    let audited = || {
        audit(
            &toy,
            Audited::Server {
                connect: &connect,
                further: &[],
            },
            &[tally],
        )
    };
    let note = audited().unwrap();
    assert_eq!((note.acknowledged, note.lost), (3, 0));
    server.stop().unwrap();
    assert!(matches!(audited(), Err(AuditError::Server(_))));
    let work = Toy::timed().work(&server_target(), 1).unwrap();
    assert!(work.audit.is_none());
}

#[test]
fn a_toy_has_no_driver_for_the_other_kind_of_target() {
    let folder = Target::Folder("/".into());
    assert!(Toy::timed().work(&folder, 1).is_none());
    assert!(Toy::on_folder().work(&server_target(), 1).is_none());
    assert!(Toy::rounds().work(&server_target(), 1).is_none());
}
