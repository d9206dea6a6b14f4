//! Mistakes in an experiment file: span, cause and fix.
//!
//! Purpose: report all mistakes of a file at once, underline the key in the source line, and never show a password.
//! Boundaries: `read` and the modules of the sections find them.

use super::build::mask_passwords;
use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

/// A byte range in the source.
pub type Span = Range<usize>;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    at: Span,
    says: String,
    label: String,
    help: String,
}

impl Mistake {
    /// `says` is the message, `label` is shown under the underlined key, `help` says how to fix it (may be empty).
    pub fn new(
        at: Span,
        says: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) -> Mistake {
        Mistake {
            at,
            says: says.into(),
            label: label.into(),
            help: help.into(),
        }
    }
}

impl Mistake {
    /// The underlined span.
    pub fn at(&self) -> Span {
        self.at.clone()
    }

    /// The message, with the fix in brackets.
    pub fn sentence(&self) -> String {
        match self.help.as_str() {
            "" => self.says.clone(),
            help => format!("{} ({help})", self.says),
        }
    }

    /// The same mistake with another span.
    pub(crate) fn moved(self, at: Span) -> Mistake {
        Mistake { at, ..self }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says)
    }
}

impl std::error::Error for Mistake {}

impl Diagnostic for Mistake {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        (!self.help.is_empty()).then(|| Box::new(&self.help) as Box<dyn fmt::Display>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(Some(self.label.clone()), self.at.clone());
        Some(Box::new(std::iter::once(label)))
    }
}

/// All mistakes of an experiment file. The command exits with status 2.
#[derive(Debug)]
pub struct SpecError {
    path_shown: String,
    source: NamedSource<String>,
    mistakes: Vec<Mistake>,
}

impl SpecError {
    /// Masks the passwords of DSNs in the shown source and sorts `mistakes` in file order.
    pub fn new(path_shown: &str, source: &str, mut mistakes: Vec<Mistake>) -> SpecError {
        mistakes.sort_by_key(|mistake| mistake.at.start);
        SpecError {
            path_shown: path_shown.to_string(),
            source: NamedSource::new(path_shown, mask_passwords(source)).with_language("TOML"),
            mistakes,
        }
    }

    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    fn only_one(&self) -> Option<&Mistake> {
        match self.mistakes.as_slice() {
            [mistake] => Some(mistake),
            _ => None,
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.only_one() {
            Some(mistake) => mistake.fmt(f),
            None => write!(f, "{} mistakes in {}", self.mistakes.len(), self.path_shown),
        }
    }
}

impl std::error::Error for SpecError {}

impl Diagnostic for SpecError {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.only_one().and_then(Diagnostic::help)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.only_one().and_then(Diagnostic::labels)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        match self.only_one() {
            Some(_) => None,
            None => Some(Box::new(
                self.mistakes
                    .iter()
                    .map(|mistake| mistake as &dyn Diagnostic),
            )),
        }
    }
}

/// Collects the mistakes of a file.
#[derive(Default)]
pub struct Notes(RefCell<Vec<Mistake>>);

impl Notes {
    /// Notes a mistake: its span, the message, the label under the span, and the fix.
    pub fn note(
        &self,
        at: Span,
        says: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.0
            .borrow_mut()
            .push(Mistake::new(at, says, label, help));
    }

    pub(crate) fn add(&self, mistake: Mistake) {
        self.0.borrow_mut().push(mistake);
    }

    /// Notes an unknown name.
    pub fn unknown(&self, at: Span, what: &str, name: &str, known: &[&str]) {
        let help = suggestion(name, known);
        self.note(
            at,
            format!("{what} \"{name}\" is not known"),
            "not known",
            help,
        );
    }

    /// Notes a feature of the file format that this version does not implement.
    pub fn not_built(&self, at: Span, what: &str, comes_with: &str) {
        self.note(
            at,
            format!("{what}: not implemented yet"),
            "not implemented yet",
            format!(
                "it comes with {comes_with}; remove it until then, prony ignores nothing silently"
            ),
        );
    }

    pub fn count(&self) -> usize {
        self.0.borrow().len()
    }

    pub fn into_vec(self) -> Vec<Mistake> {
        self.0.into_inner()
    }
}

/// "did you mean ...?" and the allowed names.
pub fn suggestion(name: &str, known: &[&str]) -> String {
    let allowed = match known {
        [] => return "this file defines none".to_string(),
        _ if known.len() > 24 => String::new(),
        _ => format!("allowed: {}", known.join(", ")),
    };
    match nearest(name, known) {
        Some(near) if allowed.is_empty() => format!("did you mean \"{near}\"?"),
        Some(near) => format!("did you mean \"{near}\"? ({allowed})"),
        None => allowed,
    }
}

/// The most similar known name, if one is similar enough.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    known
        .iter()
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&name, &candidate.to_lowercase()),
                *candidate,
            )
        })
        .filter(|(distance, candidate)| *distance <= (name.len().max(candidate.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_tolerates_typing_errors_and_case() {
        assert_eq!(
            nearest(
                "innodb_bufer_pool_size",
                &["innodb_buffer_pool_size", "port"]
            ),
            Some("innodb_buffer_pool_size")
        );
        assert_eq!(nearest("INNODB", &["InnoDB", "MyISAM"]), Some("InnoDB"));
        assert_eq!(nearest("hto", &["cold", "hot"]), Some("hot"));
    }

    #[test]
    fn a_name_that_resembles_nothing_has_no_nearest() {
        assert_eq!(nearest("elephants", &["cold", "hot"]), None);
    }
}
