//! The rows of the matrix with what the sections need of each: its trials, its name, its queries.

use crate::names;
use explain::RowName;
use record::stats::{self, QueryRow};
use record::{Run, Trial, TrialState};

pub struct Rows<'a> {
    pub list: Vec<Row<'a>>,
    /// Decimals of all queries' seconds.
    pub decimals: usize,
}

pub struct Row<'a> {
    pub server: Option<String>,
    pub levels: Vec<(String, String)>,
    pub name: String,
    /// The trials that count.
    pub trials: Vec<&'a Trial>,
    pub queries: Vec<QueryRow>,
}

impl<'a> Rows<'a> {
    pub fn of(run: &Run, trials: &'a [Trial]) -> Rows<'a> {
        let rows = stats::table(&run.question, trials);
        let list: Vec<Row> = rows
            .into_iter()
            .map(|row| Row {
                name: names::row(&run.question, row.server.as_deref(), &row.levels),
                trials: counted(trials, row.server.as_deref(), &row.levels),
                queries: stats::queries(&run.question, trials, row.server.as_deref(), &row.levels),
                server: row.server,
                levels: row.levels,
            })
            .collect();
        let seconds = list
            .iter()
            .flat_map(|row| &row.queries)
            .flat_map(|query| [&query.cold_s, &query.hot_s]);
        let decimals = crate::format::decimals(seconds.flatten().map(|estimate| estimate.mean));
        Rows { list, decimals }
    }

    pub fn position(&self, (server, levels): &RowName) -> Option<usize> {
        self.list
            .iter()
            .position(|row| row.server == *server && row.levels == *levels)
    }
}

fn counted<'a>(
    trials: &'a [Trial],
    server: Option<&str>,
    levels: &[(String, String)],
) -> Vec<&'a Trial> {
    let mine = trials
        .iter()
        .filter(|trial| trial.key.server.as_deref() == server && trial.key.levels == levels);
    mine.filter(|trial| trial.state == TrialState::Done)
        .collect()
}
