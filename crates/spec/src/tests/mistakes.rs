//! The exact message for each mistake.

use super::{RIGHT, read, shown};
use crate::check::known::Known;
use crate::check::{queries, settings};

/// `NAME: SOURCE` appended to a valid file.
macro_rules! added {
    ($($name:ident: $source:expr;)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), shown(&read(&format!("{RIGHT}{}", $source)).unwrap_err()));
        }
    )*};
}

/// `NAME: SOURCE` as the whole file.
macro_rules! whole {
    ($($name:ident: $source:expr;)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), shown(&read($source).unwrap_err()));
        }
    )*};
}

whole! {
    a_file_that_is_not_toml: "title = \"t\nquestion = 1\n";
    an_empty_file: "";
    an_unknown_workload: "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.sbs]\nscale = 1\n";
    a_wrong_workload_key: "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.ssb]\nscale = 1\nengin = 'InnoDB'\n";
    a_file_without_servers: "title = 't'\n[server]\n[workload.ssb]\nscale = 1\n";
    a_server_without_a_build: "title = 't'\n[server.a]\n[workload.ssb]\nscale = 1\n";
    a_build_that_does_not_exist: "title = 't'\n[server.a]\nbuild = 'mysql@5.6.41'\n[workload.ssb]\nscale = 1\n";
    a_dsn_that_is_wrong_hides_its_password: "title = 't'\n[server.a]\nbuild = 'mysql://me:s3cret@db:99999/x'\n[workload.ssb]\nscale = 1\n";
    a_dataset_of_an_unknown_server: "title = 't'\n[server.'5.6']\nbuild = 'mariadb'\ndataset_from = '5.5'\n[workload.ssb]\nscale = 1\n";
    two_workloads: "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.ssb]\nscale = 1\n[workload.tpch]\nscale = 1\n";
    a_duplicate_variant: "title = 't'\ntitle = 'u'\n";
}

added! {
    an_unknown_key_of_the_protocol: "[protocol]\nblock = 3\n";
    an_unknown_section: "[sesion]\nsql_mode = ''\n";
    a_number_where_a_list_belongs: "[protocol]\nrounds = 3\n";
    a_text_where_a_number_belongs: "[protocol]\nblocks = \"3\"\n";
    zero_blocks: "[protocol]\nblocks = 0\n";
    more_first_blocks_than_most: "[protocol]\nblocks = { first = 5, most = 3 }\n";
    one_first_block: "[protocol]\nblocks = { first = 1, most = 9 }\n";
    no_first_block: "[protocol]\nblocks = { first = 0, most = 9 }\n";
    blocks_without_a_maximum: "[protocol]\nblocks = { first = 3 }\n";
    a_time_limit_without_a_unit: "[protocol]\nblocks = { first = 3, most = 9, within = 2 }\n";
    an_unknown_key_of_blocks: "[protocol]\nblocks = { first = 3, moist = 9, most = 9 }\n";
    blocks_until_decided_without_a_claim: "[protocol]\nblocks = { first = 3, most = 9 }\n[[claim]]\nsays = 's'\nfinds = 'plan changed'\nof = { server = '5.6' }\n";
    a_wrong_unit_of_time: "[protocol]\nquery_timeout = \"30 sec\"\n";
    a_wrong_unit_of_size: "[settings]\nkey_buffer_size = \"1 Gb\"\n";
    settings_that_leave_the_servers_folder: "[settings]\ngeneral_log_file = \"/tmp/x\"\nskip-grant-tables = true\nsecure_file_priv = \"\"\n[factor.f.x]\nsettings = { datadir = \"d\", slow_query_log_file = \"../x\" }\n[[event]]\nat = \"1s\"\nset = { settings = { general_log_file = \"/tmp/x\" } }\n";
    sessions_that_commit_nothing: "[session]\nautocommit = 0\n[variant.v]\nsession = { autocommit = \"OFF\" }\n[variant.w]\nsession = { autocommit = \"ON\" }\n";
    a_size_relative_to_an_unknown_name: "[settings]\nkey_buffer_size = \"date / 8\"\n";
    a_round_that_does_not_exist: "[protocol]\nrounds = [\"cold\", \"hto\"]\n";
    a_unit_that_does_not_exist: "[protocol]\nunit = \"queries\"\n";
    an_unknown_server_in_only: "[variant.x]\nonly = { server = [\"5.7\"] }\n";
    a_server_without_a_trial: "[factor.mrr.on]\nonly = { server = \"5.6\" }\n";
    an_unknown_factor_in_only: "[variant.x]\nonly = { join = \"ansi\" }\n";
    an_unknown_server_in_on: "[variant.x]\non.\"8.0\".settings = { x = 1 }\n";
    a_level_with_a_wrong_workload_key: "[factor.joins.x]\nworkload = { joins = \"anis\" }\n";
    a_level_that_changes_more_of_a_server_than_its_build: "[variant.x]\nserver = { bild = \"mariadb\", settings = { x = 1 }, dataset_from = \"5.5\" }\n";
    a_level_with_a_build_that_does_not_exist: "[variant.x]\nserver = { build = \"mysql@5.6.41\" }\n";
    a_factor_without_levels: "[factor.joins]\n";
    a_factor_with_a_reserved_name: "[factor.round.x]\n";
    a_variant_in_both_forms: "[factor.variant.\"old\"]\n";
    a_setting_in_two_spellings: "[settings]\nkey-buffer-size = 1\nkey_buffer_size = 2\n";
    clients_outside_of_the_load: "[variant.x]\nclients = 8\n";
    clients_in_a_level_and_in_the_load: "[variant.x]\nload = { clients = 8 }\n[load.closed]\nclients = [1, 8]\n";
    a_level_with_another_protocol: "[factor.joins.x]\nprotocol = { blocks = 2, rounds = [\"hto\"] }\n";
    invalid_limits: "[limits]\ndisk = \"7200 rpm\"\nread_iops = \"fast\"\nmemory = \"1 GB\"\ncpus = 0\nswap = 1\n";
    an_invalid_volume: "[host]\nvolume = { kind = \"volatil\" }\n[variant.x]\nhost = { volume = { kind = \"volatile\", filesystem = \"ext3\", lie = \"fsync\", log = 1 } }\n[variant.y]\nhost = { volume = { kind = \"loop\", slow_flush = \"5ms\" }, disk = 1 }\n";
    an_event_without_a_time: "[[event]]\nsql = \"select 1\"\n";
    a_claim_with_an_unknown_level: "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = { variant = \"smal pool\" }\nto = { variant = \"old\" }\nat_least = 2\n";
    a_claim_with_an_unknown_factor: "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = { varient = \"old\" }\nto = { server = 5.5 }\nat_least = 2\n";
    a_claim_about_a_round_that_is_not_run: "[protocol]\nrounds = [\"hot\"]\n[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = { round = \"cold\" }\nto = { round = \"hot 2\" }\nat_least = 2\n";
    a_claim_without_a_threshold: "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = { server = \"5.5\" }\nto = { server = \"5.6\" }\n";
    a_claim_with_two_thresholds: "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = { server = \"5.5\" }\nto = { server = \"5.6\" }\nat_least = 2\nwithin = 0.1\n";
    a_width_in_percent: "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = { server = \"5.5\" }\nto = { server = \"5.6\" }\nwithin = 5\n";
    a_published_ratio_that_misses_the_threshold: "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = { server = \"5.5\" }\nto = { server = \"5.6\" }\npublished = 1.8\nat_most = 1.34\n";
    a_claim_about_the_same_cell_twice: "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = { server = \"5.5\" }\nto = { server = \"5.5\" }\nat_least = 2\n";
    a_claim_about_the_same_trials_twice: "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = { variant = \"small pool\", server = [\"5.6\", \"5.5\"] }\nto = { variant = \"small pool\" }\nat_least = 2\n";
    a_claim_about_a_part_of_a_cell: "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = { variant = \"small pool\" }\nto = {}\nat_least = 2\n";
    a_claim_about_an_empty_cell: "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\nof = { server = \"5.5\", variant = \"old\" }\nto = { server = \"5.6\" }\nat_least = 2\n";
    a_claim_with_a_misspelled_value: "[[claim]]\nsays = \"s\"\nvalue = \"elapsd\"\nof = { server = \"5.5\" }\nto = { server = \"5.6\" }\nat_least = 2\n";
    a_claim_about_the_throughput_of_rounds: "[[claim]]\nsays = \"s\"\nvalue = \"throughput\"\nof = { server = \"5.5\" }\nto = { server = \"5.6\" }\nat_least = 2\n";
    a_finding_in_the_seconds_of_rounds: "[[claim]]\nsays = \"s\"\nfinds = \"level shift\"\nof = { server = \"5.5\" }\n";
    a_finding_without_its_text: "[[claim]]\nsays = \"s\"\nfinds = \"plan holds\"\nof = { server = \"5.5\" }\n";
    a_spread_with_the_keys_of_a_ratio: "[[claim]]\nsays = \"s\"\nvalue = \"elapsed\"\namong = { round = \"cold\" }\nwithin = 0.1\nto = { round = \"hot\" }\n";
    a_single_bracket_claim: "[claim]\nsays = \"s\"\n";
    several_mistakes_at_once: "[protocol]\nblocks = 0\nround = [\"hot\"]\n[observe]\nplans = \"yes\"\n";
}

#[test]
fn a_setting_that_the_server_does_not_know() {
    let source = format!(
        "{RIGHT}[variant.\"new\"]\nsettings = {{ innodb-old-block-time = 5 }}\non.\"5.5\".settings = {{ redo_log = 1 }}\n"
    );
    let experiment = read(&source).unwrap();
    let names = [
        "innodb_buffer_pool_size".to_string(),
        "innodb_old_blocks_time".to_string(),
    ];
    let known = |server: &str| Known {
        server: server.into(),
        variables: names.iter().cloned().collect(),
        takes_settings: true,
        ..Known::default()
    };
    let of = |servers: &[&str]| {
        let known: Vec<Known> = servers.iter().map(|server| known(server)).collect();
        shown(&settings::unknown(&experiment, &known).unwrap_err())
    };
    insta::assert_snapshot!(
        "a_setting_that_the_server_does_not_know",
        of(&["5.5", "5.6"])
    );
}

#[test]
fn an_unknown_switch_and_an_invalid_state_are_reported() {
    let source = format!(
        "{RIGHT}[factor.mrr.on]\nsession = {{ optimizer_switch = \"mrr=on,mrr_cost_basd=off,semijoin=of\", mrr_bufer_size = \"4M\" }}\n"
    );
    let experiment = read(&source).unwrap();
    let known = |server: &str, switches: &[&str], more: &[&str]| Known {
        server: server.into(),
        variables: [&["optimizer_switch"], more]
            .concat()
            .iter()
            .map(|name| name.to_string())
            .collect(),
        switches: switches.iter().map(|flag| flag.to_string()).collect(),
        takes_session: true,
        ..Known::default()
    };
    let known = [
        known("5.5", &["index_merge"], &[]),
        known(
            "5.6",
            &["mrr", "mrr_cost_based", "semijoin"],
            &["mrr_buffer_size"],
        ),
    ];
    let error = settings::unknown(&experiment, &known).unwrap_err();
    insta::assert_snapshot!(
        "an_unknown_switch_and_an_invalid_state_are_reported",
        shown(&error)
    );
    // A setting that a server not yet running may know is accepted.
    let error = settings::unknown(&experiment, &known[..1]).unwrap_err();
    assert!(
        !shown(&error).contains("mrr_cost_basd\" of"),
        "{}",
        shown(&error)
    );
}

#[test]
fn a_setting_known_to_one_server_of_the_level_is_accepted() {
    let source = format!("{RIGHT}[factor.join.cached]\nsession = {{ join_cache_level = 8 }}\n");
    let experiment = read(&source).unwrap();
    let known = |server: &str, variables: &[&str]| Known {
        server: server.into(),
        variables: variables.iter().map(|name| name.to_string()).collect(),
        takes_session: true,
        ..Known::default()
    };
    let both = [known("5.5", &[]), known("5.6", &["join_cache_level"])];
    assert!(settings::unknown(&experiment, &both).is_ok());
}

#[test]
fn a_pool_beyond_the_machines_memory() {
    let experiment = read(&format!("{RIGHT}[settings]\nkey_buffer_size = \"100G\"\n")).unwrap();
    let error = settings::impossible(&experiment, "5.5", 300 << 30, 24 << 30).unwrap_err();
    insta::assert_snapshot!("a_pool_beyond_the_machines_memory", shown(&error));
}

#[test]
fn a_query_that_the_workload_does_not_have() {
    let source = format!(
        "{RIGHT}[protocol]\nqueries = [\"Q1.1\", \"Q9.1\"]\n[observe]\nprofile = [\"Q2.1\"]\n[[claim]]\nsays = \"s\"\nfinds = \"plan changed\"\nof = {{ query = \"Q11\" }}\n"
    );
    let error = queries::check(&read(&source).unwrap(), &["Q1.1", "Q2.1"]).unwrap_err();
    insta::assert_snapshot!("a_query_that_the_workload_does_not_have", shown(&error));
}
