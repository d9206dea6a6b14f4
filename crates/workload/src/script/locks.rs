//! Locks that hold on after the operation that takes them, so that other clients wait for the next operation of the same client.
//!
//! Boundaries: the locks of a transaction end with it; what procedures lock is not in the statements.

use crate::sql_text::lexer::Token;

/// The locks that hold after the statements so far.
#[derive(Default)]
pub(super) struct Locks {
    tables: bool,
    /// Of GET_LOCK.
    names: bool,
}

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
        match first {
            _ if first.is("LOCK") => self.tables = true,
            // FLUSH TABLES WITH READ LOCK, FLUSH TABLES t FOR EXPORT
            _ if first.is("FLUSH") => self.tables |= has(&["LOCK", "EXPORT"]),
            // A transaction that begins frees tables too.
            _ if first.is_one_of(&["UNLOCK", "BEGIN", "START"]) => self.tables = false,
            _ if calls(&["RELEASE_LOCK", "RELEASE_ALL_LOCKS"]) => self.names = false,
            _ => self.names |= calls(&["GET_LOCK"]),
        }
    }

    /// What is missing to free them; None: nothing is locked.
    pub(super) fn missing(&self) -> Option<&'static str> {
        match (self.tables, self.names) {
            (true, _) => Some("UNLOCK TABLES"),
            (_, true) => Some("RELEASE_LOCK"),
            _ => None,
        }
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
        ] {
            assert_eq!(missing(statements), Some(expected), "{statements:?}");
        }
    }

    #[test]
    fn locks_that_a_later_statement_frees_are_not() {
        for statements in [
            &["lock tables t write", "unlock tables"][..],
            &["lock tables t write", "start transaction", "commit"],
            &["do get_lock('a', 1)", "select release_lock('a')"],
            &["flush tables t", "select lock, get_lock from t"],
        ] {
            assert_eq!(missing(statements), None, "{statements:?}");
        }
    }
}
