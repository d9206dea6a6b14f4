//! The audits: what became of the writing transactions, which rules do not hold, and the inputs of the loads.

use crate::build::Context;
use crate::build::rows::Row;
use crate::document::{Block, Cell, Column, ColumnContent, Most, Node, Section, Table};
use crate::{format, names};
use record::event::{KILL, POWER_CUT};
use record::{AuditNote, InputCheck, Trial};

/// Sentences and losses that the terminal shows.
const IN_TERMINAL: usize = 10;
/// Significant digits of an input.
const PLACES: usize = 3;

/// None if no trial has an audit.
pub(crate) fn section(context: &Context) -> Option<Section> {
    let rows: Vec<(&Row, Sums)> = context
        .rows
        .list
        .iter()
        .map(|row| (row, Sums::of(&row.all)))
        .filter(|(_, sums)| sums.trials > 0)
        .collect();
    if rows.is_empty() {
        return None;
    }
    let kills = has(context.trials, KILL);
    let cuts = has(context.trials, POWER_CUT);
    let mut nodes = vec![
        Node {
            // Without an outage, it only says that all is well.
            first_screen: kills || cuts,
            ..Block::table(durability(&rows)).everywhere()
        },
        Block::table(others(&rows)).everywhere(),
        Block::remark(
            "Summed over the trials of a row. Lost: acknowledged but not in the tables; if none of n transactions is lost, the 95 % bound of their share is 3/n, and if none of n trials has a loss, that of the crashes with a loss is 3/n. Ghosts: refused but in the tables. The loss window is the longest time from the acknowledgement of a lost transaction to the crash.",
        )
        .everywhere(),
    ];
    if kills && !cuts {
        nodes.push(
            Block::remark(
                "Only processes were killed. What a server has written survives that without fsync, so these figures say nothing about a power cut.",
            )
            .everywhere(),
        );
    }
    let reported = rows.iter().flat_map(|(row, sums)| advisories(row, sums));
    nodes.extend(reported.map(|text| Block::remark(text).everywhere()));
    nodes.extend(losses(context));
    nodes.extend(sentences(context));
    nodes.extend(inputs(&rows));
    Section::unless_empty("audit", "Audit", nodes)
}

fn has(trials: &[Trial], kind: &str) -> bool {
    let mut events = trials.iter().flat_map(|trial| &trial.events);
    events.any(|event| event.kind == kind)
}

/// The audits of the trials of a row.
#[derive(Default)]
struct Sums<'a> {
    trials: usize,
    /// Trials that lost a transaction, or a part of one.
    losing: usize,
    all: AuditNote,
    violations: usize,
    checks: Vec<&'a InputCheck>,
}

impl<'a> Sums<'a> {
    fn of(trials: &[&'a Trial]) -> Sums<'a> {
        let mut sums = Sums::default();
        for note in trials.iter().filter_map(|trial| trial.audit.as_ref()) {
            sums.trials += 1;
            sums.losing += usize::from(note.has_losses());
            let all = &mut sums.all;
            all.acknowledged += note.acknowledged;
            all.refused += note.refused;
            all.unknown += note.unknown;
            all.unknown_kept += note.unknown_kept;
            all.lost += note.lost;
            all.ghosts += note.ghosts;
            all.partly_applied += note.partly_applied;
            all.seen_but_lost += note.seen_but_lost;
            let windows = all.loss_window_s.into_iter().chain(note.loss_window_s);
            all.loss_window_s = windows.reduce(f64::max);
            sums.violations += note.violations.len();
            sums.checks.extend(&note.inputs);
        }
        sums
    }
}

/// What a row or a trial lost.
const LOSSES: [&str; 3] = ["acknowledged", "lost", "loss window (s)"];

fn loss_cells(note: &AuditNote) -> [Cell; 3] {
    [
        count(note.acknowledged),
        Cell::text(lost(note)),
        Cell::figure(note.loss_window_s, |s| format::seconds(s, 3)),
    ]
}

/// One figure of what is counted, and what it lost.
fn loss_columns(label: &str, figure: &str) -> Vec<Column> {
    let [label, figure] = [[label], [figure]];
    Column::list(&[
        (ColumnContent::Label, &label),
        (ColumnContent::Figure, &figure),
        (ColumnContent::Figure, &LOSSES),
    ])
}

/// What each row lost.
fn durability(rows: &[(&Row, Sums)]) -> Table {
    let cells = |(row, sums): &(&Row, Sums)| {
        let losing = format!("{} of {}", sums.losing, sums.trials);
        let mut cells = vec![Cell::text(&row.name), Cell::text(losing)];
        cells.extend(loss_cells(&sums.all));
        cells
    };
    let columns = loss_columns("row", "trials with a loss");
    Table::new("Losses", columns, rows.iter().map(cells))
}

/// What became of the other transactions of each row.
fn others(rows: &[(&Row, Sums)]) -> Table {
    let columns = Column::list(&[
        (ColumnContent::Label, &["row"]),
        (
            ColumnContent::Figure,
            &[
                "refused",
                "unknown (kept)",
                "seen but lost",
                "ghosts",
                "partly applied",
                "violations",
            ],
        ),
    ]);
    let cells = |(row, sums): &(&Row, Sums)| {
        let all = &sums.all;
        vec![
            Cell::text(&row.name),
            count(all.refused),
            Cell::text(format!(
                "{} ({})",
                format::count(all.unknown as f64),
                format::count(all.unknown_kept as f64)
            )),
            count(all.seen_but_lost),
            count(all.ghosts),
            count(all.partly_applied),
            count(sums.violations as u64),
        ]
    };
    Table::new("Other transactions", columns, rows.iter().map(cells))
}

/// Each trial that lost something, with the seed by which its power cut can be repeated.
fn losses(context: &Context) -> Option<Node> {
    let cells = |trial: &Trial| {
        let note = trial.audit.as_ref().filter(|note| note.has_losses())?;
        let mut events = trial.events.iter();
        let seed = events.find_map(|event| event.numbers.get("seed").copied());
        let mut cells = vec![
            Cell::text(names::trial(context.run, &trial.key)),
            Cell::figure(seed, |seed| format!("{seed}")),
        ];
        cells.extend(loss_cells(note));
        Some(cells)
    };
    let rows: Vec<Vec<Cell>> = context.trials.iter().filter_map(cells).collect();
    (!rows.is_empty()).then(|| {
        let table = Table::new("Each loss", loss_columns("trial", "seed"), rows);
        Block::table(table.most(Most::in_terminal(IN_TERMINAL))).everywhere()
    })
}

fn count(count: u64) -> Cell {
    Cell::text(format::count(count as f64))
}

/// `68 (0.32 %)`, `0 (< 0.014 %)`, or `0, 2 in part`.
fn lost(note: &AuditNote) -> String {
    match note.partly_applied {
        0 => wholly_lost(note),
        partly => format!(
            "{}, {} in part",
            wholly_lost(note),
            format::count(partly as f64)
        ),
    }
}

fn wholly_lost(note: &AuditNote) -> String {
    let percent = |share: f64| format!("{} %", significant(100.0 * share));
    match note.lost_bound() {
        Some(bound) => format!("0 (< {})", percent(bound)),
        None if note.lost == 0 => "0".to_owned(),
        None => format!(
            "{} ({})",
            format::count(note.lost as f64),
            percent(note.lost as f64 / note.acknowledged as f64)
        ),
    }
}

/// What the workload's standard requires to be reported.
fn advisories(row: &Row, sums: &Sums) -> Vec<String> {
    let checks = sums.checks.iter().filter(|check| check.is_advisory);
    let text = |check: &&InputCheck| -> String {
        format!(
            "{}: {} is {} of {}, and must be reported above {}.",
            row.name,
            check.name,
            significant(check.observed),
            format::count(check.samples as f64),
            significant(check.high)
        )
    };
    checks.filter(|check| !check.passed()).map(text).collect()
}

/// Which transactions and rules, with their trial.
fn sentences(context: &Context) -> Option<Node> {
    let mut items = Vec::new();
    for trial in context.trials {
        let Some(note) = &trial.audit else { continue };
        let name = names::trial(context.run, &trial.key);
        let found = note.findings.iter().chain(&note.violations);
        items.extend(found.map(|one| format!("{name}: {one}")));
    }
    (!items.is_empty()).then(|| Block::list(items, IN_TERMINAL).everywhere())
}

/// Every check of the inputs on the page, the failed ones everywhere.
fn inputs(rows: &[(&Row, Sums)]) -> Vec<Node> {
    let table = |is_shown: fn(&InputCheck) -> bool| {
        let columns = Column::list(&[
            (ColumnContent::Label, &["row", "input"]),
            (ColumnContent::Figure, &["observed", "allowed", "draws"]),
        ]);
        let cells = rows.iter().flat_map(|(row, sums)| {
            let checks = sums.checks.iter().filter(move |check| is_shown(check));
            checks.map(|check| {
                [
                    row.name.clone(),
                    check.name.clone(),
                    significant(check.observed),
                    format!("{} to {}", significant(check.low), significant(check.high)),
                    format::count(check.samples as f64),
                ]
                .map(Cell::text)
                .to_vec()
            })
        });
        let cells: Vec<Vec<Cell>> = cells.collect();
        (!cells.is_empty()).then(|| Block::table(Table::new("", columns, cells)))
    };
    let failed = table(InputCheck::is_fault).map(|failed| {
        vec![
            Block::Heading("Inputs outside the ranges of the workload".into()).everywhere(),
            failed.everywhere(),
        ]
    });
    let all = table(|_| true)
        .map(|all| Block::fold("All checks of the inputs", false, vec![all.page()]).page());
    failed.into_iter().flatten().chain(all).collect()
}

/// `0.98`, `1.00e-6`, `10.03`
fn significant(value: f64) -> String {
    match value.abs() {
        small if small > 0.0 && small < 1e-3 => format!("{value:.2e}"),
        small if small < 1.0 => format!("{value:.PLACES$}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_loss_has_its_bound_and_a_loss_its_share() {
        let of = |acknowledged, lost| AuditNote {
            acknowledged,
            lost,
            ..AuditNote::default()
        };
        assert_eq!(lost(&of(21_000, 0)), "0 (< 0.014 %)");
        assert_eq!(lost(&of(21_197, 68)), "68 (0.321 %)");
        assert_eq!(lost(&of(0, 0)), "0");
        let in_part = AuditNote {
            partly_applied: 2,
            ..of(21_000, 0)
        };
        assert_eq!(lost(&in_part), "0, 2 in part");
    }

    #[test]
    fn small_inputs_keep_their_digits() {
        let texts = [1e-6, 0.049_4, 1.005_3, 10.026].map(significant);
        assert_eq!(texts, ["1.00e-6", "0.049", "1.01", "10.03"]);
    }
}
