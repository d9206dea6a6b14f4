//! The document of several runs: what differs between them, then the same cells side by side.

use super::headline;
use super::ratios::contrasts;
use super::rounds::queries;
use super::setup::differences;
use super::trials::{failures, noise};
use crate::document::{
    Block, Cell, Column, ColumnContent, Comparison, Difference, DifferenceKind, Faults, Headline,
    Most, Node, Section, Table,
};
use crate::format;
use record::{Run, Slim, Trial, TrialState, for_count};
use stats::{Control, Drift, LeftOut};

/// Settings in the terminal.
const MOST_SETTINGS: usize = 15;
/// Rows that are not compared, in the terminal.
const MOST_LEFT_OUT: usize = 10;
const UNPAIRED: &str = "Blocks of different runs do not belong together, so the ratios are unpaired (Welch's t on logarithms). The intervals hold the noise \
    between blocks, not what changed on the machine between the runs. Two servers in one run are compared more exactly.";

/// A run that is compared. The trials need their settings (`Store::trials_with_settings`).
pub struct Measured {
    pub run: Run,
    pub trials: Vec<Trial>,
    /// The trials of the A/A control.
    pub controls: Vec<Trial>,
}

impl Comparison {
    /// Further runs against the first one. `experiments` are the differences between the experiment files.
    pub fn of(measured: Vec<Measured>, experiments: Vec<Difference>, tolerance: f64) -> Comparison {
        let faults = |one: &Measured| Faults::of(&one.run, &one.trials, &one.controls);
        let faults: Vec<Faults> = measured.iter().map(faults).collect();
        let control =
            |one: &Measured| stats::control(&one.run.question, &one.trials, &one.controls);
        let controls: Vec<Control> = measured.iter().filter_map(control).collect();
        let drifts = |one: &Measured| stats::drifts(&one.run.question, &one.trials);
        let drifts: Vec<Vec<Drift>> = measured.iter().map(drifts).collect();
        let parts = measured.into_iter().map(|one| (one.run, one.trials));
        let (runs, trials): (Vec<Run>, Vec<Vec<Trial>>) = parts.unzip();
        let mut differences = differences::of_environments(&runs);
        differences.extend(experiments);
        differences.extend(differences::of_slices(&trials));
        differences.extend(differences::of_loads(&trials));
        differences.extend(differences::of_datasets(&trials));
        let (settings, in_some) = differences::of_settings(&trials);
        differences.extend(settings);
        let collations = differences::of_collations(&trials);
        let table = table_of_runs(&runs, &trials);
        let questions = runs.iter().map(|run| &run.question);
        let across = stats::across(questions.zip(trials).collect(), tolerance);
        let question = &runs[0].question;
        let failing =
            failures::of_contrasts(question, &across.contrasts, failures::NAMED).into_iter();
        let headline = contrasts::headline(question, &across.contrasts);
        let headline = headline.unwrap_or_else(|| "Nothing can be compared.".into());
        let others = failures::other(question, &across.contrasts);
        let of_rows = differences::of_rows(&others, runs.len(), &differences);
        differences.extend(of_rows);
        differences.extend(collations);
        let others = others.into_iter().map(|other| other.sentence).take(1);
        let confounded = differences::confounding(&differences).into_iter();
        let others = others.chain(confounded.map(|one| one.sentence));
        let others = others.map(|sentence| {
            Headline::default()
                .stress(format::capitalised(&sentence))
                .plain(".")
        });
        let doubts = headline::doubts(&faults, failing, &controls);
        let doubts = others.chain(doubts);
        let mut comparison = Comparison {
            differences,
            contrasts: across.contrasts,
            share: across.share,
            left_out: across.left_out,
            tolerance,
            title: format!("Comparison of {}", format::plural(runs.len(), "run")),
            headline: doubts.fold(headline, Headline::then),
            faults,
            controls,
            drifts,
            sections: Vec::new(),
            runs,
        };
        comparison.sections = sections(&comparison, table, in_some);
        comparison
    }
}

fn sections(comparison: &Comparison, runs: Table, settings_in_some: usize) -> Vec<Section> {
    let question = &comparison.runs[0].question;
    let mut contrasts = contrasts::nodes(question, &comparison.contrasts);
    contrasts.extend(queries::compared(question, &comparison.contrasts, &[]));
    if !contrasts.is_empty() {
        contrasts.push(Block::remark(UNPAIRED).everywhere());
        contrasts.extend(compared_before(comparison.share).map(Block::everywhere));
    }
    let drifting = |(place, (run, drifts)): (usize, (&Run, &Vec<Drift>))| {
        noise::drifting(&format!("run {}, ", place + 1), run, drifts)
    };
    let of_runs = comparison.runs.iter().zip(&comparison.drifts).enumerate();
    let noise: Vec<Node> = of_runs.flat_map(drifting).collect();
    let recorded_by = format!("Recorded by prony {}.", comparison.prony());
    let runs = [Block::table(runs), Block::remark(recorded_by)];
    let runs = runs.into_iter().map(Block::everywhere).collect();
    let sections = [
        Section::unless_empty("runs", "Runs", runs),
        differing(comparison, settings_in_some),
        Section::unless_empty("contrasts", "The same cells", contrasts),
        Section::unless_empty("noise", "Noise", noise),
        left_out(&comparison.left_out),
    ];
    sections.into_iter().flatten().collect()
}

/// None where no blocks were added to a finished run.
fn compared_before(share: f64) -> Option<Block> {
    (share < 1.0).then(|| {
        Block::remark(format!(
            "Blocks were added to a finished run, and the runs may have been compared before. So this comparison has {} of the error rate, and its intervals are wider.",
            format::percent(share)
        ))
    })
}

fn table_of_runs(runs: &[Run], trials: &[Vec<Trial>]) -> Table {
    let row = |(place, (run, trials)): (usize, (&Run, &Vec<Trial>))| {
        let counted = trials
            .iter()
            .filter(|trial| trial.state == TrialState::Done);
        let counted = counted.count();
        let cells = [
            (place + 1).to_string(),
            run.id.clone(),
            workload(run),
            format::moment(run.started_ns),
            match run.question.is_search() {
                true => counted.to_string(),
                false => format!("{counted} of {}", run.question.trials),
            },
        ];
        cells.map(Cell::text).to_vec()
    };
    let columns = Column::list(&[
        (ColumnContent::Label, &["#", "run"]),
        (ColumnContent::Words, &["workload", "started"]),
        (ColumnContent::Figure, &["trials"]),
    ]);
    Table::new("", columns, runs.iter().zip(trials).enumerate().map(row))
}

/// `read-write on 1 table of 10000 rows, InnoDB; slim record, figures by rules 7`
fn workload(run: &Run) -> String {
    let summary = run.question.workload.summary.clone();
    let slim = run.slim.iter().map(Slim::text);
    Vec::from_iter([summary].into_iter().chain(slim)).join("; ")
}

fn differing(comparison: &Comparison, settings_in_some: usize) -> Option<Section> {
    let heads = (1..=comparison.runs.len()).map(|run| format!("run {run}"));
    let table = |of_settings: bool, caption: &str| {
        let is_setting = |found: &&Difference| found.kind == DifferenceKind::Setting;
        let found = comparison.differences.iter();
        let rows: Vec<Vec<Cell>> = found
            .filter(|found| is_setting(found) == of_settings)
            .map(row)
            .collect();
        let mut columns = Column::of(ColumnContent::Label, [caption]);
        columns.extend(Column::of(ColumnContent::Words, heads.clone()));
        (!rows.is_empty()).then(|| Table::new("", columns, rows))
    };
    let others = table(false, "what differs");
    let settings = table(true, "setting");
    let settings = settings.map(|table| table.most(Most::in_terminal(MOST_SETTINGS)));
    let tables = others.into_iter().chain(settings).map(Block::table);
    let lacking = (settings_in_some > 0).then(|| {
        let exist = for_count(settings_in_some, "exists", "exist");
        let settings = format::plural(settings_in_some, "setting");
        Block::remark(format!("{settings} {exist} in some of the runs only."))
    });
    let mut blocks: Vec<Block> = tables.chain(lacking).collect();
    if blocks.is_empty() {
        blocks.push(Block::text(
            "The environments, the experiments, the data and the settings are the same.",
        ));
    }
    let nodes = blocks.into_iter().map(Block::everywhere).collect();
    Section::unless_empty("differences", "What differs between the runs", nodes)
}

fn row(found: &Difference) -> Vec<Cell> {
    let values = found.values.iter().map(|value| match value {
        Some(value) => Cell::text(value),
        None => Cell::none(),
    });
    std::iter::once(Cell::text(&found.what))
        .chain(values)
        .collect()
}

fn left_out(rows: &[LeftOut]) -> Option<Section> {
    let item = |row: &LeftOut| match row.row.is_empty() {
        true => format!("run {}: {}", row.run, row.why),
        false => format!("run {}, {}: {}", row.run, row.row, row.why),
    };
    let items: Vec<String> = rows.iter().map(item).collect();
    let list = (!items.is_empty()).then(|| Block::list(items, MOST_LEFT_OUT).everywhere());
    Section::unless_empty("left-out", "Not compared", list.into_iter().collect())
}
