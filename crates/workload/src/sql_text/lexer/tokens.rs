//! The tokens of one statement.

use super::Quoting;
use crate::sql_text::pieces::line;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A keyword, a plain name or a number.
    Word,
    /// A name in backticks, or in double quotes with ANSI_QUOTES.
    Name,
    /// A text in single quotes, or in double quotes without ANSI_QUOTES.
    Text,
    /// Any other byte.
    Sign,
}

/// A part of a statement, without the spaces and comments around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'s> {
    pub kind: TokenKind,
    /// Its offset in the statement.
    pub at: usize,
    /// With its quotes.
    pub text: &'s [u8],
    /// Within a comment that servers execute, `/*! ... */`, or not, depending on their version.
    pub is_conditional: bool,
}

impl<'s> Token<'s> {
    /// Whether it is this keyword.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word.as_bytes())
    }

    /// Whether it is one of these keywords.
    pub(crate) fn is_one_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub(crate) fn is_sign(&self, sign: u8) -> bool {
        self.kind == TokenKind::Sign && self.text == [sign]
    }

    /// The offset behind it.
    pub(crate) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// The name that a word or a quoted name gives; None for the rest.
    pub(crate) fn name(&self) -> Option<String> {
        match self.kind {
            TokenKind::Word => Some(String::from_utf8_lossy(self.text).into_owned()),
            TokenKind::Name => Some(unquoted(self.text)),
            TokenKind::Text | TokenKind::Sign => None,
        }
    }

    /// What is between the quotes, if it has any, with doubled quotes made single. Escapes stay.
    pub(crate) fn content(&self) -> String {
        match self.kind {
            TokenKind::Word | TokenKind::Sign => String::from_utf8_lossy(self.text).into_owned(),
            TokenKind::Name | TokenKind::Text => unquoted(self.text),
        }
    }

    /// In upper case.
    pub(crate) fn upper(&self) -> String {
        String::from_utf8_lossy(self.text).to_ascii_uppercase()
    }
}

/// The tokens of a statement in a session that has set no modes.
pub(crate) fn tokens_of(sql: &str) -> Vec<Token<'_>> {
    Lexer::new(sql.as_bytes(), Quoting::default()).collect()
}

fn unquoted(text: &[u8]) -> String {
    let inner = text
        .get(1..text.len().saturating_sub(1))
        .unwrap_or_default();
    let quote = char::from(text.first().copied().unwrap_or_default());
    let inner = String::from_utf8_lossy(inner);
    inner.replace(&format!("{quote}{quote}"), &quote.to_string())
}

/// Reads the tokens of a statement.
#[derive(Clone)]
pub(crate) struct Lexer<'s> {
    sql: &'s [u8],
    at: usize,
    quoting: Quoting,
    is_conditional: bool,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(sql: &'s [u8], quoting: Quoting) -> Lexer<'s> {
        Lexer {
            sql,
            at: 0,
            quoting,
            is_conditional: false,
        }
    }

    /// The end of the token at the offset, and its kind; None for what is no token, with its end.
    fn piece(&self) -> (Option<TokenKind>, usize) {
        let rest = &self.sql[self.at..];
        match *rest {
            [b'/', b'*', b'!', ..] => (None, 3 + digits(&rest[3..])),
            [b'/', b'*', b'M', b'!', ..] => (None, 4 + digits(&rest[4..])),
            [b'*', b'/', ..] if self.is_conditional => (None, 2),
            [b'/', b'*', ..] => {
                let close = rest[2..].windows(2).position(|pair| pair == b"*/");
                (None, close.map_or(rest.len(), |at| at + 4))
            }
            [b'#', ..] | [b'-', b'-'] => (None, line(rest)),
            [b'-', b'-', after, ..] if after.is_ascii_whitespace() => (None, line(rest)),
            [blank, ..] if blank.is_ascii_whitespace() => (None, 1),
            [quote @ (b'\'' | b'"' | b'`'), ..] => {
                let is_name = quote == b'`' || (quote == b'"' && self.quoting.ansi);
                let kind = if is_name {
                    TokenKind::Name
                } else {
                    TokenKind::Text
                };
                (Some(kind), self.quoted(rest, quote))
            }
            [byte, ..] if is_of_word(byte) => (Some(TokenKind::Word), self.word(rest)),
            _ => (Some(TokenKind::Sign), 1),
        }
    }

    /// The length of quoted text with its quotes, of which those within are doubled or escaped.
    fn quoted(&self, rest: &[u8], quote: u8) -> usize {
        let mut length = 0;
        while rest.get(length) == Some(&quote) {
            length += 1;
            length += self.quoting.closing(&rest[length..], quote).0;
        }
        length
    }

    fn word(&self, rest: &[u8]) -> usize {
        let mut at = 0;
        while rest.get(at).copied().is_some_and(is_of_word) {
            at += self.quoting.wide.length(&rest[at..]);
        }
        at
    }
}

/// The version at the start of a comment that servers execute.
fn digits(rest: &[u8]) -> usize {
    rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Names may have letters of any alphabet.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

impl<'s> Iterator for Lexer<'s> {
    type Item = Token<'s>;

    fn next(&mut self) -> Option<Token<'s>> {
        while self.at < self.sql.len() {
            let (kind, length) = self.piece();
            let from = self.at;
            self.at += length;
            let text = &self.sql[from..self.at];
            if let Some(kind) = kind {
                return Some(Token {
                    kind,
                    at: from,
                    text,
                    is_conditional: self.is_conditional,
                });
            }
            match text {
                [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..] => self.is_conditional = true,
                b"*/" => self.is_conditional = false,
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(sql: &str) -> Vec<(TokenKind, &str)> {
        let tokens = Lexer::new(sql.as_bytes(), Quoting::default());
        tokens
            .map(|token| (token.kind, std::str::from_utf8(token.text).unwrap()))
            .collect()
    }

    #[test]
    fn comments_are_no_tokens_and_those_that_servers_execute_are() {
        use TokenKind::*;
        assert_eq!(
            read("/*!50003 CREATE*/ /* a */ `b``c`.d -- e\n'f''\\'g' # h\n/*M!100100 i*/*2"),
            [
                (Word, "CREATE"),
                (Name, "`b``c`"),
                (Sign, "."),
                (Word, "d"),
                (Text, "'f''\\'g'"),
                (Word, "i"),
                (Sign, "*"),
                (Word, "2"),
            ]
        );
    }

    #[test]
    fn what_depends_on_the_version_of_a_server_is_known() {
        let sql = b"select /*!99999 a */ b";
        let tokens: Vec<bool> = Lexer::new(sql, Quoting::default())
            .map(|token| token.is_conditional)
            .collect();
        assert_eq!(tokens, [false, true, false]);
    }

    #[test]
    fn double_quotes_hold_a_name_where_the_mode_says_so() {
        let kind = |ansi| {
            let quoting = Quoting {
                ansi,
                ..Quoting::default()
            };
            Lexer::new(b"\"a\"\"b\"", quoting).next().unwrap()
        };
        assert_eq!(
            (kind(true).kind, kind(false).kind),
            (TokenKind::Name, TokenKind::Text)
        );
        assert_eq!(kind(true).name().unwrap(), "a\"b");
    }

    proptest! {
        #[test]
        fn tokens_are_in_order_and_within_the_text(sql in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut end = 0;
            for token in Lexer::new(&sql, Quoting::default()) {
                prop_assert!(token.at >= end && !token.text.is_empty());
                end = token.end();
            }
            prop_assert!(end <= sql.len());
        }
    }
}
