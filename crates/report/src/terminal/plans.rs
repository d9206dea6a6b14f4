//! Plans in the terminal: what changed within a row, then what else differs.
//!
//! Goal: a line or two a query. Non-goal: the plans themselves, which the page has.

use super::{MOST, Screen, more};
use crate::{digest, names, plans};
use explain::QueryPlans;
use record::{Run, Trial};

/// Queries that are shown with what differs.
const QUERIES_MOST: usize = 3;
/// Changed steps that are shown of a plan.
const STEPS_MOST: usize = 6;

impl Screen {
    pub(super) fn plans(&self, run: &Run, trials: &[Trial]) -> String {
        let queries = explain::query_plans(&run.question, trials);
        let Some(summary) = plans::summary(&queries) else {
            return String::new();
        };
        if plans::with_several(&queries).next().is_none() {
            return String::new();
        }
        let mut text = self.changed_plans(run, &queries);
        text.push_str(&format!("\n{}", self.heading("Plans")));
        text.push_str(&self.wrapped(" ", &summary));
        let (shown, left_out) = plans::foremost(&queries, QUERIES_MOST);
        text.extend(shown.iter().map(|query| self.plans_of(run, query)));
        if left_out > 0 {
            text.push_str(&format!(" ... and {left_out} more queries in the page\n"));
        }
        text
    }

    fn changed_plans(&self, run: &Run, queries: &[QueryPlans]) -> String {
        let changes: Vec<_> = queries.iter().flat_map(|query| &query.changes).collect();
        if changes.is_empty() {
            return String::new();
        }
        let heading = self.heading("Plans that changed within a row of the table");
        let lines = changes.iter().take(MOST);
        let lines = lines.map(|change| self.wrapped(" ", &digest::plan_change(run, change)));
        format!(
            "\n{heading}{}{}",
            lines.collect::<String>(),
            more(changes.len())
        )
    }

    fn plans_of(&self, run: &Run, query: &QueryPlans) -> String {
        let mut text = String::new();
        for plan in &query.plans {
            let rows = plan.rows.iter();
            let rows: Vec<String> = rows
                .filter_map(|row| plans::in_short(run, query, row))
                .collect();
            let start = format!(" {}, plan {}: ", query.query, names::plan(&plan.hash));
            text.push_str(&self.wrapped(&start, &rows.join("; ")));
            let against = plans::against(plan).filter(|_| !plan.differs.is_empty());
            text.extend(against.map(|against| self.wrapped("   ", &format!("{against}:"))));
            for change in plan.differs.iter().take(STEPS_MOST) {
                text.push_str(&self.wrapped("     ", &plans::change(change)));
            }
            if plan.differs.len() > STEPS_MOST {
                let rest = plan.differs.len() - STEPS_MOST;
                text.push_str(&format!("     ... and {rest} more steps in the page\n"));
            }
        }
        text
    }
}
