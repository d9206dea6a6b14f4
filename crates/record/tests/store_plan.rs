//! Plans in a run's file: once for all trials, readable with SQL, and absent from files of before.

mod common;

use common::{done, place, run};
use record::*;

const TABLE: &str = "id\tselect_type\ttable\ttype\tkey\trows\tExtra\n1\tSIMPLE\torders\tref\to_custkey\t5\tUsing MRR";

fn with_a_plan(block: u32) -> Trial {
    let mut trial = done(block);
    trial.plans.insert("ab12".into(), TABLE.into());
    trial.plan_forms.push(PlanForm {
        query: "Q10".into(),
        plan: "ab12".into(),
        kind: FormKind::Json,
        text: "{\"using_MRR\":true}".into(),
    });
    trial
}

#[test]
fn the_steps_of_a_plan_are_read_with_sql() {
    let (_folder, path) = place();
    Store::create(&path, &run())
        .unwrap()
        .save(&with_a_plan(0))
        .unwrap();
    let at = rusqlite::Connection::open(&path).unwrap();
    let sql = "select value ->> 'table' || ' ' || (value ->> 'key') from plan, json_each(steps_json) where hash = 'ab12'";
    let found: String = at.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(found, "orders o_custkey");
}

#[test]
fn the_finer_forms_are_read_with_the_times_since_claims_look_into_them() {
    let (_folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    store.save(&with_a_plan(0)).unwrap();
    let trial = store.trials().unwrap().remove(0);
    assert_eq!(trial.plan_forms, with_a_plan(0).plan_forms);
    assert_eq!(trial.plan_holds("Q10", "ab12", "using_MRR"), Some(true));
    assert_eq!(trial.plan_holds("Q3", "ab12", "using_MRR"), Some(false));
    assert_eq!(trial.plan_holds("Q3", "unknown", "using_MRR"), None);
}
