//! From the command line's FILE|NAME and overrides to a checked experiment.

use super::embedded;
use super::failure::Failure;
use spec::{self, Experiment, OverrideError, dsn::mask_passwords};

use clap::Parser;
use std::path::Path;

/// Overrides of the experiment, the same for `run` and `check`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Overrides {
    /// Scale of the workload, instead of the file's
    #[arg(long, value_name = "X")]
    pub scale: Option<f64>,
    /// Size of the files of fileio, instead of the file's: 4G
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// Repetitions of all trials, instead of the file's
    #[arg(long, value_name = "N")]
    pub blocks: Option<u32>,
    /// Measure the cells of undecided claims in more blocks: at first the file's blocks (3 if it has one), at most three times as many
    #[arg(long)]
    pub until_decided: bool,
    /// Only these levels: server=5.6, variant=small pool, ...; repeatable, also for one factor
    #[arg(long, value_name = "FACTOR=LEVEL[,LEVEL]")]
    pub only: Vec<String>,
    /// Replace all servers (mysql@5.6.14, mariadb, sqlite, a DSN), or one of them: NAME=BUILD
    #[arg(long, value_name = "[NAME=]BUILD|DSN")]
    pub server: Vec<String>,
    /// Concurrent clients (closed loop), instead of the file's: 1,8,64
    #[arg(long, value_name = "N[,N]", value_delimiter = ',')]
    pub clients: Vec<u32>,
    /// Requests per second (open loop), instead of the file's: 500,60% of max
    #[arg(long, value_name = "RATE[,RATE]", value_delimiter = ',')]
    pub rate: Vec<String>,
    /// Workers of an open loop, instead of the file's
    #[arg(long, value_name = "N[,N]", value_delimiter = ',')]
    pub workers: Vec<u32>,
    /// Measured time of each trial, instead of the file's: 30s
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Warm-up before the measured time, instead of the file's: find, 10s, 50%
    #[arg(long, value_name = "find|TIME|SHARE")]
    pub warmup: Option<String>,
    /// Run without the limits of the experiment, which require root; each trial is flagged, and never compared with limited ones
    #[arg(long)]
    pub no_limits: bool,
    /// Load a dump, setup or file even if the server stores some of its values differently than written
    #[arg(long)]
    pub accept_warnings: bool,
}

/// Parses the overrides of a record.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Recorded {
    #[command(flatten)]
    overrides: Overrides,
}

impl Overrides {
    /// The overrides as arguments, for the record. Passwords in DSNs are masked.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let option = |flag: &str, value: Option<String>| {
            value.map_or_else(Vec::new, |value| vec![flag.to_string(), value])
        };
        let switch = |flag: &str, is_on: bool| Vec::from_iter(is_on.then(|| flag.to_string()));
        let list = |flag: &str, list: Vec<String>| {
            option(flag, (!list.is_empty()).then(|| list.join(",")))
        };
        let counts = |counts: &[u32]| counts.iter().map(u32::to_string).collect();
        let only = self.only.iter().cloned();
        let servers = self.server.iter().map(|server| mask_passwords(server));
        [
            option("--scale", self.scale.map(|scale| scale.to_string())),
            option("--size", self.size.clone()),
            option("--blocks", self.blocks.map(|blocks| blocks.to_string())),
            switch("--until-decided", self.until_decided),
            switch("--no-limits", self.no_limits),
            switch("--accept-warnings", self.accept_warnings),
            only.flat_map(|only| option("--only", Some(only))).collect(),
            servers
                .flat_map(|server| option("--server", Some(server)))
                .collect(),
            list("--clients", counts(&self.clients)),
            list("--rate", self.rate.clone()),
            list("--workers", counts(&self.workers)),
            option("--time", self.time.clone()),
            option("--warmup", self.warmup.clone()),
        ]
        .concat()
    }

    pub fn recorded(arguments: &[String]) -> Result<Overrides, Failure> {
        Recorded::try_parse_from(arguments)
            .map(|recorded| recorded.overrides)
            .map_err(Failure::usage)
    }

    fn apply(&self, mut experiment: Experiment) -> Result<Experiment, OverrideError> {
        if let Some(scale) = self.scale {
            experiment = experiment.with_scale(scale)?;
        }
        if let Some(size) = &self.size {
            experiment = experiment.with_size(size)?;
        }
        if let Some(blocks) = self.blocks {
            experiment = experiment.with_blocks(blocks)?;
        }
        if self.until_decided {
            experiment = experiment.until_decided()?;
        }
        if self.no_limits {
            experiment = experiment.without_limits();
        }
        if self.accept_warnings {
            experiment = experiment.with_accepted_warnings()?;
        }
        experiment = experiment.with_servers(&self.server)?;
        self.apply_to_load(experiment)?.with_only(&self.only)
    }

    fn apply_to_load(&self, mut experiment: Experiment) -> Result<Experiment, OverrideError> {
        if !self.clients.is_empty() {
            experiment = experiment.with_clients(&self.clients)?;
        }
        if !self.rate.is_empty() {
            experiment = experiment.with_rate(&self.rate)?;
        }
        if !self.workers.is_empty() {
            experiment = experiment.with_workers(&self.workers)?;
        }
        if let Some(time) = &self.time {
            experiment = experiment.with_time(time)?;
        }
        if let Some(warmup) = &self.warmup {
            experiment = experiment.with_warmup(warmup)?;
        }
        Ok(experiment)
    }
}

/// Loads an experiment file or a built-in experiment, and applies the overrides.
pub(crate) fn load(file_or_name: &str, overrides: &Overrides) -> Result<Experiment, Failure> {
    let path = Path::new(file_or_name);
    let (stem, source) = match (path.is_file(), embedded::find(file_or_name)) {
        (false, Some((name, text))) => (
            name.rsplit('/').next().unwrap_or(name).to_string(),
            text.to_string(),
        ),
        _ => (stem(path), read(path)?),
    };
    let experiment = parse(&stem, file_or_name, &source, overrides)?;
    if overrides.time.is_none() {
        spec::timed::long_enough(&experiment)?;
    }
    Ok(experiment)
}

/// Parses an experiment and applies the overrides.
pub fn parse(
    stem: &str,
    shown: &str,
    source: &str,
    overrides: &Overrides,
) -> Result<Experiment, Failure> {
    let experiment = spec::parse(stem, shown, source, &workload::check)?;
    overrides.apply(experiment).map_err(Failure::usage)
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn read(path: &Path) -> Result<String, Failure> {
    spec::read_text_file(path).map_err(|error| {
        if !matches!(error, spec::InputError::Io(_)) {
            return Failure::usage(format!("cannot read {}: {error}", path.display()));
        }
        let known: Vec<&str> = embedded::EXPERIMENTS.iter().map(|(name, _)| *name).collect();
        let near = spec::mistake::nearest(&path.display().to_string(), &known);
        let hint = near.map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
        Failure::usage(format!(
            "cannot read {}: {error}; give the path of an experiment file or a name from `prony list`{hint}",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text that the first mistake underlines.
    fn underlined(workload: &str) -> String {
        let source = format!("title = \"t\"\n[server.a]\nbuild = \"mariadb\"\n{workload}");
        let error = spec::parse("x", "x.toml", &source, &workload::check).unwrap_err();
        source[error.mistakes()[0].at()].to_owned()
    }

    #[test]
    fn a_mistake_in_a_subsection_of_the_workload_is_underlined() {
        let sql = "[workload.sql.operation.a]\nstatements = \"select :p\"\n";
        assert_eq!(underlined(sql), "statements = \"select :p\"");
        let oltp = "[workload.oltp.operations]\npoint-select = 1\nupdate = 2\n";
        assert_eq!(underlined(oltp), "update");
    }

    #[test]
    fn a_level_that_conflicts_with_the_section_is_underlined() {
        let small =
            "[workload.oltp]\nrange_size = 50\n[factor.size.tiny]\nworkload = { rows = 20 }\n";
        assert_eq!(underlined(small), "workload");
    }

    #[test]
    fn overrides_are_recorded_and_read_again() {
        let overrides = Overrides {
            scale: Some(0.25),
            until_decided: true,
            no_limits: true,
            only: vec!["server=a".into()],
            ..Overrides::default()
        };
        let again = Overrides::recorded(&overrides.arguments()).unwrap();
        assert_eq!(format!("{again:?}"), format!("{overrides:?}"));
    }

    #[test]
    fn a_device_is_no_experiment() {
        let failure = load("/dev/zero", &Overrides::default()).unwrap_err();
        assert!(
            format!("{failure:?}").contains("not a regular file"),
            "{failure:?}"
        );
    }

    /// Parses an experiment whose folder holds `accounts.sql`.
    fn with_file(workload: &str, sql: &str) -> Result<Experiment, spec::SpecError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("accounts.sql"), sql).unwrap();
        let source = format!("title = \"t\"\n[server.a]\nbuild = \"mariadb\"\n{workload}");
        let shown = folder.path().join("x.toml").display().to_string();
        spec::parse("x", &shown, &source, &workload::check)
    }

    const LOOK: &str = "-- operation: look\nselect 'it''s';\n";

    #[test]
    fn an_operations_file_is_read_from_the_experiments_folder_and_recorded() {
        for workload in [
            "[workload.sql]\noperations_file = \"accounts.sql\" # in the same folder\n",
            "[workload.sql]\noperations = \"-- operation: a\\nselect 1\"\n\
             [variant.look]\nworkload = { operations_file = \"accounts.sql\" }\n",
        ] {
            let experiment = with_file(workload, LOOK).unwrap();
            let again = spec::parse("x", "x.toml", &experiment.source, &workload::check).unwrap();
            assert_eq!(again, experiment, "{}", experiment.source);
            assert!(!experiment.source.contains("operations_file"));
        }
    }

    #[test]
    fn mistakes_in_an_operations_file_are_shown_where_the_file_is_named() {
        let named = |file: &str, sql: &str| {
            let workload = format!("[workload.sql]\noperations_file = \"{file}\"\n");
            let error = with_file(&workload, sql).unwrap_err();
            let mistake = &error.mistakes()[0];
            assert_eq!(
                mistake.at().len(),
                format!("operations_file = \"{file}\"").len()
            );
            mistake.to_string()
        };
        let says = named("accounts.sql", "-- operation: a\nselect 'x\n");
        assert!(says.contains("is not closed"), "{says}");
        let says = named("other.sql", LOOK);
        assert!(
            says.contains("cannot read") && says.contains("other.sql"),
            "{says}"
        );
        let workload = "[workload.sql]\noperations = \"\"\noperations_file = \"accounts.sql\"\n";
        let error = with_file(workload, LOOK).unwrap_err();
        let says = error.mistakes()[0].to_string();
        assert!(
            says.contains("both operations and operations_file are set"),
            "{says}"
        );
    }
}
