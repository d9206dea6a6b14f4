//! Workloads on a folder, without a server.

use super::*;

/// A file without a server, for a workload on a folder.
fn on_folder(clients: &str, more: &str) -> Experiment {
    let source = format!(
        "title = 't'\nquestion = 'q'\n[workload.toy]\n[load.closed]\nclients = {clients}\n[protocol]\ntime = '150ms'\n{more}"
    );
    spec::parse("t", "t.toml", &source, &|_, _| {
        Some(spec::TargetKind::Folder)
    })
    .unwrap()
}

#[test]
fn a_workload_on_a_folder_runs_without_a_server() {
    let setup = Setup::new();
    let conducted = setup.run(on_folder("[1, 2]", "blocks = 2\n"), Toy::on_folder);
    assert!(conducted.valid(), "{}", flags(&conducted.trials[0]));
    assert_eq!((conducted.trials.len(), setup.node.starts()), (4, 0));
    for trial in &conducted.trials {
        assert_eq!(trial.key.server, None);
        let load = trial.load.as_ref().unwrap();
        assert!(load.seconds("throughput").iter().flatten().sum::<f64>() > 0.0);
    }
    assert_eq!(setup.left_behind(), Vec::<String>::new());
}

#[test]
fn an_audit_of_a_folder_finds_what_was_lost() {
    let setup = Setup::new();
    let forgetful = || Toy {
        audit: Some(|place, ended| {
            if let workload::Audited::Folder(folder) = place {
                std::fs::write(folder.join("client-0"), "").unwrap();
            }
            toy::count_bytes(place, ended)
        }),
        ..Toy::on_folder()
    };
    let conducted = setup.run(on_folder("1", ""), forgetful);
    assert_eq!(states(&conducted), [TrialState::Invalid]);
    let says = flags(&conducted.trials[0]);
    assert!(
        says.contains("operations were done, 0 bytes are there"),
        "{says}"
    );
}

#[test]
fn a_series_on_a_folder_keeps_the_folder() {
    let setup = Setup::new();
    let keeps = || Toy {
        audit: Some(|place, _| {
            let workload::Audited::Folder(folder) = place else {
                panic!("the target is a folder")
            };
            let seen = folder.join("seen");
            let violations = match std::fs::create_dir(&seen) {
                Ok(()) => Vec::new(),
                Err(_) => vec!["an earlier trial was here".to_string()],
            };
            Ok(AuditNote {
                violations,
                ..AuditNote::default()
            })
        }),
        ..Toy::on_folder()
    };
    let conducted = setup.run(on_folder("[1, 2]", "series = true\n"), keeps);
    assert_eq!(states(&conducted), [TrialState::Done, TrialState::Invalid]);
}
