//! What a client carries from one operation to the next: the settings and the user variables of its session.
//!
//! Purpose: an operation measures the same, whichever one ran before it on the connection. Boundaries: what procedures and functions set is
//! not in the statements.

use super::Written;
use crate::sql_text::lexer::{is_for_a_statement, tokens_of, user_variables};
use crate::sql_text::{session_sets, statements};

/// Checked elsewhere: an operation turns it on again.
const AUTOCOMMIT: &str = "autocommit";

/// Notes the first setting that an operation leaves to others, or else the first user variable that no operation sets. Returns whether
/// there is one.
pub(super) fn is_noted(operations: &[Written]) -> bool {
    let run = operations.iter().filter(|operation| operation.weight > 0);
    let run: Vec<&Written> = run.collect();
    let (operation, says, help) = if let Some((operation, name)) = left(&run) {
        (
            operation,
            format!(
                "SET {name} would hold for later operations of the client, and some operations do not set it"
            ),
            "set it in every operation, or set it back at the end of this one; for all operations write [session]",
        )
    } else if let Some((operation, name)) = unset(&run) {
        (
            operation,
            format!("the statements read @{name}, which no operation sets, so it is NULL"),
            "set it in the operation, as in set @a = :a; a setup has a session of its own",
        )
    } else {
        return false;
    };
    let says = format!("{}: {says}", operation.name);
    operation.node.note(says, "in these statements", help);
    true
}

/// An operation that sets a variable of the session once, so that it stays, and another operation does not set it.
fn left<'o, 's>(operations: &[&'o Written<'s>]) -> Option<(&'o Written<'s>, String)> {
    let sets: Vec<Vec<String>> = operations.iter().map(|one| set_by(one.sql)).collect();
    let stays = |own: &[String], name: &String| {
        own.iter().filter(|other| *other == name).count() == 1
            && sets.iter().any(|other| !other.contains(name))
    };
    operations.iter().zip(&sets).find_map(|(operation, own)| {
        let name = own.iter().find(|name| stays(own, name))?;
        Some((*operation, name.clone()))
    })
}

/// The variables of the session that statements set, as often as they do.
fn set_by(sql: &str) -> Vec<String> {
    let statements = statements(sql).unwrap_or_default().into_iter();
    let lasting = statements.filter(|sql| !is_for_one(sql));
    let names = lasting.flat_map(session_sets).map(|set| set.name);
    names.filter(|name| name != AUTOCOMMIT).collect()
}

/// Whether a SET holds for the next transaction alone, or for its own statement.
fn is_for_one(sql: &str) -> bool {
    let tokens = tokens_of(sql);
    let is_of_transaction =
        matches!(&tokens[..], [set, word, ..] if set.is("SET") && word.is("TRANSACTION"));
    is_of_transaction || is_for_a_statement(&tokens)
}

/// An operation that reads a user variable which no operation sets.
fn unset<'o, 's>(operations: &[&'o Written<'s>]) -> Option<(&'o Written<'s>, String)> {
    let used = operations.iter().map(|one| variables(one.sql));
    // None: a procedure may set any.
    let used: Vec<Vec<(String, bool)>> = used.collect::<Option<_>>()?;
    let is_set = |name: &String| {
        let mut all = used.iter().flatten();
        all.any(|(other, is_set)| *is_set && other == name)
    };
    operations.iter().zip(&used).find_map(|(operation, own)| {
        let (name, _) = own.iter().find(|(name, _)| !is_set(name))?;
        Some((*operation, name.clone()))
    })
}

/// The user variables, each with whether it is set there, but those that a SET only reads; None with a CALL.
fn variables(sql: &str) -> Option<Vec<(String, bool)>> {
    let tokens = tokens_of(sql);
    let mut found = Vec::new();
    for statement in tokens.split(|token| token.is_sign(b';')) {
        let begins = |word: &str| statement.first().is_some_and(|first| first.is(word));
        if begins("CALL") {
            return None;
        }
        // GET DIAGNOSTICS @a = NUMBER
        let is_set = begins("GET");
        let own = user_variables(statement).into_iter();
        let own = own.map(|(name, sets)| (name, sets || is_set));
        found.extend(own.filter(|(_, sets)| *sets || !begins("SET")));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::super::Section;
    use crate::keys::tests::assert_mistake_at;

    /// Two operations as a section.
    fn section(one: &str, other: &str) -> String {
        format!("operation.a.statements = \"{one}\"\noperation.b.statements = \"{other}\"\n")
    }

    #[test]
    fn a_setting_that_an_operation_leaves_to_others_is_refused() {
        for one in [
            "set session sort_buffer_size = 1; select 1",
            "set session transaction isolation level serializable; select 1",
        ] {
            let text = section("select 2", one);
            let says = assert_mistake_at(&text, "operation.b.statements", Section::read);
            assert!(says.starts_with("b: SET "), "{says}");
        }
    }

    #[test]
    fn a_setting_of_every_operation_or_of_one_transaction_is_accepted() {
        for (one, other) in [
            ("set a = 1; select 1", "set a = 2; select 1"),
            ("set a = 1; select 1; set a = 2", "select 1"),
            ("set transaction read only; select 1", "select 1"),
            ("set statement a = 1 for select 1", "select 1"),
            ("set autocommit = 1; select 1", "select 1"),
        ] {
            let text = section(one, other);
            assert!(spec::read_text(&text, Section::read).is_ok(), "{text}");
        }
        let weightless = "operation.a = { statements = \"set a = 1\", weight = 0 }\noperation.b.statements = \"select 1\"";
        assert!(spec::read_text(weightless, Section::read).is_ok());
    }

    #[test]
    fn a_user_variable_that_no_operation_sets_is_refused() {
        let text = section("select sum(a) from t where b = @b", "set @c = @b");
        let says = assert_mistake_at(&text, "operation.a.statements", Section::read);
        assert!(says.starts_with("a: the statements read @b"), "{says}");
    }

    #[test]
    fn a_user_variable_that_an_operation_or_a_procedure_sets_is_accepted() {
        for (one, other) in [
            ("select 1 into @b; select @b", "select @B"),
            ("select @n := 1", "select '@b', @@version"),
            ("call p(@b); select @b", "select 1"),
        ] {
            let text = section(one, other);
            assert!(spec::read_text(&text, Section::read).is_ok(), "{text}");
        }
    }
}
