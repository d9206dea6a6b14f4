//! The first message of each error of a load, so that a report says why operations failed.

use crate::held;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Messages by code. All clients share it; it is used only where an operation fails.
#[derive(Debug, Default)]
pub(crate) struct FirstErrors(Mutex<BTreeMap<u16, String>>);

impl FirstErrors {
    /// Keeps the message unless one with this code is known.
    #[cold]
    pub(crate) fn note(&self, code: u16, error: &dyn std::fmt::Display) {
        held(&self.0)
            .entry(code)
            .or_insert_with(|| error.to_string());
    }

    pub(crate) fn of(&self, code: u16) -> Option<String> {
        held(&self.0).get(&code).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_message_of_a_code_is_kept() {
        let errors = FirstErrors::default();
        errors.note(1366, &"Incorrect integer value: 'a'");
        errors.note(1366, &"Incorrect integer value: 'b'");
        assert_eq!(
            errors.of(1366).as_deref(),
            Some("Incorrect integer value: 'a'")
        );
        assert_eq!(errors.of(1062), None);
    }
}
