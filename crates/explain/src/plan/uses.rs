//! The plans of each query: the rows that used them, their differences and their times.
//!
//! Goal: plans side by side before times are. Non-goal: judging that one is better; rows differ in more than their plans.

use super::{PlanStep, StepChange};
use crate::plan;
use record::{FormKind, PlanForm, Query, Question, Round, Trial, TrialState};
use stats::{LogMean, PlanChange, RowKey, by_key, plan_changes, row_key};

/// One query with every plan that answered it, in the order of first sight.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryPlans {
    pub query: String,
    pub plans: Vec<PlanUse>,
    /// Rows in which the query had more than one of them: what is the same all through was not done the same.
    pub changes: Vec<PlanChange>,
}

/// One plan of one query.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanUse {
    pub hash: String,
    /// The server's text; none if it is not recorded.
    pub text: Option<String>,
    /// None if its text is not a table of EXPLAIN.
    pub steps: Option<Vec<PlanStep>>,
    /// The hash of the plan that it is compared with: the first one that one of its own rows used too, else the query's first.
    /// None for that one.
    pub against: Option<String>,
    /// What differs from that plan; empty if one of the two has no steps.
    pub differs: Vec<StepChange>,
    pub rows: Vec<RowUse>,
    /// EXPLAIN FORMAT=JSON, as it was first seen.
    pub json: Option<String>,
}

/// A row of the matrix that used the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct RowUse {
    pub server: Option<String>,
    pub levels: Vec<(String, String)>,
    /// The blocks of its trials, from 0.
    pub blocks: Vec<u32>,
    /// Times by the names of the rounds, in the order of first sight.
    pub times: Vec<PlanTime>,
    /// The row's last ANALYZE, if one was requested.
    pub analysis: Option<String>,
}

/// The time of the query by this plan, over the rounds of one name of one row, all blocks together.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanTime {
    /// `cold`, `hot`, `lukewarm`
    pub round: String,
    /// Rounds in which it was seen, those of invalid trials too.
    pub seen: usize,
    /// Rounds whose time counts: of trials that are done, in which the query was answered.
    pub counted: usize,
    /// The median of the times that count; None without any.
    pub median_s: Option<f64>,
    /// The geometric mean of the times that count.
    pub mean_s: Option<f64>,
}

/// All queries that have a plan, in the workload's order.
pub fn query_plans(question: &Question, trials: &[Trial]) -> Vec<QueryPlans> {
    let changes = plan_changes(question, trials);
    let operations = question.workload.operations.iter();
    let one = |query: &String| {
        let plans = plans(query, trials);
        (!plans.is_empty()).then(|| QueryPlans {
            query: query.clone(),
            plans,
            changes: of_query(&changes, query),
        })
    };
    operations.filter_map(one).collect()
}

fn of_query(changes: &[PlanChange], query: &str) -> Vec<PlanChange> {
    let is_its = |change: &&PlanChange| change.query == query;
    changes.iter().filter(is_its).cloned().collect()
}

/// One answer by a plan.
struct Sight<'t> {
    trial: &'t Trial,
    round: &'t Round,
    query: &'t Query,
    hash: &'t str,
}

fn plans(query: &str, trials: &[Trial]) -> Vec<PlanUse> {
    let by_plan = by_key(sights(query, trials).map(|sight| (sight.hash, sight)));
    let mut uses: Vec<PlanUse> = by_plan
        .into_iter()
        .map(|(hash, sights)| plan_use(hash, &sights))
        .collect();
    for place in 1..uses.len() {
        let (earlier, later) = uses.split_at_mut(place);
        compare(earlier, &mut later[0]);
    }
    uses
}

/// A plan with the one that it replaced within a row.
fn compare(earlier: &[PlanUse], later: &mut PlanUse) {
    let row = |row: &RowUse| (row.server.clone(), row.levels.clone());
    let own: Vec<_> = later.rows.iter().map(row).collect();
    let shares_a_row = |plan: &&PlanUse| plan.rows.iter().any(|other| own.contains(&row(other)));
    let Some(other) = earlier.iter().find(shares_a_row).or(earlier.first()) else {
        return;
    };
    later.against = Some(other.hash.clone());
    if let (Some(before), Some(after)) = (&other.steps, &later.steps) {
        later.differs = plan::diff(before, after);
    }
}

fn sights<'t>(query: &str, trials: &'t [Trial]) -> impl Iterator<Item = Sight<'t>> {
    let rounds = |trial: &'t Trial| trial.rounds.iter().map(move |round| (trial, round));
    let uses = move |(trial, round): (&'t Trial, &'t Round)| {
        let its = round
            .queries
            .iter()
            .filter(move |found| found.name == query);
        its.filter_map(move |found| {
            Some(Sight {
                trial,
                round,
                query: found,
                hash: found.plan_hash.as_deref()?,
            })
        })
    };
    trials.iter().flat_map(rounds).flat_map(uses)
}

fn plan_use(hash: &str, sights: &[Sight]) -> PlanUse {
    let text = sights.iter().find_map(|sight| sight.trial.plans.get(hash));
    PlanUse {
        hash: hash.to_string(),
        text: text.cloned(),
        steps: text.and_then(|text| plan::steps(text)),
        against: None,
        differs: Vec::new(),
        rows: rows(sights),
        json: sights.iter().find_map(|sight| sight.form(FormKind::Json)),
    }
}

impl Sight<'_> {
    /// The form of this kind of its plan and query, in its trial.
    fn form(&self, kind: FormKind) -> Option<String> {
        let is_its = |form: &&PlanForm| {
            form.kind == kind && form.query == self.query.name && form.plan == self.hash
        };
        let form = self.trial.plan_forms.iter().find(is_its)?;
        Some(form.text.clone())
    }
}

fn rows(sights: &[Sight]) -> Vec<RowUse> {
    let sights = sights.iter();
    let by_row = by_key(sights.map(|sight| (row_key(&sight.trial.key), sight)));
    let row = |((server, levels), sights): (RowKey, Vec<&Sight>)| {
        let mut blocks: Vec<u32> = sights.iter().map(|sight| sight.trial.key.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        RowUse {
            server: server.map(String::from),
            levels: levels.to_vec(),
            blocks,
            times: times(&sights),
            analysis: sights
                .iter()
                .rev()
                .find_map(|sight| sight.form(FormKind::Analyze)),
        }
    };
    by_row.into_iter().map(row).collect()
}

fn times(sights: &[&Sight]) -> Vec<PlanTime> {
    let sights = sights.iter().copied();
    let by_name = by_key(sights.map(|sight| (sight.round.name.as_str(), sight)));
    let times = by_name.iter().map(|(name, sights)| time(name, sights));
    times.collect()
}

fn time(round: &str, sights: &[&Sight]) -> PlanTime {
    let counts =
        |sight: &&&Sight| sight.trial.state == TrialState::Done && sight.query.error.is_none();
    let mut counted_s: Vec<f64> = sights
        .iter()
        .filter(counts)
        .map(|sight| sight.query.elapsed_ns as f64 / 1e9)
        .collect();
    counted_s.sort_by(f64::total_cmp);
    PlanTime {
        round: round.to_string(),
        seen: sights.len(),
        counted: counted_s.len(),
        median_s: median(&counted_s),
        mean_s: LogMean::of(&counted_s).map(|mean| mean.geometric()),
    }
}

/// The median of figures in ascending order.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(match sorted.len() % 2 {
        0 => (sorted[middle - 1] + upper) / 2.0,
        _ => upper,
    })
}
