//! The page of rounds: its charts, that nothing in the record can break out of it, and that it loads nothing.

use crate::fixture;
use crate::fixture::forms;

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let (run, trials) = fixture::published();
    let page = forms::html(&run, &trials);
    for loads in [" src=", "<link", "@import", "url(", "<iframe", "<img"] {
        assert!(!outside_of_scripts(&page).contains(loads), "{loads}");
    }
}

#[test]
fn the_page_does_not_claim_that_the_build_of_the_record_made_it() {
    let (run, trials) = fixture::published();
    let page = forms::html(&run, &trials);
    assert!(page.contains("<footer>Recorded by prony 0.1.0. Made from run.sqlite alone.</footer>"));
}

/// There are 11 in a round of 13 queries.
#[test]
fn the_counters_that_a_reader_chooses_have_the_decimals_of_the_table() {
    let (run, trials) = fixture::published();
    let page = forms::html(&run, &trials);
    assert!(page.contains("\"Created_tmp_tables\":0.8462"));
}

/// The options of the charts.
pub(crate) fn charts(page: &str) -> serde_json::Value {
    let start = page.find("id=\"charts\">").unwrap() + "id=\"charts\">".len();
    let end = start + page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..end]).unwrap()
}

/// The markup, without the data and the scripts.
pub(crate) fn outside_of_scripts(page: &str) -> String {
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
    let charts = charts(&forms::html(&run, &trials));
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

#[test]
fn the_head_names_servers_with_versions_hardware_and_day() {
    let (run, trials) = fixture::published();
    let page = forms::html(&run, &trials);
    let head = page.split("</header>").next().unwrap();
    assert!(head.contains(
        "5.5 (MySQL 5.5.34), 5.6 (MySQL 5.6.14); Some CPU at 3.3 GHz, 6 cores, 12.0 GiB, ext4 on /dev/vda; 2013-04-01"
    ));
}

#[test]
fn the_contents_bar_leads_to_every_section() {
    let (run, trials) = fixture::published();
    let page = forms::html(&run, &trials);
    let (bar, content) = page.split_once("</nav>").unwrap();
    let sections = content.split("<section id=\"").skip(1);
    let ids: Vec<&str> = sections
        .map(|part| part.split('"').next().unwrap())
        .collect();
    assert!(ids.len() > 5);
    for id in ids {
        assert!(bar.contains(&format!("href=\"#{id}\"")), "{id}");
    }
}

#[test]
fn a_verdict_has_its_interval_drawn_beside_it() {
    let (run, trials) = fixture::published();
    let page = forms::html(&run, &trials);
    let verdicts = section(&page, "claims");
    assert_eq!(verdicts.matches("<svg class=\"ratio\"").count(), 4);
    assert!(
        verdicts.contains("<title>Measured 1.68, 95 % CI 1.64 to 1.73, published 1.70"),
        "{verdicts}"
    );
}

#[test]
fn claims_about_cells_that_were_not_measured_are_folded() {
    let (run, mut trials) = fixture::published();
    trials.retain(|trial| trial.key.server_name() == "5.6");
    let page = forms::html(&run, &trials);
    let verdicts = section(&page, "claims");
    let (shown, folded) = verdicts
        .split_once("2 claims about cells that this run did not measure")
        .unwrap();
    for (name, is_measured) in [
        (
            "small pool: 5.6 with its default is slower hot than 5.5",
            false,
        ),
        ("slower hot than with old_blocks_time=0", true),
    ] {
        assert_eq!(shown.contains(name), is_measured, "{name}");
        assert_eq!(folded.contains(name), !is_measured, "{name}");
    }
}

#[test]
fn a_setting_that_differs_without_being_named_is_shown_near_the_verdicts() {
    let (run, mut trials) = fixture::published();
    assert!(!forms::html(&run, &trials).contains("id=\"unintended\""));
    for trial in &mut trials {
        let cleaners = match trial.key.level("variant") {
            Some("large pool") => "4",
            _ => "1",
        };
        let setting = ("innodb_page_cleaners".to_string(), cleaners.to_string());
        trial.settings.extend([setting]);
    }
    let page = forms::html(&run, &trials);
    let unintended = section(&page, "unintended");
    assert!(unintended.contains("innodb_page_cleaners"));
    assert!(!unintended.contains("innodb_old_blocks_time"));
    assert!(page.find("id=\"unintended\"") < page.find("id=\"table\""));
}

fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let start = page.find(&format!("<section id=\"{id}\"")).unwrap();
    let length = page[start..].find("</section>").unwrap();
    &page[start..start + length]
}
