//! Reads keys that several workloads share.
//!
//! Boundaries: `spec::Section` handles spans, types and spelling.

use spec::{Node, Section};

/// `scale`: a number above 0 and at most `largest`. The default is 1.
pub(crate) fn scale(section: &Section, largest: f64) -> f64 {
    let range = format!("above 0 and at most {largest}");
    let fits = |scale: f64| scale > 0.0 && scale <= largest;
    let scale = |node: Node| node.number(&range, fits, "scale = 0.1");
    section.get("scale").and_then(scale).unwrap_or(1.0)
}

/// `engine`: any name is accepted, since only a server knows its engines. Common names are accepted in any case.
/// The default is InnoDB.
pub(crate) fn engine(section: &Section) -> String {
    let engine = section.get("engine").and_then(|node| engine_name(&node));
    engine.unwrap_or_else(|| "InnoDB".to_string())
}

fn engine_name(node: &Node) -> Option<String> {
    let name = node.text("engine = \"InnoDB\"")?;
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_part) {
        node.note(
            format!("{name:?} is not the name of a storage engine"),
            "not a name",
            "write engine = \"InnoDB\", \"MyISAM\" or \"Aria\"",
        );
        return None;
    }
    let usual = ["InnoDB", "MyISAM", "Aria"]
        .into_iter()
        .find(|usual| usual.eq_ignore_ascii_case(name));
    Some(usual.unwrap_or(name).to_owned())
}

/// `true` or `false`.
pub(crate) fn truth(section: &Section, key: &str, default: bool) -> bool {
    let truth = |node: Node| node.truth(&format!("{key} = {default}"));
    section.get(key).and_then(truth).unwrap_or(default)
}

/// One of these words. The default is the first.
pub(crate) fn choice<T: Clone>(section: &Section, key: &str, choices: &[(&str, T)]) -> T {
    let chosen = section.get(key).and_then(|node| node.choice(choices));
    chosen.unwrap_or_else(|| choices[0].1.clone())
}

/// A whole number from 1 to `largest`.
pub(crate) fn count(section: &Section, key: &str, largest: i64, default: i64) -> i64 {
    let count = |node: Node| node.whole(1..=largest, &format!("{key} = {default}"));
    section.get(key).and_then(count).unwrap_or(default)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Asserts that reading the text fails, and that the first mistake is in this key, whose parts are joined by dots.
    pub(crate) fn assert_mistake_at<T: std::fmt::Debug>(
        text: &str,
        key: &str,
        read: impl FnOnce(&Section) -> Option<T>,
    ) -> String {
        let error = spec::read_text(text, read).expect_err(text);
        let (underlined, sentence) = error.underlined().next().unwrap();
        let own = key.rsplit('.').next().unwrap();
        let is_there = underlined.trim_start_matches('"').starts_with(own);
        assert!(is_there, "{text}: {underlined} instead of {key}");
        assert!(!own.is_empty() || underlined.is_empty(), "{underlined}");
        sentence
    }

    #[test]
    fn a_scale_is_a_number_above_0_and_at_most_the_largest() {
        let read = |text: &str| spec::read_text(text, |section| Some(scale(section, 10.0)));
        assert_eq!(read("scale = 3").unwrap(), 3.0);
        assert_eq!(read("scale = 0.01").unwrap(), 0.01);
        assert_eq!(read("").unwrap(), 1.0);
        for wrong in ["0", "-1", "10.5", "nan", "inf"] {
            let text = format!("scale = {wrong}");
            let says = assert_mistake_at(&text, "scale", |section| Some(scale(section, 10.0)));
            assert!(says.contains("at most 10"), "{says}");
        }
    }
}
