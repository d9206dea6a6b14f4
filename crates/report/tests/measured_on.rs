//! What the forms of a report say of the servers and file systems of a run.

use crate::fixture;
use crate::fixture::forms;

#[test]
fn the_exact_version_of_a_server_is_in_the_tables_above_them_and_in_json() {
    let (mut run, mut trials) = fixture::small();
    trials.retain(|trial| trial.key.server_name() == "5.6");
    for trial in &mut trials {
        trial.key.server = Some("mariadb".into());
    }
    run.question.servers = vec!["mariadb".into()];
    let mut identity = run.environment.servers.remove("5.6").unwrap();
    identity.build = "mariadb".into();
    identity.version = "10.11.18".into();
    run.environment.servers.insert("mariadb".into(), identity);
    let terminal = forms::terminal(&run, &trials, false, 250);
    let tables = terminal
        .lines()
        .filter(|line| line.contains("mariadb 10.11.18"));
    assert!(tables.count() > 2, "{terminal}");
    let document: serde_json::Value = serde_json::from_str(&forms::json(&run, &trials)).unwrap();
    let of_mariadb = document["trials"].as_array().unwrap().iter();
    let of_mariadb: Vec<_> = of_mariadb
        .filter(|trial| trial["server"] == "mariadb")
        .collect();
    assert!(!of_mariadb.is_empty());
    assert!(
        of_mariadb
            .iter()
            .all(|trial| trial["server_version"] == "10.11.18")
    );
    let document = report::Document::of(&run, &trials, report::Detail::Brief);
    let measured_on = &document.measured_on;
    assert!(measured_on.contains("mariadb 10.11.18"), "{measured_on}");
}

#[test]
fn settings_that_were_not_applied_are_named_and_compared_with_nothing() {
    let (mut run, mut trials) = fixture::small();
    for trial in &mut trials {
        trial.flags.push(record::Flag {
            kind: record::FlagKind::NotAvailable,
            text: "settings innodb_buffer_pool_size: not available".into(),
        });
    }
    for (name, identity) in &mut run.environment.servers {
        identity.build = "sqlite".into();
        identity.version = "3.46.0".into();
        run.environment.unconfigured.insert(name.clone());
    }
    let terminal = forms::terminal(&run, &trials, false, 250);
    assert!(
        terminal.contains("5.6 (SQLite 3.46.0), settings not applied"),
        "{terminal}"
    );
    let document: serde_json::Value = serde_json::from_str(&forms::json(&run, &trials)).unwrap();
    assert!(document["largest_difference"].is_null(), "{document}");
    for claim in document["claims"].as_array().unwrap() {
        assert_eq!(claim["verdict"], "not_available", "{claim}");
        assert!(claim["why"].is_null(), "{claim}");
    }
}

#[test]
fn the_file_system_named_is_that_of_the_data_and_none_for_a_server_elsewhere() {
    let (mut run, mut trials) = fixture::small();
    run.environment.file_system = "ext4 on /dev/vda".into();
    let dataset = |file_system: &str| record::DatasetNote {
        file_system: Some(file_system.into()),
        ..Default::default()
    };
    let named = |run: &record::Run, trials: &[record::Trial]| {
        let document = report::Document::of(run, trials, report::Detail::Brief);
        document.measured_on.clone()
    };
    let xfs = "xfs on a loop device over ext4 on /dev/vda";
    for trial in &mut trials {
        trial.dataset = Some(dataset(xfs));
    }
    assert!(named(&run, &trials).contains(xfs));
    trials[0].dataset = Some(dataset("ext4 on /dev/sdb"));
    let both = format!("ext4 on /dev/sdb and {xfs}");
    assert!(named(&run, &trials).contains(&both));
    trials[0].dataset = None;
    assert!(named(&run, &trials).contains("ext4 on /dev/vda and xfs"));
    for identity in run.environment.servers.values_mut() {
        identity.build = "mysql://app@db".into();
    }
    let elsewhere = named(&run, &trials);
    assert!(!elsewhere.contains("ext4"), "{elsewhere}");
    assert!(!elsewhere.contains(", ;"), "{elsewhere}");
}
