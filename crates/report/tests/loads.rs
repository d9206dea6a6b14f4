//! The forms of a report of timed loads, against golden files of made-up runs with P8's and P7's published figures.

mod fixture;

use fixture::timed;

#[test]
fn the_terminal_shows_the_published_table_of_clients() {
    let (run, trials) = timed::closed();
    insta::assert_snapshot!(report::terminal(&run, &trials, false, 100));
}

#[test]
fn the_terminal_says_what_is_wrong_with_cells_in_footnotes() {
    let (run, trials) = timed::troubled();
    insta::assert_snapshot!(report::terminal(&run, &trials, false, 100));
}

#[test]
fn the_terminal_shows_the_published_table_of_workers_and_where_the_queue_grows() {
    let (run, trials) = timed::open();
    insta::assert_snapshot!(report::terminal(&run, &trials, false, 100));
}

#[test]
fn a_narrow_terminal_shows_each_row_by_itself() {
    let (mut run, trials) = timed::closed();
    run.question.claims.clear();
    insta::assert_snapshot!(report::terminal(&run, &trials, false, 60));
}

#[test]
fn rates_that_were_searched_stand_below_each_other_in_order() {
    let (run, trials) = timed::searched();
    insta::assert_snapshot!(report::terminal(&run, &trials, false, 100));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (run, trials) in [timed::troubled(), timed::open(), timed::searched()] {
        for width in [80, 100, 140] {
            let text = report::terminal(&run, &trials, false, width);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{widest:?} of {width}:\n{text}");
        }
    }
}

#[test]
fn one_block_has_no_interval() {
    let (run, trials) = timed::by_clients(1, 30);
    let text = report::terminal(&run, &trials, false, 100);
    assert!(text.contains("one block, so without an interval"), "{text}");
    assert!(!text.contains('±'), "{text}");
}

#[test]
fn markdown_has_the_tables_and_the_scaling() {
    let (run, trials) = timed::troubled();
    insta::assert_snapshot!("markdown_closed", report::markdown(&run, &trials));
    let (run, trials) = timed::open();
    insta::assert_snapshot!("markdown_open", report::markdown(&run, &trials));
}

#[test]
fn csv_has_a_row_for_every_trial() {
    let (run, trials) = timed::troubled();
    let text = report::csv(&run, &trials);
    assert_eq!(text.matches("\r\n").count(), trials.len() + 1);
    let some: Vec<&str> = text.lines().step_by(5).collect();
    insta::assert_snapshot!(some.join("\n"));
    let (run, trials) = timed::open();
    let heads = report::csv(&run, &trials)
        .lines()
        .next()
        .unwrap()
        .split(',')
        .count();
    assert!(
        report::csv(&run, &trials)
            .lines()
            .all(|line| line.split(',').count() == heads)
    );
}

#[test]
fn samples_have_a_row_for_every_second_of_every_trial() {
    let (run, trials) = timed::by_clients(1, 30);
    let text = report::samples(&run, &trials);
    assert_eq!(text.lines().count(), 12 * 30 + 1);
    let some: Vec<&str> = text.lines().take(7).collect();
    insta::assert_snapshot!(some.join("\n"));
}

#[test]
fn json_of_an_open_load_keeps_the_contract() {
    let (run, mut trials) = timed::open();
    trials.truncate(3);
    let document: serde_json::Value = serde_json::from_str(&report::json(&run, &trials)).unwrap();
    let unstable = &document["trials"][1];
    assert!(unstable["latency_ms"].is_null());
    assert_eq!(unstable["stable"], false);
    assert!(
        unstable["unstable"]
            .as_str()
            .unwrap()
            .starts_with("unstable: the queue grows by 4")
    );
    let stable = &document["trials"][2];
    for kind in ["latency_ms", "service_ms"] {
        let keys: Vec<_> = stable[kind].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["p50", "p95", "p99", "p999", "max"], "{kind}");
    }
    assert_eq!(stable["queued_at_end"], 0);
    assert_eq!(stable["samples"].as_array().unwrap().len(), 30);
    assert_eq!(stable["samples"][4]["measured"], false);
    assert!(stable["offered"].as_f64().unwrap() > 1700.0);
    let mut stable = stable.clone();
    stable["samples"].as_array_mut().unwrap().truncate(2);
    insta::assert_snapshot!(serde_json::to_string_pretty(&stable).unwrap());
}

#[test]
fn json_of_a_closed_load_counts_the_errors_of_the_measured_part() {
    let (run, trials) = timed::troubled();
    let document: serde_json::Value = serde_json::from_str(&report::json(&run, &trials)).unwrap();
    let failing = &document["trials"][2];
    assert_eq!(failing["errors"], 9);
    assert_eq!(
        failing["errors_by_code"],
        serde_json::json!({ "1205": 2, "1213": 7 })
    );
    assert!(failing["stable"].is_null() && failing["offered"].is_null());
    let failed = document["trials"]
        .as_array()
        .unwrap()
        .iter()
        .find(|trial| trial["state"] == "failed");
    assert!(failed.unwrap()["throughput"].is_null());
}
