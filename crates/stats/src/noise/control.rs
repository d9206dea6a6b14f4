//! The A/A control: the same setup twice in each block.
//!
//! Purpose: how much a setup differs from itself, judged as a claim would be. Boundaries: `spec` chooses the setup.

use super::power::whole;
use crate::compare::contrast;
use crate::inference::ratio;
use crate::judge::borrowed_noise::Lenders;
use crate::values::cells::{self, row_key};
use record::claim::{Cell, Use, Value};
use record::run::Question;
use record::trial::{Trial, TrialKey};

/// The control of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    pub key: TrialKey,
    /// `the throughput`, `the time`
    pub value: String,
    /// What was compared, or why nothing could be.
    pub figure: Result<Twice, String>,
}

/// The second measurement over the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Twice {
    /// The geometric mean over blocks.
    pub measured: f64,
    /// The 95 % interval; none with one block.
    pub ci: Option<(f64, f64)>,
}

impl Twice {
    /// Whether the interval excludes 1, as it does by chance in 5 % of runs.
    pub fn differs(&self) -> bool {
        self.ci.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }

    /// Whether it differs, and by more than the margin within which results are equivalent.
    pub fn is_bad(&self) -> bool {
        self.differs_beyond(ratio::MARGIN)
    }

    /// Whether it differs, and not within this margin around 1.
    pub fn differs_beyond(&self, margin: f64) -> bool {
        let is_near = |ci| ratio::is_equivalent(ci, margin);
        self.differs() && !self.ci.is_some_and(is_near)
    }
}

/// Compares the trials of the control with the same setup among `trials`. None without a control.
pub fn control(question: &Question, trials: &[Trial], controls: &[Trial]) -> Option<Control> {
    let key = controls.first()?.key.clone();
    let (value, cell) = subject(question, &controls[0]);
    let figure = twice(trials, controls, &value, &cell);
    Some(Control {
        key,
        value: value.words(),
        figure,
    })
}

fn twice(
    trials: &[Trial],
    controls: &[Trial],
    value: &Value,
    cell: &Cell,
) -> Result<Twice, String> {
    // What was not applied is the same on both sides.
    let of = cells::series_as_measured(controls, cell, value, u32::MAX)?;
    let to = cells::series_as_measured(trials, cell, value, u32::MAX)?;
    let blocks = cells::common_blocks(&[&of, &to]);
    let ratio = cells::ratio(&of, &to, &blocks).ok_or("no block has both measurements")?;
    let ratio = Lenders::of(trials, u32::MAX).moderate_control(
        ratio,
        value,
        cell,
        row_key(&controls[0].key),
    );
    Ok(Twice {
        measured: ratio.geometric(),
        ci: ratio.ci(),
    })
}

/// The value that the first claim on this setup compares, else the throughput of a load or the time of the last kind of round.
fn subject(question: &Question, control: &Trial) -> (Value, Cell) {
    let row = row_key(&control.key);
    let claims = question.claims.iter().flat_map(|claim| {
        let cells = claim.compared().into_iter();
        cells.filter_map(move |cell| Some((claim.subject.value()?, cell)))
    });
    let mut own = claims.filter(|(value, cell)| {
        value.used() == Use::Speed
            && !cells::matching(std::slice::from_ref(control), cell).is_empty()
    });
    let (value, cell) = match own.next() {
        Some((value, cell)) => (value.clone(), cell.clone()),
        None => whole(question),
    };
    let levels = contrast::cell(row).levels;
    (value, Cell { levels, ..cell })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use record::FlagKind;
    use record::claim::{Bound, Claim, Subject};
    use record::trial::{Role, TrialState};

    fn question(claims: Vec<Claim>) -> Question {
        let json = serde_json::json!({
            "name": "n", "title": "t", "question": "q", "published": null, "servers": ["5.6"],
            "factors": [{ "name": "clients", "levels": ["1", "8"] }], "rounds": [], "blocks": 3,
            "workload": { "name": "oltp", "summary": "s", "operations": [] }, "claims": [], "trials": 6
        });
        Question {
            claims,
            ..serde_json::from_value(json).unwrap()
        }
    }

    fn trial(block: u32, clients: &str, rate: f64, role: Role) -> Trial {
        let load = fixture::closed(|_| rate, 60);
        let mut trial = fixture::trial(block, &[("clients", clients)], load);
        trial.key.role = role;
        trial
    }

    /// One measurement per block, and the control.
    fn measured(rates: [f64; 3], again: [f64; 3]) -> (Vec<Trial>, Vec<Trial>) {
        let of = |rates: [f64; 3], role: Role| {
            let blocks = (0..).zip(rates);
            blocks.map(move |(block, rate)| trial(block, "1", rate, role))
        };
        let other = (0..3).map(|block| trial(block, "8", 5000.0, Role::Measured));
        (
            of(rates, Role::Measured).chain(other).collect(),
            of(again, Role::Control).collect(),
        )
    }

    #[test]
    fn the_control_is_the_ratio_of_the_same_setup_to_itself() {
        let (trials, controls) = measured([1000.0, 1010.0, 990.0], [1030.0, 1030.0, 1030.0]);
        let control = control(&question(Vec::new()), &trials, &controls).unwrap();
        let twice = control.figure.unwrap();
        let known = (1030.0_f64.powi(3) / (1000.0 * 1010.0 * 990.0)).cbrt();
        assert!((twice.measured / known - 1.0).abs() < 1e-9);
        let (low, high) = twice.ci.unwrap();
        assert!(low < known && known < high);
        assert_eq!(control.value, "the throughput");
    }

    #[test]
    fn a_control_that_differs_beyond_its_noise_says_so() {
        let (trials, controls) = measured([1000.0, 1001.0, 999.0], [1201.0, 1200.0, 1199.0]);
        let figure = |controls: &[Trial]| {
            control(&question(Vec::new()), &trials, controls)
                .unwrap()
                .figure
        };
        assert!(figure(&controls).unwrap().differs());
        let (_, alike) = measured([1000.0; 3], [1001.0, 998.0, 1000.0]);
        assert!(!figure(&alike).unwrap().differs());
    }

    #[test]
    fn a_setting_that_neither_measurement_has_leaves_the_control_judged() {
        let (mut trials, mut controls) = measured([1000.0; 3], [1030.0; 3]);
        for trial in trials.iter_mut().chain(&mut controls) {
            trial.flag(FlagKind::NotAvailable, "the pool of this level");
        }
        let control = control(&question(Vec::new()), &trials, &controls).unwrap();
        assert!((control.figure.unwrap().measured - 1.03).abs() < 1e-3);
    }

    #[test]
    fn a_run_without_a_control_has_none() {
        let (trials, _) = measured([1000.0; 3], [1000.0; 3]);
        assert_eq!(control(&question(Vec::new()), &trials, &[]), None);
    }

    #[test]
    fn a_control_without_a_valid_trial_names_the_reason() {
        let (trials, mut controls) = measured([1000.0; 3], [1000.0; 3]);
        for control in &mut controls {
            control.state = TrialState::Failed;
        }
        let control = control(&question(Vec::new()), &trials, &controls).unwrap();
        assert!(control.figure.unwrap_err().contains("failed"));
    }

    #[test]
    fn the_control_compares_what_the_claim_compares() {
        let cell = |clients: &str| Cell {
            levels: vec![("clients".into(), vec![clients.into()])],
            ..Cell::default()
        };
        let claim = Claim {
            says: "s".into(),
            subject: Subject::Ratio {
                value: Value::Latency {
                    kind: record::load::LatencyKind::Response,
                    percentile: record::claim::Percentile::P50,
                },
                of: cell("8"),
                to: cell("1"),
                bound: Bound::AtLeast(1.1),
            },
            published: None,
        };
        let (trials, controls) = measured([1000.0; 3], [1000.0; 3]);
        let control = control(&question(vec![claim]), &trials, &controls).unwrap();
        assert_eq!(control.value, "the p50 latency");
    }
}
