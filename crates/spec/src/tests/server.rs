//! Levels that give a server another build, and workloads that run without any server.

use super::{RIGHT, check_ssb, read, shown};
use crate::check::known::Known;
use crate::check::settings;
use crate::plan::{expand, servers};
use crate::{Experiment, Section, SpecError, TargetKind};

const BUILDS: &str = "[factor.engine.own]\n\
    [factor.engine.other]\n\
    server = { build = \"mariadb@11.4.5\" }\n\
    on.\"5.5\".server = { build = \"mysql@5.6.21\" }\n\
    settings = { aria_block_size = 1 }\n";

fn experiment(added: &str) -> Experiment {
    read(&format!("{RIGHT}{added}")).unwrap_or_else(|error| panic!("{}", shown(&error)))
}

#[test]
fn the_trials_of_a_level_with_a_build_run_on_that_build() {
    let experiment = experiment(BUILDS);
    let trials = expand(&experiment, 1).unwrap();
    let of = |server: &str, level: &str| {
        let mut own = trials.iter().filter(|trial| {
            trial.key.server_name() == server && trial.key.level("engine") == Some(level)
        });
        let spec = own.next().unwrap().server.clone().unwrap();
        (spec.name, spec.build.to_string())
    };
    let named = |name: &str, build: &str| (name.to_string(), build.to_string());
    assert_eq!(of("5.5", "own"), named("5.5", "mysql@5.5.34"));
    assert_eq!(
        of("5.5", "other"),
        named("5.5 with mysql@5.6.21", "mysql@5.6.21")
    );
    assert_eq!(
        of("5.6", "other"),
        named("5.6 with mariadb@11.4.5", "mariadb@11.4.5")
    );
    let names: Vec<String> = servers(&experiment, &trials)
        .into_iter()
        .map(|server| server.name)
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn a_level_with_the_servers_own_build_makes_no_other_server() {
    let own = "[factor.engine.own]\nonly = { server = \"5.6\" }\nserver = { build = \"mysql@5.6.14\" }\n[factor.engine.none]\n";
    let experiment = experiment(own);
    let trials = expand(&experiment, 1).unwrap();
    assert_eq!(servers(&experiment, &trials), experiment.servers);
}

#[test]
fn a_server_with_another_build_copies_the_same_dataset() {
    let source =
        format!("{RIGHT}[factor.engine.other]\nserver = {{ build = \"mariadb@11.4.5\" }}\n")
            .replace(
                "\"mysql@5.6.14\"",
                "\"mysql@5.6.14\"\ndataset_from = \"5.5\"",
            );
    let experiment = read(&source).unwrap();
    let trials = expand(&experiment, 1).unwrap();
    let all = servers(&experiment, &trials);
    let names: Vec<&str> = all.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(
        names,
        ["5.5", "5.5 with mariadb@11.4.5", "5.6 with mariadb@11.4.5"]
    );
    assert_eq!(all[2].dataset_from.as_deref(), Some("5.5"));
}

#[test]
fn a_setting_of_a_level_is_checked_against_the_build_of_that_level() {
    let experiment = experiment(BUILDS);
    let known = |server: &str, variables: &[&str]| Known {
        server: server.into(),
        variables: variables.iter().map(|name| name.to_string()).collect(),
        takes_settings: true,
        ..Known::default()
    };
    let common = ["innodb_buffer_pool_size", "innodb_old_blocks_time"];
    let with = [&common[..], &["aria_block_size"]].concat();
    let others = |last: &[&str]| {
        [
            known("5.5", &common),
            known("5.6", &common),
            known("5.5 with mysql@5.6.21", &common),
            known("5.6 with mariadb@11.4.5", last),
        ]
    };
    assert!(settings::unknown(&experiment, &others(&with)).is_ok());
    let error = settings::unknown(&experiment, &others(&common)).unwrap_err();
    assert!(
        shown(&error).contains("aria_block_size"),
        "{}",
        shown(&error)
    );
}

#[test]
fn a_build_that_varies_cannot_be_replaced_by_the_command_line() {
    let error = experiment(BUILDS).with_server("5.6=mariadb").unwrap_err();
    assert!(error.says.contains("\"engine\" varies it"), "{error}");
    assert!(experiment("").with_server("5.6=mariadb").is_ok());
}

#[test]
fn a_server_of_the_command_line_that_has_no_effect_is_refused() {
    let with = |texts: &[&str]| experiment("").with_servers(texts);
    let builds = |texts: &[&str]| {
        let servers = with(texts).unwrap().servers;
        servers
            .iter()
            .map(|server| server.build.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        builds(&["mariadb", "5.6=mysql@8.0.33"]),
        ["mariadb", "mysql@8.0.33"]
    );
    assert_eq!(
        builds(&["5.5=mariadb", "5.6=mariadb"]),
        ["mariadb", "mariadb"]
    );
    for texts in [
        &["mariadb", "mysql@8.0.33"][..],
        &["5.6=mariadb", "mysql@8.0.33"],
        &["5.6=mariadb", "5.6=mysql@8.0.33"],
        &["mariadb", "5.5=mysql@8.0.33", "5.6=mysql@8.0.33"],
    ] {
        let error = with(texts).unwrap_err();
        assert!(
            error.says.contains("a later --server"),
            "{texts:?}: {error}"
        );
    }
    let error = on_folder("").unwrap().with_server("mariadb").unwrap_err();
    assert!(error.says.contains("without a server"), "{error}");
}

fn on_folder(added: &str) -> Result<Experiment, SpecError> {
    let check = |_: &str, _: &Section| Some(TargetKind::Folder);
    let source = format!("title = \"t\"\n[workload.fileio]\nfiles = 1\n{added}");
    crate::parse("x", "x.toml", &source, &check)
}

#[test]
fn a_workload_on_a_folder_has_trials_without_a_server() {
    let experiment =
        on_folder("[factor.size.small]\nworkload = { files = 2 }\n[factor.size.large]\n").unwrap();
    assert_eq!(experiment.servers, []);
    let trials = expand(&experiment, 1).unwrap();
    assert_eq!(trials.len(), 2);
    for trial in &trials {
        assert_eq!((&trial.key.server, &trial.server), (&None, &None));
    }
    let text = crate::plan::estimate::text(
        &experiment,
        &crate::plan::estimate::expect(
            &crate::plan::Plan::new(&experiment, 1).unwrap(),
            &[],
            &|_| 0.0,
        ),
    );
    assert!(text.starts_with("trials  2: 2 size x 1 block\n"), "{text}");
}

#[test]
fn server_keys_are_rejected_for_a_workload_on_a_folder() {
    let added = "[server.a]\nbuild = \"mariadb\"\n[settings]\nx = 1\n[limits]\nmemory = \"1G\"\n\
        [factor.size.large]\nsession = { x = 1 }\non.a.settings = { x = 2 }\n";
    insta::assert_snapshot!(shown(&on_folder(added).unwrap_err()));
}

#[test]
fn keys_of_the_protocol_about_connections_and_tables_are_rejected_on_a_folder() {
    let timed = |key: &str| on_folder(&format!("[protocol]\ntime = \"60s\"\n{key}\n"));
    assert!(timed("warmup = \"10s\"").is_ok());
    for (key, name) in [
        ("preload = true", "preload"),
        ("reconnect = \"60s\"", "reconnect"),
    ] {
        let error = timed(key).unwrap_err();
        let says = error.mistakes()[0].to_string();
        let uses = format!("nothing uses \"{name}\"");
        assert!(says.contains(&uses), "{says}");
    }
}

#[test]
fn the_record_keeps_what_is_no_dsn_and_strings_end_where_they_did() {
    let source = "title = 'See https://example.org/a: is it so?'\nquestion = \"mysql://db:3306 or b?\"\n\
        [server.a]\nbuild = 'mysql://me:secret@db' # or mysql://me:secret@db2\n\
        [workload.sql]\nsetup = \"insert into t values ('at http://a:b@c')\"\n\
        [[event]]\nat = '1s'\nsql = \"select 'at https://example.org/a:b'\"\n";
    let experiment = crate::tests::read_on_server(source).unwrap();
    let kept = &experiment.source;
    assert!(!kept.contains("secret"), "{kept}");
    for text in ["'at http://a:b@c'", "'at https://example.org/a:b'"] {
        assert!(kept.contains(text), "{kept}");
    }
    let again = crate::tests::read_on_server(kept).unwrap();
    assert_eq!(again.title, experiment.title);
}

#[test]
fn the_settings_of_a_my_cnf_are_those_of_a_file_and_the_record_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    let read = |cnf: &str| {
        std::fs::write(folder.path().join("my.cnf"), cnf).unwrap();
        let named = "\"mysql@5.6.14\"\nsettings_file = \"my.cnf\"";
        let source = RIGHT.replace("\"mysql@5.6.14\"", named);
        crate::parse("x", &path.to_string_lossy(), &source, &check_ssb)
    };
    let experiment =
        read("[mysqld]\ndatadir = /x\nkey_buffer_size = 32M\nsql_mode = ''\n").unwrap();
    let literal = |text: &str| crate::Setting::Literal(text.into());
    let settings = [
        ("key_buffer_size".to_string(), literal("32M")),
        ("sql_mode".to_string(), literal("")),
    ];
    assert_eq!(experiment.servers[1].settings, settings);
    let said = crate::advice(&experiment);
    assert!(
        said[0].starts_with("my.cnf: ignored: datadir; prony sets"),
        "{said:?}"
    );
    let again = self::read(&experiment.source).unwrap();
    assert_eq!(again.servers, experiment.servers);
    let error = read("[mysqld]\nkey_buffer_size = 32MB\n").unwrap_err();
    assert!(
        shown(&error).contains("my.cnf: key_buffer_size:"),
        "{}",
        shown(&error)
    );
}
