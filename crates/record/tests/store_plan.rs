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

#[test]
fn a_run_of_schema_2_is_read_as_it_is_and_raised_where_it_is_gone_on_with() {
    let (_folder, path) = place();
    Store::create(&path, &run())
        .unwrap()
        .save(&done(0))
        .unwrap();
    let older =
        "drop table plan_form; alter table plan drop column steps_json; pragma user_version = 2";
    let at = rusqlite::Connection::open(&path).unwrap();
    at.execute_batch(older).unwrap();
    drop(at);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.trials_whole().unwrap(), [done(0)]);
    drop(store);
    Store::resume(&path).unwrap().save(&with_a_plan(1)).unwrap();
    let trials = Store::open(&path).unwrap().trials_whole().unwrap();
    assert_eq!(trials, [done(0), with_a_plan(1)]);
}
