//! Pages of every kind of run in a real browser: nothing in the console, no label over another, nothing cut, readable colours.
//!
//! With `PRONY_SCREENSHOTS=FOLDER` the pages and their pictures are kept there, in further views, for a look at them. With
//! `PRONY_RECORDS=A.sqlite:B.sqlite.gz` these are the pages of these records, and no others.
//!
//! Tier: default for three pages, `all` for all of them.

mod chromium;

use crate::fixture;
use crate::fixture::timed;
use crate::tier::{Tier, tier};
use chromium::{Chromium, View};
use record::{Run, Trial};
use report::{Detail, Document};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use store::Store;

/// The height of a picture, in pixels.
const PIECE: f64 = 2000.0;
const CHECK: &str = include_str!("check.js");
const DESK: View = View {
    width: 1280,
    dark: false,
    print: false,
};
/// A desk by day, a phone by night, and A4 without its margins.
const VIEWS: [(&str, View); 3] = [
    ("desk", DESK),
    (
        "phone",
        View {
            width: 390,
            dark: true,
            ..DESK
        },
    ),
    (
        "paper",
        View {
            width: 680,
            print: true,
            ..DESK
        },
    ),
];
/// What a look at the pictures is for beside the other views, whose layouts are the same.
const VIEWS_KEPT: [(&str, View); 2] = [
    ("desk-dark", View { dark: true, ..DESK }),
    ("phone-light", View { width: 390, ..DESK }),
];
/// Kept records, below `bench`: what made-up runs do not have. Those of p3 to p9 are slim.
const RECORDS: [&str; 11] = [
    "results/quickstart/run.sqlite.gz",
    "results/p2/concurrency.sqlite.zst",
    "results/p3/redo-device.sqlite.zst",
    "results/p5/one-file.sqlite.zst",
    "results/p6/icp-memory.sqlite.zst",
    "results/p9/shards-merged.sqlite.zst",
    "results/p9/stale-reads.sqlite.zst",
    "results/decides/same-01-oltp.sqlite.zst",
    "same_figures/records/crash.sqlite.zst",
    "same_figures/records/cluster.sqlite.zst",
    "same_figures/records/files.sqlite.zst",
];

#[test]
fn pages_of_every_kind_of_run_are_sound_in_a_browser() {
    let Some(mut browser) = Chromium::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut problems = Vec::new();
    for (name, page) in pages() {
        let kept = std::env::var_os("PRONY_SCREENSHOTS").map(PathBuf::from);
        let folder = kept.as_deref().unwrap_or(folder.path());
        let file = folder.join(format!("{name}.html"));
        std::fs::write(&file, page).unwrap();
        let further = VIEWS_KEPT.iter().filter(|_| kept.is_some());
        for (view_name, view) in VIEWS.iter().chain(further) {
            let mut found = browser.load(&file, *view);
            if view.print {
                browser.evaluate("dispatchEvent(new Event('beforeprint'))");
            }
            keep_pictures(&mut browser, &format!("{name}-{view_name}"));
            let layout = browser.evaluate(CHECK);
            let layout = layout.as_array().unwrap().iter().filter_map(Value::as_str);
            found.extend(layout.map(String::from));
            problems.extend(
                found
                    .iter()
                    .map(|one| format!("{name}, {view_name}: {one}")),
            );
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn what_a_page_does_wrong_is_found() {
    let Some(mut browser) = Chromium::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.html");
    let wrong = "<!DOCTYPE html><body><section id='s'><div style='width:100px;overflow:hidden'><table><thead><tr><th>a table that is wider than its \
        place</th><td>y</td></tr></thead><tbody><tr><td style='min-width:300px'>x</td></tr></tbody></table></div><p style='color:#ccc;background:#fff'>pale</p><div style='width:2000px'>wide</div>\
        <div class='chart' data-chart='c' aria-label='c'><svg width='100' height='20'><path/><path/><path/><text x='0' y='12'>first</text>\
        <text x='5' y='12'>second</text></svg></div></section><script>missing()</script>";
    std::fs::write(&file, wrong).unwrap();
    let console = browser.load(&file, DESK).join("\n");
    assert!(console.contains("missing is not defined"), "{console}");
    let found = browser.evaluate(CHECK).to_string();
    for part in [
        "px are shown",
        "a table is cut",
        "has no scope",
        "has 1 cells for 2 columns",
        "\\\"first\\\" and \\\"second\\\" overlap",
        "\\\"pale\\\" has a contrast",
    ] {
        assert!(found.contains(part), "{part} in {found}");
    }
}

/// One of rounds, one of a load, and one of a record.
const PAGES_BY_DEFAULT: [&str; 3] = ["rounds-troubled", "open", "quickstart-run"];

/// A page's name, and what makes its run.
type MadeUp = (&'static str, fn() -> (Run, Vec<Trial>));

fn pages() -> Vec<(String, String)> {
    if let Some(records) = std::env::var_os("PRONY_RECORDS") {
        let records: Vec<PathBuf> = std::env::split_paths(&records).collect();
        return records.iter().map(|path| recorded(path)).collect();
    }
    let made_up: [MadeUp; 13] = [
        ("rounds", fixture::published),
        ("rounds-troubled", fixture::troubled),
        ("rounds-of-one-block", || fixture::long(1)),
        ("rounds-by-clients", fixture::clients::by_clients),
        ("own-sql", fixture::own_sql::external),
        ("only", || without(fixture::published(), "5.5")),
        ("closed", timed::troubled),
        ("open", timed::open),
        ("search", timed::searched),
        ("long", || timed::long(2_400)),
        ("tpcc", fixture::tpcc::matrix),
        ("folder", || without_servers(timed::closed())),
        ("begun", || (fixture::published().0, Vec::new())),
    ];
    let is_due = |name: &str| tier() > Tier::Default || PAGES_BY_DEFAULT.contains(&name);
    let made_up = made_up.into_iter().filter(|(name, _)| is_due(name));
    let made_up = made_up.map(|(name, make)| {
        let (run, trials) = make();
        let page = report::html(&Document::of(&run, &trials, Detail::Full));
        (name.to_string(), page)
    });
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench");
    let records = RECORDS.iter().map(|path| bench.join(path));
    let records = records.filter(|path| is_due(&name_of(path)));
    made_up.chain(records.map(|path| recorded(&path))).collect()
}

/// The page of a record, named after its file and its folder: `p3-quick`.
fn recorded(path: &Path) -> (String, String) {
    (name_of(path), page_of_record(path))
}

fn name_of(path: &Path) -> String {
    let parts = path.iter().rev().take(2).map(|part| part.to_string_lossy());
    let parts: Vec<_> = parts.collect();
    let name = parts.iter().rev().cloned().collect::<Vec<_>>().join("-");
    name.split(".sqlite").next().unwrap().to_string()
}

fn page_of_record(path: &Path) -> String {
    let store = Store::open(path).unwrap();
    let (run, trials) = (store.run().unwrap(), store.trials_whole().unwrap());
    let controls = store.controls().unwrap();
    report::html(&Document::with_control(
        &run,
        &trials,
        &controls,
        Detail::Full,
    ))
}

/// As `--only` leaves it.
fn without((run, mut trials): (Run, Vec<Trial>), server: &str) -> (Run, Vec<Trial>) {
    trials.retain(|trial| trial.key.server_name() != server);
    (run, trials)
}

/// As file I/O is recorded.
fn without_servers((mut run, mut trials): (Run, Vec<Trial>)) -> (Run, Vec<Trial>) {
    trials.retain(|trial| trial.key.server_name() == "5.6");
    trials.iter_mut().for_each(|trial| trial.key.server = None);
    run.question.servers.clear();
    run.environment.servers.clear();
    (run, trials)
}

/// In pieces, because pages are long.
fn keep_pictures(browser: &mut Chromium, name: &str) {
    let Some(folder) = std::env::var_os("PRONY_SCREENSHOTS") else {
        return;
    };
    let metrics = browser.call("Page.getLayoutMetrics", json!({}));
    let size = |key: &str| metrics["cssContentSize"][key].as_f64().unwrap();
    let (width, height) = (size("width"), size("height"));
    for piece in 0..(height / PIECE).ceil() as usize {
        let y = piece as f64 * PIECE;
        let clip =
            json!({ "x": 0, "y": y, "width": width, "height": PIECE.min(height - y), "scale": 1 });
        let parameters = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let picture = browser.call("Page.captureScreenshot", parameters);
        let file = PathBuf::from(&folder).join(format!("{name}-{piece}.png"));
        std::fs::write(file, base64(picture["data"].as_str().unwrap())).unwrap();
    }
}

/// Base64 without line ends, as the protocol sends it.
fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u32> = text.bytes().filter_map(value).map(u32::from).collect();
    let of_group = |group: &[u32]| {
        let bits = group.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - group.len()));
        let bytes = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
        bytes[..group.len() - 1].to_vec()
    };
    digits.chunks(4).flat_map(of_group).collect()
}
