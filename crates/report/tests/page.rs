//! The page of rounds: its charts, that nothing in the record can break out of it, and that it loads nothing.

mod fixture;

use fixture::forms;

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let (run, trials) = fixture::published();
    let page = forms::html(&run, &trials);
    for loads in [" src=", "<link", "@import", "url(", "<iframe", "<img"] {
        assert!(!outside_of_scripts(&page).contains(loads), "{loads}");
    }
}

fn outside_of_scripts(page: &str) -> String {
    let mut parts = page.split("<script");
    let mut text = parts.next().unwrap().to_string();
    parts.for_each(|part| {
        text.push_str(part.split_once("</script>").map_or("", |(_, after)| after))
    });
    text
}

#[test]
fn the_scripts_end_where_they_should() {
    let (run, trials) = fixture::published();
    let page = forms::html(&run, &trials);
    assert_eq!(
        page.matches("</script").count(),
        4,
        "two blocks of data, the chart library, the page's own script"
    );
    assert_eq!(
        page.matches("<!--").count(),
        0,
        "a comment's beginning would change how a script is read"
    );
}

#[test]
fn a_tag_in_any_text_of_the_record_stays_text() {
    let evil = "</script></style><script>alert(1)</script>\"'<img src=x onerror=alert(1)>";
    let (mut run, mut trials) = fixture::troubled();
    run.question.title = evil.to_string();
    run.question.question = evil.to_string();
    run.question.workload.summary = evil.to_string();
    run.experiment_toml = evil.to_string();
    run.overrides = vec![evil.to_string()];
    run.id = evil.to_string();
    run.question.claims[0].says = evil.to_string();
    run.environment.cpu = evil.to_string();
    run.question.servers[0] = evil.to_string();
    for trial in &mut trials {
        trial.flags.push(record::Flag {
            kind: evil.into(),
            text: evil.to_string(),
        });
        trial
            .plans
            .values_mut()
            .for_each(|plan| *plan = format!("id\ttable\ttype\tExtra\n1\t{evil}\tALL\t{evil}"));
        trial
            .plan_forms
            .iter_mut()
            .for_each(|form| form.text = evil.to_string());
        trial.settings.insert(
            evil.to_string(),
            format!("{evil}{}", trial.key.server_name()),
        );
        if trial.key.server_name() == "5.5" {
            trial.key.server = Some(evil.to_string());
        }
        for round in &mut trial.rounds {
            round.counters.insert(evil.to_string(), 7);
        }
    }
    let page = forms::html(&run, &trials);
    let markup = outside_of_scripts(&page);
    assert!(!page.contains(evil) && !markup.contains("<img") && !markup.contains("alert(1)<"));
    assert_eq!(page.matches("</script").count(), 4);
    assert_eq!(
        page.matches("</style").count(),
        2,
        "the page's own and the one for browsers without scripts"
    );
}

#[test]
fn the_charts_have_the_data_of_the_tables() {
    let (run, trials) = fixture::published();
    let page = forms::html(&run, &trials);
    let start = page.find("id=\"charts\">").unwrap() + "id=\"charts\">".len();
    let end = start + page[start..].find("</script>").unwrap();
    let charts: serde_json::Value = serde_json::from_str(&page[start..end]).unwrap();
    let bars = charts["totals"]["baseOption"]["series"].as_array().unwrap();
    assert_eq!(bars.len(), 8, "a bar and a whisker for each of four rounds");
    assert_eq!(bars[0]["data"].as_array().unwrap().len(), 5);
    let queries = charts["hot"]["baseOption"]["series"].as_array().unwrap();
    assert_eq!(queries[0]["data"].as_array().unwrap().len(), 13);
}

#[test]
fn the_page_shows_profiles_and_events() {
    let (run, trials) = fixture::troubled();
    let page = forms::html(&run, &trials);
    for part in [
        "Sending data",
        "10.500",
        "select count(c_name) from customer",
        "id=\"events\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
}
