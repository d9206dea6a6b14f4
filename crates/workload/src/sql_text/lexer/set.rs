//! The assignments of a SET statement.

use super::{Token, TokenKind, tokens_of};
use crate::sql_text::pieces::{PieceKind, lex};

/// Words of a SET that changes the server.
pub(crate) const OF_SERVER: [&str; 3] = ["GLOBAL", "PERSIST", "PERSIST_ONLY"];

/// What an assignment changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// A user's variable, `@x`.
    User,
    Session,
    /// GLOBAL, PERSIST and PERSIST_ONLY.
    Server,
}

/// One assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment<'t, 's> {
    pub scope: Scope,
    /// In lower case. Forms without a `=` have their first word: `names`, `transaction`, `password`, `charset` for CHARACTER SET.
    pub name: String,
    pub value: &'t [Token<'s>],
    /// All its tokens.
    pub tokens: &'t [Token<'s>],
}

/// What a SET of accounts begins with.
const OF_ACCOUNTS: [&str; 4] = ["password", "role", "default", "resource"];

impl Assignment<'_, '_> {
    /// Whether it changes an account, or the rights of the session.
    pub(crate) fn is_of_accounts(&self) -> bool {
        self.scope == Scope::Session && OF_ACCOUNTS.contains(&self.name.as_str())
    }
}

/// The assignments of a statement whose first token is SET, in order.
pub(crate) fn assignments<'t, 's>(tokens: &'t [Token<'s>]) -> Vec<Assignment<'t, 's>> {
    let mut depth = 0usize;
    let rest = tokens.get(1..).unwrap_or_default();
    let is_comma = |token: &Token| {
        if token.is_sign(b'(') {
            depth += 1;
        } else if token.is_sign(b')') {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && token.is_sign(b',')
    };
    let parts = rest.split(is_comma).filter(|part| !part.is_empty());
    // SET GLOBAL a = 1, b = 2: the word holds for what follows, until the next one.
    let mut word = Scope::Session;
    parts.map(|part| assignment(part, &mut word)).collect()
}

/// Whether it is `SET STATEMENT a = 1 FOR SELECT ...` of MariaDB, which runs a statement and sets nothing after it.
pub(crate) fn is_for_a_statement(tokens: &[Token]) -> bool {
    matches!(tokens, [set, statement, rest @ ..]
        if set.is("SET") && statement.is("STATEMENT") && rest.iter().any(|token| token.is("FOR")))
}

/// Whether a statement is a SET that changes the server, not only its session.
pub(crate) fn sets_server(tokens: &[Token]) -> bool {
    let is_set = tokens.first().is_some_and(|first| first.is("SET"));
    let is_of_server = |one: &Assignment| one.scope == Scope::Server;
    is_set && !is_for_a_statement(tokens) && assignments(tokens).iter().any(is_of_server)
}

/// Whether a statement is a SET that changes the server: SET GLOBAL, SET PERSIST.
pub fn is_set_global(sql: &str) -> bool {
    let tokens = tokens_of(sql);
    sets_server(&tokens)
}

/// A variable that a SET changes in its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSet {
    /// In lower case, as servers list it.
    pub name: String,
    /// Its first word or text; empty where an expression begins with neither.
    pub value: String,
}

/// The variables that a SET changes in its session; none for any other statement.
pub fn session_sets(sql: &str) -> Vec<SessionSet> {
    let tokens = tokens_of(sql);
    if !tokens.first().is_some_and(|first| first.is("SET")) {
        return Vec::new();
    }
    let set = match is_for_a_statement(&tokens) {
        true => tokens[1..].split(|token| token.is("FOR")).next(),
        false => None,
    };
    let all = assignments(set.unwrap_or(&tokens)).into_iter();
    let own = all.filter(|one| one.scope == Scope::Session);
    let sets = own.flat_map(|one| {
        let value = single(one.value).unwrap_or_default();
        let names = variables(&one).into_iter();
        names.map(move |name| SessionSet {
            name,
            value: value.clone(),
        })
    });
    sets.collect()
}

/// The variables that hints of a statement set while it runs: `select /*+ SET_VAR(sort_buffer_size = 16M) */ 1` of MySQL.
pub fn hinted_sets(sql: &str) -> Vec<SessionSet> {
    let pieces = lex(sql).unwrap_or_default().into_iter();
    let comments = pieces.filter(|(kind, _)| *kind == PieceKind::Comment);
    let hints = comments.filter_map(|(_, range)| sql[range].strip_prefix("/*+"));
    hints.flat_map(of_hint).collect()
}

fn of_hint(hint: &str) -> Vec<SessionSet> {
    let tokens = tokens_of(hint);
    let is_set =
        |five: &&[Token]| five[0].is("SET_VAR") && five[1].is_sign(b'(') && five[3].is_sign(b'=');
    let set = |five: &[Token]| SessionSet {
        name: five[2].content().to_ascii_lowercase(),
        value: single(&five[4..]).unwrap_or_default(),
    };
    tokens.windows(5).filter(is_set).map(set).collect()
}

/// The variables of an assignment. The forms without a `=` have other names.
fn variables(one: &Assignment) -> Vec<String> {
    let is_isolation = one.value.first().is_some_and(|word| word.is("ISOLATION"));
    let names: &[&str] = match one.name.as_str() {
        "names" | "charset" => &[
            "character_set_client",
            "character_set_connection",
            "character_set_results",
            "collation_connection",
        ],
        "transaction" if is_isolation => &["transaction_isolation"],
        // SET TRANSACTION READ ONLY, ISOLATION LEVEL SERIALIZABLE
        "isolation" => &["transaction_isolation"],
        "transaction" | "read" => &["transaction_read_only"],
        name => return vec![name.to_string()],
    };
    names.iter().map(ToString::to_string).collect()
}

fn assignment<'t, 's>(tokens: &'t [Token<'s>], word: &mut Scope) -> Assignment<'t, 's> {
    let (scope, rest) = scope(tokens, word);
    let is_equal = |token: &Token| token.is_sign(b'=') || token.is_sign(b':');
    let (target, value) = match (rest.iter().position(is_equal), rest) {
        (Some(at), _) => {
            let value = &rest[at..];
            let signs = value.iter().take_while(|token| is_equal(token)).count();
            (&rest[..at], &value[signs..])
        }
        (None, [a, b, value @ ..]) if a.is_one_of(&["CHARACTER", "CHAR"]) && b.is("SET") => {
            return Assignment {
                scope,
                name: "charset".to_string(),
                value,
                tokens,
            };
        }
        (None, _) => rest.split_at(rest.len().min(1)),
    };
    // `PASSWORD FOR a = ...` is named by its first word, `a.b = ...` by its last.
    let name = match target {
        [first, second, ..] if !second.is_sign(b'.') => first.name(),
        _ => target.iter().rev().find_map(Token::name),
    };
    Assignment {
        scope,
        name: name.unwrap_or_default().to_ascii_lowercase(),
        value,
        tokens,
    }
}

/// The scope, and the tokens behind the words that name it: `@@GLOBAL.`, `SESSION`, `@@`, `@`. `last` is that of the last such word.
///
/// Source: the page "SET Syntax for Variable Assignment" of the MySQL manual, on several assignments.
fn scope<'t, 's>(tokens: &'t [Token<'s>], last: &mut Scope) -> (Scope, &'t [Token<'s>]) {
    const SESSION: [&str; 2] = ["SESSION", "LOCAL"];
    match tokens {
        [a, b, word, dot, rest @ ..] if a.is_sign(b'@') && b.is_sign(b'@') && dot.is_sign(b'.') => {
            match word {
                _ if word.is_one_of(&OF_SERVER) => (Scope::Server, rest),
                _ if word.is_one_of(&SESSION) => (Scope::Session, rest),
                // `@@mykeys.key_buffer_size` is of a key cache, which is the server's.
                _ => (Scope::Server, &tokens[2..]),
            }
        }
        [a, b, rest @ ..] if a.is_sign(b'@') && b.is_sign(b'@') => (Scope::Session, rest),
        [a, rest @ ..] if a.is_sign(b'@') => (Scope::User, rest),
        [word, rest @ ..] if word.is_one_of(&OF_SERVER) => {
            *last = Scope::Server;
            (Scope::Server, rest)
        }
        [word, rest @ ..] if word.is_one_of(&SESSION) => {
            *last = Scope::Session;
            (Scope::Session, rest)
        }
        _ => (*last, tokens),
    }
}

/// The single word, name or text of a value: `latin1`, `'latin1'`.
pub(super) fn single(value: &[Token]) -> Option<String> {
    let one = value.first().filter(|one| one.kind != TokenKind::Sign)?;
    Some(one.content())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sql: &str) -> Vec<(Scope, String, String)> {
        let tokens = tokens_of(sql);
        let found = assignments(&tokens).into_iter();
        found
            .map(|one| {
                let value: Vec<String> = one.value.iter().map(Token::content).collect();
                (one.scope, one.name, value.join(" "))
            })
            .collect()
    }

    #[test]
    fn the_scope_and_the_name_of_every_form_are_read() {
        for (sql, scope, name, value) in [
            ("SET NAMES latin1", Scope::Session, "names", "latin1"),
            (
                "/*!40101 SET NAMES 'gbk' COLLATE x */",
                Scope::Session,
                "names",
                "gbk COLLATE x",
            ),
            ("set character set sjis", Scope::Session, "charset", "sjis"),
            ("SET CHARSET big5", Scope::Session, "charset", "big5"),
            ("set @@global.a = 1", Scope::Server, "a", "1"),
            ("SET PERSIST a = 1", Scope::Server, "a", "1"),
            (
                "SET @@SESSION.SQL_LOG_BIN= 0",
                Scope::Session,
                "sql_log_bin",
                "0",
            ),
            (
                "SET PASSWORD FOR `a`@`%` = 'x'",
                Scope::Session,
                "password",
                "x",
            ),
            ("SET @@sql_mode := 'x'", Scope::Session, "sql_mode", "x"),
            ("set session a=1", Scope::Session, "a", "1"),
            ("set @a = 'b'", Scope::User, "a", "b"),
            (
                "set transaction read only",
                Scope::Session,
                "transaction",
                "read only",
            ),
        ] {
            let expected = (scope, name.to_string(), value.to_string());
            assert_eq!(read(sql), [expected], "{sql}");
        }
    }

    #[test]
    fn assignments_are_separated_outside_of_parentheses() {
        let names: Vec<String> = read("SET @old=@@a, a=concat('x', ','), GLOBAL b = 2")
            .into_iter()
            .map(|(scope, name, _)| format!("{scope:?} {name}"))
            .collect();
        assert_eq!(names, ["User old", "Session a", "Server b"]);
        let names: Vec<Scope> = read("SET GLOBAL a=1, b=2, @@c=3, SESSION d=4, e=5")
            .into_iter()
            .map(|(scope, ..)| scope)
            .collect();
        use Scope::{Server, Session};
        assert_eq!(names, [Server, Server, Session, Session, Session]);
    }

    #[test]
    fn the_variables_of_the_session_are_found_in_every_form() {
        for (sql, expected) in [
            ("SET A = '', @b = 1, GLOBAL c = 2", &["a="][..]),
            ("set a='mrr=on'", &["a=mrr=on"]),
            (
                "set session transaction isolation level serializable, read only",
                &[
                    "transaction_isolation=isolation",
                    "transaction_read_only=only",
                ],
            ),
            (
                "set statement a = 1, b = @c for select 1, d from t where e = 2",
                &["a=1", "b="],
            ),
            ("select 'set a = 1'", &[]),
        ] {
            let found = session_sets(sql).into_iter();
            let found: Vec<String> = found
                .map(|set| format!("{}={}", set.name, set.value))
                .collect();
            assert_eq!(found, expected, "{sql}");
        }
        let charset = session_sets("set names utf8mb4");
        assert_eq!(charset[3].name, "collation_connection");
    }

    #[test]
    fn the_variables_that_hints_set_are_found() {
        for (sql, expected) in [
            (
                "select /*+ BKA(t) SET_VAR(A = 'b=on') set_var(c=16M) */ 1",
                &["a=b=on", "c=16M"][..],
            ),
            ("select '/*+ SET_VAR(a = 1) */' /* SET_VAR(a = 1) */", &[]),
        ] {
            let found = hinted_sets(sql).into_iter();
            let found: Vec<String> = found
                .map(|set| format!("{}={}", set.name, set.value))
                .collect();
            assert_eq!(found, expected, "{sql}");
        }
    }
}
