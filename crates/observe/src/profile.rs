//! SHOW PROFILE: the time that a statement spent in each stage.
//!
//! Stages of the same name are added up. For a server without SHOW PROFILE the list is empty.

use server::{Reply, Session};

/// Enables profiling for this connection; returns false if the server does not support it.
pub fn begin(session: &mut Session) -> bool {
    let statement = "SET SESSION profiling = 1";
    session.is_mysql()
        && session
            .control(|session| session.execute(statement))
            .is_ok()
}

/// Returns the stages of the last statement in the order of their first appearance, in seconds, and disables profiling.
pub fn end(session: &mut Session) -> Vec<(String, f64)> {
    session.control(|session| {
        let stages = session.query("SHOW PROFILE").map(|reply| stages(&reply));
        let _ = session.execute("SET SESSION profiling = 0");
        stages.unwrap_or_default()
    })
}

fn stages(reply: &Reply) -> Vec<(String, f64)> {
    let mut stages: Vec<(String, f64)> = Vec::new();
    for row in &reply.rows {
        let [Some(name), Some(elapsed), ..] = row.as_slice() else {
            continue;
        };
        let name = String::from_utf8_lossy(name).into_owned();
        let elapsed_s: f64 = String::from_utf8_lossy(elapsed).parse().unwrap_or(0.0);
        match stages.iter_mut().find(|(known, _)| *known == name) {
            Some((_, total_s)) => *total_s += elapsed_s,
            None => stages.push((name, elapsed_s)),
        }
    }
    stages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_stages_are_added_up() {
        let row = |name: &str, elapsed: &str| {
            vec![
                Some(name.as_bytes().to_vec()),
                Some(elapsed.as_bytes().to_vec()),
            ]
        };
        let reply = Reply {
            columns: vec!["Status".into(), "Duration".into()],
            rows: vec![
                row("init", "0.25"),
                row("Sending data", "1.5"),
                row("Sending data", "0.5"),
            ],
            ..Reply::default()
        };
        assert_eq!(
            stages(&reply),
            [
                ("init".to_string(), 0.25),
                ("Sending data".to_string(), 2.0)
            ]
        );
    }
}
