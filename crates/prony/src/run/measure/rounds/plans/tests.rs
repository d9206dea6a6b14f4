//! Reading and checking plans, on scripted servers.

use super::*;
use crate::run::measure::rounds::tests::trial_with_answers;
use crate::run::tests::read_on_server;
use crate::run::watch::Watch;
use record::TrialState;
use server::Reply;
use spec::{self, Experiment};

use std::sync::{Arc, Mutex};

const PLAN: &str = "id\ttable\ttype\tpossible_keys\tkey\tExtra\n1\torders\tref\to_custkey,o_orderdate\to_custkey\tUsing MRR";

fn trial() -> Trial {
    let mut trial = trial_with_answers("5.6", &["a", "a"]);
    trial.plans.insert("ab12".into(), PLAN.into());
    for round in &mut trial.rounds {
        round.queries[0].plan_hash = Some("ab12".into());
    }
    trial
}

fn checked(query: Option<&str>, expected: Expected) -> Trial {
    let check = PlanCheck {
        query: query.map(String::from),
        expected,
    };
    let mut trial = trial();
    check_all(&check, &mut trial);
    trial
}

fn check_all(one: &PlanCheck, trial: &mut Trial) {
    for round in 0..trial.rounds.len() {
        check(std::slice::from_ref(one), trial, round);
    }
}

fn unmet(trial: &Trial) -> Vec<&str> {
    let flags = trial.flags.iter();
    let unmet = flags.filter(|flag| flag.kind == FlagKind::PlanUnmet);
    unmet.map(|flag| flag.text.as_str()).collect()
}

#[test]
fn a_plan_that_meets_its_checks_raises_no_flag() {
    for expected in [
        Expected::Holds("Using MRR".into()),
        Expected::Lacks("Using index condition".into()),
        Expected::Lacks("o_orderdate".into()),
    ] {
        let trial = checked(None, expected);
        assert_eq!((unmet(&trial), trial.state), (vec![], TrialState::Done));
    }
}

#[test]
fn an_unused_feature_makes_the_trial_invalid_and_is_flagged_once() {
    let trial = checked(
        Some("Q1.1"),
        Expected::Holds("Using index condition".into()),
    );
    assert_eq!(trial.state, TrialState::Invalid);
    let says = "Q1.1: its plan does not contain \"Using index condition\": orders ref key o_custkey (Using MRR)";
    assert_eq!(unmet(&trial), [says]);
}

#[test]
fn a_feature_that_should_be_off_and_is_used_fails_the_check() {
    let trial = checked(None, Expected::Lacks("Using MRR".into()));
    let says = "Q1.1: its plan contains \"Using MRR\": orders ref key o_custkey (Using MRR)";
    assert_eq!(unmet(&trial), [says]);
}

#[test]
fn a_check_applies_only_to_its_query() {
    let trial = checked(Some("Q2.1"), Expected::Holds("BKA".into()));
    assert_eq!(unmet(&trial), Vec::<&str>::new());
}

#[test]
fn a_missing_plan_fails_the_check() {
    let mut trial = trial();
    trial.rounds[0].queries[0].plan_hash = None;
    let lacks = PlanCheck {
        query: None,
        expected: Expected::Lacks("BKA".into()),
    };
    check_all(&lacks, &mut trial);
    let says = "Q1.1: plan not available, cannot check for \"BKA\"";
    assert_eq!(unmet(&trial), [says]);
}

/// The statements that a scripted server received, except SELECT VERSION().
type Received = Arc<Mutex<Vec<String>>>;

/// A scripted MySQL 8.0.33. It answers EXPLAIN FORMAT=TRADITIONAL with one step, and other statements as the script says.
fn live(script: impl Fn(&str) -> Result<Reply, ServerError> + Send + 'static) -> (Live, Received) {
    let received = Received::default();
    let log = received.clone();
    let answer = move |sql: &str| {
        if sql == "SELECT VERSION()" {
            return Ok(one(&["version()"], &["8.0.33"]));
        }
        log.lock().unwrap().push(sql.to_string());
        match sql.starts_with("EXPLAIN FORMAT=TRADITIONAL") {
            true => script(sql)
                .map(|_| one(&["table", "type", "Extra"], &["orders", "ALL", "Using MRR"])),
            false => script(sql),
        }
    };
    let live = Live {
        session: Session::Scripted(Box::new(answer)),
        observer: None,
        watch: Watch::new(Box::new(|| ()), None),
        others: Vec::new(),
        process: None,
    };
    (live, received)
}

fn one(columns: &[&str], cells: &[&str]) -> Reply {
    Reply {
        columns: columns.iter().map(|column| column.to_string()).collect(),
        rows: vec![
            cells
                .iter()
                .map(|cell| Some(cell.as_bytes().to_vec()))
                .collect(),
        ],
        ..Reply::default()
    }
}

fn json(_: &str) -> Result<Reply, ServerError> {
    Ok(one(&["EXPLAIN"], &["{\"using_MRR\": true}"]))
}

fn experiment() -> Experiment {
    let source = "title = \"t\"\n[server.a]\nbuild = \"mariadb\"\n[workload.ssb]\nscale = 0.01\n";
    read_on_server(source)
}

/// The result of reading plans after a pass over Q1.1, with these known plans.
fn looked(live: &mut Live, known: Known) -> Result<Passed, ServerError> {
    let experiment = experiment();
    let section = experiment.base.workload.as_ref().unwrap();
    let workload = workload::open("ssb", section).unwrap();
    let queries = workload.queries().unwrap();
    let operations = &queries.operations()[..1];
    let pass = Pass {
        queries,
        operations,
        protocol: &experiment.protocol,
        observe: &experiment.observe,
        known,
        samples: &Default::default(),
        turn: None,
    };
    let mut passed = Passed {
        queries: trial().rounds[0].queries.clone(),
        ..Passed::default()
    };
    passed.queries[0].plan_hash = None;
    look(&pass, live, &mut passed).map(|()| passed)
}

fn refused(_: &str) -> Result<Reply, ServerError> {
    Err(ServerError::Refused {
        code: 1064,
        message: "no".into(),
    })
}

#[test]
fn the_json_form_of_a_plan_is_read_once() {
    let (mut live, received) = live(json);
    let first = looked(&mut live, Known::new()).unwrap();
    let hash = first.queries[0].plan_hash.clone().unwrap();
    assert_eq!(first.forms[0].text, "{\"using_MRR\":true}");
    let known = Known::from([("Q1.1".to_string(), hash)]);
    assert_eq!(looked(&mut live, known).unwrap().forms, []);
    let received = received.lock().unwrap();
    let forms: Vec<&str> = received
        .iter()
        .map(|sql| sql.split(' ').nth(1).unwrap())
        .collect();
    assert_eq!(
        forms,
        ["FORMAT=TRADITIONAL", "FORMAT=JSON", "FORMAT=TRADITIONAL"]
    );
}

#[test]
fn a_failing_explain_is_flagged_and_the_pass_continues() {
    let (mut live, _) = live(refused);
    let passed = looked(&mut live, Known::new()).unwrap();
    assert_eq!(passed.queries[0].plan_hash, None);
    assert_eq!(passed.flags.len(), 1);
    assert_eq!(passed.flags[0].kind, FlagKind::NoPlan);
    assert_eq!(passed.flags[0].text, "Q1.1: 1064 no");
}

#[test]
fn a_server_that_dies_during_explain_is_lost() {
    let (mut live, _) = live(|_| Err(ServerError::Lost("gone".into())));
    assert!(matches!(
        looked(&mut live, Known::new()),
        Err(ServerError::Lost(_))
    ));
}

fn analysed(script: impl Fn(&str) -> Result<Reply, ServerError> + Send + 'static) -> Trial {
    let mut trial = trial();
    let section = experiment().base.workload.unwrap();
    let workload = workload::open("ssb", &section).unwrap();
    let operations = workload.queries().unwrap().operations();
    analyse(&operations, None, &mut live(script).0, &mut trial);
    trial
}

#[test]
fn an_analysis_belongs_to_the_most_recent_plan() {
    let trial = analysed(|_| Ok(one(&["EXPLAIN"], &["-> Table scan"])));
    let expected = PlanForm {
        query: "Q1.1".into(),
        plan: "ab12".into(),
        kind: FormKind::Analyze,
        text: "-> Table scan".into(),
    };
    assert_eq!(
        trial.plan_forms,
        [expected],
        "Q1.2 did not run in this trial"
    );
}

#[test]
fn a_failing_analysis_leaves_the_trial_valid() {
    for (script, says) in [
        (
            refused as fn(&str) -> Result<Reply, ServerError>,
            "Q1.1: 1064 no",
        ),
        (|_| Err(ServerError::Lost("gone".into())), "gone"),
    ] {
        let trial = analysed(script);
        assert_eq!((trial.state, trial.plan_forms.len()), (TrialState::Done, 0));
        assert_eq!(trial.flags[0].kind, FlagKind::NotAnalyzed);
        assert_eq!(trial.flags[0].text, says);
    }
}

#[test]
fn an_explain_that_times_out_is_stopped() {
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let (mut live, _) = live(json);
    let stopper = Box::new(move || {
        let _ = stop.send(());
    });
    live.watch = Watch::new(stopper, None);
    let limit = Some(Duration::from_millis(1));
    let answer = watched(limit, &mut live, |_| Ok(stopped.recv())).unwrap();
    assert_eq!(answer.unwrap_err(), "> 0.001 s");
}

#[test]
fn a_plan_that_changes_within_a_row_is_flagged_once_for_each_trial() {
    let mut plans = LastPlans::default();
    let mut same = trial();
    plans.compare(&mut same);
    assert_eq!(same.flags, []);
    // Somebody makes an index between the two rounds of the next block.
    let mut changed = trial();
    changed.key.block = 1;
    changed
        .plans
        .insert("cd34".into(), PLAN.replace("ref", "ALL"));
    changed.rounds[1].queries[0].plan_hash = Some("cd34".into());
    plans.compare(&mut changed);
    let [flag] = changed.flags.as_slice() else {
        panic!("{:?}", changed.flags);
    };
    assert_eq!(
        (&flag.kind, changed.state),
        (&FlagKind::PlanChanged, TrialState::Done)
    );
    assert!(
        flag.text.starts_with("Q1.1: its plan changed from \""),
        "{}",
        flag.text
    );
    assert!(flag.text.contains("(block 2, hot 1) to"), "{}", flag.text);
    let mut of_another_row = trial();
    of_another_row.key.levels = vec![("variant".into(), "large".into())];
    plans.compare(&mut of_another_row);
    assert_eq!(of_another_row.flags, []);
}
