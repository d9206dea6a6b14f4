//! Names that the dump's own schema qualifies: they become names of prony's schema.
//!
//! Purpose: `shop.orders` is a table of prony's schema in definitions and in rows, but not in texts. Boundaries: no grammar. Where
//! the schema has the name of a table or of an alias too, what stands before the name decides.

use crate::sql::own_schema::SCHEMA;
use crate::sql_text::lexer::{Lexer, Quoting, Token, TokenKind};
use std::borrow::Cow;

/// Words that a table, a view or a routine follows.
const BEFORE_NAMES: [&str; 24] = [
    "FROM",
    "JOIN",
    "STRAIGHT_JOIN",
    "INTO",
    "UPDATE",
    "TABLE",
    "TABLES",
    "VIEW",
    "REFERENCES",
    "EXISTS",
    "IGNORE",
    "LOW_PRIORITY",
    "HIGH_PRIORITY",
    "DELAYED",
    "QUICK",
    "TRIGGER",
    "PROCEDURE",
    "FUNCTION",
    "EVENT",
    "SEQUENCE",
    "CALL",
    "INSERT",
    "REPLACE",
    "DESCRIBE",
];
/// Words after which a list has tables, and those after which it has none.
const LISTS: [&str; 8] = [
    "FROM",
    "JOIN",
    "STRAIGHT_JOIN",
    "UPDATE",
    "TABLE",
    "TABLES",
    "INTO",
    "USING",
];
const NO_LISTS: [&str; 9] = [
    "SELECT", "WHERE", "ON", "SET", "VALUES", "VALUE", "BY", "HAVING", "CALL",
];

/// The statement with the name of the schema `own` replaced.
pub(crate) fn mapped<'s>(sql: Cow<'s, [u8]>, quoting: Quoting, own: &str) -> Cow<'s, [u8]> {
    if !holds(&sql, own.as_bytes()) {
        return sql;
    }
    let tokens: Vec<Token> = Lexer::new(&sql, quoting).collect();
    let is_own = |token: &Token| {
        let name = token.name();
        name.is_some_and(|name| own.eq_ignore_ascii_case(&name))
    };
    let places = qualifiers(&tokens, &is_own);
    if places.is_empty() {
        return sql;
    }
    let mut result = Vec::with_capacity(sql.len() + places.len() * SCHEMA.len());
    let mut from = 0;
    for place in places {
        let token = &tokens[place];
        result.extend_from_slice(&sql[from..token.at]);
        let quote = token.text.first().filter(|_| token.kind == TokenKind::Name);
        result.extend(quote);
        result.extend_from_slice(SCHEMA.as_bytes());
        result.extend(quote);
        from = token.end();
    }
    result.extend_from_slice(&sql[from..]);
    Cow::Owned(result)
}

/// Whether the bytes hold the name, in any case.
fn holds(sql: &[u8], name: &[u8]) -> bool {
    let length = name.len();
    length > 0
        && sql
            .windows(length)
            .any(|part| part.eq_ignore_ascii_case(name))
}

/// The tokens that name the schema.
fn qualifiers(tokens: &[Token], is_own: &dyn Fn(&Token) -> bool) -> Vec<usize> {
    let is_dot = |at: usize| tokens.get(at).is_some_and(|token| token.is_sign(b'.'));
    let follows_dot = |at: usize| at > 0 && is_dot(at - 1);
    let named = (0..tokens.len()).filter(|at| is_own(&tokens[*at]));
    let named: Vec<usize> = named.collect();
    // A table, a column or an alias has the name too.
    let is_ambiguous = named.iter().any(|at| !is_dot(at + 1) || follows_dot(*at));
    let lists = lists(tokens);
    let is_schema = |at: &usize| {
        let at = *at;
        if !is_dot(at + 1) || follows_dot(at) {
            return false;
        }
        let is_call = tokens.get(at + 3).is_some_and(|token| token.is_sign(b'('));
        !is_ambiguous || is_dot(at + 3) || is_call || stands_for_a_table(tokens, at, &lists)
    };
    named.into_iter().filter(is_schema).collect()
}

/// For each token whether it is in a list of tables.
fn lists(tokens: &[Token]) -> Vec<bool> {
    let mut is_list = false;
    let follow = |token: &Token| {
        is_list = (is_list || token.is_one_of(&LISTS)) && !token.is_one_of(&NO_LISTS);
        is_list
    };
    tokens.iter().map(follow).collect()
}

/// Whether what stands before a name says that it is a table's.
fn stands_for_a_table(tokens: &[Token], at: usize, lists: &[bool]) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| &tokens[before]) else {
        return false;
    };
    let is_list = before.is_sign(b',') || before.is_sign(b'(');
    before.is_one_of(&BEFORE_NAMES)
        || (is_list && lists[at])
        || (before.is("ON") && is_of_trigger_or_index(&tokens[..at]))
        || (before.is("LIKE")
            && tokens[0].is("CREATE")
            && !tokens.iter().any(|token| token.is("SELECT")))
}

/// Whether the first ON of the statement names its table.
fn is_of_trigger_or_index(before: &[Token]) -> bool {
    let is_first = before.iter().filter(|token| token.is("ON")).count() == 1;
    let object = before
        .iter()
        .any(|token| token.is_one_of(&["TRIGGER", "INDEX"]));
    is_first && object && before[0].is_one_of(&["CREATE", "DROP"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(sql: &str) -> String {
        let mapped = mapped(Cow::Borrowed(sql.as_bytes()), Quoting::default(), "shop");
        String::from_utf8(mapped.into_owned()).unwrap()
    }

    #[test]
    fn names_of_the_dumps_own_schema_become_prony_s() {
        for (sql, expected) in [
            (
                "CREATE TABLE `shop`.`c` (id INT)",
                "CREATE TABLE `prony_sql`.`c` (id INT)",
            ),
            (
                "INSERT INTO Shop.c VALUES ('shop.c', \"shop.c\")",
                "INSERT INTO prony_sql.c VALUES ('shop.c', \"shop.c\")",
            ),
            (
                "select shop.c.id, shop.f(1) from shop . c, shop.d",
                "select prony_sql.c.id, prony_sql.f(1) from prony_sql . c, prony_sql.d",
            ),
            (
                "create trigger shop.t after insert on shop.c for each row insert into shop.log values (1)",
                "create trigger prony_sql.t after insert on prony_sql.c for each row insert into prony_sql.log values (1)",
            ),
            (
                "/* shop.c */ select 1 -- shop.c",
                "/* shop.c */ select 1 -- shop.c",
            ),
            (
                "select bookshop.a from bookshop",
                "select bookshop.a from bookshop",
            ),
        ] {
            assert_eq!(map(sql), expected);
        }
    }

    #[test]
    fn a_table_or_an_alias_of_the_same_name_keeps_its_columns() {
        for (sql, expected) in [
            (
                "select shop.id, shop.shop.id from shop.shop, shop.c where shop.a = 1",
                "select shop.id, prony_sql.shop.id from prony_sql.shop, prony_sql.c where shop.a = 1",
            ),
            (
                "select shop.id from shop.orders shop join shop.c on shop.id = c.id",
                "select shop.id from prony_sql.orders shop join prony_sql.c on shop.id = c.id",
            ),
            (
                "update shop.shop set shop.a = 1 where shop.b = shop.f(2)",
                "update prony_sql.shop set shop.a = 1 where shop.b = prony_sql.f(2)",
            ),
        ] {
            assert_eq!(map(sql), expected);
        }
    }
}
