//! Plans as steps: reads a table of EXPLAIN and compares two plans.
//!
//! Goal: any plan of any recorded run can be read and compared, those of older records too. Non-goals: asking a server
//! (`observe`), the finer forms' own structure, which each server has otherwise.

pub(crate) mod uses;

use record::{FormKind, PlanForm, Trial};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A row of EXPLAIN's table. A NULL or empty cell is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// The number of its SELECT.
    pub id: Option<String>,
    /// `SIMPLE`, `PRIMARY`, `DERIVED`, ...
    pub select_type: Option<String>,
    pub table: Option<String>,
    /// EXPLAIN's `type`: `ALL`, `ref`, `range`, ...
    pub access: Option<String>,
    pub key: Option<String>,
    /// Bytes of the key that are used.
    pub key_len: Option<String>,
    pub r#ref: Option<String>,
    /// Estimated rows of each visit.
    pub rows: Option<String>,
    /// The estimated share of them that the conditions leave, in percent.
    pub filtered: Option<String>,
    /// EXPLAIN's `Extra`.
    pub extra: Option<String>,
}

/// The columns of a step that are compared; `rows` and `filtered` are estimates.
type Column = (&'static str, fn(&PlanStep) -> &Option<String>);

const COLUMNS: [Column; 10] = [
    ("id", |step| &step.id),
    ("select_type", |step| &step.select_type),
    ("table", |step| &step.table),
    ("access", |step| &step.access),
    ("key", |step| &step.key),
    ("key_len", |step| &step.key_len),
    ("ref", |step| &step.r#ref),
    ("rows", |step| &step.rows),
    ("filtered", |step| &step.filtered),
    ("Extra", |step| &step.extra),
];

const ESTIMATES: [&str; 2] = ["rows", "filtered"];

impl PlanStep {
    /// The names of all columns, in EXPLAIN's order.
    pub fn column_names() -> impl Iterator<Item = &'static str> {
        COLUMNS.iter().map(|(name, _)| *name)
    }

    /// Name and value of each column that has one, in EXPLAIN's order.
    pub fn cells(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let cell = |(name, of): &Column| Some((*name, of(self).as_deref()?));
        COLUMNS.iter().filter_map(cell)
    }

    /// The columns without the estimates, which change although the plan does not.
    pub fn decisive(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.cells().filter(|(name, _)| !ESTIMATES.contains(name))
    }
}

impl std::fmt::Display for PlanStep {
    /// The essential columns on one line: `orders ref key o_custkey (Using where)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = [&self.table, &self.access].into_iter().flatten().cloned();
        let key = self.key.iter().map(|key| format!("key {key}"));
        let extra = self.extra.iter().map(|extra| format!("({extra})"));
        let words: Vec<String> = words.chain(key).chain(extra).collect();
        f.write_str(&words.join(" "))
    }
}

/// The steps of a plan's text: a header and a line a step, tab-separated. None if it is not a table of EXPLAIN (SQLite).
pub fn steps(text: &str) -> Option<Vec<PlanStep>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next()?.split('\t').collect();
    let place = |name: &str| {
        header
            .iter()
            .position(|head| head.eq_ignore_ascii_case(name))
    };
    place("table")?;
    let step = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let cell = |name: &str| {
            let cell = cells.get(place(name)?).copied()?;
            (!matches!(cell, "" | "NULL")).then(|| cell.to_string())
        };
        PlanStep {
            id: cell("id"),
            select_type: cell("select_type"),
            table: cell("table"),
            access: cell("type"),
            key: cell("key"),
            key_len: cell("key_len"),
            r#ref: cell("ref"),
            rows: cell("rows"),
            filtered: cell("filtered"),
            extra: cell("Extra"),
        }
    };
    Some(lines.map(step).collect())
}

/// Whether a plan contains a text in what it does: in its steps without what is only possible or estimated, or in a finer
/// form. A plan whose text is not a table is searched as a whole.
pub fn holds<'f>(plan: &str, forms: impl IntoIterator<Item = &'f str>, text: &str) -> bool {
    let in_steps = match steps(plan) {
        Some(steps) => steps
            .iter()
            .any(|step| step.decisive().any(|(_, cell)| cell.contains(text))),
        None => plan.contains(text),
    };
    in_steps || forms.into_iter().any(|form| form.contains(text))
}

/// Whether the plan of a query of a trial contains a text (see [`holds`]); `plan` is its hash. None if its text is not recorded.
pub fn plan_holds(trial: &Trial, query: &str, plan: &str, text: &str) -> Option<bool> {
    let is_its =
        |form: &&PlanForm| form.query == query && form.plan == plan && form.kind == FormKind::Json;
    let forms = trial.plan_forms.iter().filter(is_its);
    Some(holds(
        trial.plans.get(plan)?,
        forms.map(|form| form.text.as_str()),
        text,
    ))
}

/// The steps of a plan's text as JSON, for the store; None if it is not a table of EXPLAIN.
pub fn steps_json(text: &str) -> Option<String> {
    let steps = steps(text)?;
    Some(serde_json::to_string(&steps).expect("steps are strings"))
}

/// The change of a step between two plans of the same query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepChange {
    Removed(PlanStep),
    Added(PlanStep),
    Changed {
        /// The name of the step: its table, or its SELECT's type if it has none.
        step: String,
        /// (column, before, after); `place` is the step's place in the order, from 1.
        columns: Vec<(&'static str, Option<String>, Option<String>)>,
    },
}

/// What differs, in the order of the later plan, then what it has no more. Steps of the same table of the same SELECT are the
/// same step wherever they are. Estimates are listed where something else of the step differs, or where the rows differ
/// twofold, which may be why the plan does. Empty if the two plans are the same.
pub(crate) fn diff(from: &[PlanStep], to: &[PlanStep]) -> Vec<StepChange> {
    let mut before: HashMap<StepKey, (usize, &PlanStep)> = keyed(from).collect();
    let mut changes: Vec<StepChange> = Vec::new();
    let later: Vec<_> = keyed(to).collect();
    let places = places(&later, &before);
    for (key, (_, step)) in &later {
        match before.remove(key) {
            None => changes.push(StepChange::Added((*step).clone())),
            Some((_, old)) => {
                changes.extend(changed(old, step, places.get(key).copied()));
            }
        }
    }
    let mut removed: Vec<(usize, &PlanStep)> = before.into_values().collect();
    removed.sort_by_key(|(place, _)| *place);
    changes.extend(
        removed
            .into_iter()
            .map(|(_, step)| StepChange::Removed(step.clone())),
    );
    changes
}

/// A table of a SELECT, and the number of its step.
type StepKey<'s> = (&'s str, &'s str, usize);

fn keyed(steps: &[PlanStep]) -> impl Iterator<Item = (StepKey<'_>, (usize, &PlanStep))> {
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    steps.iter().enumerate().map(move |(place, step)| {
        let table = step.table.as_deref().unwrap_or_default();
        let id = step.id.as_deref().unwrap_or_default();
        let count = seen.entry((id, table)).or_default();
        *count += 1;
        ((id, table, *count), (place, step))
    })
}

/// (place before, place now) among the steps that both plans have, from 1: a step that another one was put before has not moved.
fn places<'s>(
    later: &[(StepKey<'s>, (usize, &PlanStep))],
    before: &HashMap<StepKey<'s>, (usize, &PlanStep)>,
) -> HashMap<StepKey<'s>, (usize, usize)> {
    let keys = later.iter().map(|(key, _)| *key);
    let now: Vec<StepKey> = keys.filter(|key| before.contains_key(key)).collect();
    let mut then = now.clone();
    then.sort_by_key(|key| before[key].0);
    let place = |key: &StepKey| then.iter().position(|other| other == key).unwrap_or(0) + 1;
    now.iter()
        .enumerate()
        .map(|(at, key)| (*key, (place(key), at + 1)))
        .collect()
}

fn changed(from: &PlanStep, to: &PlanStep, moved: Option<(usize, usize)>) -> Option<StepChange> {
    let place = moved
        .filter(|(before, now)| before != now)
        .map(|(before, now)| ("place", Some(before.to_string()), Some(now.to_string())));
    let columns = COLUMNS
        .iter()
        .filter(|(name, of)| *name != "filtered" && of(from) != of(to))
        .map(|(name, of)| (*name, of(from).clone(), of(to).clone()));
    let columns: Vec<_> = place.into_iter().chain(columns).collect();
    let only_rows = columns.iter().all(|(name, ..)| *name == "rows");
    if only_rows && !twofold(from, to) {
        return None;
    }
    let name = to.table.as_ref().or(to.select_type.as_ref());
    Some(StepChange::Changed {
        step: name.cloned().unwrap_or_default(),
        columns,
    })
}

/// Whether the estimated rows differ by a factor of two or more.
fn twofold(from: &PlanStep, to: &PlanStep) -> bool {
    let rows = |step: &PlanStep| step.rows.as_ref()?.parse::<f64>().ok();
    match (rows(from), rows(to)) {
        (Some(from), Some(to)) => from.max(to) >= 2.0 * from.min(to) && from != to,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str =
        "id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tExtra";

    fn plan(lines: &[&str]) -> Vec<PlanStep> {
        steps(&[&[HEADER], lines].concat().join("\n")).unwrap()
    }

    fn orders(key: &str, rows: u32, extra: &str) -> String {
        format!("1\tSIMPLE\torders\tref\to_custkey,o_orderdate\t{key}\t4\tconst\t{rows}\t{extra}")
    }

    const LINEITEM: &str = "1\tSIMPLE\tlineitem\tALL\tNULL\tNULL\tNULL\tNULL\t6001215\tUsing where";

    #[test]
    fn a_cell_that_is_null_or_empty_is_not_there() {
        let steps = plan(&[LINEITEM, &orders("o_custkey", 5, "")]);
        assert_eq!((&steps[0].key, &steps[1].extra), (&None, &None));
        assert_eq!(steps[1].key.as_deref(), Some("o_custkey"));
        assert_eq!(steps[0].to_string(), "lineitem ALL (Using where)");
    }

    #[test]
    fn the_plan_of_another_family_of_servers_has_no_steps() {
        assert_eq!(steps("id\tparent\tnotused\tdetail\n2\t0\t0\tSCAN t"), None);
    }

    #[test]
    fn a_changed_index_changes_only_its_step() {
        let before = plan(&[LINEITEM, &orders("o_custkey", 5, "Using where")]);
        let after = plan(&[LINEITEM, &orders("o_orderdate", 90, "Using where")]);
        let expected = StepChange::Changed {
            step: "orders".into(),
            columns: vec![
                ("key", Some("o_custkey".into()), Some("o_orderdate".into())),
                ("rows", Some("5".into()), Some("90".into())),
            ],
        };
        assert_eq!(diff(&before, &after), [expected]);
    }

    #[test]
    fn a_row_estimate_is_reported_from_a_factor_of_two() {
        let rows = |rows| plan(&[&orders("o_custkey", rows, "")]);
        assert_eq!(diff(&rows(50), &rows(99)), []);
        let twice = diff(&rows(50), &rows(100));
        assert!(
            matches!(&twice[..], [StepChange::Changed { columns, .. }] if columns[0].0 == "rows")
        );
    }

    #[test]
    fn another_order_of_the_join_moves_steps() {
        let orders = orders("o_custkey", 5, "");
        let changes = diff(&plan(&[LINEITEM, &orders]), &plan(&[&orders, LINEITEM]));
        let places: Vec<_> = changes
            .iter()
            .map(|change| match change {
                StepChange::Changed { step, columns } => (step.as_str(), columns[0].0),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(places, [("orders", "place"), ("lineitem", "place")]);
    }

    #[test]
    fn a_step_after_an_inserted_step_has_not_moved() {
        let orders = orders("o_custkey", 5, "");
        let added = diff(&plan(&[LINEITEM]), &plan(&[&orders, LINEITEM]));
        assert!(
            matches!(&added[..], [StepChange::Added(step)] if step.table.as_deref() == Some("orders"))
        );
        let removed = diff(&plan(&[&orders, LINEITEM]), &plan(&[LINEITEM]));
        assert!(
            matches!(&removed[..], [StepChange::Removed(step)] if step.table.as_deref() == Some("orders"))
        );
    }

    #[test]
    fn equal_plans_do_not_differ() {
        let steps = plan(&[LINEITEM, LINEITEM]);
        assert_eq!(diff(&steps, &steps), []);
    }

    #[test]
    fn a_key_that_is_only_possible_is_not_held() {
        let text = format!("{HEADER}\n{}", orders("o_custkey", 5, "Using MRR"));
        let none = std::iter::empty;
        assert!(holds(&text, none(), "Using MRR") && holds(&text, none(), "o_custkey"));
        assert!(!holds(&text, none(), "o_orderdate"));
        assert!(holds(
            &text,
            ["{\"multi_range_read\":true}"],
            "multi_range_read"
        ));
    }

    #[test]
    fn a_finer_form_counts_only_for_its_own_query() {
        let trial: Trial = serde_json::from_value(serde_json::json!({
            "key": {"block": 0, "server": "8.4", "levels": []},
            "state": "done", "flags": [], "started_ns": 0, "ended_ns": 0, "start_s": [], "rounds": [],
            "settings": {}, "events": [], "data_bytes": 0,
            "plans": {"ab12": format!("{HEADER}\n{LINEITEM}")},
            "plan_forms": [{"query": "Q10", "plan": "ab12", "kind": "json", "text": "using_MRR"}],
        }))
        .unwrap();
        assert_eq!(plan_holds(&trial, "Q10", "ab12", "using_MRR"), Some(true));
        assert_eq!(plan_holds(&trial, "Q3", "ab12", "using_MRR"), Some(false));
        assert_eq!(plan_holds(&trial, "Q3", "unknown", "using_MRR"), None);
    }

    #[test]
    fn steps_are_written_as_a_json_array_of_named_cells() {
        let text = format!("{HEADER}\n{}", orders("o_custkey", 5, "Using MRR"));
        let written: Vec<PlanStep> = serde_json::from_str(&steps_json(&text).unwrap()).unwrap();
        assert_eq!(written, steps(&text).unwrap());
        assert_eq!(steps_json("SCAN t"), None);
    }
}
