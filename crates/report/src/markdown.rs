//! A run as Markdown: the table, the claims and the counters, fit for pasting in an issue.
//!
//! Goal: pipe tables that GitHub and its like draw. Every text of the record is escaped, so that a name can neither break
//! a table nor bring in HTML.

use crate::limits::limits;
use crate::loads::{self, Sheet};
use crate::matrix::Matrix;
use crate::why::Explained;
use crate::{digest, format, names, plans, rounds, why};
use explain::{Difference, Explanation};
use record::{Environment, Judged, Run, Trial};

/// Counters of the largest difference that are shown.
const MOST: usize = 10;
/// Counters of a claim that are shown.
const REASONS: usize = 4;
/// Queries of several plans that are shown with what differs.
const QUERIES_MOST: usize = 5;

pub fn markdown(run: &Run, trials: &[Trial]) -> String {
    let claims = explain::judge(&run.question, trials);
    let mut parts = vec![head(run, trials)];
    if loads::timed(run) {
        parts.extend(timed_loads(run, trials));
    } else {
        parts.push(table(run, &Matrix::of(run, trials)));
        let sheets = rounds::clients(run, trials);
        let sheets = sheets.into_iter().chain(rounds::of_rounds(run, trials));
        parts.extend(sheets.map(|sheet| self::sheet(&sheet)));
    }
    parts.extend(digest::verdicts(&claims).map(|summary| verdicts(&claims, &summary)));
    let explained = why::claims(run, trials);
    let largest = explain::explain_largest(&run.question, trials, MOST);
    parts.extend(reasons(&explained));
    parts.extend(largest.iter().map(|largest| counters(run, largest)));
    parts.extend(why::caveat(&explained, largest.as_ref()).map(|caveat| format!("{caveat}\n")));
    parts.extend(plans(run, trials));
    parts.extend(limits(trials).map(|limits| sheet(&limits)));
    parts.extend(warnings(run, trials));
    parts.extend(rounds::datasets(run, trials).map(|one| sheet(&one)));
    parts.push(place(run, &run.environment));
    parts.join("\n")
}

fn head(run: &Run, trials: &[Trial]) -> String {
    let subtitle = digest::subtitle(run, trials);
    format!(
        "## {}\n\n{}\n\n{}\n",
        safe(&run.question.title),
        safe(&run.question.question),
        safe(&subtitle)
    )
}

fn table(run: &Run, matrix: &Matrix) -> String {
    let mut text = format!("{}:\n\n", matrix.caption(run));
    let heads = matrix
        .factors
        .iter()
        .chain(&matrix.rounds)
        .map(|head| safe(head));
    text.push_str(&line(heads));
    let rules = matrix
        .factors
        .iter()
        .map(|_| "---")
        .chain(matrix.rounds.iter().map(|_| "---:"));
    text.push_str(&line(rules.map(str::to_string)));
    for row in &matrix.lines {
        let labels = row.marked_labels().into_iter();
        let figures = row.cells.iter().map(|cell| cell.on_a_line(matrix.decimals));
        let cells = labels.chain(figures).map(|text| safe(&text));
        text.push_str(&line(cells));
    }
    for (place, note) in matrix.notes.iter().enumerate() {
        text.push_str(&format!("\n\\[{}\\] {}\n", place + 1, safe(note)));
    }
    text
}

fn timed_loads(run: &Run, trials: &[Trial]) -> Vec<String> {
    let mut parts = Vec::new();
    for grid in loads::grids(run, trials) {
        let sheets = grid.sheets().into_iter().chain(grid.further_sheets());
        parts.extend(sheets.map(|sheet| self::sheet(&sheet)));
        let remarks = grid
            .remarks
            .iter()
            .map(|remark| format!("{}\n", safe(remark)));
        parts.extend(remarks);
        let numbered = grid.notes.iter().enumerate();
        parts.extend(numbered.map(|(place, note)| format!("\\[{}\\] {}\n", place + 1, safe(note))));
    }
    parts.extend(loads::scaling(run, trials).map(|scaling| sheet(&scaling)));
    parts.extend(
        loads::answers(run, trials)
            .iter()
            .map(|answer| format!("- {}\n", safe(answer))),
    );
    parts
}

fn sheet(sheet: &Sheet) -> String {
    let mut text = format!("{}:\n\n", safe(&sheet.caption));
    text.push_str(&line(
        sheet
            .labels
            .iter()
            .chain(&sheet.heads)
            .map(|head| safe(head)),
    ));
    let rules = sheet
        .labels
        .iter()
        .map(|_| "---")
        .chain(sheet.heads.iter().map(|_| "---:"));
    text.push_str(&line(rules.map(str::to_string)));
    for row in &sheet.rows {
        let labels = row.labels.iter().map(|label| safe(label));
        let figures = row.cells.iter().map(|figure| safe(&figure.in_words()));
        text.push_str(&line(labels.chain(figures)));
    }
    text
}

fn verdicts(claims: &[Judged], summary: &str) -> String {
    let mut text = format!("### Claims: {summary}\n\n");
    text.push_str("| verdict | claim | published | measured | 95 % interval | threshold |\n| --- | --- | ---: | ---: | ---: | ---: |\n");
    for claim in claims {
        let reason = claim
            .reason
            .as_ref()
            .map_or(String::new(), |reason| format!(" ({reason})"));
        text.push_str(&line(
            [
                format!("**{}**", claim.verdict.text()),
                safe(&format!("{}{reason}", claim.claim.says)),
                claim.claim.published.map_or("-".to_string(), format::ratio),
                safe(&digest::measured(claim)),
                digest::interval(claim),
                safe(&claim.threshold),
            ]
            .into_iter(),
        ));
    }
    text
}

/// The claims' sentences, and under each the counters of its two cells that differ most.
fn reasons(explained: &[Explained]) -> Option<String> {
    let mut text = "### Why, by the counters\n\n".to_string();
    for one in explained {
        let sentence = one.sentence();
        let sentence = sentence.unwrap_or("no counter that is known goes with it".to_string());
        text.push_str(&format!("- {}: {}\n", safe(&one.says), safe(&sentence)));
        let (of, to) = (safe(&one.of), safe(&one.to));
        text.push_str(&format!(
            "  - A = {of}, B = {to}; per {}: ",
            why::per(&one.why)
        ));
        let first = one.why.differences.iter().take(REASONS);
        let counters: Vec<String> = first.map(difference).collect();
        text.push_str(&format!("{}\n", counters.join("; ")));
    }
    (!explained.is_empty()).then_some(text)
}

/// `Handler_read_next 579 426 against 4 541, 127 times`, with a warning where it counts double.
fn difference(difference: &Difference) -> String {
    let mut text = format!(
        "{} {} against {}, A / B {}",
        safe(&difference.counter),
        digest::counter(difference.of),
        digest::counter(difference.to),
        digest::counter_ratio(difference)
    );
    if let Some(doubled) = difference.doubled {
        text.push_str(&format!(" ({})", doubled.words()));
    }
    text
}

fn counters(run: &Run, explanation: &Explanation) -> String {
    let mut text = format!(
        "### The largest difference\n\nA = {}, B = {}: {}.{}\n\n",
        safe(&names::row(
            &run.question,
            explanation.of.0.as_deref(),
            &explanation.of.1
        )),
        safe(&names::row(
            &run.question,
            explanation.to.0.as_deref(),
            &explanation.to.1
        )),
        safe(&digest::difference(explanation)),
        explanation
            .why
            .reason
            .as_ref()
            .map_or(String::new(), |reason| {
                format!(" {}.", safe(&why::sentence(reason, ("A", "B"))))
            }),
    );
    text.push_str(
        "| counter of a query | A | B | A / B | meaning |\n| --- | ---: | ---: | ---: | --- |\n",
    );
    for difference in &explanation.why.differences {
        let cells = [
            safe(&difference.counter),
            digest::counter(difference.of),
            digest::counter(difference.to),
            digest::counter_ratio(difference),
            safe(&why::meaning(difference)),
        ];
        text.push_str(&line(cells.into_iter()));
    }
    if let Some(note) = digest::counter_note(&explanation.why) {
        text.push_str(&format!("\n{note}\n"));
    }
    text
}

fn plans(run: &Run, trials: &[Trial]) -> Option<String> {
    let queries = explain::query_plans(&run.question, trials);
    let mut text = format!("### Plans\n\n{}\n", safe(&plans::summary(&queries)?));
    let changes: Vec<String> = queries
        .iter()
        .flat_map(|query| &query.changes)
        .map(|change| format!("- {}\n", safe(&digest::plan_change(run, change))))
        .collect();
    if !changes.is_empty() {
        text.push_str(&format!(
            "\nPlans that changed within a row:\n\n{}",
            changes.concat()
        ));
    }
    let (shown, left_out) = plans::foremost(&queries, QUERIES_MOST);
    for query in shown {
        text.push_str(&format!("\n{}:\n\n", safe(&query.query)));
        text.push_str(&line(plans::HEADS.map(str::to_string).into_iter()));
        text.push_str("| --- | --- | --- | --- | ---: | ---: | ---: |\n");
        for cells in plans::lines(run, query) {
            text.push_str(&line(cells.iter().map(|cell| safe(cell))));
        }
        for plan in &query.plans {
            let changes = plan.differs.iter().map(plans::change);
            let items: String = changes
                .map(|change| format!("- {}\n", safe(&change)))
                .collect();
            let against = plans::against(plan).filter(|_| !items.is_empty());
            text.extend(against.map(|against| format!("\n{}:\n\n{items}", safe(&against))));
        }
    }
    if left_out > 0 {
        text.push_str(&format!("\nThe page has {left_out} more such queries.\n"));
    }
    Some(text)
}

fn warnings(run: &Run, trials: &[Trial]) -> Option<String> {
    let warnings = digest::warnings(run, trials);
    let items = warnings.iter().map(|warning| {
        format!(
            "- {}: {} ({})\n",
            safe(&warning.kind),
            safe(&warning.text),
            safe(&warning.whose(trials.len()))
        )
    });
    (!warnings.is_empty()).then(|| format!("### Warnings\n\n{}", items.collect::<String>()))
}

fn place(run: &Run, at: &Environment) -> String {
    let servers = at
        .servers
        .iter()
        .map(|(name, server)| format!("{name} = {} {}", server.build, server.version));
    let servers = servers.collect::<Vec<_>>().join(", ");
    let machine = format!(
        "{}, {} cores, {}, {}, kernel {}",
        at.cpu,
        at.cores,
        format::bytes(at.memory_bytes),
        at.file_system,
        at.kernel
    );
    safe(&format!(
        "{servers}; {machine}; prony {}, seed {}, {}",
        at.prony_version,
        run.seed,
        format::moment(run.started_ns)
    )) + "\n"
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// Text that Markdown takes as text: on one line, and without meaning to it.
fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '~' | '#' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
