//! Locks that hold on after the operation that takes them, so that other clients wait for the next operation of the same client.
//!
//! Boundaries: the locks of a transaction end with it; what procedures lock is not in the statements.

use crate::sql_text::lexer::Token;
use std::collections::BTreeSet;

const OF_TABLES: &str = "UNLOCK TABLES";
const OF_INSTANCE: &str = "UNLOCK INSTANCE";
const OF_NAMES: &str = "RELEASE_LOCK";

/// The locks that hold after the statements so far, each as what frees it.
#[derive(Default)]
pub(super) struct Locks(BTreeSet<&'static str>);

impl Locks {
    /// Takes note of the next statement.
    pub(super) fn follow(&mut self, statement: &[Token]) {
        let Some(first) = statement.first() else {
            return;
        };
        let has = |words: &[&str]| statement.iter().any(|token| token.is_one_of(words));
        let calls = |names: &[&str]| {
            let is_call = |pair: &[Token]| pair[0].is_one_of(names) && pair[1].is_sign(b'(');
            statement.windows(2).any(is_call)
        };
        let is_instance = statement.get(1).is_some_and(|next| next.is("INSTANCE"));
        let named = if is_instance { OF_INSTANCE } else { OF_TABLES };
        match first {
            _ if first.is("LOCK") => self.0.insert(named),
            // FLUSH TABLES WITH READ LOCK, FLUSH TABLES t FOR EXPORT
            _ if first.is("FLUSH") => has(&["LOCK", "EXPORT"]) && self.0.insert(OF_TABLES),
            _ if first.is("UNLOCK") => self.0.remove(named),
            // A transaction that begins frees tables too.
            _ if first.is_one_of(&["BEGIN", "START"]) => self.0.remove(OF_TABLES),
            _ if calls(&["RELEASE_LOCK", "RELEASE_ALL_LOCKS"]) => self.0.remove(OF_NAMES),
            _ => calls(&["GET_LOCK"]) && self.0.insert(OF_NAMES),
        };
    }

    /// What is missing to free one of them; None: nothing is locked.
    pub(super) fn missing(&self) -> Option<&'static str> {
        self.0.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_text::lexer::{Lexer, Quoting};

    fn missing(statements: &[&str]) -> Option<&'static str> {
        let mut locks = Locks::default();
        for sql in statements {
            let tokens: Vec<Token> = Lexer::new(sql.as_bytes(), Quoting::default()).collect();
            locks.follow(&tokens);
        }
        locks.missing()
    }

    #[test]
    fn locks_that_nothing_frees_are_found() {
        for (statements, expected) in [
            (&["lock tables t write", "select 1"][..], "UNLOCK TABLES"),
            (
                &["LOCK TABLE t READ", "unlock tables", "lock table t read"],
                "UNLOCK TABLES",
            ),
            (
                &["/* all */ flush tables t with read lock"],
                "UNLOCK TABLES",
            ),
            (
                &["select get_lock('a', 10)", "select 'release_lock(a)'"],
                "RELEASE_LOCK",
            ),
            (
                &["lock instance for backup", "begin", "commit"],
                "UNLOCK INSTANCE",
            ),
        ] {
            assert_eq!(missing(statements), Some(expected), "{statements:?}");
        }
    }

    #[test]
    fn locks_that_a_later_statement_frees_are_not() {
        for statements in [
            &["lock tables t write", "unlock tables"][..],
            &["lock tables t write", "start transaction", "commit"],
            &["lock instance for backup", "unlock instance"],
            &["do get_lock('a', 1)", "select release_lock('a')"],
            &["flush tables t", "select lock, get_lock from t"],
        ] {
            assert_eq!(missing(statements), None, "{statements:?}");
        }
    }
}
