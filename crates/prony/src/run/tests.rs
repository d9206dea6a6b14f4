//! Runs on fake servers: the order of trials, resuming, series and every failure of a trial, in milliseconds.

mod further_blocks;
mod on_folder;
mod sharing;
pub(super) mod toy;

use super::{Conducted, Means, Progress, Request, RunError, Workloads, conduct_with};
use ::report::Detail;
use host::{Home, Leases};
use load::{Failure, Outcome};
use record::{AuditNote, Trial, TrialState};
use server::{Fake, FakeProvider, Provider, Reply, ServerError};
use spec::Experiment;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use toy::{Toy, ToyData};
use workload::LoadError;
use workload::answers::Reference;

/// A folder in memory, where fsync costs nothing.
fn in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

/// What the runs of a test share: a home, a results folder and a fake server.
struct Setup {
    folder: TempDir,
    home: Home,
    leases: Leases,
    node: Arc<Fake>,
}

impl Setup {
    fn new() -> Setup {
        Setup::with(fake())
    }

    fn with(node: Fake) -> Setup {
        let folder = in_memory();
        let home = Home::at(folder.path().join("home")).unwrap();
        Setup {
            leases: Leases::open_with(&home, None).unwrap(),
            home,
            folder,
            node: Arc::new(node),
        }
    }

    fn request(&self, experiment: Experiment, toy: fn() -> Toy) -> Request {
        Request {
            workloads: Workloads::opened_by(move |_, _| Ok(Arc::new(toy()))),
            ..Request::new(experiment, 1, self.folder.path().join("results"))
        }
    }

    fn conduct(&self, request: &Request) -> Result<Conducted, RunError> {
        let progress = Progress::silent();
        let means = Means {
            home: &self.home,
            leases: &self.leases,
            progress: &progress,
            provide: &|_| Ok(Box::new(FakeProvider::of(self.node.clone())) as Box<dyn Provider>),
        };
        conduct_with(request, &means)
    }

    fn resume(&self, begun: &Conducted, request: Request) -> Conducted {
        let resume = Some(begun.folder.display().to_string());
        self.conduct(&Request { resume, ..request }).unwrap()
    }

    fn run(&self, experiment: Experiment, toy: fn() -> Toy) -> Conducted {
        self.conduct(&self.request(experiment, toy)).unwrap()
    }

    /// Folders of trials and unfinished snapshots.
    fn left_behind(&self) -> Vec<String> {
        let folders = [self.home.work(), self.home.snapshots()];
        let entries = folders
            .iter()
            .flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.starts_with("trial-") || name.starts_with("building-"))
            .collect()
    }
}

/// A server that answers every statement with an empty reply.
fn fake() -> Fake {
    Fake::new("fake", |_| Ok(Reply::default()))
}

/// A file of a workload on a server.
pub(super) fn read_on_server(source: &str) -> Experiment {
    let on_server = |_: &str, _: &spec::Section| Some(spec::TargetKind::Server);
    spec::parse("t", "t.toml", source, &on_server).unwrap()
}

fn experiment(text: &str) -> Experiment {
    let source = format!(
        "title = 't'\nquestion = 'q'\n[server.a]\nbuild = 'mariadb'\n[workload.ssb]\n{text}"
    );
    read_on_server(&source)
}

/// One hot round of two queries, in two variants.
fn rounds(blocks: u32) -> Experiment {
    experiment(&format!(
        "[variant.x]\nsettings = {{}}\n[variant.y]\nsettings = {{}}\n[protocol]\nrounds = ['hot']\nblocks = {blocks}\n"
    ))
}

/// A closed load of 150 ms for each number of clients.
fn timed(clients: &str, more: &str) -> Experiment {
    experiment(&format!(
        "[load.closed]\nclients = {clients}\n[protocol]\ntime = '150ms'\n{more}"
    ))
}

fn flags(trial: &Trial) -> String {
    trial
        .flags
        .iter()
        .map(|flag| format!("{}: {}\n", flag.kind, flag.text))
        .collect()
}

fn states(conducted: &Conducted) -> Vec<TrialState> {
    conducted.trials.iter().map(|trial| trial.state).collect()
}

#[test]
fn every_trial_is_measured_on_a_new_server() {
    let setup = Setup::new();
    let conducted = setup.run(rounds(2), Toy::rounds);
    assert!(conducted.valid(), "{:?}", conducted.trials);
    let variants: Vec<&str> = conducted
        .trials
        .iter()
        .filter_map(|trial| trial.key.level("variant"))
        .collect();
    assert_eq!(conducted.trials.len(), 4);
    assert_eq!(
        variants.iter().filter(|variant| **variant == "x").count(),
        2
    );
    let queries: Vec<&str> = conducted.trials[0].rounds[0]
        .queries
        .iter()
        .map(|query| query.name.as_str())
        .collect();
    assert_eq!(queries, ["Q1", "Q2"]);
    // Two starts make the snapshot, one starts each trial, and one the control of each block.
    assert_eq!(setup.node.starts(), 2 + 4 + 2);
    assert_eq!(setup.left_behind(), Vec::<String>::new());
    assert!(conducted.folder.join("report.html").exists());
}

#[test]
fn without_limits_each_limited_trial_is_flagged() {
    let setup = Setup::new();
    let limited = experiment(
        "[variant.x]\nlimits = { read_iops = 400, memory = '1T' }\n[variant.y]\n[protocol]\nrounds = ['hot']\n",
    );
    let conducted = setup.run(limited.without_limits(), Toy::rounds);
    assert!(conducted.valid(), "{:?}", conducted.trials);
    let flagged = |variant: &str| {
        let mut trials = conducted.trials.iter();
        flags(
            trials
                .find(|trial| trial.key.level("variant") == Some(variant))
                .unwrap(),
        )
    };
    let says = "limits_not_applied: --no-limits: the experiment's limits (read_iops, memory) were not applied\n";
    assert_eq!((flagged("x").as_str(), flagged("y").as_str()), (says, ""));
    let headline = conducted.document(Detail::Brief, stats::TOLERANCE).headline;
    assert!(
        headline.contains("without the experiment's limits"),
        "{headline}"
    );
}

#[test]
fn a_report_that_cannot_be_written_is_a_warning() {
    let setup = Setup::new();
    let first = setup.run(rounds(1), Toy::rounds);
    let page = first.folder.join("report.html");
    std::fs::remove_file(&page).unwrap();
    std::fs::create_dir(&page).unwrap();
    let conducted = setup.resume(&first, setup.request(rounds(1), Toy::rounds));
    assert!(conducted.valid() && page.is_dir());
}

#[test]
fn a_second_run_reuses_the_snapshot() {
    let setup = Setup::new();
    setup.run(rounds(1), Toy::rounds);
    let starts = setup.node.starts();
    setup.run(rounds(1), Toy::rounds);
    assert_eq!(
        setup.node.starts() - starts,
        2,
        "one start per trial, none to load"
    );
}

#[test]
fn resume_measures_failed_trials_again_and_keeps_the_others() {
    let setup = Setup::new();
    let mut conducted = setup.run(rounds(1), || Toy {
        reference: Some(Reference::Rows(Vec::new())),
        ..Toy::rounds()
    });
    assert!(conducted.valid());
    // Simulates a run that was killed during its second trial.
    let gone = conducted.trials.pop().unwrap();
    let kept = conducted.trials.pop().unwrap();
    let store = conducted.folder.join("run.sqlite");
    rusqlite::Connection::open(&store)
        .unwrap()
        .execute(
            "DELETE FROM trial WHERE id = (SELECT max(id) FROM trial)",
            (),
        )
        .unwrap();
    let starts = setup.node.starts();
    let resumed = setup.resume(&conducted, setup.request(rounds(1), Toy::rounds));
    assert_eq!(setup.node.starts() - starts, 1);
    let keys: Vec<_> = resumed.trials.iter().map(|trial| &trial.key).collect();
    assert_eq!(keys, [&kept.key, &gone.key]);
    assert_eq!(resumed.trials[0].started_ns, kept.started_ns);
    assert!(resumed.trials[1].started_ns > gone.started_ns);
}

#[test]
fn a_run_has_a_control_in_each_block_and_resume_keeps_it() {
    let setup = Setup::new();
    let conducted = setup.run(timed("[1, 2]", "blocks = 2\n"), Toy::timed);
    assert_eq!((conducted.trials.len(), conducted.controls.len()), (4, 2));
    for control in &conducted.controls {
        assert_eq!(control.key.level("clients"), Some("1"));
    }
    assert_eq!(
        conducted.run.question.trials, 4,
        "the matrix without the control"
    );
    // Simulates a run that was killed before its last control.
    let store = conducted.folder.join("run.sqlite");
    let at = rusqlite::Connection::open(&store).unwrap();
    let last = "DELETE FROM trial WHERE id = (SELECT max(id) FROM trial WHERE role = 'control')";
    at.execute(last, ()).unwrap();
    drop(at);
    let starts = setup.node.starts();
    let again = setup.request(timed("[1, 2]", "blocks = 2\n"), Toy::timed);
    let resumed = setup.resume(&conducted, again);
    assert_eq!(setup.node.starts() - starts, 1);
    assert_eq!((resumed.trials.len(), resumed.controls.len()), (4, 2));
    assert_eq!(resumed.controls[0], conducted.controls[0]);
}

#[test]
fn a_failed_control_makes_a_run_invalid() {
    let setup = Setup::new();
    let mut conducted = setup.run(timed("1", "blocks = 2\n"), Toy::timed);
    assert!(conducted.valid());
    conducted.controls[0].state = TrialState::Failed;
    assert!(!conducted.valid());
}

#[test]
fn resuming_a_complete_run_measures_nothing() {
    let setup = Setup::new();
    let conducted = setup.run(rounds(1), Toy::rounds);
    let starts = setup.node.starts();
    let resumed = setup.resume(&conducted, setup.request(rounds(1), Toy::rounds));
    assert_eq!(resumed.trials.len(), 2);
    assert_eq!(setup.node.starts(), starts);
}

#[test]
fn a_server_that_dies_fails_its_trial_and_the_run_continues() {
    let mut node = fake();
    // Counts from the first statement after the snapshot.
    node.dies_at = Some(statements_of_a_snapshot() + 1);
    let setup = Setup::with(node);
    let conducted = setup.run(rounds(1), Toy::rounds);
    assert_eq!(states(&conducted), [TrialState::Failed, TrialState::Done]);
    let says = flags(&conducted.trials[0]);
    assert!(
        says.contains("the server ended: it died as configured"),
        "{says}"
    );

    let resumed = setup.resume(&conducted, setup.request(rounds(1), Toy::rounds));
    assert!(resumed.valid(), "a failed trial is measured again");
}

/// The number of statements that make the snapshot of the toy's data.
fn statements_of_a_snapshot() -> u64 {
    let setup = Setup::new();
    let before_trials = setup.run(rounds(1), Toy::rounds);
    let all = setup.node.statements();
    let starts = setup.node.starts();
    setup.run(rounds(1), Toy::rounds);
    assert_eq!(
        (before_trials.trials.len(), setup.node.starts() - starts),
        (2, 2)
    );
    all - (setup.node.statements() - all)
}

#[test]
fn a_server_that_cannot_start_fails_the_run_before_any_trial() {
    let mut node = fake();
    node.does_not_start = Some("no such luck".into());
    let setup = Setup::with(node);
    let error = setup
        .conduct(&setup.request(rounds(1), Toy::rounds))
        .err()
        .unwrap();
    assert!(
        matches!(&error, RunError::Failed(says) if says.contains("no such luck")),
        "{error}"
    );
    assert_eq!(setup.left_behind(), Vec::<String>::new());
}

#[test]
fn a_failed_data_load_ends_the_run_and_leaves_no_files() {
    let setup = Setup::new();
    let full = || Toy {
        data: Some(ToyData::failing(10, || LoadError::Full {
            table: "toy".into(),
            rows: 5,
            rows_total: 10,
            cause: "no space left".into(),
            need_mb: 1,
        })),
        ..Toy::rounds()
    };
    let error = setup
        .conduct(&setup.request(rounds(1), full))
        .err()
        .unwrap();
    assert!(error.to_string().contains("out of disk space"), "{error}");
    assert_eq!(setup.left_behind(), Vec::<String>::new());
}

#[test]
fn trials_with_a_missing_engine_are_not_available() {
    let setup = Setup::new();
    let lacking = || Toy {
        data: Some(ToyData::failing(10, || LoadError::NoEngine {
            engine: "RocksDB".into(),
            cause: "unknown".into(),
        })),
        ..Toy::rounds()
    };
    let conducted = setup.run(rounds(1), lacking);
    assert!(
        conducted
            .trials
            .iter()
            .all(|trial| flags(trial).contains("no storage engine RocksDB"))
    );
    assert!(conducted.trials.iter().all(Trial::is_not_available));
}

#[test]
fn a_wrong_answer_makes_a_trial_invalid() {
    let setup = Setup::new();
    let expects_a_row = || Toy {
        reference: Some(Reference::Rows(vec![vec!["1".into()]])),
        ..Toy::rounds()
    };
    let conducted = setup.run(rounds(1), expects_a_row);
    assert_eq!(states(&conducted), [TrialState::Invalid; 2]);
    assert!(flags(&conducted.trials[0]).contains("wrong_answer"));
}

#[test]
fn a_failed_query_is_flagged_and_the_run_is_not_valid() {
    let setup = Setup::with(Fake::new("fake", |sql| {
        match sql.contains("'Q2'") && !sql.starts_with("EXPLAIN") {
            true => Err(ServerError::Refused {
                code: 1064,
                message: "syntax".into(),
            }),
            false => Ok(Reply::default()),
        }
    }));
    let conducted = setup.run(rounds(1), Toy::rounds);
    assert_eq!(states(&conducted), [TrialState::Done; 2]);
    assert!(!conducted.valid());
    assert!(
        flags(&conducted.trials[0]).contains("1064"),
        "{}",
        flags(&conducted.trials[0])
    );
}

#[test]
fn a_series_runs_in_ascending_order_on_one_server() {
    let setup = Setup::new();
    let conducted = setup.run(
        timed("[1, 2, 4]", "series = true\nblocks = 2\n"),
        Toy::timed,
    );
    let clients: Vec<&str> = conducted
        .trials
        .iter()
        .filter_map(|trial| trial.key.level("clients"))
        .collect();
    assert_eq!(clients, ["1", "2", "4", "1", "2", "4"]);
    assert_eq!(
        setup.node.starts(),
        2 + 2 * 2,
        "one start for each block, and one for its control"
    );
    let started = |trial: &&Trial| !trial.start_s.is_empty();
    assert_eq!(conducted.trials.iter().filter(started).count(), 2);
}

#[test]
fn without_a_series_every_load_starts_a_server() {
    let setup = Setup::new();
    setup.run(timed("[1, 2]", ""), Toy::timed);
    assert_eq!(setup.node.starts(), 2 + 2);
}

#[test]
fn a_timed_load_counts_every_outcome_of_its_operations() {
    let setup = Setup::new();
    let mixed = || Toy {
        outcome: |request| match request.number % 4 {
            0 => Outcome::Failed(1205),
            1 => Outcome::Unknown(2013),
            _ => Outcome::Done,
        },
        ..Toy::timed()
    };
    let conducted = setup.run(timed("2", ""), mixed);
    let load = conducted.trials[0].load.as_ref().unwrap();
    let sum = |name: &str| load.seconds(name).iter().flatten().sum::<f64>();
    assert!(sum("throughput") > 0.0 && sum("unknown") > 0.0 && sum("errors") > 0.0);
    assert!(load.errors.iter().any(|error| error.code == 1205));
}

#[test]
fn a_client_that_ends_early_makes_a_load_invalid() {
    let setup = Setup::new();
    let refused = || Toy {
        opens: |client| match client {
            0 => Ok(()),
            _ => Err(Failure {
                code: 1040,
                text: "too many connections".into(),
                transient: false,
            }),
        },
        ..Toy::timed()
    };
    let conducted = setup.run(timed("2", ""), refused);
    assert_ne!(conducted.trials[0].state, TrialState::Done);
    assert!(flags(&conducted.trials[0]).contains("too many connections"));
}

#[test]
fn an_audit_violation_makes_its_trial_invalid() {
    let setup = Setup::new();
    let audited = || Toy {
        audit: Some(|_, _| {
            Ok(AuditNote {
                violations: vec!["one order has no lines".into()],
                ..AuditNote::default()
            })
        }),
        ..Toy::timed()
    };
    let conducted = setup.run(timed("1", ""), audited);
    assert_eq!(states(&conducted), [TrialState::Invalid]);
    assert!(flags(&conducted.trials[0]).contains("one order has no lines"));
}

#[test]
fn a_passing_audit_leaves_its_trial_valid() {
    let setup = Setup::new();
    let audited = || Toy {
        audit: Some(|_, ended| {
            assert!(ended.tallies.iter().map(load::Tally::done).sum::<u64>() > 0);
            Ok(AuditNote::default())
        }),
        ..Toy::timed()
    };
    assert!(setup.run(timed("1", ""), audited).valid());
}

#[test]
fn each_part_measures_its_trials() {
    let setup = Setup::new();
    let parts = ["1/2", "2/2"].map(|part| {
        let request = Request {
            part: Some(part.parse().unwrap()),
            ..setup.request(rounds(1), Toy::rounds)
        };
        setup.conduct(&request).unwrap().trials
    });
    assert_eq!((parts[0].len(), parts[1].len()), (1, 1));
    assert_ne!(parts[0][0].key, parts[1][0].key);
}

#[test]
fn a_load_runs_for_the_time_in_the_file() {
    let setup = Setup::new();
    let conducted = setup.run(timed("1", ""), Toy::timed);
    let load = conducted.trials[0].load.as_ref().unwrap();
    assert!(load.driven_s() >= Duration::from_millis(150).as_secs_f64());
}
