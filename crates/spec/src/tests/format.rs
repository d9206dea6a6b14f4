//! Valid files and command-line overrides.

use super::{RIGHT, read};
use crate::machine::limits::Memory;
use crate::{
    BuildSpec, DiskSpec, EventSpec, EventTime, Experiment, FilesystemSpec, HostPatch, LimitsPatch,
    LoadSpec, Observe, Plans, RoundKind, Setting, Unit, VolatileSpec, question,
};
use proptest::prelude::*;
use record::{Bound, Finding, RoundSelector, Subject, Value};
use std::time::Duration;

fn right(added: &str) -> Experiment {
    read(&format!("{RIGHT}{added}")).unwrap_or_else(|error| panic!("{}", super::shown(&error)))
}

fn subject(claim: &str) -> Subject {
    right(&format!("[[claim]]\nsays = \"s\"\n{claim}"))
        .claims
        .remove(0)
        .subject
}

fn bound(added: &str) -> Bound {
    match subject(&format!(
        "value = \"elapsed\"\nof = {{ server = 5.5 }}\nto = {{ server = \"5.6\", variant = \"small pool\" }}\n{added}"
    )) {
        Subject::Ratio { bound, .. } => bound,
        other => panic!("{other:?}"),
    }
}

#[test]
fn missing_keys_have_defaults() {
    let experiment = right("");
    assert_eq!(
        experiment.protocol.rounds,
        [RoundKind::Cold, RoundKind::Hot, RoundKind::Hot]
    );
    assert_eq!(
        (experiment.protocol.unit, experiment.protocol.blocks),
        (Unit::Round, 1)
    );
    let one_client = LoadSpec::Closed {
        clients: 1,
        think: Duration::ZERO,
    };
    assert_eq!(experiment.load, one_client);
    assert_eq!(experiment.observe, Observe::default());
    assert_eq!(experiment.observe.plans, Plans::Explain);
}

#[test]
fn factors_have_the_order_of_their_first_levels() {
    let source = RIGHT.replace(
        "[variant.\"small pool\"]",
        "[factor.zz.1]\n[factor.aa.x]\n[variant.\"small pool\"]",
    );
    let experiment = read(&source).unwrap();
    let names: Vec<_> = experiment
        .factors
        .iter()
        .map(|factor| factor.name.as_str())
        .collect();
    assert_eq!(names, ["zz", "aa", "variant"]);
}

#[test]
fn settings_may_be_numbers_booleans_and_strings() {
    let settings = right("[settings]\na = 1\nb = true\nc = 0.5\nd = \"64M\"\ne-f = \"data * 4\"\n")
        .base
        .settings
        .unwrap();
    let literal = |text: &str| Setting::Literal(text.to_string());
    let expected = [
        ("a", literal("1")),
        ("b", literal("1")),
        ("c", literal("0.5")),
        ("d", literal("64M")),
        ("e_f", Setting::OfData(4.0)),
    ];
    assert_eq!(
        settings,
        expected.map(|(name, setting)| (name.to_string(), setting))
    );
}

#[test]
fn the_default_threshold_is_the_square_root_of_the_published_ratio() {
    assert_eq!(bound("published = 1.44"), Bound::AtLeast(1.2));
    assert_eq!(bound("published = 0.25"), Bound::AtMost(0.5));
    assert_eq!(bound("published = 1.1\nwithin = 0.1"), Bound::Within(0.1));
    assert_eq!(bound("at_most = 2"), Bound::AtMost(2.0));
    assert_eq!(bound("within = \"500%\""), Bound::Within(5.0));
    let consistent = bound("published = 0.5\nat_least = 0.2");
    assert_eq!(consistent, Bound::AtLeast(0.2));
}

#[test]
fn a_published_ratio_lies_within_the_width_that_is_claimed() {
    let mistakes = |claim: &str| {
        let claim = format!("[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\n{claim}");
        let read = read(&format!("{RIGHT}{claim}"));
        let all = read.err().map(|error| error.mistakes().len());
        all.unwrap_or(0)
    };
    let cells = "of = { server = \"5.5\" }\nto = { server = \"5.6\", variant = \"small pool\" }\n";
    let among = "among = { server = \"5.6\" }\n";
    for cells in [cells, among] {
        let with = |published: &str| mistakes(&format!("{cells}within = 0.04\n{published}"));
        assert_eq!(with("published = 1.04"), 0);
        assert_eq!(with("published = 1.5"), 1);
    }
    assert_eq!(
        mistakes(&format!("{cells}published = 0.5\nwithin = 0.1")),
        1
    );
}

#[test]
fn a_claim_may_be_about_a_counter_or_one_over_another() {
    let cells = "of = { variant = \"old\", round = \"hot 2\", query = \"Q1.1\" }\nto = { server = [\"5.5\", \"5.6\"] }\nwithin = 0.1\n";
    let Subject::Ratio { value, of, to, .. } = subject(&format!(
        "value = \"Innodb_reads / Innodb_requests\"\n{cells}"
    )) else {
        panic!("a ratio")
    };
    assert_eq!(
        value,
        Value::Quotient("Innodb_reads".to_string(), "Innodb_requests".to_string())
    );
    assert_eq!(
        of.round,
        Some(RoundSelector {
            name: "hot".to_string(),
            index: Some(2)
        })
    );
    assert_eq!(of.query.as_deref(), Some("Q1.1"));
    assert_eq!(
        to.levels,
        [(
            "server".to_string(),
            vec!["5.5".to_string(), "5.6".to_string()]
        )]
    );
}

#[test]
fn a_claim_may_be_a_spread_or_a_finding() {
    let spread = subject("value = \"elapsed\"\namong = { round = \"cold\" }\nwithin = 0.04\n");
    assert!(matches!(
        spread,
        Subject::Spread {
            value: Value::Elapsed,
            within: 0.04,
            ..
        }
    ));
    let finding = subject("finds = \"plan holds\"\ntext = \"MRR\"\nof = { server = \"5.6\" }\n");
    assert!(
        matches!(finding, Subject::Finds { finding: Finding::PlanHolds(text), .. } if text == "MRR")
    );
}

#[test]
fn a_spread_of_one_row_is_a_mistake() {
    let with = |among: &str| {
        let claim = "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nwithin = 0.1\n";
        read(&format!("{RIGHT}{claim}among = {among}\n"))
    };
    assert!(with("{ server = \"5.6\" }").is_ok());
    let error = with("{ server = \"5.6\", variant = \"old\" }").unwrap_err();
    let says = error.mistakes()[0].to_string();
    assert!(says.contains("names a single row"), "{says}");
}

#[test]
fn a_cell_of_a_round_that_its_level_leaves_out_is_a_mistake() {
    let levels = "[factor.disk.slow]\nprotocol = { rounds = [\"cold\"] }\n[factor.disk.fast]\n";
    let with = |disk: &str| {
        let claim = format!(
            "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = {{ disk = {disk}, round = \"hot\" }}\n\
             to = {{ disk = \"fast\", round = \"cold\" }}\nat_least = 1.2\n"
        );
        read(&format!("{RIGHT}{levels}{claim}"))
    };
    assert!(with("\"fast\"").is_ok());
    assert!(with("[\"slow\", \"fast\"]").is_ok());
    let says = with("\"slow\"").unwrap_err().mistakes()[0].to_string();
    assert!(says.contains("\"slow\" does not run \"hot\""), "{says}");
}

#[test]
fn an_event_runs_sql_repeatedly() {
    let experiment =
        right("[[event]]\nevery = \"2m\"\nsql = \"select 1\"\nonly = { server = \"5.5\" }\n");
    let expected = EventSpec {
        kind: "sql".to_string(),
        index: 0,
        when: EventTime::Every(Duration::from_secs(120)),
        only: vec![("server".to_string(), vec!["5.5".to_string()])],
        set: None,
    };
    assert_eq!(experiment.events, [expected]);
}

#[test]
fn an_event_changes_limits_and_settings() {
    let experiment = right(
        "[[event]]\nat = \"1m\"\nset = { limits = { write_iops = 200, memory = \"none\" }, settings = { innodb-io-capacity = 100 } }\n",
    );
    let set = experiment.events[0].set.clone().unwrap();
    let limits = set.limits.unwrap();
    assert_eq!(
        (limits.write_iops, limits.memory),
        (Some(Some(200)), Some(None))
    );
    assert_eq!(limits.read_iops, None);
    let literal = Setting::Literal("100".to_string());
    assert_eq!(set.settings, [("innodb_io_capacity".to_string(), literal)]);
}

#[test]
fn an_event_that_sets_nothing_is_a_mistake() {
    for nothing in ["{}", "{ limits = {} }", "{ limits = {}, settings = {} }"] {
        let event = format!("[[event]]\nat = \"1m\"\nset = {nothing}\n");
        let error = read(&format!("{RIGHT}{event}")).unwrap_err();
        let says = error.mistakes()[0].to_string();
        assert!(says.contains("changes nothing"), "{nothing}: {says}");
    }
    let typo = "[[event]]\nat = \"1m\"\nset = { limits = { write_iop = 200 } }\n";
    let error = read(&format!("{RIGHT}{typo}")).unwrap_err();
    let mut mistakes = error.mistakes().iter().map(ToString::to_string);
    assert!(mistakes.any(|says| says.contains("write_iop")));
}

#[test]
fn passwords_are_in_the_build_but_not_in_the_kept_source() {
    let source = RIGHT.replace("mysql@5.5.34", "mysql://me:s3cret@db");
    let experiment = read(&source).unwrap();
    assert!(!experiment.source.contains("s3cret") && !format!("{experiment:?}").contains("s3cret"));
    let BuildSpec::External(dsn) = &experiment.servers[0].build else {
        panic!("external")
    };
    assert_eq!(dsn.password.as_deref(), Some("s3cret"));
    assert!(read(&experiment.source).is_ok());
}

#[test]
fn the_question_lists_clients_if_they_are_a_factor() {
    let note = record::WorkloadNote {
        name: "ssb".to_string(),
        summary: String::new(),
        operations: Vec::new(),
    };
    let question = question(&right("[load.closed]\nclients = [1, 8]\n"), 8, note);
    assert_eq!(question.factors[1].levels, ["1", "8"]);
    assert_eq!(question.rounds, ["cold", "hot", "hot"]);
    assert_eq!((question.servers.len(), question.trials), (2, 8));
}

#[test]
fn the_command_line_changes_scale_blocks_levels_and_servers() {
    let changed = right("").with_scale(0.25).unwrap().with_blocks(3).unwrap();
    assert_eq!(
        changed.base.workload.as_ref().unwrap()["scale"].as_float(),
        Some(0.25)
    );
    assert_eq!(changed.protocol.blocks, 3);
    let changed = changed
        .with_only(&["server=5.6"])
        .unwrap()
        .with_only(&["variant=small pool, old"])
        .unwrap();
    assert_eq!(
        (changed.servers.len(), changed.factors[0].levels.len()),
        (1, 2)
    );
    let changed = changed
        .with_only(&["variant=old"])
        .unwrap()
        .with_server("5.6=mariadb")
        .unwrap();
    assert_eq!(
        (changed.factors[0].levels.len(), &changed.servers[0].build),
        (1, &BuildSpec::MariaDb(None))
    );
    let changed = changed
        .with_server("mysql://u@h/x?socket=/run/m.sock")
        .unwrap();
    assert!(matches!(changed.servers[0].build, BuildSpec::External(_)));
}

#[test]
fn an_only_that_no_trial_meets_is_a_mistake() {
    let event = |server: &str| {
        format!(
            "[[event]]\nat = \"1s\"\nsql = \"select 1\"\nonly = {{ variant = \"old\", server = \"{server}\" }}\n"
        )
    };
    assert!(read(&format!("{RIGHT}{}", event("5.6"))).is_ok());
    let level =
        "[factor.join.on]\nonly = { variant = \"old\", server = \"5.5\" }\n[factor.join.off]\n";
    for added in [event("5.5"), level.to_string()] {
        let error = read(&format!("{RIGHT}{added}")).unwrap_err();
        let says = error.mistakes()[0].to_string();
        assert!(
            says.contains("\"old\" is not measured with server \"5.5\""),
            "{says}"
        );
    }
}

#[test]
fn an_only_of_the_maximum_alone_is_a_mistake() {
    let load = "[load.open]\nrate = [\"60% of max\", 500]\n[protocol]\ntime = \"60s\"\n";
    let level = "[factor.join.on]\nonly = { rate = \"max\" }\n[factor.join.off]\n";
    let event = "[[event]]\nat = \"1s\"\nsql = \"select 1\"\nonly = { rate = \"max\" }\n";
    for added in [level, event] {
        let with = |added: &str| read(&format!("{RIGHT}{load}{added}"));
        assert!(with(&added.replace("max", "60% of max")).is_ok());
        let error = with(added).unwrap_err();
        let says = error.mistakes()[0].to_string();
        assert!(says.contains("alone it has no trials"), "{says}");
    }
}

#[test]
fn several_only_options_for_one_factor_add_up_even_for_names_with_commas() {
    let file = RIGHT.replace("[variant.\"old\"]", "[variant.\"old, small\"]");
    let kept = |texts: &[&str]| {
        let experiment = read(&file).unwrap().with_only(texts).unwrap();
        let levels = experiment.factors[0].levels.iter();
        levels.map(|level| level.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(kept(&["variant=old, small"]), ["old, small"]);
    assert_eq!(
        kept(&["variant=old, small", "variant=small pool"]),
        ["small pool", "old, small"]
    );
}

#[test]
fn an_only_option_for_a_level_without_trials_is_refused() {
    let with = |texts: &[&str]| right("").with_only(texts);
    assert!(with(&["server=5.6", "variant=old"]).is_ok());
    assert!(with(&["server=5.5,5.6", "variant=small pool,old"]).is_ok());
    for texts in [
        ["server=5.5,5.6", "variant=old"],
        ["server=5.5", "variant=small pool,old"],
    ] {
        let error = with(&texts).unwrap_err();
        let why = "\"old\" is not measured with server \"5.5\"";
        assert!(error.says.contains(why), "{error}");
    }
    let lends = read(&RIGHT.replace("14\"\n", "14\"\ndataset_from = '5.5'\n")).unwrap();
    let lends = lends.with_only(&["server=5.5,5.6", "variant=old"]);
    assert!(lends.is_ok());
}

#[test]
fn invalid_overrides_are_reported() {
    let says = |result: Result<Experiment, crate::OverrideError>| result.unwrap_err().to_string();
    let varied = "[factor.size.1]\nworkload = { scale = 2 }\n";
    insta::assert_snapshot!(
        [
            says(right("").with_scale(0.0)),
            says(right(varied).with_scale(2.0)),
            says(right("").with_blocks(0)),
            says(right("").with_only(&["server"])),
            says(right("").with_only(&["varaint=old"])),
            says(right("").with_only(&["variant=small pol"])),
            says(right("").with_server("5.7=mariadb")),
            says(right("").with_server("mysql://me:s3cret@h:x")),
            says(
                read(&RIGHT.replace("14\"\n", "14\"\ndataset_from = '5.5'\n"))
                    .unwrap()
                    .with_only(&["server=5.6"])
            ),
        ]
        .join("\n")
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(added in "[\\[\\]a-z.= \"'{},0-9\n]{0,80}") {
        let _ = read(&format!("{RIGHT}{added}"));
    }

    #[test]
    fn no_cut_of_a_file_makes_the_reader_panic(cut in 0..RIGHT.len()) {
        let _ = read(&RIGHT[..cut]);
    }
}

fn limits(added: &str) -> LimitsPatch {
    right(added).base.limits.unwrap()
}

#[test]
fn a_disk_preset_sets_limits_that_explicit_keys_override() {
    let limits = limits("[limits]\ndisk = \"7200rpm x4\"\nread_iops = 400\nmemory = \"1G\"\n");
    assert_eq!(limits.read_iops, Some(Some(400)));
    assert_eq!(limits.write_iops, Some(Some(316)));
    assert_eq!(limits.read_bandwidth, Some(Some(624_000_000)));
    assert_eq!(limits.memory, Some(Some(Memory::Bytes(1 << 30))));
    assert_eq!(limits.cpus, None);
}

#[test]
fn a_volume_is_read_with_its_file_system_and_its_faults() {
    let host = right("[host]\nvolume = { kind = \"volatile\", filesystem = \"xfs\", lie = \"flush\", log = true, slow_flush = \"5ms\" }\n").base.host.unwrap();
    let volume = host.volume().unwrap();
    assert_eq!(volume.filesystem, FilesystemSpec::Xfs);
    let volatile = VolatileSpec {
        lies: true,
        log: true,
        slow_flush: Duration::from_millis(5),
    };
    assert_eq!(volume.volatile(), Some(&volatile));
}

#[test]
fn a_volume_has_mount_options_and_may_overwrite_a_device() {
    let volume = |keys: &str| {
        let host = right(&format!("[host]\nvolume = {{ {keys} }}\n")).base.host;
        host.unwrap().volume().unwrap().clone()
    };
    let ours = volume("kind = \"loop\", mount_options = \"noatime, dioread_nolock\"");
    assert_eq!(ours.mount_options, "noatime,dioread_nolock");
    assert_eq!((ours.device(), &ours.disk), (None, &DiskSpec::Loop));
    let theirs = volume("kind = \"device\", device = \"/dev/sdb\", filesystem = \"xfs\"");
    assert_eq!(theirs.device(), Some(std::path::Path::new("/dev/sdb")));
    for wrong in [
        "kind = \"loop\", device = \"/dev/sdb\"",
        "kind = \"device\"",
        "kind = \"device\", device = \"/home/me/disk\"",
        "kind = \"device\", device = \"/dev/sdb\", log = true",
        "kind = \"loop\", mount_options = \"ro\"",
        "kind = \"loop\", mount_options = \"noatime,,\"",
    ] {
        assert!(
            read(&format!("{RIGHT}[host]\nvolume = {{ {wrong} }}\n")).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn a_level_replaces_the_volume_and_none_removes_it() {
    let volume = |text: &str| {
        right(&format!("[host]\nvolume = {text}\n"))
            .base
            .host
            .unwrap()
    };
    let (base, none) = (volume("{ kind = \"loop\" }"), volume("\"none\""));
    assert!(!base.volume().unwrap().is_volatile());
    assert_eq!(none.over(base.clone()).volume(), None);
    assert_eq!(HostPatch::default().over(base.clone()), base);
}

#[test]
fn the_redo_log_can_have_a_volume_of_its_own() {
    let host = right("[host]\nredo_volume = { kind = \"loop\", filesystem = \"xfs\" }\n")
        .base
        .host
        .unwrap();
    assert_eq!(host.volume(), None);
    assert_eq!(host.redo_volume().unwrap().filesystem, FilesystemSpec::Xfs);
    let none = right("[host]\nredo_volume = \"none\"\n").base.host.unwrap();
    assert_eq!(none.over(host).redo_volume(), None);
}

#[test]
fn a_later_limit_replaces_an_earlier_one_and_none_removes_it() {
    let base = limits("[limits]\nread_iops = 400\nwrite_iops = 300\n");
    let level = limits("[limits]\nread_iops = \"none\"\ncpus = 0.5\n");
    let both = level.over(base);
    assert_eq!(
        (both.read_iops, both.write_iops, both.cpus),
        (Some(None), Some(Some(300)), Some(Some(0.5)))
    );
}
