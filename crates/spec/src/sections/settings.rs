//! `settings` and `session`: names and values for a server.
//!
//! Purpose: each setting once, and none that a file may not set. Boundaries: `check::settings` checks that the server
//! knows them.

use crate::file::read::Node;
use crate::server::confined::Unconfined;
use crate::text::setting::{Pairs, Setting, listed, plain};
use std::collections::HashSet;
use toml::de::DeValue;

/// The key of a server's configuration; `session` is SET on a connection.
const SETTINGS: &str = "settings";

/// Reads `settings` or `session`: names and values.
pub(crate) fn settings(node: &Node) -> Option<Pairs<Setting>> {
    let is_of_server = node.key == SETTINGS;
    let section = node.section(&format!(
        "{} = {{ innodb_buffer_pool_size = \"1G\" }}",
        node.key
    ))?;
    let mut pairs: Pairs<Setting> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for node in section.entries() {
        let name = plain(node.key);
        let own = listed(node.key);
        if !seen.insert(own.clone()) {
            node.note(
                format!("\"{own}\" is set twice: a setting is the same with - or _, and with or without loose_"),
                "again",
                "set it once",
            );
        } else if let Some(value) = setting(&node) {
            match is_of_server {
                true => note_unconfined(&node, &value),
                false => note_uncommitted(&node, &name, &value),
            }
            pairs.push((name, value));
        }
    }
    Some(pairs)
}

fn note_unconfined(node: &Node, value: &Setting) {
    if let Some(refused) = Unconfined::from_setting(node.key, &value.to_string()) {
        let (says, label, help) = refused.texts(node.key);
        node.note(says, label, help);
    }
}

/// Without autocommit, nothing of what the server acknowledges is kept.
fn note_uncommitted(node: &Node, name: &str, value: &Setting) {
    let commits = ["1", "on", "true"].map(|on| Setting::Literal(on.into()));
    let lower = Setting::Literal(value.to_string().to_ascii_lowercase());
    if name == "autocommit" && !commits.contains(&lower) {
        node.note(
            format!("autocommit = {value} would leave every operation uncommitted"),
            "must be 1",
            "remove it: every session sets autocommit = 1; for a transaction of several statements write begin; ...; commit",
        );
    }
}

fn setting(node: &Node) -> Option<Setting> {
    match node.value {
        DeValue::Boolean(truth) => Some(Setting::Literal(u8::from(*truth).to_string())),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Some(Setting::Literal(number.to_string())),
            Err(_) => {
                node.note(
                    "this number exceeds the maximum of every server",
                    "too large",
                    "write a smaller number",
                );
                None
            }
        },
        DeValue::Float(number) => Some(Setting::Literal(number.to_string())),
        _ => {
            let key = node.key;
            let setting = Setting::from_text(node.text(&format!("{key} = \"64M\""))?);
            let help = format!(
                "write {key} = \"64M\", or {key} = \"data / 8\" for a fraction of the loaded data"
            );
            node.noted(setting, "not a valid value", help)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::mistakes_in;

    #[test]
    fn a_setting_with_and_without_loose_is_set_twice() {
        let found = mistakes_in(
            "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.ssb]\n\
             [settings]\nsort_buffer_size = '1M'\nloose-Sort-buffer-size = '2M'\n",
        );
        let says = "\"sort_buffer_size\" is set twice: ";
        assert!(found.len() == 1 && found[0].contains(says), "{found:?}");
    }
}
