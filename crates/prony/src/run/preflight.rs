//! Before anything is loaded: settings that a server does not know, and settings that this machine cannot hold.
//!
//! Goal: an answer in seconds, at its place in the file, instead of a failure after an hour. Each server is asked once: a
//! build by its own help, an external server over a connection. Non-goal: what the file itself can tell (`spec`).

use super::RunError;
use super::servers::Provided;
use host::Leases;
use record::ServerIdentity;
use server::{External, Server, ServerError, StartRequest};
use spec::known::{Known, plain};
use spec::plan::PlannedTrial;
use spec::{BuildSpec, Experiment, settings, switches};

/// What this server knows.
pub fn ask(server: &Provided, leases: &Leases) -> Result<Known, RunError> {
    let name = server.spec.name.clone();
    if let Some(distribution) = &server.distribution {
        let table = distribution.known_settings(leases)?;
        return Ok(Known {
            server: name,
            switches: table.switches().map(str::to_string).collect(),
            variables: table.names().map(plain).collect(),
            takes_settings: true,
            takes_session: true,
            takes_hints: has_hints(&server.identity),
        });
    }
    match &server.spec.build {
        BuildSpec::External(dsn) => Ok(Known {
            server: name,
            takes_hints: has_hints(&server.identity),
            ..external(External::new(dsn.clone()))?
        }),
        _ => Ok(Known {
            server: name,
            ..Known::default()
        }),
    }
}

/// It is never reconfigured, so only session variables come to it.
fn external(mut server: External) -> Result<Known, ServerError> {
    server.start(&StartRequest::default())?;
    let mut session = server.connect()?;
    let rows = session.query("SHOW SESSION VARIABLES")?.rows;
    let text = |cell: &Option<Vec<u8>>| {
        String::from_utf8_lossy(cell.as_deref().unwrap_or_default()).into_owned()
    };
    let mut known = Known {
        takes_session: true,
        ..Known::default()
    };
    for row in &rows {
        let [name, value] = row.as_slice() else {
            continue;
        };
        let name = plain(&text(name));
        if name == switches::NAME {
            known.switches = flags(&text(value));
        }
        known.variables.insert(name);
    }
    Ok(known)
}

/// MySQL from 5.7.7 and MariaDB from 12.0 on read `/*+ ... */` as hints; to all others it is a comment.
fn has_hints(identity: &ServerIdentity) -> bool {
    let is_mariadb = [&identity.version, &identity.comment]
        .iter()
        .any(|text| text.contains("MariaDB"));
    let numbers = identity.version.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<u32> = numbers
        .map_while(|part| part.parse().ok())
        .take(3)
        .collect();
    match is_mariadb {
        true => numbers.as_slice() >= &[12],
        false => numbers.as_slice() >= &[5, 7, 7],
    }
}

fn flags(value: &str) -> Vec<String> {
    let flags = switches::flags(value).into_iter();
    flags.map(|(flag, _)| flag.to_string()).collect()
}

/// Every pool that can come to this server against the machine. `data_bytes`: the largest of its datasets, estimated
/// before it is loaded and measured afterwards.
pub fn fits(
    experiment: &Experiment,
    server: &Provided,
    data_bytes: u64,
    memory_bytes: u64,
) -> Result<(), RunError> {
    if server.distribution.is_none() {
        return Ok(());
    }
    let name = &server.spec.name;
    Ok(settings::impossible(
        experiment,
        name,
        data_bytes,
        memory_bytes,
    )?)
}

/// Why this trial is not measured, where its server lacks something that it would set.
pub fn lacking(trial: &PlannedTrial, known: &[Known]) -> Option<String> {
    let server = &trial.key.server;
    let known = known.iter().find(|known| known.server == *server)?;
    let lacks = known.lacks(&trial.settings, &trial.session);
    let mut lacks: Vec<String> = lacks.iter().map(ToString::to_string).collect();
    let hints = trial.workload.get("hints").and_then(toml::Value::as_table);
    if hints.is_some_and(|hints| !hints.is_empty()) && !known.takes_hints {
        lacks.push("optimizer hints, which are a comment to it".to_string());
    }
    (!lacks.is_empty()).then(|| format!("server {server} does not know {}", lacks.join(", nor ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_known_by_family_and_version() {
        let takes = |version: &str, comment: &str| {
            has_hints(&ServerIdentity {
                build: String::new(),
                version: version.into(),
                comment: comment.into(),
                binary_sha256: String::new(),
            })
        };
        assert!(!takes("5.5.34", "MySQL") && !takes("5.7.6", "") && !takes("5.6.14", ""));
        assert!(takes("5.7.7", "") && takes("8.0.33", "") && takes("9.7.4", ""));
        assert!(
            !takes("11.8.6", "mariadbd Ver 11.8.6-MariaDB") && !takes("10.11.18-MariaDB-log", "")
        );
        assert!(takes("12.0.2-MariaDB", ""));
    }
}
