//! A trial's place in the matrix.

use serde::{Deserialize, Serialize};

/// What a trial is measured for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The question of the experiment.
    #[default]
    Measured,
    /// The A/A control: a cell of the matrix once more, to show how much the same setup differs from itself.
    Control,
}

/// A trial's place in the matrix, unique within a run. The default is the first block of a run without servers and factors.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialKey {
    /// The repetition of the whole matrix, from 0.
    pub block: u32,
    /// The server's name in the experiment file (`5.6`), not its build. None if the target is not a server (file I/O).
    #[serde(default)]
    pub server: Option<String>,
    /// (factor, level) in the file's order of factors, without the server; holds `("variant", ...)` where there are variants.
    pub levels: Vec<(String, String)>,
    #[serde(default)]
    pub role: Role,
}

impl TrialKey {
    pub fn is_control(&self) -> bool {
        self.role == Role::Control
    }

    /// The level of a factor; `server` is one. None if the trial has no such factor.
    pub fn level(&self, factor: &str) -> Option<&str> {
        if factor == "server" {
            return self.server.as_deref();
        }
        self.levels
            .iter()
            .find(|(name, _)| name == factor)
            .map(|(_, level)| level.as_str())
    }

    /// The levels for one line, without the block: `5.6 small pool, 8`, and `5.6 small pool, 8 (control)`.
    pub fn label(&self) -> String {
        let levels: Vec<&str> = self
            .levels
            .iter()
            .map(|(_, level)| level.as_str())
            .collect();
        let label = format!("{} {}", self.server_name(), levels.join(", "));
        let control = if self.is_control() { " (control)" } else { "" };
        format!("{}{control}", label.trim())
    }

    /// The server's name, empty if the target is not a server.
    pub fn server_name(&self) -> &str {
        self.server.as_deref().unwrap_or_default()
    }
}

impl std::fmt::Display for TrialKey {
    /// `server 5.6, variant small pool, block 1`, of the control `..., block 1 (control)`: for people, who count from 1.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let server = self.server.iter().map(|server| ("server", server));
        let levels = self
            .levels
            .iter()
            .map(|(factor, level)| (factor.as_str(), level));
        server
            .chain(levels)
            .try_for_each(|(factor, level)| write!(f, "{factor} {level}, "))?;
        write!(f, "block {}", self.block + 1)?;
        f.write_str(if self.is_control() { " (control)" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_without_a_server_is_named_by_its_other_levels() {
        let key = TrialKey {
            block: 0,
            server: None,
            levels: vec![("size".into(), "4K".into())],
            role: Role::Measured,
        };
        assert_eq!(key.to_string(), "size 4K, block 1");
        assert_eq!((key.level("server"), key.level("size")), (None, Some("4K")));
        let json = serde_json::to_value(&key).unwrap();
        assert_eq!(json["server"], serde_json::Value::Null);
        assert_eq!(serde_json::from_value::<TrialKey>(json).unwrap(), key);
        let control = TrialKey {
            role: Role::Control,
            ..key
        };
        assert_eq!(control.to_string(), "size 4K, block 1 (control)");
    }
}
