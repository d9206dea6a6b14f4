//! `--clients`, `--rate`, `--workers`, `--time`, `--warmup`.
//!
//! Purpose: they replace values of the file but never its kind: closed stays closed, rounds stay rounds. Boundaries: `cli`
//! parses the flags.

use super::{OverrideError, mistake};
use crate::experiment::place::changes;
use crate::experiment::{Experiment, FactorSpec, Patch};
use crate::load::{ArrivalsSpec, CLIENTS_MAX, LoadPatch, LoadSpec, OpenSpec, RateSpec};
use crate::sections::load_factors::{clients_factor, rate_factor, workers_factor};
use crate::sections::protocol;
use crate::text::unit;

impl Experiment {
    /// `--clients 1,8,64`
    ///
    /// # Errors
    /// Fails if the load is open, if a level sets the clients, if a number is out of range or listed twice, or if
    /// an `only` of the file names none of them.
    pub fn with_clients(mut self, counts: &[u32]) -> Result<Experiment, OverrideError> {
        let first = check_counts("--clients", counts)?;
        self.check_no_level_chooses("--clients", |load| load.clients.is_some())?;
        let LoadSpec::Closed { clients, .. } = &mut self.load else {
            return Err(mistake(
                "--clients: this experiment has an open load",
                "give --rate and --workers",
            ));
        };
        *clients = first;
        self.replace_factor("clients", clients_factor(counts))?;
        Ok(self)
    }

    /// `--workers 1,8,64`
    ///
    /// # Errors
    /// Fails if the load is closed, if a level sets the workers, if a number is out of range or listed twice, or if
    /// an `only` of the file names none of them.
    pub fn with_workers(mut self, counts: &[u32]) -> Result<Experiment, OverrideError> {
        let first = check_counts("--workers", counts)?;
        self.check_no_level_chooses("--workers", |load| load.workers.is_some())?;
        self.open("--workers")?.workers = first;
        self.replace_factor("workers", workers_factor(counts))?;
        Ok(self)
    }

    /// `--rate 500,"60% of max"`; these rates replace a search for the maximum.
    ///
    /// # Errors
    /// Fails if the load is closed, if a level or a trace sets the rate, if a rate is invalid or listed twice, or if an
    /// `only` of the file names none of them.
    pub fn with_rate(mut self, texts: &[String]) -> Result<Experiment, OverrideError> {
        let rates = texts
            .iter()
            .map(|text| text.parse::<RateSpec>())
            .collect::<Result<Vec<RateSpec>, _>>()
            .map_err(|error| {
                mistake(
                    format!("--rate: {error}"),
                    "write --rate 500,1000 or --rate \"60% of max\"",
                )
            })?;
        check_once("--rate", &rates)?;
        self.check_no_level_chooses("--rate", |load| load.rate.is_some())?;
        let open = self.open("--rate")?;
        if matches!(open.arrivals, ArrivalsSpec::Trace { .. }) {
            return Err(mistake("--rate: a trace defines its own rate", "remove it"));
        }
        open.rate = rates[0].clone();
        self.replace_factor("rate", rate_factor(&rates))?;
        Ok(self)
    }

    /// `--time 30s`
    ///
    /// # Errors
    /// Fails if the experiment has rounds, or if the text is not a duration above 0.
    pub fn with_time(mut self, text: &str) -> Result<Experiment, OverrideError> {
        self.check_timed("--time")?;
        let time = unit::duration(text)
            .map_err(|error| mistake(format!("--time: {error}"), "write --time 30s"))?;
        if time.is_zero() {
            return Err(mistake("--time 0 measures nothing", "write --time 30s"));
        }
        self.protocol.time = Some(time);
        if let Some(within) = &mut self.protocol.within {
            within.chooses_time = false;
        }
        Ok(self)
    }

    /// `--warmup find`, `--warmup 10s`, `--warmup 50%`
    ///
    /// # Errors
    /// Fails if the experiment has rounds, or if the text has another form.
    pub fn with_warmup(mut self, text: &str) -> Result<Experiment, OverrideError> {
        self.check_timed("--warmup")?;
        self.protocol.warmup = text.parse().map_err(|error| {
            mistake(
                format!("--warmup: {error}"),
                "--warmup 0s measures from the first operation on",
            )
        })?;
        // A short load after a start needs more time without a warm-up than with one.
        protocol::least_time(&mut self.protocol, &self.load, &self.claims);
        Ok(self)
    }

    fn open(&mut self, flag: &str) -> Result<&mut OpenSpec, OverrideError> {
        match &mut self.load {
            LoadSpec::Open(open) => Ok(open),
            LoadSpec::Closed { .. } => Err(mistake(
                format!("{flag}: this experiment has a closed load"),
                "give --clients, or write [load.open] in the file",
            )),
        }
    }

    fn check_timed(&self, flag: &str) -> Result<(), OverrideError> {
        if self.protocol.is_timed() {
            return Ok(());
        }
        Err(mistake(
            format!("{flag}: this experiment measures rounds of queries, not a timed load"),
            "remove it",
        ))
    }

    /// The command line cannot replace what a level in the file sets.
    fn check_no_level_chooses(
        &self,
        flag: &str,
        chooses: impl Fn(&LoadPatch) -> bool,
    ) -> Result<(), OverrideError> {
        let name = flag.trim_start_matches("--");
        let of_patch = |patch: &Patch| patch.load.as_ref().is_some_and(&chooses);
        let mut others = self.factors.iter().filter(|factor| factor.name != name);
        let factor = others.find(|factor| changes(factor).any(|(_, patch)| of_patch(patch)));
        match factor {
            None => Ok(()),
            Some(factor) => Err(mistake(
                format!(
                    "{flag} cannot replace the {name}: the factor \"{}\" sets them",
                    factor.name
                ),
                format!("choose its levels with --only \"{}=LEVEL\"", factor.name),
            )),
        }
    }

    /// Replaces a factor in place, or appends it.
    ///
    /// # Errors
    /// Fails if an "only" of the file names none of the new levels: its level or its event would have no trials.
    fn replace_factor(
        &mut self,
        name: &str,
        factor: Option<FactorSpec>,
    ) -> Result<(), OverrideError> {
        let levels = factor.iter().flat_map(|factor| &factor.levels);
        let levels: Vec<&String> = levels.map(|level| &level.name).collect();
        let of_levels = self.factors.iter().flat_map(|factor| &factor.levels);
        let of_levels = of_levels.map(|level| &level.only);
        let of_events = self.events.iter().map(|event| &event.only);
        let all = of_levels.chain(of_events).flatten();
        let mut named = all.filter(|(factor, _)| factor == name);
        let is_lost = |named: &[String]| !named.iter().any(|level| levels.contains(&level));
        if let Some((_, lost)) = named.find(|(_, named)| is_lost(named)) {
            let lost = lost.join(",");
            return Err(mistake(
                format!(
                    "--{name}: an \"only\" of the file names {name} {lost}, and its level or event would have no trials"
                ),
                format!("choose from the list in the file with --only \"{name}={lost}\""),
            ));
        }
        let place = self.factors.iter().position(|factor| factor.name == name);
        self.factors.retain(|factor| factor.name != name);
        let place = place.unwrap_or(self.factors.len());
        self.factors.splice(place..place, factor);
        Ok(())
    }
}

/// Checks the numbers and returns the first.
fn check_counts(flag: &str, counts: &[u32]) -> Result<u32, OverrideError> {
    check_once(flag, counts)?;
    match counts
        .iter()
        .find(|count| !(1..=CLIENTS_MAX).contains(*count))
    {
        None => Ok(counts[0]),
        Some(count) => Err(mistake(
            format!("{flag} {count} is out of range"),
            format!("give numbers from 1 to {CLIENTS_MAX}"),
        )),
    }
}

fn check_once<T: PartialEq + ToString>(flag: &str, values: &[T]) -> Result<(), OverrideError> {
    let example = format!("write {flag} A,B");
    if values.is_empty() {
        return Err(mistake(format!("{flag} lists no value"), example));
    }
    let twice = (1..values.len()).find(|index| values[..*index].contains(&values[*index]));
    match twice {
        None => Ok(()),
        Some(index) => Err(mistake(
            format!("{flag}: {} is listed twice", values[index].to_string()),
            "list it once",
        )),
    }
}
