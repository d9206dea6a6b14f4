//! What the server's process used of processor and device, by round and by query.

use super::estimate;
use crate::loads::{Figure, Sheet, SheetRow};
use crate::{format, names};
use record::stats::used::{DEVICE_READS, Part, SERVER_CPU, SERVER_READ, counter};
use record::stats::{self, Estimate, Row};
use record::{Run, Trial};

/// A counter, its head, and what one of its units is of the counter's.
const MEASURES: [(&str, &str, f64); 3] = [
    (SERVER_CPU, "cpu s", 1e6),
    (SERVER_READ, "read MiB", 1048576.0),
    (DEVICE_READS, "device reads", 1.0),
];

/// A row for each kind of round of each row of the matrix; none where no server's process could be looked at.
pub fn of_rounds(run: &Run, trials: &[Trial]) -> Option<Sheet> {
    let mut rounds = trials.iter().flat_map(|trial| &trial.rounds);
    let has = rounds.any(|round| round.counters.contains_key(SERVER_CPU));
    let of_row = |row: &Row| rows(run, trials, row, None);
    has.then(|| Sheet {
        caption: "What a round used: processor time of the server, what it had read from the device, read requests of the device"
            .to_string(),
        labels: ["server and settings", "round"].map(String::from).to_vec(),
        ..sheet(measured(run, trials).iter().flat_map(of_row))
    })
}

/// The same for each query, where the queries' counters were read.
pub fn of_queries(run: &Run, trials: &[Trial]) -> Option<Sheet> {
    let mut rounds = trials.iter().flat_map(|trial| &trial.rounds);
    let has = rounds.any(|round| {
        let mut queries = round.queries.iter();
        queries.any(|query| query.counters.contains_key(SERVER_CPU))
    });
    let of_row = |row: &Row| -> Vec<SheetRow> {
        let queries = run.question.workload.operations.iter();
        queries
            .flat_map(|query| rows(run, trials, row, Some(query)))
            .collect()
    };
    has.then(|| Sheet {
        caption: "What a query used: processor time of the server, what it had read from the device, read requests of the device"
            .to_string(),
        labels: ["server and settings", "query", "round"]
            .map(String::from)
            .to_vec(),
        ..sheet(measured(run, trials).iter().flat_map(of_row))
    })
}

/// The rows of the matrix that have figures.
fn measured(run: &Run, trials: &[Trial]) -> Vec<Row> {
    let rows = stats::table(&run.question, trials).into_iter();
    rows.filter(|row| row.missing.is_none()).collect()
}

/// The columns of figures with these rows.
fn sheet(rows: impl Iterator<Item = SheetRow>) -> Sheet {
    Sheet {
        caption: String::new(),
        head: String::new(),
        labels: Vec::new(),
        across: None,
        heads: MEASURES.map(|(_, head, _)| head.to_string()).to_vec(),
        rows: rows.collect(),
    }
}

fn rows(run: &Run, trials: &[Trial], row: &Row, query: Option<&str>) -> Vec<SheetRow> {
    let name = names::row(&run.question, row.server.as_deref(), &row.levels);
    let of_round = |round: &str| -> Option<SheetRow> {
        let part = Part {
            server: row.server.as_deref(),
            levels: &row.levels,
            round,
            query,
        };
        let labels = [Some(name.as_str()), query, Some(round)];
        // A level may leave a round out.
        let counted = MEASURES.map(|measure| counted(trials, part, measure));
        counted.iter().any(Option::is_some).then(|| SheetRow {
            labels: labels.into_iter().flatten().map(String::from).collect(),
            cells: counted.iter().map(figure).collect(),
        })
    };
    run.question
        .round_names()
        .into_iter()
        .filter_map(of_round)
        .collect()
}

fn counted(trials: &[Trial], part: Part, (name, _, unit): (&str, &str, f64)) -> Option<Estimate> {
    counter(trials, part, name).map(|found| in_units(found, unit))
}

fn figure(counted: &Option<Estimate>) -> Figure {
    estimate(counted.as_ref(), format::operations)
}

fn in_units(found: Estimate, unit: f64) -> Estimate {
    Estimate {
        mean: found.mean / unit,
        ci: found.ci.map(|(low, high)| (low / unit, high / unit)),
        min: found.min / unit,
        max: found.max / unit,
        ..found
    }
}
