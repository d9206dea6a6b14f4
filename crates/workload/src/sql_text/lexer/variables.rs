//! The user variables of a statement, `@x`.

use super::{Token, TokenKind};

/// The user variables of a statement, in lower case, each with whether it is set there: `@x := 1`, `INTO @x, @y`, and in a SET `@x = 1`.
pub(crate) fn user_variables(tokens: &[Token]) -> Vec<(String, bool)> {
    let is_of_set = tokens.first().is_some_and(|first| first.is("SET"));
    let mut found = Vec::new();
    let (mut at, mut is_into) = (0, false);
    while let Some(token) = tokens.get(at) {
        let parts = parts(tokens, at);
        let name = &tokens[at + 1..at + 1 + parts];
        at += 1 + parts;
        if parts == 0 {
            is_into = token.is("INTO") || (is_into && token.is_sign(b','));
            continue;
        }
        let name: String = name.iter().map(Token::content).collect();
        let is_set = is_into || assigns(&tokens[at..], is_of_set);
        found.push((name.to_ascii_lowercase(), is_set));
    }
    found
}

/// How many tokens behind this one name a variable; 0 if it is not the `@` of one, as in `@@x` and `root@localhost`.
fn parts(tokens: &[Token], at: usize) -> usize {
    let rest = &tokens[at..];
    let goes_on = |before: &Token| {
        adjoin(before, &rest[0]) && (before.kind != TokenKind::Sign || before.is_sign(b'@'))
    };
    if !rest[0].is_sign(b'@') || tokens[..at].last().is_some_and(goes_on) {
        return 0;
    }
    let is_part = |pair: &&[Token]| {
        adjoin(&pair[0], &pair[1]) && (pair[1].kind == TokenKind::Word || pair[1].is_sign(b'.'))
    };
    match rest {
        [at, name, ..] if matches!(name.kind, TokenKind::Name | TokenKind::Text) => {
            usize::from(adjoin(at, name))
        }
        _ => rest.windows(2).take_while(is_part).count(),
    }
}

/// Whether nothing is between two tokens.
fn adjoin(first: &Token, second: &Token) -> bool {
    first.end() == second.at
}

/// Whether what is behind a variable sets it.
fn assigns(rest: &[Token], is_of_set: bool) -> bool {
    match rest {
        [colon, equal, ..] if colon.is_sign(b':') => equal.is_sign(b'='),
        [equal, ..] => is_of_set && equal.is_sign(b'='),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_text::lexer::tokens_of;

    #[test]
    fn variables_are_read_or_set() {
        for (sql, expected) in [
            ("select @A, @`b c`, @'d'", "a b c d"),
            ("select @a.b+@c$1", "a.b c$1"),
            ("select @n := @n+1 where @m = 2", "n= n m"),
            ("select 1, @c into @a, @b from t where d = @d", "c a= b= d"),
            ("set @a = @b, @@c = 1, d = @e", "a= b e"),
            ("/*!40101 SET @a=@@SQL_MODE */", "a="),
            ("select @@x, @@global.y, '@z' -- @z", ""),
            ("show grants for root@localhost", ""),
            ("show grants for 'root'@'%'", ""),
        ] {
            let tokens = tokens_of(sql);
            let found = user_variables(&tokens).into_iter();
            let shown: Vec<String> = found
                .map(|(name, is_set)| if is_set { name + "=" } else { name })
                .collect();
            assert_eq!(shown.join(" "), expected, "{sql}");
        }
    }
}
