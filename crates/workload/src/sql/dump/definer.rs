//! The definer of a view, trigger, routine or event: the user is another server's, so prony's account takes its place.

use crate::lexer::{Kind, Token};
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
                let is_adjacent = token.at == end && host.kind == Kind::Word;
                end = token.end();
                is_adjacent
            };
            // `root@127.0.0.1`
            3 + rest.iter().take_while(is_more).count()
        }
        // `'root@%'` as one text, or a role.
        _ => usize::from(first.kind != Kind::Sign),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::{Lexer, Quoting};

    fn without(sql: &str) -> String {
        let tokens: Vec<Token> = Lexer::new(sql.as_bytes(), Quoting::default()).collect();
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
}
