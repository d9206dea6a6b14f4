//! Whether a statement only reads, by its tokens.
//!
//! Purpose: a round measures the same each time, and a user's own schema stays as it is. Boundaries: what a stored function does is
//! not in the statement; on a user's schema the server refuses it (read-only transactions).

use super::{Token, TokenKind, sets_server};

/// Why a statement that writes a file of the server is refused.
pub(crate) const WRITES_FILE: &str = "the statement writes a file on the server (INTO OUTFILE, INTO DUMPFILE), which prony does not do; remove that clause to measure the query";

/// The first words of statements that only read.
const READS: [&str; 9] = [
    "SELECT", "TABLE", "VALUES", "SHOW", "EXPLAIN", "DESCRIBE", "DESC", "CHECKSUM", "HELP",
];

/// Whether the statement returns rows and changes neither the data nor the session, on whatever server: also with what only some
/// versions execute.
pub(crate) fn reads(tokens: &[Token]) -> bool {
    let always = tokens.iter().filter(|token| !token.is_conditional).copied();
    let always: Vec<Token> = always.collect();
    // `/*!50000 select */ 1`: what remains on an old server is no statement.
    let is_statement = |first: &Token| {
        let letter = first.text.first().is_some_and(u8::is_ascii_alphabetic);
        letter && first.kind == TokenKind::Word
    };
    let is_harmless = !always.first().is_some_and(is_statement) || is_read(&always);
    is_read(tokens) && is_harmless && !writes_file(tokens)
}

fn is_read(tokens: &[Token]) -> bool {
    let Some(at) = tokens.iter().position(|token| !token.is_sign(b'(')) else {
        return false;
    };
    let rest = &tokens[at..];
    match rest[0] {
        first if first.is("WITH") => main_of_with(rest).is_some_and(is_read),
        first if first.is("ANALYZE") => of_analyze(&rest[1..]),
        // EXPLAIN ANALYZE runs the statement.
        first if first.is_one_of(&["EXPLAIN", "DESCRIBE", "DESC"]) => match rest.get(1) {
            Some(next) if next.is("ANALYZE") => of_analyze(&rest[2..]),
            _ => true,
        },
        first => first.is_one_of(&READS),
    }
}

/// The statement behind the common table expressions: `WITH [RECURSIVE] a [(b)] AS (...), ... SELECT`.
fn main_of_with<'t, 's>(tokens: &'t [Token<'s>]) -> Option<&'t [Token<'s>]> {
    let mut depth = 0usize;
    let mut was_closed = false;
    for (at, token) in tokens.iter().enumerate().skip(1) {
        if token.is_sign(b'(') {
            // Behind `AS (...)` the statement itself may begin with one.
            if depth == 0 && was_closed {
                return tokens.get(at..);
            }
            depth += 1;
        } else if token.is_sign(b')') {
            depth = depth.saturating_sub(1);
            was_closed = depth == 0;
        } else if depth == 0 && was_closed {
            match token {
                // A list of columns ends, or the next expression begins.
                _ if token.is("AS") || token.is_sign(b',') => was_closed = false,
                // CYCLE x RESTRICT, of MariaDB.
                _ if token.is_one_of(&["CYCLE", "RESTRICT"]) || is_cycle(&tokens[..at]) => {}
                _ => return tokens.get(at..),
            }
        }
    }
    None
}

/// Whether the last word before is CYCLE, so that the next one is its column.
fn is_cycle(before: &[Token]) -> bool {
    before.last().is_some_and(|token| token.is("CYCLE"))
}

/// ANALYZE [FORMAT=JSON] SELECT reads; ANALYZE TABLE and ANALYZE UPDATE change something.
fn of_analyze(rest: &[Token]) -> bool {
    const TABLES: [&str; 3] = ["TABLE", "LOCAL", "NO_WRITE_TO_BINLOG"];
    let statement = match rest {
        [format, equal, _, behind @ ..] if format.is("FORMAT") && equal.is_sign(b'=') => behind,
        _ => rest,
    };
    let first = statement.first();
    let is_table = first.is_some_and(|first| first.is_one_of(&TABLES));
    !is_table && is_read(statement)
}

/// Whether the statement has INTO OUTFILE or INTO DUMPFILE.
pub(crate) fn writes_file(tokens: &[Token]) -> bool {
    let is_pair =
        |pair: &[Token]| pair[0].is("INTO") && pair[1].is_one_of(&["OUTFILE", "DUMPFILE"]);
    tokens.windows(2).any(is_pair)
}

/// What a read does to a user's own schema all the same, in words; None if it does nothing.
pub(crate) fn touches(tokens: &[Token]) -> Option<&'static str> {
    const LOCKS: [(&str, &[&str]); 2] = [("FOR", &["UPDATE", "SHARE"]), ("LOCK", &["IN"])];
    let is_lock = |pair: &[Token]| {
        let mut locks = LOCKS.iter();
        locks.any(|(first, second)| pair[0].is(first) && pair[1].is_one_of(second))
    };
    let is_call =
        |pair: &[Token]| pair[0].is_one_of(&["NEXTVAL", "SETVAL"]) && pair[1].is_sign(b'(');
    let is_next =
        |three: &[Token]| three[0].is("NEXT") && three[1].is("VALUE") && three[2].is("FOR");
    if tokens.windows(2).any(is_lock) {
        return Some("locks the rows that it reads (FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE)");
    }
    let advances = tokens.windows(2).any(is_call) || tokens.windows(3).any(is_next);
    advances.then_some("advances a sequence (NEXTVAL, NEXT VALUE FOR, SETVAL)")
}

/// How a statement of a load makes the record of its server wrong, and the way out; None if it does not.
pub(crate) fn falsifies(statement: &[Token]) -> Option<(&'static str, &'static str)> {
    let first = statement.first()?;
    if first.is("FLUSH") && statement.iter().any(|token| token.is("STATUS")) {
        return Some((
            "FLUSH STATUS would set counters to 0 that prony reads during the load",
            "remove FLUSH STATUS",
        ));
    }
    sets_server(statement).then_some((
        "SET GLOBAL would change the server during the load, and the record has its settings from before",
        "write it in [settings], or as an event: set = { settings = { sync_binlog = 1 } }",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_text::lexer::tokens_of;

    #[test]
    fn statements_that_read_are_recognised_by_their_tokens() {
        for sql in [
            "select 1",
            "((select 1) union (select 2))",
            "TABLE t",
            "VALUES ROW(1), ROW(2)",
            "show tables",
            "explain delete from t",
            "desc t",
            "explain analyze select 1",
            "analyze format=json select * from t",
            "analyze select replace(a, 'b', 'c'), insert(a, 1, 2, 'd') from t",
            "explain analyze format=tree with a as (select 1) select t.delete from a, t",
            "checksum table t",
            "/* update t */ select 'delete', update_time, `insert` from t -- drop",
            "/*!50000 select */ 1",
            "select /*! straight_join */ 1 from a, b",
            "with r as (select id, update_time from doc) select count(*) from r",
            "with a (x) as (select 1), b as (select 'last update') (select * from a, b)",
            "with recursive a as (select 1 union all select n + 1 from a) table a",
            "with recursive a as (select 1) cycle x restrict select * from a",
            "select 1 into @a",
        ] {
            assert!(reads(&tokens_of(sql)), "{sql}");
        }
    }

    #[test]
    fn statements_that_change_something_are_too() {
        for sql in [
            "update t set a = 1",
            "with a as (select 1) delete from t using t join a",
            "with a (b) as (select 1) update t set c = 1",
            "with a as (select 1) insert into t select * from a",
            "/*!50000 delete */ from t",
            "/*!99999 select */ delete from t",
            "explain analyze delete from t",
            "analyze update t set a = (select 1)",
            "explain analyze format=json with a as (select 1) delete from t",
            "analyze format=json insert into t select 1",
            "analyze table t",
            "select * from t into outfile '/tmp/x'",
            "select a from t /*! into */ /* x */ dumpfile '/tmp/x'",
            "with a as (select 1) select * from a into outfile 'x'",
            "set @a = 1",
            "use shop",
            "call p()",
            "do sleep(1)",
            "",
        ] {
            assert!(!reads(&tokens_of(sql)), "{sql}");
        }
    }

    #[test]
    fn what_changes_counters_or_settings_of_the_server_is_known() {
        for (sql, says) in [
            ("flush local status", "FLUSH STATUS would"),
            ("FLUSH STATUS, LOGS", "FLUSH STATUS would"),
            ("set @a = 1, global b = 2", "SET GLOBAL would"),
            ("SET @@GLOBAL.b = 2", "SET GLOBAL would"),
        ] {
            let found = falsifies(&tokens_of(sql)).unwrap_or_default();
            assert!(found.0.starts_with(says), "{sql}");
        }
        for sql in [
            "flush tables t",
            "select status from t",
            "set session b = 2",
            "set @global = 1",
            "show global status",
        ] {
            assert_eq!(falsifies(&tokens_of(sql)), None, "{sql}");
        }
    }

    #[test]
    fn reads_that_lock_or_advance_a_sequence_are_known() {
        for sql in [
            "select * from t for update",
            "select * from t for share skip locked",
            "select * from t lock in share mode",
            "select nextval(s)",
            "select next value for s",
            "select setval(s, 5)",
        ] {
            assert!(touches(&tokens_of(sql)).is_some(), "{sql}");
        }
        for sql in [
            "select 'for update'",
            "select `for` from t",
            "select nextval from t",
        ] {
            assert_eq!(touches(&tokens_of(sql)), None, "{sql}");
        }
    }
}
