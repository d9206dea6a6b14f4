//! The page of timed loads: its charts, that nothing in the record can break out of it, that it stays small.

use crate::fixture::{forms, timed};
use crate::page::{charts, outside_of_scripts};
use serde_json::Value;
use std::sync::LazyLock;

static TROUBLED: LazyLock<String> = LazyLock::new(|| {
    let (run, trials) = timed::troubled();
    forms::html(&run, &trials)
});
static OPEN: LazyLock<String> = LazyLock::new(|| {
    let (run, trials) = timed::open();
    forms::html(&run, &trials)
});

#[test]
fn every_chart_has_options_and_every_choice_has_a_chart() {
    for page in [&*TROUBLED, &*OPEN] {
        let options = charts(page);
        let known = |name: &str| options.get(name).is_some();
        let names = page
            .split("data-chart=\"")
            .skip(1)
            .map(|part| part.split('"').next().unwrap());
        assert!(names.clone().count() >= 4);
        for name in names {
            assert!(known(name), "{name}");
        }
        let chosen = page.split("<select data-chooses=").skip(1);
        let values = chosen.flat_map(|part| {
            part.split("</select>")
                .next()
                .unwrap()
                .split("value=\"")
                .skip(1)
        });
        for value in values {
            assert!(known(value.split('"').next().unwrap()), "{value}");
        }
    }
}

#[test]
fn the_warm_up_a_stall_and_an_event_are_marked_in_the_seconds() {
    let options = charts(&TROUBLED);
    let series = options["seconds-1"]["baseOption"]["series"]
        .as_array()
        .unwrap();
    let marked = series
        .iter()
        .find(|series| series.get("markArea").is_some())
        .unwrap();
    let areas: Vec<&str> = marked["markArea"]["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|area| area[0]["name"].as_str().unwrap())
        .collect();
    assert_eq!(areas, ["warm-up", "stall", ""]);
    assert_eq!(marked["markArea"]["data"][1][0]["xAxis"], 14);
    assert_eq!(marked["markLine"]["data"][0]["label"]["formatter"], "sql");
    let least = series
        .iter()
        .find(|series| series["name"] == "done, min to max")
        .unwrap();
    assert_eq!(
        least["data"][14], 0,
        "the stall of one block of three is not averaged away"
    );
}

#[test]
fn closed_and_open_loads_are_never_in_one_chart() {
    let page = outside_of_scripts(&OPEN);
    assert!(page.contains("closed loop, 64 clients"));
    let titles = page
        .split("<h3>")
        .skip(1)
        .chain(page.split("<option ").skip(1));
    let titles = titles.map(|part| part.split("</").next().unwrap());
    for title in titles {
        assert!(
            !(title.contains("closed loop") && title.contains("open loop")),
            "{title}"
        );
    }
    let boxes = &charts(&OPEN)["boxes-open-loop"]["baseOption"]["yAxis"][0]["data"];
    let boxes = boxes.as_array().unwrap();
    let is_closed = |name: &Value| name.as_str().unwrap().contains("· max ·");
    assert_eq!(boxes.len(), 8, "two rates by four numbers of workers");
    assert!(!boxes.iter().any(is_closed), "{boxes:?}");
}

#[test]
fn the_chart_of_predictions_has_measured_and_predicted_curves() {
    let options = charts(&OPEN);
    let series = options["predicted-p99"]["baseOption"]["series"]
        .as_array()
        .unwrap();
    let names: Vec<&str> = series
        .iter()
        .map(|series| series["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"5.6 · 60% of max, measured")
            && names.contains(&"5.6 · 60% of max, predicted"),
        "{names:?}"
    );
}

#[test]
fn a_rate_search_is_a_curve_in_ascending_order() {
    let (run, trials) = timed::searched();
    let options = charts(&forms::html(&run, &trials));
    let series = &options["latency-requests"]["baseOption"]["series"][0];
    let rates: Vec<f64> = series["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point[0].as_f64().unwrap())
        .collect();
    assert!(rates.is_sorted() && rates.len() >= 2, "{rates:?}");
}

#[test]
fn a_long_trial_is_drawn_with_few_points() {
    let (run, trials) = timed::long(2_400);
    let page = forms::html(&run, &trials);
    let options = charts(&page);
    let series = options["seconds"]["baseOption"]["series"]
        .as_array()
        .unwrap();
    for one in series {
        assert!(one["data"].as_array().unwrap().len() <= 2000);
    }
    let drops = series[0]["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|value| **value == 0)
        .count();
    assert_eq!(drops, 1, "one second without an operation is still drawn");
}

#[test]
fn a_tag_in_any_text_of_the_record_stays_text() {
    let evil = "</script></style><script>alert(1)</script>\"'<img src=x onerror=alert(1)>";
    let (mut run, mut trials) = timed::troubled();
    run.question.title = evil.to_string();
    run.question.factors[0].levels[0] = evil.to_string();
    run.question.servers[0] = evil.to_string();
    for trial in &mut trials {
        if trial.key.server_name() == "5.5" {
            trial.key.server = Some(evil.to_string());
        }
        if trial.key.levels[0].1 == "thread_concurrency=0" {
            trial.key.levels[0].1 = evil.to_string();
        }
        for event in &mut trial.events {
            (event.kind, event.text) = (evil.to_string(), evil.to_string());
        }
        if let Some(load) = &mut trial.load {
            load.engine.backend = evil.to_string();
            let summary = load.summary.as_mut().unwrap();
            summary.steady.reason = evil.to_string();
            summary.engine.limit = Some(evil.to_string());
        }
    }
    let page = forms::html(&run, &trials);
    assert!(!page.contains(evil) && !outside_of_scripts(&page).contains("<img"));
    assert_eq!(
        page.matches("</script").count(),
        3,
        "a block of data, the chart library, the page's own script"
    );
    assert_eq!(page.matches("<!--").count(), 0);
}

#[test]
fn a_run_without_trials_has_a_page() {
    let (run, _) = timed::closed();
    let page = forms::html(&run, &[]);
    assert!(page.contains("0 of 36 trials"));
    assert!(charts(&page).as_object().unwrap().is_empty());
}
