//! Every path of a gate, cell by cell: the table of docs/CI.md is what `run`, `show` and `compare` return.

mod shares;
mod side;
mod spoilt;

use super::*;
use record::{Bound, Cell, Claim, Environment, FlagKind, Role, Subject, Trial, Value};
use report::{Detail, Measured};
use side::{OLD, Side, trial};
use spoilt::{busy, changing, dataset, few, idle, killed, losing, round, sliced};

#[test]
fn a_tolerance_is_a_percentage() {
    assert_eq!(percent("5%"), Ok(0.05));
    assert_eq!(percent("2.5 %"), Ok(0.025));
    assert_eq!(percent("0%"), Ok(0.0));
    for wrong in ["5", "0.05", "-1%", "x%", "NaN%"] {
        assert!(percent(wrong).is_err(), "{wrong}");
    }
}

/// Two servers in one run, or a server in each of two runs.
struct Case {
    blocks: u32,
    sides: [Side; 2],
    /// The throughput of the control in each block; none without a control.
    control: Option<f64>,
    part: Option<String>,
    /// The machine of the new side, if it is in a run of its own. The old side's is `m`.
    machine: &'static str,
    claims: Vec<Claim>,
    /// What happens to the trials, the old side's and the new side's of each block.
    spoil: fn(&mut Vec<Trial>),
    planned: Option<u64>,
}

impl Case {
    fn new(old: Side, new: Side) -> Case {
        Case {
            blocks: 3,
            sides: [old, new],
            control: None,
            part: None,
            machine: "m",
            claims: Vec::new(),
            spoil: |_| (),
            planned: None,
        }
    }

    fn slower_by(factor: f64) -> Case {
        Case::new(OLD, Side::at(OLD.rate / factor))
    }

    fn spoilt(spoil: fn(&mut Vec<Trial>)) -> Case {
        Case {
            spoil,
            ..Case::slower_by(1.0)
        }
    }

    fn trials(&self) -> Vec<Trial> {
        let names = ["old", "new"];
        let of_block = |block: u32| {
            let sides = names.iter().zip(self.sides);
            sides.map(move |(name, side)| trial(name, block, Role::Measured, side.load(block)))
        };
        let mut trials = (0..self.blocks).flat_map(of_block).collect();
        (self.spoil)(&mut trials);
        trials
    }

    fn controls(&self) -> Vec<Trial> {
        let of = |rate: f64| {
            let one = move |block| trial("old", block, Role::Control, Side::at(rate).load(block));
            (0..self.blocks).map(one)
        };
        self.control.map(of).into_iter().flatten().collect()
    }

    fn recorded(self) -> Recorded {
        Recorded {
            trials: self.trials(),
            controls: self.controls(),
            planned: self.planned.unwrap_or(2 * u64::from(self.blocks)),
            part: self.part,
            machine: self.machine,
            claims: self.claims,
        }
    }
}

/// A case with its loads, which are summarised once.
struct Recorded {
    trials: Vec<Trial>,
    controls: Vec<Trial>,
    planned: u64,
    part: Option<String>,
    machine: &'static str,
    claims: Vec<Claim>,
}

impl Recorded {
    /// With loads as `show` and `compare` read them: their summaries, without their seconds.
    fn brief(mut self) -> Recorded {
        let trials = self.trials.iter_mut().chain(&mut self.controls);
        for load in trials.filter_map(|trial| trial.load.as_mut()) {
            load.series.clear();
            load.histograms.clear();
            load.errors.clear();
        }
        self
    }

    /// The status of `run` or `show`.
    fn of_run(&self, gating: &Gating, when: When) -> Option<Status> {
        let run = Run {
            part: self.part.clone(),
            ..run(&["old", "new"], self.claims.clone(), self.planned)
        };
        let trials = (self.trials.as_slice(), self.controls.as_slice());
        let document = Document::within(gating.tolerance, &run, trials, Detail::Brief);
        gating.of_run(&document, when).ok()
    }

    /// The status of `compare`: the old server alone against the new one alone. None where a comparison has no such path.
    fn of_comparison(&self, gating: &Gating) -> Option<Status> {
        if !self.claims.is_empty() {
            return None;
        }
        let side = |name: &str| Measured {
            run: Run {
                part: self.part.clone(),
                ..run(&[name], Vec::new(), self.planned / 2)
            },
            trials: (self.trials.iter())
                .filter(|trial| trial.key.server_name() == name)
                .cloned()
                .collect(),
            controls: match name {
                "old" => self.controls.clone(),
                _ => Vec::new(),
            },
        };
        let mut new = side("new");
        new.run.id = "n-2".into();
        new.run.environment.machine = self.machine.into();
        let comparison = Comparison::of(vec![side("old"), new], Vec::new(), gating.tolerance);
        gating.of_comparison(&comparison).ok()
    }
}

fn run(servers: &[&str], claims: Vec<Claim>, trials: u64) -> Run {
    let environment: Environment = serde_json::from_value(serde_json::json!({
        "prony_version": "0.1.0", "machine": "m", "cpu": "c", "cores": 2, "memory_bytes": 1, "kernel": "6.1", "system": "s",
        "file_system": "ext4", "servers": {}
    }))
    .unwrap();
    let question = serde_json::from_value(serde_json::json!({
        "name": "n", "title": "t", "question": "q", "published": null, "servers": servers, "factors": [], "rounds": [],
        "blocks": 3, "workload": { "name": "oltp", "summary": "s", "operations": ["update"] }, "claims": [], "trials": trials
    }));
    Run {
        id: "n-1".into(),
        experiment_toml: String::new(),
        overrides: Vec::new(),
        question: Question {
            claims,
            ..question.unwrap()
        },
        seed: 1,
        part: None,
        sharing: None,
        slim: None,
        started_ns: 0,
        environment,
    }
}

fn gating(gate: Option<Mode>) -> Gating {
    Gating {
        gate,
        failures: 0.01,
        tolerance: 0.05,
        junit: None,
        summary: None,
    }
}

/// The claim that new has so many times the throughput of old at least.
fn claims(at_least: f64) -> Vec<Claim> {
    claims_on(Value::Throughput, Bound::AtLeast(at_least))
}

/// A claim on new against old.
fn claims_on(value: Value, bound: Bound) -> Vec<Claim> {
    let side = |server: &str| Cell {
        levels: vec![("server".into(), vec![server.into()])],
        ..Cell::default()
    };
    vec![Claim {
        says: "new does more".into(),
        subject: Subject::Ratio {
            value,
            of: side("new"),
            to: side("old"),
            bound,
        },
        published: None,
    }]
}

/// The claim that these servers have the same throughput.
fn among(servers: &[&str]) -> Claim {
    let servers = servers.iter().map(|server| server.to_string()).collect();
    Claim {
        says: "all do the same".into(),
        subject: Subject::Spread {
            value: Value::Throughput,
            among: Cell {
                levels: vec![("server".into(), servers)],
                ..Cell::default()
            },
            within: 0.5,
        },
        published: None,
    }
}

fn is_new(trial: &&mut Trial) -> bool {
    trial.key.server_name() == "new"
}

/// The paths of docs/CI.md by their names there.
fn path(name: &str) -> Case {
    let failing = |failed: f64| Case::new(OLD, Side { failed, ..OLD });
    match name {
        "every check passed" => Case::slower_by(1.0),
        "new is slower than the tolerance" => Case::slower_by(1.3),
        "a claim holds" => Case {
            claims: claims(0.5),
            ..Case::slower_by(1.0)
        },
        "a claim does not hold" => Case {
            claims: claims(2.0),
            ..Case::slower_by(1.0)
        },
        "undecided: the blocks scatter" => Case::spoilt(|trials| {
            for trial in trials.iter_mut().filter(is_new) {
                let factor = 1.0 + 0.5 * f64::from(trial.key.block);
                let load = Side::at(OLD.rate * factor).load(0);
                trial.load = Some(Box::new(load));
            }
        }),
        "undecided: one block" => Case {
            blocks: 1,
            ..Case::slower_by(1.3)
        },
        "the new side of an open loop cannot keep up" => {
            Case::new(Side::open(1000.0), Side::overloaded(800.0))
        }
        "neither side of an open loop can keep up" => {
            Case::new(Side::overloaded(800.0), Side::overloaded(800.0))
        }
        "neither side of an open loop can keep up, and the new one completes less" => {
            Case::new(Side::overloaded(800.0), Side::overloaded(500.0))
        }
        "the new side of a closed loop does nothing" => Case::new(OLD, Side::at(0.0)),
        "the new side does not recover from an outage" => Case {
            claims: claims_on(Value::Recovery("recovered_s".into()), Bound::AtMost(0.8)),
            ..Case::spoilt(|trials| trials.iter_mut().for_each(killed))
        },
        "the shares of failed operations differ by more than `--failures`" => failing(0.3),
        "the shares of failed operations differ by less" => failing(0.005),
        "operations of one side change or find no row, in shares that differ by more than `--failures`" => {
            Case::spoilt(|trials| {
                for trial in trials.iter_mut().filter(is_new) {
                    idle(trial, 50, 100);
                }
            })
        }
        "the user's own tables differ on two servers of a run" => Case::spoilt(|trials| {
            for trial in trials.iter_mut() {
                let mut note = dataset("schema-shop");
                note.definitions = trial.key.server.clone();
                trial.dataset = Some(note);
            }
        }),
        "the percentile of a side is uncertain (`~`)" => Case {
            sides: [Side::open(1000.0); 2],
            ..Case::spoilt(|trials| {
                for trial in trials.iter_mut().filter(is_new) {
                    let load = trial.load.as_mut();
                    let summary = load.and_then(|load| load.summary.as_mut());
                    let response = summary.and_then(|one| one.latency.response.as_mut());
                    let response = response.expect("an open load has responses");
                    response.doubt(record::Percentile::P99);
                }
            })
        },
        "an event never ran on one side (`event_missed`)" => Case::spoilt(|trials| {
            for trial in trials.iter_mut().filter(is_new) {
                trial.flag(FlagKind::EventMissed, "this \"dump\" event never ran");
            }
        }),
        "the load generator was the limit of a side" => Case::spoilt(|trials| {
            for trial in trials.iter_mut().filter(is_new) {
                busy(trial, 0.97);
            }
        }),
        "so few operations that a failure is chance" => Case::spoilt(|trials| {
            for trial in trials.iter_mut() {
                let is_first = trial.key.server_name() == "new" && trial.key.block == 0;
                few(trial, 20, u64::from(is_first));
            }
        }),
        "one side lost acknowledged transactions in a crash" => Case::spoilt(|trials| {
            for trial in trials.iter_mut() {
                let is_new = trial.key.server_name() == "new";
                trial.audit = Some(losing(if is_new { 800 } else { 0 }));
            }
        }),
        "both sides lost acknowledged transactions in a crash" => Case::spoilt(|trials| {
            for trial in trials.iter_mut() {
                trial.audit = Some(losing(800));
            }
        }),
        "operations of the two sides change or find other numbers of rows" => {
            Case::spoilt(|trials| {
                for trial in trials.iter_mut() {
                    let is_new = trial.key.server_name() == "new";
                    changing(trial, if is_new { 50 } else { 100 });
                }
            })
        }
        "the A/A control differs from itself" => Case {
            control: Some(850.0),
            ..Case::slower_by(1.0)
        },
        "a trial has a wrong answer" => Case::spoilt(|trials| {
            trials[1].invalidate(FlagKind::WrongAnswer, "Q1 differs");
        }),
        "a trial failed" => Case::spoilt(|trials| trials[2].fail("the server ended")),
        "a trial is invalid on both sides of a block" => Case::spoilt(|trials| {
            for trial in &mut trials[..2] {
                trial.invalidate(FlagKind::EngineLimit, "the machine was busy");
            }
        }),
        "a side has no valid trial" => Case::spoilt(|trials| {
            for trial in trials.iter_mut().filter(is_new) {
                trial.invalidate(FlagKind::OperationsFailed, "none was done");
            }
        }),
        "a side is not available on its server" => Case::spoilt(|trials| {
            for trial in trials.iter_mut().filter(is_new) {
                trial.load = None;
                trial.flag(FlagKind::NotAvailable, "the server has no such setting");
            }
        }),
        "a side was not measured (`--only`)" => Case {
            claims: claims(0.5),
            ..path("a server was not measured (`--only`), without claims")
        },
        "a level that a claim names was not measured (`--only`)" => Case {
            claims: vec![among(&["old", "new", "newer"])],
            ..Case::slower_by(1.0)
        },
        "a server was not measured (`--only`), without claims" => Case {
            planned: Some(3),
            ..Case::spoilt(|trials| trials.retain(|trial| trial.key.server_name() == "old"))
        },
        "the answers of two runs on the same data differ" => Case::spoilt(|trials| {
            for trial in trials.iter_mut() {
                let rows = if trial.key.server_name() == "new" {
                    1
                } else {
                    2
                };
                trial.load = None;
                trial.rounds = vec![round(rows, trial.key.block)];
            }
        }),
        "a round is in one of two runs alone" => Case::spoilt(|trials| {
            for trial in trials.iter_mut() {
                let hot = round(2, trial.key.block);
                let cold = record::Round {
                    name: "cold".into(),
                    ..hot.clone()
                };
                trial.load = None;
                trial.rounds = match trial.key.server_name() {
                    "new" => vec![hot],
                    _ => vec![cold, hot],
                };
            }
        }),
        "two runs are on other data" => Case::spoilt(|trials| {
            for trial in trials.iter_mut() {
                trial.dataset = Some(dataset(trial.key.server_name()));
            }
        }),
        "two runs are from other machines" => Case {
            machine: "other",
            ..Case::slower_by(1.0)
        },
        "two runs have other workloads, or one is in slices" => Case::spoilt(|trials| {
            trials.iter_mut().filter(is_new).for_each(sliced);
        }),
        "the run is a part of its matrix (`--part`) or load (`--shard`)" => Case {
            part: Some("1/2".into()),
            ..Case::slower_by(1.0)
        },
        "the run was interrupted" => Case {
            planned: Some(8),
            ..Case::slower_by(1.0)
        },
        other => panic!("docs/CI.md has a path without a test: {other}"),
    }
}

/// The rows of the table of paths in docs/CI.md: the path and its three exit codes.
fn documented() -> Vec<[String; 5]> {
    let text = include_str!("../../../../../docs/CI.md");
    let table = text.split("| path |").nth(1).expect("the table of paths");
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        let cells = line
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_string());
        cells.collect::<Vec<_>>().try_into().expect("five columns")
    };
    rows.map(cells).collect()
}

/// What a verb has no path for.
const NO_PATH: &str = "-";

/// `run` of an interrupted run ends by its signal, before there is a gate.
const INTERRUPTED: &str = "130";

fn code(status: Option<Status>) -> String {
    match status {
        None => NO_PATH.to_string(),
        Some(Status::Done) => "0".to_string(),
        Some(Status::ClaimFailed) => "1".to_string(),
        Some(Status::Usage) => "2".to_string(),
        Some(Status::Failed) => "3".to_string(),
        Some(Status::Interrupted) => INTERRUPTED.to_string(),
    }
}

#[test]
fn every_path_of_a_gate_has_the_documented_status_for_run_show_and_compare() {
    let rows = documented();
    assert!(rows.len() >= 17, "{rows:?}");
    let mut wrong = Vec::new();
    for [name, run, show, gate, strict] in rows {
        let whole = path(&name).recorded();
        let brief = path(&name).recorded().brief();
        let mut check = |verb: &str, mode: Option<Mode>, status: Option<Status>, expected: &str| {
            let found = code(status);
            if found != expected && found != NO_PATH {
                wrong.push(format!(
                    "{name}: {verb} {mode:?}: {found}, documented {expected}"
                ));
            }
        };
        for (mode, expected) in [
            (None, &run),
            (Some(Mode::Decided), &gate),
            (Some(Mode::Strict), &strict),
        ] {
            let gating = gating(mode);
            let of_earlier = if mode.is_none() { &show } else { expected };
            check("compare", mode, brief.of_comparison(&gating), of_earlier);
            // Some paths are of two runs alone.
            if run == NO_PATH {
                continue;
            }
            if run != INTERRUPTED {
                check("run", mode, whole.of_run(&gating, When::Now), expected);
            }
            let status = brief.of_run(&gating, When::Earlier);
            check("show", mode, status, of_earlier);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_headline_names_the_transactions_that_one_side_lost() {
    let case = path("one side lost acknowledged transactions in a crash").recorded();
    let run = run(&["old", "new"], Vec::new(), case.planned);
    let trials = (case.trials.as_slice(), case.controls.as_slice());
    let document = Document::within(0.05, &run, trials, Detail::Brief);
    let headline = document.headline.to_string();
    let lost = "2,400 of 30,000 acknowledged transactions of new were lost, 0 of 30,000 of old.";
    assert!(headline.contains(lost), "{headline}");
}

#[test]
fn a_claim_among_rows_of_which_one_lost_transactions_fails() {
    let case = Case {
        claims: vec![among(&["old", "new"])],
        ..path("one side lost acknowledged transactions in a crash")
    };
    let status = case
        .recorded()
        .of_run(&gating(Some(Mode::Decided)), When::Now);
    assert_eq!(status, Some(Status::ClaimFailed));
}

#[test]
fn a_control_that_differs_by_more_than_the_tolerance_is_undecided() {
    let status = |tolerance: f64| {
        let case = Case {
            control: Some(985.0),
            ..Case::slower_by(1.0)
        };
        let gating = Gating {
            tolerance,
            ..gating(Some(Mode::Strict))
        };
        case.recorded().of_run(&gating, When::Now)
    };
    assert_eq!(status(0.05), Some(Status::Done));
    assert_eq!(status(0.01), Some(Status::ClaimFailed));
}
