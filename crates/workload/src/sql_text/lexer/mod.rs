//! What the bytes of a statement mean: words, names, texts and signs, as the server reads them.
//!
//! Purpose: one lexer for dumps, setups and queries, which knows the character sets and the SQL modes that change where a text
//! ends. Boundaries: no grammar. `sql::dump` finds statements, `modes` follows the SETs.

mod modes;
pub(crate) mod reading;
mod set;
mod tokens;
mod variables;
mod wide;

pub(crate) use modes::Modes;
pub(crate) use set::{Assignment, OF_SERVER, Scope, assignments, is_for_a_statement, sets_server};
pub use set::{SessionSet, hinted_sets, is_set_global, session_sets};
pub(crate) use tokens::{Lexer, Token, TokenKind, tokens_of};
pub(crate) use variables::user_variables;
pub(crate) use wide::Wide;

/// What decides where a text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quoting {
    /// Of the client's character set.
    pub wide: Wide,
    /// A backslash escapes: not with NO_BACKSLASH_ESCAPES.
    pub backslash: bool,
    /// Double quotes hold a name: ANSI_QUOTES.
    pub ansi: bool,
}

impl Default for Quoting {
    fn default() -> Quoting {
        Quoting {
            wide: Wide::No,
            backslash: true,
            ansi: false,
        }
    }
}

impl Quoting {
    /// The length of quoted text after its opening quote, with the closing one, and whether it is closed. A doubled quote closes
    /// and opens again.
    pub(crate) fn closing(self, rest: &[u8], quote: u8) -> (usize, bool) {
        let escapes = self.backslash && quote != b'`' && !(self.ansi && quote == b'"');
        let mut at = 0;
        while let Some(&byte) = rest.get(at) {
            match byte {
                b'\\' if escapes => {
                    at += 1 + self.wide.length(rest.get(at + 1..).unwrap_or_default())
                }
                byte if byte == quote => return (at + 1, true),
                byte if byte.is_ascii() => at += 1,
                _ => at += self.wide.length(&rest[at..]),
            }
        }
        (rest.len(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_within_a_character_escapes_nothing() {
        for (charset, text) in [
            ("gbk", &b"\xbf\x5c'"[..]),
            ("sjis", b"\x83\x5c'"),
            ("cp932", b"\x83\x5c'"),
            ("big5", b"\xa5\x5c'"),
            ("gb18030", b"\xbf\x5c'"),
        ] {
            let quoting = Quoting {
                wide: Wide::from_charset(charset),
                ..Quoting::default()
            };
            assert_eq!(quoting.closing(text, b'\''), (3, true), "{charset}");
            assert_eq!(Quoting::default().closing(text, b'\''), (3, false));
            // An escaped quote after such a character.
            let escaped = [text, b"'"].concat();
            assert_eq!(quoting.closing(&escaped, b'\''), (3, true), "{charset}");
        }
    }

    #[test]
    fn the_modes_decide_whether_a_backslash_escapes() {
        let closing = |backslash, ansi, text: &[u8], quote| {
            let quoting = Quoting {
                backslash,
                ansi,
                ..Quoting::default()
            };
            quoting.closing(text, quote)
        };
        assert_eq!(closing(true, false, b"\\'", b'\''), (2, false));
        assert_eq!(closing(false, false, b"\\'", b'\''), (2, true));
        assert_eq!(closing(true, true, b"\\\"", b'"'), (2, true));
        assert_eq!(closing(true, false, b"\\`", b'`'), (2, true));
        assert_eq!(closing(true, false, b"\\", b'\''), (1, false));
    }
}
