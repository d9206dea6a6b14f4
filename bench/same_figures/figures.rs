//! Collects what a prony binary reports for a case, as one JSON value with the keys `json`, `csv`, `samples`, `tables`.

use super::reference::Asked;
use serde_json::{Map, Value, json};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

pub(super) fn of(prony: &Path, asked: &Asked) -> Value {
    match asked {
        Asked::Show(record) => shown(prony, record),
        Asked::Merge([one, other]) => {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let words = [OsStr::new("merge"), one.as_ref(), other.as_ref()];
            let words = words.into_iter().chain([OsStr::new("--results")]);
            output(prony, words.chain([folder.path().as_ref()]));
            let mut runs = std::fs::read_dir(folder.path())
                .expect("a folder")
                .flatten();
            shown(prony, &runs.next().expect("a merged run").path())
        }
        Asked::Compare([one, other]) => {
            let output = |format: &str| {
                let words = ["compare", "--format", format].map(OsStr::new);
                output(
                    prony,
                    words.into_iter().chain([one.as_ref(), other.as_ref()]),
                )
            };
            json!({
                "json": serde_json::from_str::<Value>(&output("json")).expect("JSON"),
                "tables": rows_of_tables(&output("markdown")),
            })
        }
    }
}

/// Runs `prony show` in every format. A slim record has no samples: null.
fn shown(prony: &Path, run: &Path) -> Value {
    let output = |format: &str| {
        let words = ["show", "--format", format].map(OsStr::new);
        output(prony, words.into_iter().chain([run.as_ref()]))
    };
    let json: Value = serde_json::from_str(&output("json")).expect("JSON");
    let samples = match json.get("slim") {
        Some(_) => Value::Null,
        None => rows_of_csv(&output("samples")).into(),
    };
    json!({
        "json": json,
        "csv": rows_of_csv(&output("csv")),
        "samples": samples,
        "tables": rows_of_tables(&output("markdown")),
    })
}

fn output<'w>(prony: &Path, words: impl Iterator<Item = &'w OsStr>) -> String {
    let output = Command::new(prony).args(words).output();
    let output = output.expect("prony runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Converts each CSV row to an object. Cells that parse as numbers become numbers.
pub(super) fn rows_of_csv(text: &str) -> Vec<Value> {
    let mut lines = split_csv(text).into_iter();
    let columns = lines.next().unwrap_or_default();
    let row = |cells: Vec<String>| -> Value {
        let cells = cells.into_iter().map(|cell| match cell.parse::<f64>() {
            Ok(number) if number.is_finite() => json!(number),
            _ => json!(cell),
        });
        Value::Object(columns.iter().cloned().zip(cells).collect::<Map<_, _>>())
    };
    lines.map(row).collect()
}

/// Parses CSV (RFC 4180): quoted cells may contain commas, line breaks and doubled quotes.
fn split_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            '\r' if !quoted => {}
            _ => cell.push(character),
        }
    }
    rows
}

/// All rows of all tables in a Markdown report, each with the name of the first column, the row's labels and the numbers in its
/// right-aligned columns.
pub(super) fn rows_of_tables(markdown: &str) -> Vec<Value> {
    let lines: Vec<&str> = markdown.lines().collect();
    let mut rows = Vec::new();
    let mut at = 0;
    while at + 1 < lines.len() {
        let is_table = cells(lines[at]).is_some() && is_rule(lines[at + 1]);
        if !is_table {
            at += 1;
            continue;
        }
        let columns = cells(lines[at]).unwrap_or_default();
        let rule = cells(lines[at + 1]).unwrap_or_default();
        let body = lines[at + 2..].iter().map_while(|line| cells(line));
        let before = rows.len();
        rows.extend(body.map(|row| row_of_table(columns[0], &rule, &row)));
        at += 2 + rows.len() - before;
    }
    rows
}

fn row_of_table(first_column: &str, rule: &[&str], row: &[&str]) -> Value {
    let (mut labels, mut figures) = (Vec::new(), Vec::new());
    for (rule, cell) in rule.iter().zip(row) {
        match rule.ends_with(':') {
            true => figures.extend(numbers(cell)),
            false => labels.push(*cell),
        }
    }
    json!({ "of": first_column, "row": labels.join(", "), "numbers": figures })
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

fn is_rule(line: &str) -> bool {
    line.starts_with('|') && line.chars().all(|character| "|-: ".contains(character))
}

/// The numbers in a cell, without footnote marks (`\[1\]`). A comma or any space before three digits is a thousands separator.
fn numbers(cell: &str) -> Vec<f64> {
    let mut text = cell.to_string();
    while let (Some(from), Some(to)) = (text.find("\\["), text.find("\\]")) {
        text.replace_range(from.min(to)..(to + 2).max(from), "");
    }
    let characters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| characters.get(at).is_some_and(char::is_ascii_digit);
    let is_group = |at: usize| (at..at + 3).all(is_digit) && !is_digit(at + 3);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < characters.len() {
        if !is_digit(at) {
            at += 1;
            continue;
        }
        let mut digits = String::new();
        while at < characters.len() {
            match characters[at] {
                digit if digit.is_ascii_digit() => digits.push(digit),
                '.' if is_digit(at + 1) && !digits.contains('.') => digits.push('.'),
                ' ' | '\u{a0}' | '\u{202f}' | ',' if is_group(at + 1) && !digits.contains('.') => {}
                _ => break,
            }
            at += 1;
        }
        found.extend(digits.parse::<f64>().ok());
    }
    found
}
