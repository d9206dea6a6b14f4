//! Mistakes in an experiment file: span, cause and fix.
//!
//! Purpose: report all mistakes of a file at once, underline the key in the source line, and never show a password.
//! Boundaries: the modules that read sections find them, and `check`.

use super::excerpt::Lines;
use crate::text::dsn::mask_suspects;
use record::visible::{shortened, visible};
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

/// All mistakes of an experiment file. The command exits with status 2.
#[derive(Debug)]
pub struct SpecError {
    path_shown: String,
    /// The file, without passwords.
    source: String,
    mistakes: Vec<Mistake>,
}

/// Mistakes that an error shows: who repairs these finds the others.
const SHOWN_MAX: usize = 20;

/// Characters of each text of a mistake that are shown. The text may quote a name or a value of the file.
const TEXT_CHARS_MAX: usize = 600;

/// A text of a mistake for a terminal. No message has a tab of its own: it comes from a name or a value of the file.
fn shown(text: &str) -> String {
    visible(&shortened(text, TEXT_CHARS_MAX)).replace('\t', "\\t")
}

impl SpecError {
    /// Masks the passwords of DSNs, mistyped ones too, in the shown source and sorts `mistakes` in file order.
    pub fn new(path_shown: &str, source: &str, mut mistakes: Vec<Mistake>) -> SpecError {
        mistakes.sort_by_key(|mistake| mistake.at.start);
        SpecError {
            path_shown: visible(path_shown).into_owned(),
            source: mask_suspects(source),
            mistakes,
        }
    }

    /// All of them, in file order.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// The message for a screen of so many columns: each mistake with its lines of the file and the fix. Only lines of the file are cut
    /// to fit; None leaves them long.
    pub fn text(&self, columns: Option<usize>) -> String {
        let lines = Lines::of(&self.source);
        let mistakes = self.mistakes.iter().take(SHOWN_MAX);
        let texts = mistakes.map(|mistake| self.text_of(mistake, &lines, columns));
        let head = (self.mistakes.len() != 1).then(|| format!("error: {self}"));
        head.into_iter()
            .chain(texts)
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    /// One line for each mistake, and one for its fix. It begins with what `name` calls the place in the file's text.
    pub(crate) fn text_without_lines(
        &self,
        name: impl Fn(&str, usize) -> Option<String>,
    ) -> String {
        let text = |mistake: &Mistake| {
            let place = name(&self.source, mistake.at.start);
            let place = place.map_or(String::new(), |place| format!("{place}: "));
            format!(
                "error: {}{}{}",
                shown(&place),
                shown(&mistake.says),
                help(mistake)
            )
        };
        let mistakes = self.mistakes.iter().take(SHOWN_MAX);
        mistakes.map(text).collect::<Vec<_>>().join("\n")
    }

    fn text_of(&self, mistake: &Mistake, lines: &Lines, columns: Option<usize>) -> String {
        let says = shown(&mistake.says);
        let label = shown(&mistake.label);
        let excerpt = lines.around(&mistake.at, columns, (&self.path_shown, &label));
        format!("error: {says}\n{excerpt}{}", help(mistake))
    }
}

/// The fix on a line of its own.
fn help(mistake: &Mistake) -> String {
    match mistake.help.as_str() {
        "" => String::new(),
        help => format!("\nhelp: {}", shown(help)),
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, path_shown) = (self.mistakes.len(), &self.path_shown);
        match self.mistakes.as_slice() {
            [mistake] => f.write_str(&shown(&mistake.says)),
            _ if all <= SHOWN_MAX => write!(f, "{all} mistakes in {path_shown}"),
            _ => write!(
                f,
                "{all} mistakes in {path_shown}; these are the first {SHOWN_MAX}"
            ),
        }
    }
}

impl std::error::Error for SpecError {}

/// Mistakes of a file that get a suggestion, which takes longer to find than the mistake.
pub(crate) const SUGGESTED_MAX: usize = 200;

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
        let help = self.suggestion(name, known);
        self.note(
            at,
            format!("{what} \"{name}\" is not known"),
            "not known",
            help,
        );
    }

    /// The nearest and the allowed names, while the file has few mistakes.
    pub(crate) fn suggestion(&self, name: &str, known: &[&str]) -> String {
        match self.count() < SUGGESTED_MAX {
            true => suggestion(name, known),
            false => String::new(),
        }
    }

    /// Notes a feature of the file format that this version does not implement.
    pub(crate) fn not_built(&self, at: Span, what: &str, comes_with: &str) {
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

    pub(crate) fn into_vec(self) -> Vec<Mistake> {
        self.0.into_inner()
    }
}

/// "did you mean ...?" and the allowed names.
pub(crate) fn suggestion(name: &str, known: &[&str]) -> String {
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

/// Known names that are compared with a wrong one, and the length up to which one is: comparing takes the product of the lengths.
const COMPARED_MAX: usize = 4_000;
const NAME_BYTES_MAX: usize = 200;

/// The most similar known name, if one is similar enough.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let name = name.to_lowercase();
    let of_similar_length = |candidate: &&&str| {
        candidate.len().abs_diff(name.len()) <= (name.len().max(candidate.len()) / 3).max(1)
    };
    known
        .iter()
        .take(COMPARED_MAX)
        .filter(of_similar_length)
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
    fn of_many_mistakes_the_first_twenty_are_shown_and_all_are_counted() {
        let mistakes = (0..60).map(|line| Mistake::new(line..line + 1, "s", "l", ""));
        let error = SpecError::new("x.toml", &"a".repeat(60), mistakes.collect());
        let says = "60 mistakes in x.toml; these are the first 20";
        assert_eq!(
            (error.to_string().as_str(), error.mistakes().len()),
            (says, 60)
        );
        assert_eq!(error.text(None).matches("\nerror: s").count(), 20);
    }

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
