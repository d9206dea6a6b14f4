//! The launch scripts of docs/launch: what their launchers require of them.
//!
//! Tier: default.

use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::process::Command;

fn launch(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("docs/launch").join(name)
}

/// A line of the manifest without its comment: its indentation and its text.
type Line<'t> = (usize, &'t str);

/// Reads the YAML that the manifest uses: nested mappings and lists in block style, scalars on one line.
fn yaml(text: &str) -> Value {
    let lines = text.lines().filter(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let lines: Vec<Line> = lines
        .map(|line| (line.len() - line.trim_start().len(), line.trim()))
        .collect();
    let (value, rest) = block(&lines, 0);
    assert_eq!(rest, &[] as &[Line], "the rest cannot be read");
    value
}

/// The value of the lines from this indentation on, and the lines after it.
fn block<'l, 't>(lines: &'l [Line<'t>], indent: usize) -> (Value, &'l [Line<'t>]) {
    match lines.first() {
        Some((_, text)) if text.starts_with("- ") => list(lines, indent),
        _ => mapping(lines, indent),
    }
}

fn list<'l, 't>(mut lines: &'l [Line<'t>], indent: usize) -> (Value, &'l [Line<'t>]) {
    let mut items = Vec::new();
    while let Some((at, text)) = lines.first()
        && *at == indent
        && let Some(item) = text.strip_prefix("- ")
    {
        let length = lines[1..].iter().take_while(|(at, _)| *at > indent).count();
        let (own, rest) = lines[1..].split_at(length);
        lines = rest;
        if item.contains(": ") || item.ends_with(':') {
            let whole: Vec<Line> = [&[(indent + 2, item)], own].concat();
            let (value, rest) = mapping(&whole, indent + 2);
            assert!(rest.is_empty(), "{rest:?}");
            items.push(value);
        } else {
            items.push(scalar(item));
        }
    }
    (Value::Array(items), lines)
}

fn mapping<'l, 't>(mut lines: &'l [Line<'t>], indent: usize) -> (Value, &'l [Line<'t>]) {
    let mut map = Map::new();
    while let Some((at, text)) = lines.first()
        && *at == indent
    {
        let (key, value) = text.split_once(':').expect("key: value");
        lines = &lines[1..];
        let value = match value.trim() {
            "" => {
                let (inner, _) = lines.first().expect("a nested value");
                assert!(*inner > indent, "{key} has no value");
                let (value, rest) = block(lines, *inner);
                lines = rest;
                value
            }
            text => scalar(text),
        };
        let before = map.insert(key.to_string(), value);
        assert!(before.is_none(), "{key} is there twice");
    }
    (Value::Object(map), lines)
}

/// A quoted text, a number, or a plain text.
fn scalar(text: &str) -> Value {
    let quoted = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    match (quoted, text.parse::<u64>()) {
        (Some(text), _) => text.into(),
        (None, Ok(number)) => number.into(),
        (None, Err(_)) => text.into(),
    }
}

/// The keys of the types that the manifest uses, from the reference of the API (batch/v1, core/v1).
const KEYS: [(&str, &[&str]); 5] = [
    ("", &["apiVersion", "kind", "metadata", "spec"]),
    (
        "/spec",
        &[
            "completionMode",
            "completions",
            "parallelism",
            "backoffLimit",
            "template",
        ],
    ),
    ("/spec/template", &["metadata", "spec"]),
    (
        "/spec/template/spec",
        &["restartPolicy", "affinity", "containers", "volumes"],
    ),
    (
        "/spec/template/spec/containers/0",
        &["name", "image", "args", "env", "volumeMounts"],
    ),
];

#[test]
fn the_kubernetes_manifest_is_an_indexed_job_with_one_pod_per_shard() {
    let job = yaml(&std::fs::read_to_string(launch("kubernetes.yaml")).unwrap());
    for (at, keys) in KEYS {
        for key in job.pointer(at).unwrap().as_object().unwrap().keys() {
            assert!(keys.contains(&key.as_str()), "{at}/{key}");
        }
    }
    assert_eq!(job["apiVersion"], "batch/v1");
    assert_eq!(job["kind"], "Job");
    let spec = &job["spec"];
    assert_eq!(spec["completionMode"], "Indexed");
    assert_eq!(
        spec["backoffLimit"], 0,
        "a failed shard is not started again"
    );
    let shards = spec["completions"].as_u64().unwrap();
    assert_eq!(spec["parallelism"], shards, "all pods have to run at once");
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "Never");
    let container = &pod["containers"][0];
    let environment = container["env"].as_array().unwrap();
    let total = environment.iter().find(|one| one["name"] == "PRONY_SHARDS");
    // A Job's environment variables are texts.
    assert_eq!(total.unwrap()["value"], shards.to_string());
    let arguments: Vec<&str> = container["args"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        arguments.windows(2).any(|pair| pair == ["--shard", "auto"]),
        "{arguments:?}"
    );
    let labels = &spec["template"]["metadata"]["labels"];
    let rule = "/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0";
    assert_eq!(
        pod.pointer(rule).unwrap()["labelSelector"]["matchLabels"],
        *labels
    );
    let mounted = container["volumeMounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mount| &mount["name"]);
    let volumes: Vec<&Value> = pod["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|volume| &volume["name"])
        .collect();
    assert!(mounted.eq(volumes), "each mount has its volume");
}

#[test]
fn the_scripts_are_shell_and_use_the_launchers_variables() {
    for name in ["slurm.sh", "mpi.sh"] {
        let checked = Command::new("sh")
            .arg("-n")
            .arg(launch(name))
            .output()
            .unwrap();
        assert!(checked.status.success(), "{checked:?}");
        let text = std::fs::read_to_string(launch(name)).unwrap();
        assert!(text.contains("--shard auto"), "{name}");
    }
    // Open MPI's processes inherit those of the batch script, which contradict its own.
    let mpi = std::fs::read_to_string(launch("mpi.sh")).unwrap();
    assert!(mpi.contains("unset SLURM_PROCID SLURM_NTASKS"));
}
