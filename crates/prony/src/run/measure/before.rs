//! What the trials before have shown, with which each further trial is compared.
//!
//! Purpose: a mean over blocks is of one plan and of one configuration, and equal queries have equal answers. Outside this module: what makes
//! two of them differ (`audit::answers`, `rounds::plans`, `place::changed`).

use super::rounds::plans::LastPlans;
use crate::run::audit::answers::Answers;
use crate::run::place::changed;
use record::Trial;
use spec::plan::PlannedTrial;
use std::collections::{BTreeMap, HashMap};

#[derive(Default)]
pub(super) struct Before {
    pub(super) answers: Answers,
    pub(super) plans: LastPlans,
    pub(super) settings: LastSettings,
}

/// Server, levels.
type Row = (Option<String>, Vec<(String, String)>);

/// The last settings of each row of the matrix with their block, of servers that prony does not configure.
#[derive(Default)]
pub(super) struct LastSettings(HashMap<Row, (u32, BTreeMap<String, String>)>);

impl LastSettings {
    /// Flags what somebody has changed since the trial before in the same row, and remembers the settings of this one.
    pub(super) fn compare(&mut self, planned: &PlannedTrial, trial: &mut Trial) {
        let server = planned.server.as_ref();
        let is_theirs = server.is_some_and(|server| server.build.is_external());
        if !is_theirs || trial.settings.is_empty() {
            return;
        }
        let row = (trial.key.server.clone(), trial.key.levels.clone());
        let now = (trial.key.block, trial.settings.clone());
        if let Some((block, before)) = self.0.insert(row, now) {
            let then = format!("in block {}", block + 1);
            let flag = changed::flag(&before, &trial.settings, &then);
            trial.flags.extend(flag);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::read_on_server;

    /// The flags of a trial in each block, on a server of this build whose setting has these values.
    fn flags(build: &str, values: [&str; 3]) -> Vec<Vec<String>> {
        let source = format!(
            "title = 't'\n[server.a]\nbuild = '{build}'\n[workload.ssb]\n[protocol]\nblocks = 3\n"
        );
        let experiment = read_on_server(&source);
        let planned = spec::plan::expand(&experiment, 1).unwrap();
        let mut last = LastSettings::default();
        let trials = planned.iter().zip(values).map(|(planned, value)| {
            let mut trial = Trial::unmeasured(planned.key.clone(), 0);
            trial
                .settings
                .insert("sync_binlog".into(), value.to_string());
            last.compare(planned, &mut trial);
            let flags = trial.flags.into_iter();
            flags.map(|flag| flag.text).collect::<Vec<String>>()
        });
        trials.collect()
    }

    #[test]
    fn a_setting_that_somebody_changes_between_two_blocks_is_flagged_once() {
        let of_theirs = flags("mysql://db/", ["1", "0", "0"]);
        assert!(of_theirs[0].is_empty() && of_theirs[2].is_empty());
        let says = &of_theirs[1][0];
        assert!(
            says.contains("sync_binlog was 1 in block 1 and is 0"),
            "{says}"
        );
        let of_prony = flags("mariadb", ["1", "0", "0"]);
        assert!(of_prony.iter().all(Vec::is_empty), "{of_prony:?}");
    }
}
