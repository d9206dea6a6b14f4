//! Runs of prony that are kept, so that a measurement goes on where it stopped.
//!
//! The state is the folder: each finished run is a file of its answer, beside the record in `results`. A run that was cut off has no such
//! file and is measured again.

use super::figures::{Account, Spread, mean, planted};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The exit code of a run with a trial that is not valid.
const INVALID: i32 = 3;
const PRONY: &str = env!("CARGO_BIN_EXE_prony");

/// The command line: KIND RUNS FOLDER and flags with a value each.
pub(crate) struct Options {
    /// Of each job.
    pub runs: usize,
    pub folder: PathBuf,
    flags: BTreeMap<String, String>,
}

/// One command line of prony, to be run several times.
pub(crate) struct Job {
    pub name: String,
    pub arguments: Vec<String>,
    /// The seconds of a run, until one is finished.
    pub expected_s: f64,
    /// Where the two servers keep an account of what was planted.
    pub accounts: Option<[PathBuf; 2]>,
}

/// What one run says of its two cells.
#[derive(Serialize, Deserialize)]
pub(crate) struct Answer {
    pub seconds: f64,
    /// The exit code of prony: 0, 1 if a gate failed, or [`INVALID`].
    pub exit: i32,
    /// The flags of its first trial that is not valid.
    pub invalid: String,
    pub ratio: Option<f64>,
    pub ci: Option<(f64, f64)>,
    /// `above`, `below`, `undecided`, `none`.
    pub direction: String,
    /// The logarithm of the ratio of the first to the second cell, by name, in each complete block.
    pub logs: Vec<f64>,
    /// The mean share of the clients' time at the edges of slices.
    pub edges: Option<f64>,
    /// The planted ratio of the first to the second server, by their own accounts.
    pub truth: Option<f64>,
}

impl Options {
    /// # Errors
    /// What is wrong with the command line.
    pub(crate) fn new(arguments: &[String], known: &[&str]) -> Result<Options, String> {
        let [runs, folder, flags @ ..] = arguments else {
            return Err("give RUNS and FOLDER".into());
        };
        let pairs = flags.chunks(2).map(|pair| match pair {
            [name, value] if known.contains(&name.as_str()) => Ok((name.clone(), value.clone())),
            other => Err(format!("{}: give {known:?}, each with a value", other[0])),
        });
        let folder = std::env::current_dir()
            .map_err(|error| error.to_string())?
            .join(folder);
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Options {
            runs: runs
                .parse()
                .map_err(|_| format!("{runs}: RUNS is a number"))?,
            folder,
            flags: pairs.collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn flag<'o>(&'o self, name: &str, default: &'o str) -> &'o str {
        self.flags.get(name).map_or(default, String::as_str)
    }

    /// `--minutes`, in seconds.
    fn limit_s(&self) -> f64 {
        let minutes = self.flag("--minutes", "inf").parse::<f64>();
        60.0 * minutes.expect("--minutes is a number")
    }

    /// A job that runs an experiment file.
    pub(crate) fn job(&self, name: &str, text: &str, expected_s: f64) -> Job {
        let file = self.described(name, text).display().to_string();
        Job {
            name: name.to_string(),
            arguments: vec!["run".into(), file],
            expected_s,
            accounts: None,
        }
    }

    /// Writes what the runs of this name measure into the folder, which keeps runs of nothing else under it.
    pub(crate) fn described(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.join(format!("{}.toml", plain(name)));
        let before = std::fs::read_to_string(&file).unwrap_or_else(|_| text.to_string());
        let shown = file.display();
        assert!(
            before == text,
            "{shown} has other times or servers: give the same flags, or another FOLDER"
        );
        std::fs::write(&file, text).expect("the experiment can be written");
        file
    }

    /// Runs what is not yet in the folder, in alternation of the jobs, until all is done or the time is over. Prints a row for each
    /// finished run, and what is left on stderr.
    pub(crate) fn answers(&self, jobs: &[Job]) -> Vec<(String, Answer)> {
        let all: Vec<(usize, &Job)> = (1..=self.runs)
            .flat_map(|number| jobs.iter().map(move |job| (number, job)))
            .collect();
        let kept = |(number, job): &(usize, &Job)| Answer::kept(&self.file(job, *number));
        let mut answers: Vec<(String, Answer)> = (all.iter())
            .filter_map(|run| Some((run.1.name.clone(), kept(run)?)))
            .collect();
        println!("| run | experiment | blocks | ratio | 95 % CI | direction | sd of a block | s |");
        println!("| ---: | --- | ---: | ---: | --- | --- | ---: | ---: |");
        let mut left: Vec<&(usize, &Job)> = Vec::new();
        for run in &all {
            match kept(run) {
                Some(answer) => println!("| {} | {} | {answer} |", run.0, run.1.name),
                None => left.push(run),
            }
        }
        let begun = Instant::now();
        for (index, (number, job)) in left.iter().enumerate() {
            let rest = left[index..].iter();
            let rest_s: f64 = rest.map(|(_, job)| expected_s(job, &answers)).sum();
            eprintln!(
                "{} runs are finished, {} are left, about {:.0} min; next: {} of about {:.0} s",
                answers.len(),
                left.len() - index,
                rest_s / 60.0,
                job.name,
                expected_s(job, &answers)
            );
            if begun.elapsed().as_secs_f64() + expected_s(job, &answers) > self.limit_s() {
                eprintln!("stopped by --minutes; the same command goes on");
                break;
            }
            let answer = match self.run(job) {
                Ok(answer) => answer,
                Err(says) => {
                    eprintln!("stopped: {}: {says}", job.name);
                    break;
                }
            };
            println!("| {number} | {} | {answer} |", job.name);
            answer.keep(&self.file(job, *number));
            answers.push((job.name.clone(), answer));
        }
        println!();
        answers
    }

    fn file(&self, job: &Job, number: usize) -> PathBuf {
        self.folder
            .join(format!("{}-{number:02}.json", plain(&job.name)))
    }

    /// # Errors
    /// The last line that prony printed, if it was interrupted or refused its command line. Such a run is not kept.
    fn run(&self, job: &Job) -> Result<Answer, String> {
        let results = self.folder.join("results");
        let before = job.accounts.as_ref().map(totals);
        let begun = Instant::now();
        let run = Command::new(PRONY)
            .args(&job.arguments)
            .arg("--results")
            .arg(&results)
            .output()
            .expect("prony starts");
        let seconds = begun.elapsed().as_secs_f64();
        let after = job.accounts.as_ref().map(totals);
        let Some(exit @ (0 | 1 | INVALID)) = run.status.code() else {
            let stderr = String::from_utf8_lossy(&run.stderr);
            return Err(stderr.lines().last().unwrap_or_default().to_string());
        };
        let truth = before
            .zip(after)
            .map(|(before, after)| planted(before, after));
        Ok(Answer {
            seconds,
            exit,
            truth,
            ..Answer::of(&shown(&results))
        })
    }
}

/// How many runs of a job count, and how many do not.
pub(crate) fn counted(answers: &[(String, Answer)], name: &str) -> String {
    let all = answers.iter().filter(|(of, _)| of == name).count();
    let valid = valid(answers, name).len();
    match all - valid {
        0 => valid.to_string(),
        invalid => format!("{valid}, {invalid} invalid"),
    }
}

/// The answers of a job whose trials are all valid. Others count for nothing.
pub(crate) fn valid<'a>(answers: &'a [(String, Answer)], name: &str) -> Vec<&'a Answer> {
    let own = answers
        .iter()
        .filter(|(of, answer)| of == name && answer.exit != INVALID);
    own.map(|(_, answer)| answer).collect()
}

fn plain(name: &str) -> String {
    name.replace([' ', '%', ','], "-")
}

/// The mean of this job's finished runs.
fn expected_s(job: &Job, answers: &[(String, Answer)]) -> f64 {
    let own = answers.iter().filter(|(name, _)| *name == job.name);
    let seconds: Vec<f64> = own.map(|(_, answer)| answer.seconds).collect();
    match seconds.len() {
        0 => job.expected_s,
        _ => mean(&seconds),
    }
}

fn totals(accounts: &[PathBuf; 2]) -> [Account; 2] {
    accounts.each_ref().map(|file| {
        // No file: nothing ran yet.
        let bytes = std::fs::read(file).unwrap_or_else(|_| vec![0; 16]);
        let number = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap()) as f64;
        Account {
            cycles: number(0),
            burned: number(8),
        }
    })
}

fn shown(results: &Path) -> Value {
    let shown = Command::new(PRONY)
        .args(["show", "@latest", "--format", "json", "--results"])
        .arg(results)
        .output()
        .expect("prony starts");
    serde_json::from_slice(&shown.stdout).expect("show prints JSON")
}

impl Answer {
    fn kept(file: &Path) -> Option<Answer> {
        let text = std::fs::read(file).ok()?;
        Some(serde_json::from_slice(&text).expect("an answer that was kept can be read"))
    }

    fn keep(&self, file: &Path) {
        let text = serde_json::to_vec_pretty(self).expect("an answer is JSON");
        let part = file.with_extension("part");
        std::fs::write(&part, text).expect("the answer can be written");
        std::fs::rename(part, file).expect("the answer can be named");
    }

    fn of(shown: &Value) -> Answer {
        let claim = shown["claims"].get(0);
        let judged = claim.unwrap_or(&shown["comparisons"][0]);
        let ratio = judged["measured"].as_f64().or(judged["ratio"].as_f64());
        let trials = || shown["trials"].as_array().into_iter().flatten();
        let edges: Vec<f64> = trials()
            .filter_map(|trial| trial["engine"]["slices"]["edges_share"].as_f64())
            .collect();
        Answer {
            seconds: 0.0,
            exit: 0,
            invalid: invalid(trials()),
            ratio,
            ci: judged["ci"][0].as_f64().zip(judged["ci"][1].as_f64()),
            direction: judged["direction"].as_str().unwrap_or("none").to_string(),
            logs: logs(trials()),
            edges: (!edges.is_empty()).then(|| mean(&edges)),
            truth: None,
        }
    }

    /// Whether it decided that the first server is faster, or the second.
    pub(crate) fn decides(&self) -> bool {
        ["above", "below"].contains(&self.direction.as_str())
    }

    /// The standard deviation of the logarithm of a block's ratio.
    pub(crate) fn sd(&self) -> Option<f64> {
        Spread::of([&self.logs[..]]).sd()
    }
}

fn invalid<'v>(mut trials: impl Iterator<Item = &'v Value>) -> String {
    let first = trials.find(|trial| trial["state"] != "done");
    let flags = first.and_then(|trial| trial["flags"].as_array());
    let kinds = flags.into_iter().flatten();
    let kinds: Vec<&str> = kinds.filter_map(|flag| flag["kind"].as_str()).collect();
    kinds.join(", ")
}

/// Of the throughputs, or of the times of the rounds.
fn logs<'v>(trials: impl Iterator<Item = &'v Value>) -> Vec<f64> {
    let mut blocks: BTreeMap<u64, BTreeMap<String, f64>> = BTreeMap::new();
    for trial in trials {
        let rounds = trial["rounds"].as_array().into_iter().flatten();
        let elapsed_s: f64 = rounds.filter_map(|round| round["elapsed_s"].as_f64()).sum();
        let value = trial["throughput"].as_f64().unwrap_or(elapsed_s);
        let cell = format!(
            "{} {} {}",
            trial["server"], trial["variant"], trial["levels"]
        );
        let block = trial["block"].as_u64().unwrap_or_default();
        // A trial that failed has neither.
        if value > 0.0 {
            blocks.entry(block).or_default().insert(cell, value.ln());
        }
    }
    let pairs = blocks.into_values().filter_map(|cells| {
        let mut cells = cells.into_values();
        Some(cells.next()? - cells.next()?)
    });
    pairs.collect()
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let ratio = or_dash(self.ratio.map(|ratio| format!("{ratio:.3}")));
        let ci = or_dash(self.ci.map(|(low, high)| format!("{low:.3} to {high:.3}")));
        let sd = or_dash(self.sd().map(|sd| format!("{:.1} %", sd * 100.0)));
        let direction = match self.exit {
            INVALID => format!("invalid: {}", self.invalid),
            1 => "gate failed".into(),
            _ => self.direction.clone(),
        };
        let (blocks, seconds) = (self.logs.len(), self.seconds);
        write!(
            f,
            "{blocks} | {ratio} | {ci} | {direction} | {sd} | {seconds:.0}"
        )
    }
}
