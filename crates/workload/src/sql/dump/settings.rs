//! What remains of a SET, and what a CREATE DATABASE says of character sets.

use super::origin::Origin;
use crate::sql_text::lexer::{Assignment, Scope, Token, assignments, is_for_a_statement};
use std::borrow::Cow;

/// Variables of replication and of the binary log, which an account with rights on one schema may not set, and which change no
/// row.
///
/// Sources: what mysqldump, mariadb-dump, MySQL Shell, mydumper and mysqlbinlog write; the pages on replication and binary logging
/// variables of both manuals.
const OF_REPLICATION: [&str; 22] = [
    "sql_log_bin",
    "sql_log_off",
    "gtid_purged",
    "gtid_next",
    "gtid_domain_id",
    "gtid_seq_no",
    "gtid_slave_pos",
    "gtid_binlog_state",
    "server_id",
    "binlog_format",
    "binlog_row_image",
    "binlog_direct_non_transactional_updates",
    "pseudo_slave_mode",
    "pseudo_replica_mode",
    "pseudo_thread_id",
    "original_commit_timestamp",
    "original_server_version",
    "immediate_server_version",
    "rbr_exec_mode",
    "skip_replication",
    "wsrep_on",
    "wsrep_osu_method",
];

/// A mode that concerns only GRANT and that 8.0 refuses. Earlier servers write it before each trigger and routine.
const OF_ACCOUNTS: &str = "NO_AUTO_CREATE_USER";

/// The SET without what concerns another server; None if nothing remains.
pub(super) fn kept<'s>(sql: &'s [u8], tokens: &[Token], origin: Origin) -> Option<Cow<'s, [u8]>> {
    if is_for_a_statement(tokens) {
        return Some(Cow::Borrowed(sql));
    }
    let all = assignments(tokens);
    let is_kept = |one: &&Assignment| {
        let is_of_replication = OF_REPLICATION.contains(&one.name.as_str());
        let is_elsewhere = one.scope == Scope::Server || one.is_of_accounts();
        let is_of_another = is_elsewhere && origin == Origin::Dump;
        one.scope == Scope::User || !(is_of_replication || is_of_another)
    };
    let kept: Vec<&Assignment> = all.iter().filter(is_kept).collect();
    if kept.is_empty() {
        return None;
    }
    let sql = if kept.len() == all.len() {
        Cow::Borrowed(sql)
    } else {
        Cow::Owned(rebuilt(sql, &tokens[0], &kept))
    };
    Some(without_account_mode(sql))
}

/// The SET with these assignments. The version of a comment that holds it stays.
fn rebuilt(sql: &[u8], set: &Token, kept: &[&Assignment]) -> Vec<u8> {
    let mut result = sql[..set.end()].to_vec();
    for (n, one) in kept.iter().enumerate() {
        result.extend_from_slice(if n == 0 { &b" "[..] } else { b", " });
        result.extend_from_slice(scope_word(one));
        if let (Some(first), Some(last)) = (one.tokens.first(), one.tokens.last()) {
            result.extend_from_slice(&sql[first.at..last.end()]);
        }
    }
    if set.is_conditional {
        result.extend_from_slice(b" */");
    }
    result
}

/// The word that may have been that of an assignment before it.
fn scope_word(one: &Assignment) -> &'static [u8] {
    const WORDS: [&str; 5] = ["GLOBAL", "PERSIST", "PERSIST_ONLY", "SESSION", "LOCAL"];
    let has_own = one.tokens[0].is_sign(b'@') || one.tokens[0].is_one_of(&WORDS);
    let is_variable = one.tokens.iter().any(|token| token.is_sign(b'='));
    match one.scope {
        _ if has_own || !is_variable => b"",
        Scope::Server => b"GLOBAL ",
        Scope::Session | Scope::User => b"SESSION ",
    }
}

fn without_account_mode(sql: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let text = match std::str::from_utf8(&sql) {
        Ok(text) if text.contains(OF_ACCOUNTS) => text,
        _ => return sql,
    };
    let after = text.replace(&format!("{OF_ACCOUNTS},"), "");
    let after = after.replace(&format!(",{OF_ACCOUNTS}"), "");
    Cow::Owned(after.replace(OF_ACCOUNTS, "").into_bytes())
}

/// ` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin` of a CREATE or ALTER DATABASE; empty if it has neither.
pub(super) fn of_schema(tokens: &[Token]) -> String {
    let value = |at: usize| {
        let mut rest = tokens.get(at..)?.iter();
        let value = rest.find(|token| !token.is_sign(b'='))?;
        Some(value.content())
    };
    let after = |at: usize| match &tokens[at..] {
        [a, b, ..] if a.is_one_of(&["CHARACTER", "CHAR"]) && b.is("SET") => Some(at + 2),
        [a, ..] if a.is("CHARSET") => Some(at + 1),
        _ => None,
    };
    let is_word = |text: &String| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let charset = (0..tokens.len()).find_map(after).and_then(value);
    let collate = tokens.iter().position(|token| token.is("COLLATE"));
    let collation = collate.and_then(|at| value(at + 1));
    let charset = charset.filter(is_word);
    let charset = charset.map(|name| format!(" CHARACTER SET {name}"));
    let collation = collation.filter(is_word);
    let collation = collation.map(|name| format!(" COLLATE {name}"));
    charset.into_iter().chain(collation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_text::lexer::tokens_of;

    fn keep(sql: &str, origin: Origin) -> Option<String> {
        let tokens = tokens_of(sql);
        let kept = kept(sql.as_bytes(), &tokens, origin)?;
        Some(String::from_utf8(kept.into_owned()).unwrap())
    }

    #[test]
    fn assignments_of_replication_and_of_the_server_are_left_out() {
        for (sql, expected) in [
            ("SET @@SESSION.SQL_LOG_BIN = @a", None),
            ("SET @old=1, GLOBAL a=2", Some("SET @old=1")),
            (
                "/*!50606 SET sql_mode='', SQL_LOG_BIN=0, unique_checks=0 */",
                Some("/*!50606 SET SESSION sql_mode='', SESSION unique_checks=0 */"),
            ),
            ("SET @sql_log_bin = 1", Some("SET @sql_log_bin = 1")),
        ] {
            assert_eq!(keep(sql, Origin::Dump).as_deref(), expected, "{sql}");
        }
        let insert = "SET STATEMENT sql_log_bin=0 FOR INSERT INTO t VALUES (1, 2)";
        assert_eq!(keep(insert, Origin::Dump).as_deref(), Some(insert));
        let setup = "SET SQL_LOG_BIN=0, GLOBAL a=1, b=2";
        let expected = "SET GLOBAL a=1, GLOBAL b=2";
        assert_eq!(keep(setup, Origin::Setup).as_deref(), Some(expected));
    }

    #[test]
    fn a_mode_of_accounts_that_new_servers_refuse_is_left_out() {
        for (modes, left) in [
            (
                "STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER,ANSI",
                "STRICT_TRANS_TABLES,ANSI",
            ),
            ("ANSI,NO_AUTO_CREATE_USER", "ANSI"),
            ("NO_AUTO_CREATE_USER", ""),
        ] {
            let set = |modes: &str| format!("/*!50003 SET sql_mode = '{modes}' */");
            assert_eq!(keep(&set(modes), Origin::Dump), Some(set(left)));
        }
    }
}
