//! Plans in a run's file: each text once for all trials, with its steps for readers of SQL.

use crate::common::{done, place, run};
use record::*;
use store::Store;

fn with_a_plan(block: u32) -> Trial {
    let mut trial = done(block);
    trial.plans.insert("ab12".into(), "orders o_custkey".into());
    trial.plan_forms.push(PlanForm {
        query: "Q10".into(),
        plan: "ab12".into(),
        kind: FormKind::Json,
        text: "{\"using_MRR\":true}".into(),
    });
    trial
}

/// A plan of two words: a table and its key.
fn steps(text: &str) -> Option<String> {
    let (table, key) = text.split_once(' ')?;
    Some(format!(r#"[{{"table":"{table}","key":"{key}"}}]"#))
}

#[test]
fn the_steps_of_a_plan_can_be_queried_with_sql() {
    let (_folder, path) = place();
    let store = Store::create(&path, &run()).unwrap();
    store.with_plan_steps(steps).save(&with_a_plan(0)).unwrap();
    let at = rusqlite::Connection::open(&path).unwrap();
    let sql = "select value ->> 'table' || ' ' || (value ->> 'key') from plan, json_each(steps_json) where hash = 'ab12'";
    let found: String = at.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(found, "orders o_custkey");
}

#[test]
fn a_quick_read_includes_the_finer_forms_of_plans() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    store.save(&with_a_plan(0)).unwrap();
    let trial = store.trials().unwrap().remove(0);
    assert_eq!(trial.plan_forms, with_a_plan(0).plan_forms);
}
