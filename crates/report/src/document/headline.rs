//! The answer in a sentence or two, the same in every form of a report.

use std::fmt;
use std::ops::{Deref, Range};

/// Plain text, of which the terminal, Markdown and the page stress some parts: `1.9× slower`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headline {
    text: String,
    /// The stressed parts, in ascending order, without overlaps.
    stressed: Vec<Range<usize>>,
}

impl Headline {
    pub(crate) fn plain(mut self, text: impl AsRef<str>) -> Headline {
        self.text.push_str(text.as_ref());
        self
    }

    pub(crate) fn stress(mut self, text: impl AsRef<str>) -> Headline {
        let start = self.text.len();
        self.text.push_str(text.as_ref());
        self.stressed.push(start..self.text.len());
        self
    }

    /// Appends a further sentence.
    pub(crate) fn then(mut self, next: Headline) -> Headline {
        if !self.text.is_empty() && !next.text.is_empty() {
            self.text.push(' ');
        }
        let by = self.text.len();
        self.text.push_str(&next.text);
        let moved = next.stressed.into_iter();
        self.stressed
            .extend(moved.map(|part| part.start + by..part.end + by));
        self
    }

    /// The text in order, in parts that are stressed or not.
    pub fn parts(&self) -> Vec<(&str, bool)> {
        let mut parts = Vec::new();
        let mut end = 0;
        for part in &self.stressed {
            parts.push((&self.text[end..part.start], false));
            parts.push((&self.text[part.clone()], true));
            end = part.end;
        }
        parts.push((&self.text[end..], false));
        parts.retain(|(text, _)| !text.is_empty());
        parts
    }
}

impl From<String> for Headline {
    fn from(text: String) -> Headline {
        let stressed = Vec::new();
        Headline { text, stressed }
    }
}

impl From<&str> for Headline {
    fn from(text: &str) -> Headline {
        Headline::from(text.to_string())
    }
}

impl Deref for Headline {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Headline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_further_sentence_keeps_what_is_stressed() {
        let slower = |by: &str| Headline::from("A is ").stress(by).plain(".");
        let both = slower("2× slower").then(slower("3× slower"));
        assert_eq!(&*both, "A is 2× slower. A is 3× slower.");
        assert_eq!(
            both.parts(),
            [
                ("A is ", false),
                ("2× slower", true),
                (". A is ", false),
                ("3× slower", true),
                (".", false)
            ]
        );
        assert_eq!(
            Headline::default().then("A.".into()).parts(),
            [("A.", false)]
        );
    }
}
