//! What a definition says of another server: the definer of a view, trigger, routine or event, whose place prony's account takes, and
//! the folders of a table or a partition, which a copy of the data folder would not hold.

use crate::sql_text::lexer::{Token, TokenKind};
use std::ops::Range;

/// What a definer may stand before.
const OBJECTS: [&str; 6] = [
    "VIEW",
    "TRIGGER",
    "PROCEDURE",
    "FUNCTION",
    "EVENT",
    "PACKAGE",
];

/// The bytes of `DEFINER = user@host` in a CREATE or ALTER.
pub(super) fn place(tokens: &[Token]) -> Option<Range<usize>> {
    if !tokens.first()?.is_one_of(&["CREATE", "ALTER"]) {
        return None;
    }
    let object = tokens.iter().position(|token| token.is_one_of(&OBJECTS))?;
    let header = &tokens[..object];
    let at = header.iter().position(|token| token.is("DEFINER"))?;
    if !header.get(at + 1)?.is_sign(b'=') {
        return None;
    }
    let account = header.get(at + 2..)?;
    let tokens = account_tokens(account);
    Some(header[at].at..account.get(tokens.checked_sub(1)?)?.end())
}

/// How many tokens an account has: `root@localhost`, `'a'@'%'`, `CURRENT_USER()`, `a_role`.
fn account_tokens(tokens: &[Token]) -> usize {
    let [first, rest @ ..] = tokens else {
        return 0;
    };
    match rest {
        [open, close, ..] if open.is_sign(b'(') && close.is_sign(b')') => 3,
        [at, host, rest @ ..] if at.is_sign(b'@') => {
            let mut end = host.end();
            let is_more = |token: &&Token| {
                let is_adjacent = token.at == end && host.kind == TokenKind::Word;
                end = token.end();
                is_adjacent
            };
            // `root@127.0.0.1`
            3 + rest.iter().take_while(is_more).count()
        }
        // `'root@%'` as one text, or a role.
        _ => usize::from(first.kind != TokenKind::Sign),
    }
}

/// The bytes of `DATA DIRECTORY = '...'` and `INDEX DIRECTORY = '...'` in a CREATE or ALTER, with a comma before them.
pub(super) fn folders(tokens: &[Token]) -> Vec<Range<usize>> {
    if !tokens[0].is_one_of(&["CREATE", "ALTER"]) {
        return Vec::new();
    }
    let place = |at: usize| {
        let is_folder = tokens[at].is_one_of(&["DATA", "INDEX"]) && tokens[at + 1].is("DIRECTORY");
        let mut rest = tokens[at + 2..].iter();
        let path = rest.find(|token| !token.is_sign(b'='));
        let path = path.filter(|path| is_folder && path.kind == TokenKind::Text)?;
        let comma = at.checked_sub(1).map(|before| &tokens[before]);
        let comma = comma.filter(|before| before.is_sign(b','));
        Some(comma.unwrap_or(&tokens[at]).at..path.end())
    };
    (0..tokens.len().saturating_sub(2))
        .filter_map(place)
        .collect()
}

/// Whether a CREATE or ALTER puts the file of a tablespace into another folder: `ADD DATAFILE '/disk2/a.ibd'`.
pub(super) fn is_file_elsewhere(tokens: &[Token]) -> bool {
    let is_elsewhere = |pair: &[Token]| {
        let path = pair[1].content();
        pair[0].is("DATAFILE")
            && pair[1].kind == TokenKind::Text
            && (path.starts_with('/') || path.contains(".."))
    };
    tokens[0].is_one_of(&["CREATE", "ALTER"]) && tokens.windows(2).any(is_elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_text::lexer::tokens_of;

    fn without(sql: &str) -> String {
        let tokens = tokens_of(sql);
        match place(&tokens) {
            Some(place) => format!("{}{}", &sql[..place.start], &sql[place.end..]),
            None => sql.to_string(),
        }
    }

    #[test]
    fn a_definer_is_found_in_every_spelling() {
        for definer in [
            "DEFINER=`root`@`localhost`",
            "definer = root@localhost",
            "DEFINER = 'a b'@'%'",
            "DEFINER=root@127.0.0.1",
            "DEFINER =CURRENT_USER",
            "DEFINER=CURRENT_USER()",
            "DEFINER=/* who */ `app` @ `%`",
            "DEFINER=`a_role`",
            "DEFINER=\"app\"@\"10.0.%\"",
        ] {
            let sql = format!("CREATE {definer} SQL SECURITY DEFINER VIEW v AS select 1");
            let expected = "CREATE  SQL SECURITY DEFINER VIEW v AS select 1";
            assert_eq!(without(&sql), expected, "{definer}");
        }
        let trigger =
            "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER t */";
        let expected = "/*!50003 CREATE*/ /*!50017 */ /*!50003 TRIGGER t */";
        assert_eq!(without(trigger), expected);
    }

    #[test]
    fn the_word_elsewhere_stays() {
        for sql in [
            "CREATE TABLE t (definer int)",
            "INSERT INTO t VALUES ('DEFINER=`a`@`b`')",
            "CREATE VIEW v AS select definer = 'a' from t",
        ] {
            assert_eq!(without(sql), sql);
        }
    }

    #[test]
    fn folders_are_found_in_tables_and_partitions() {
        for (sql, found) in [
            (
                "create table t (a int) engine=InnoDB, data directory='/x' INDEX DIRECTORY '/y'",
                &[", data directory='/x'", "INDEX DIRECTORY '/y'"][..],
            ),
            (
                "CREATE TABLE t (a int) /*!50100 PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1) DATA DIRECTORY = '/x' ENGINE = InnoDB) */",
                &["DATA DIRECTORY = '/x'"],
            ),
            ("create table t (data int, directory int)", &[]),
            ("insert into t values ('data directory', 'x')", &[]),
        ] {
            let tokens = tokens_of(sql);
            let folders = folders(&tokens).into_iter();
            let texts: Vec<&str> = folders.map(|place| &sql[place]).collect();
            assert_eq!(texts, found, "{sql}");
        }
    }

    #[test]
    fn a_file_of_a_tablespace_in_another_folder_is_found() {
        for (sql, expected) in [
            ("create tablespace s add datafile '/x/s.ibd'", true),
            ("alter undo tablespace u add datafile '../u.ibu'", true),
            ("CREATE TABLESPACE s ADD DATAFILE './s.ibd'", false),
            ("create table t (datafile char(9) default '/x')", false),
        ] {
            let tokens = tokens_of(sql);
            assert_eq!(is_file_elsewhere(&tokens), expected, "{sql}");
        }
    }
}
