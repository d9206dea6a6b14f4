//! Command-line overrides of an experiment: `--scale`, `--size`, `--blocks`, `--only`, `--server`, and the load (`load`).
//!
//! Purpose: pure functions from an experiment to a changed one. Boundaries: `cli` parses the flags.

mod load;

use crate::experiment::place::changes;
use crate::experiment::{Experiment, LevelSpec, Patch};
use crate::file::mistake::suggestion;
use crate::load::{MAX, RateSpec};
use crate::sections::blocks::{UNTIL_DECIDED_TIMES, all_are_shapes};
use crate::sections::names::Names;
use crate::server::build::{self, BuildSpec};
use crate::server::cluster;
use crate::text::setting::Pairs;
use record::Looks;
use std::collections::BTreeMap;

/// `--until-decided` begins with as many blocks where the file has a single one: cells lend each other their noise from three on.
const FIRST: u32 = 3;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{says}; {help}")]
pub struct OverrideError {
    /// The cause.
    pub says: String,
    /// How to fix it.
    pub help: String,
}

/// Whether the rate is a share of the maximum, which must be measured too.
fn is_share(level: &str) -> bool {
    level.parse().is_ok_and(|rate: RateSpec| rate.is_relative())
}

/// The two sides of `FACTOR=LEVEL[,LEVEL]`.
fn factor_and_levels(only: &str) -> Result<(&str, &str), OverrideError> {
    only.split_once('=')
        .map(|(factor, levels)| (factor.trim(), levels.trim()))
        .ok_or_else(|| {
            mistake(
                format!("--only {only} names no level"),
                "write --only server=5.6",
            )
        })
}

pub(crate) fn mistake(says: impl Into<String>, help: impl Into<String>) -> OverrideError {
    OverrideError {
        says: says.into(),
        help: help.into(),
    }
}

impl Experiment {
    /// `--scale X`. The caller checks the section again, because the workload limits the scale.
    ///
    /// # Errors
    /// Fails if the scale is not a number above 0, or if the file varies it.
    pub fn with_scale(mut self, scale: f64) -> Result<Experiment, OverrideError> {
        if !(scale.is_finite() && scale > 0.0) {
            return Err(mistake(
                format!("--scale {scale} is not a valid scale"),
                "give a number above 0, as in --scale 0.1",
            ));
        }
        self.set_workload_key("scale", toml::Value::Float(scale))?;
        Ok(self)
    }

    /// `--size SIZE`. The caller checks the section again.
    ///
    /// # Errors
    /// Fails if the file varies the size.
    pub fn with_size(mut self, size: &str) -> Result<Experiment, OverrideError> {
        self.set_workload_key("size", toml::Value::String(size.to_string()))?;
        Ok(self)
    }

    /// `--accept-warnings`. The caller checks the section again.
    ///
    /// # Errors
    /// Fails if the file varies it.
    pub fn with_accepted_warnings(mut self) -> Result<Experiment, OverrideError> {
        self.set_workload_key("accept_warnings", toml::Value::Boolean(true))?;
        Ok(self)
    }

    fn set_workload_key(&mut self, key: &str, value: toml::Value) -> Result<(), OverrideError> {
        if let Some(factor) = self.factor_of_workload_key(key) {
            let says =
                format!("--{key} cannot replace the {key}: the factor \"{factor}\" varies it");
            return Err(mistake(
                says,
                format!("choose its levels with --only {factor}=LEVEL"),
            ));
        }
        let section = self.base.workload.get_or_insert_default();
        section.insert(key.to_string(), value);
        Ok(())
    }

    fn factor_of_workload_key(&self, key: &str) -> Option<&str> {
        let sets = |patch: &Patch| {
            patch
                .workload
                .as_ref()
                .is_some_and(|table| table.contains_key(key))
        };
        self.factors
            .iter()
            .find(|factor| changes(factor).any(|(_, patch)| sets(patch)))
            .map(|factor| factor.name.as_str())
    }

    /// `--blocks N`
    ///
    /// # Errors
    /// Fails if it is 0.
    pub fn with_blocks(mut self, blocks: u32) -> Result<Experiment, OverrideError> {
        if blocks == 0 {
            return Err(mistake(
                "--blocks 0 measures nothing",
                "give at least 1; a verdict needs 2 or more",
            ));
        }
        self.protocol.blocks = blocks;
        self.protocol.looks = None;
        self.protocol.blocks_are_given();
        Ok(self)
    }

    /// `--until-decided`: begins with the file's blocks (three if it has one) and measures at most three times as many. A file that
    /// has `first` and `most` keeps them.
    ///
    /// # Errors
    /// Fails if no claim compares cells.
    pub fn until_decided(mut self) -> Result<Experiment, OverrideError> {
        if all_are_shapes(&self.claims) {
            return Err(mistake(
                "--until-decided has nothing to decide: no claim of the file compares cells",
                "add a [[claim]] with \"of\" and \"to\", or give --blocks N",
            ));
        }
        if self.protocol.looks.is_none() {
            let first = match self.protocol.blocks {
                1 => FIRST,
                blocks => blocks,
            };
            let looks =
                Looks::until_decided(first, first.saturating_mul(UNTIL_DECIDED_TIMES), None);
            self.protocol.set_looks(looks);
        }
        Ok(self)
    }

    /// `--no-limits`: every trial runs without the limits of the file and its levels.
    pub fn without_limits(self) -> Experiment {
        Experiment {
            unlimited: true,
            ..self
        }
    }

    /// `--only FACTOR=LEVEL[,LEVEL]`, any number of times: keeps only these levels of a factor or these servers. Several options for one
    /// factor add up. A level name with commas is recognised if the whole text is that name.
    ///
    /// # Errors
    /// Fails for unknown names, for levels that an `only` of the file keeps apart from the others, and for a server whose dataset comes
    /// from an excluded one.
    pub fn with_only(mut self, texts: &[impl AsRef<str>]) -> Result<Experiment, OverrideError> {
        let mut kept: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for text in texts {
            let (factor, levels) = factor_and_levels(text.as_ref())?;
            let chosen = self.choose(factor, levels)?;
            kept.entry(factor).or_default().extend(chosen);
        }
        for (factor, levels) in &kept {
            self.keep(factor, levels.clone())?;
        }
        self.check_measured(&kept)?;
        Ok(self)
    }

    /// Checks that each of these levels has trials with the others. A server without trials may lend its dataset, and the maximum is
    /// measured for its shares.
    fn check_measured(&self, kept: &BTreeMap<&str, Vec<String>>) -> Result<(), OverrideError> {
        let names = Names::new(&self.servers, &self.factors, &self.load, &self.protocol);
        let is_used = |factor: &str, level: &String| match factor {
            "server" => {
                let mut servers = self.servers.iter();
                servers.any(|server| server.dataset_from.as_ref() == Some(level))
            }
            _ => factor == "rate" && level == MAX,
        };
        for (factor, levels) in kept {
            for level in levels.iter().filter(|level| !is_used(factor, level)) {
                let others = kept.iter().filter(|(other, _)| *other != factor);
                let others = others.map(|(other, levels)| (other.to_string(), levels.clone()));
                let one = (factor.to_string(), vec![level.clone()]);
                let chosen: Vec<_> = std::iter::once(one).chain(others).collect();
                if let Some(why) = names.apart(&chosen) {
                    return Err(mistake(
                        format!("--only {factor}={level} has no trials: {why}"),
                        "leave it out, or see the \"only\" of these levels in the file",
                    ));
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, factor: &str, mut levels: Vec<String>) -> Result<(), OverrideError> {
        if factor == "server" {
            self.servers.retain(|server| levels.contains(&server.name));
            return self.check_datasets();
        }
        if factor == "rate" && levels.iter().any(|name| is_share(name)) {
            levels.push(MAX.to_string());
        }
        let spec = self.factors.iter_mut().filter(|known| known.name == factor);
        spec.for_each(|factor| factor.levels.retain(|level| levels.contains(&level.name)));
        Ok(())
    }

    /// The levels that `--only` names, in the file's spelling.
    fn choose(&self, factor: &str, levels: &str) -> Result<Vec<String>, OverrideError> {
        let all = self.all_levels();
        let Some((_, known)) = all.iter().find(|(name, _)| name == factor) else {
            let factors: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
            return Err(mistake(
                format!("--only: the file has no factor \"{factor}\""),
                suggestion(factor, &factors),
            ));
        };
        if known.iter().any(|level| level == levels) {
            return Ok(vec![levels.to_string()]);
        }
        let chosen: Vec<String> = levels
            .split(',')
            .map(|level| level.trim().to_string())
            .collect();
        match chosen.iter().find(|level| !known.contains(level)) {
            None => Ok(chosen),
            Some(level) => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                Err(mistake(
                    format!("--only: the factor \"{factor}\" has no level \"{level}\""),
                    suggestion(level, &known),
                ))
            }
        }
    }

    /// Every factor with its levels, `server` first.
    fn all_levels(&self) -> Pairs<Vec<String>> {
        let servers = self.servers.iter().map(|server| server.name.clone());
        let server = ("server".to_string(), servers.collect());
        let factors = self.factors.iter().map(|factor| {
            let levels = factor.levels.iter().map(|level| level.name.clone());
            (factor.name.clone(), levels.collect())
        });
        std::iter::once(server).chain(factors).collect()
    }

    fn check_datasets(&self) -> Result<(), OverrideError> {
        let is_there = |name: &String| self.servers.iter().any(|server| server.name == *name);
        let lost = self.servers.iter().find_map(|server| {
            let from = server.dataset_from.as_ref()?;
            (!is_there(from)).then_some((server, from))
        });
        match lost {
            None => Ok(()),
            Some((server, from)) => {
                let says = format!(
                    "--only leaves out the server \"{from}\", whose dataset \"{}\" starts from",
                    server.name
                );
                Err(mistake(
                    says,
                    format!("write --only server={from},{}", server.name),
                ))
            }
        }
    }

    /// `--server`, any number of times. Later ones replace earlier ones: `--server mariadb --server new=mysql@8.0.33` is all but one.
    ///
    /// # Errors
    /// As for `with_server`, and for one that later ones replace on all of its servers.
    pub fn with_servers(self, texts: &[impl AsRef<str>]) -> Result<Experiment, OverrideError> {
        let names = texts.iter().map(|text| build::split_name(text.as_ref()).0);
        let names: Vec<Option<&str>> = names.collect();
        let is_meant = |name: &Option<&str>, server: &str| name.is_none_or(|name| name == server);
        let has_no_effect = |index: usize| {
            let meant = self.servers.iter().map(|server| server.name.as_str());
            let mut meant = meant
                .filter(|server| is_meant(&names[index], server))
                .peekable();
            let later = &names[index + 1..];
            let is_replaced = |server: &str| later.iter().any(|name| is_meant(name, server));
            meant.peek().is_some() && meant.all(is_replaced)
        };
        if (0..names.len()).any(has_no_effect) {
            return Err(mistake(
                "--server: a later --server replaces all that an earlier one sets",
                "give each server once: --server 5.5=BUILD --server 5.6=BUILD; prony bench compares builds without a file",
            ));
        }
        let mut texts = texts.iter();
        texts.try_fold(self, |experiment, text| {
            experiment.with_server(text.as_ref())
        })
    }

    /// `--server BUILD` for all servers of the file, or `--server NAME=BUILD` for one.
    ///
    /// # Errors
    /// Fails for unknown names and builds, and where the workload has no server. No message contains a password.
    pub(crate) fn with_server(mut self, text: &str) -> Result<Experiment, OverrideError> {
        if self.servers.is_empty() {
            return Err(mistake(
                format!(
                    "--server: the workload \"{}\" runs on a folder, without a server",
                    self.workload
                ),
                "remove it",
            ));
        }
        let (name, build) = build::split_name(text);
        let build: BuildSpec = build.parse().map_err(|error: build::BuildError| {
            mistake(format!("--server: {error}"), error.help())
        })?;
        let known = self.servers.iter().map(|server| server.name.as_str());
        let known: Vec<&str> = known.collect();
        if let Some(name) = name.filter(|name| !known.contains(name)) {
            return Err(mistake(
                format!("--server: the file has no server \"{name}\""),
                suggestion(name, &known),
            ));
        }
        let builds = |level: &LevelSpec| {
            let is_meant = |server: &str| name.is_none_or(|name| name == server);
            let mut on = level.on.iter();
            level.patch.build.is_some()
                || on.any(|(server, patch)| is_meant(server) && patch.build.is_some())
        };
        if let Some(factor) = self
            .factors
            .iter()
            .find(|factor| factor.levels.iter().any(builds))
        {
            let factor = &factor.name;
            return Err(mistake(
                format!("--server cannot replace the build: the factor \"{factor}\" varies it"),
                format!("choose its levels with --only {factor}=LEVEL"),
            ));
        }
        for server in self
            .servers
            .iter_mut()
            .filter(|server| name.is_none_or(|name| server.name == name))
        {
            let unsuitable = |kind| cluster::unsuitable(kind, &build);
            if let Some((says, help)) = server.topology().and_then(unsuitable) {
                return Err(mistake(
                    format!("--server: \"{}\" has a topology: {says}", server.name),
                    help,
                ));
            }
            server.build = build.clone();
        }
        Ok(self)
    }
}
