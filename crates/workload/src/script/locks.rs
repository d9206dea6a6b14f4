//! Locks that hold on after the operation that takes them, so that other clients wait for the next operation of the same client.
//!
//! Boundaries: the locks of a transaction end with it; what procedures lock is not in the statements.

use crate::sql_text::lexer::Token;

/// The locks that hold after the statements so far.
#[derive(Default)]
pub(super) struct Locks {
    /// LOCK TABLES, FLUSH TABLES t WITH READ LOCK, FLUSH TABLES t FOR EXPORT.
    tables: bool,
    /// FLUSH TABLES WITH READ LOCK. A transaction that begins does not free it.
    all_tables: bool,
    instance: bool,
    /// How many locks of GET_LOCK.
    names: u32,
}

impl Locks {
    /// Takes note of the next statement.
    pub(super) fn follow(&mut self, statement: &[Token]) {
        let Some(first) = statement.first() else {
            return;
        };
        let has = |words: &[&str]| statement.iter().any(|token| token.is_one_of(words));
        let is_next = |word: &str| statement.get(1).is_some_and(|next| next.is(word));
        match first {
            _ if first.is("LOCK") && is_next("INSTANCE") => self.instance = true,
            _ if first.is("UNLOCK") && is_next("INSTANCE") => self.instance = false,
            _ if first.is("LOCK") => self.tables = true,
            _ if first.is("UNLOCK") => (self.tables, self.all_tables) = (false, false),
            _ if first.is("FLUSH") && has(&["LOCK", "EXPORT"]) => match names_no_table(statement) {
                true => self.all_tables = true,
                false => self.tables = true,
            },
            // A transaction that begins frees tables too.
            _ if first.is("BEGIN") => self.tables = false,
            _ if first.is("START") && is_next("TRANSACTION") => self.tables = false,
            _ => {}
        }
        let calls = statement.windows(2).filter(|pair| pair[1].is_sign(b'('));
        for name in calls.map(|pair| &pair[0]) {
            self.names = match name {
                _ if name.is("GET_LOCK") => self.names + 1,
                _ if name.is("RELEASE_LOCK") => self.names.saturating_sub(1),
                _ if name.is("RELEASE_ALL_LOCKS") => 0,
                _ => self.names,
            };
        }
    }

    /// What is missing to free one of them; None: nothing is locked.
    pub(super) fn missing(&self) -> Option<&'static str> {
        match self {
            _ if self.names > 0 => Some("RELEASE_LOCK"),
            _ if self.instance => Some("UNLOCK INSTANCE"),
            _ if self.tables || self.all_tables => Some("UNLOCK TABLES"),
            _ => None,
        }
    }
}

/// Whether a FLUSH TABLES is of all tables.
fn names_no_table(flush: &[Token]) -> bool {
    let is_next = |pair: &[Token]| pair[0].is_one_of(&["TABLE", "TABLES"]) && pair[1].is("WITH");
    flush.windows(2).any(is_next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_text::lexer::tokens_of;

    fn missing(statements: &[&str]) -> Option<&'static str> {
        let mut locks = Locks::default();
        for sql in statements {
            let tokens = tokens_of(sql);
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
                &["flush tables with read lock", "begin", "commit"],
                "UNLOCK TABLES",
            ),
            (&["lock tables t write", "start replica"], "UNLOCK TABLES"),
            (
                &["select get_lock('a', 10)", "select 'release_lock(a)'"],
                "RELEASE_LOCK",
            ),
            (
                &["do get_lock(1,1), get_lock(2,1)", "do release_lock(1)"],
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
            &["flush tables t with read lock", "begin", "commit"],
            &["flush local tables with read lock", "unlock tables"],
            &["lock instance for backup", "unlock instance"],
            &["do get_lock('a', 1)", "select release_lock('a')"],
            &["do get_lock(1,1),get_lock(2,1)", "do release_all_locks()"],
            &["flush tables t", "select lock, get_lock from t"],
        ] {
            assert_eq!(missing(statements), None, "{statements:?}");
        }
    }
}
