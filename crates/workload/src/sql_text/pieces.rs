//! Splits SQL text into code, quoted text and comments.
//!
//! Purpose: find semicolons and parameters as a server of the MySQL family does. Boundaries: no grammar, and no modes that
//! change quoting (ANSI_QUOTES, NO_BACKSLASH_ESCAPES).

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// Includes executable comments, `/*! ... */` and `/*M! ... */`.
    Code,
    /// A string, or a name in backticks, with its quotes.
    Quoted,
    /// From `-- ` or `#` to the end of the line (which does not belong to it), or `/* ... */`.
    Comment,
}

/// An unclosed quote or comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclosed {
    pub opened_by: &'static str,
    /// From 1.
    pub line: usize,
}

/// Splits the text into adjacent pieces.
///
/// # Errors
/// Fails for an unclosed quote or comment.
pub fn lex(sql: &str) -> Result<Vec<(PieceKind, Range<usize>)>, Unclosed> {
    let mut pieces: Vec<(PieceKind, Range<usize>)> = Vec::new();
    let (mut at, mut runs) = (0, false);
    while at < sql.len() {
        let (kind, end) = piece(sql, at, runs)?;
        runs = match &sql.as_bytes()[at..end] {
            b"/*!" | b"/*M!" => true,
            b"*/" => false,
            _ => runs,
        };
        match pieces.last_mut() {
            Some((PieceKind::Code, last)) if kind == PieceKind::Code => last.end = end,
            _ => pieces.push((kind, at..end)),
        }
        at = end;
    }
    Ok(pieces)
}

/// The kind and the end of the piece at an offset. Code is one byte at a time. `runs`: whether the offset is within an
/// executable comment.
fn piece(sql: &str, at: usize, runs: bool) -> Result<(PieceKind, usize), Unclosed> {
    let unclosed = |opened_by| Unclosed {
        opened_by,
        line: 1 + sql[..at].matches('\n').count(),
    };
    let rest = &sql.as_bytes()[at..];
    let in_quotes = |quote| quoted(rest).ok_or_else(|| unclosed(quote));
    let (kind, length) = match rest {
        [b'\'', ..] => (PieceKind::Quoted, in_quotes("'")?),
        [b'"', ..] => (PieceKind::Quoted, in_quotes("\"")?),
        [b'`', ..] => (PieceKind::Quoted, in_quotes("`")?),
        [b'/', b'*', b'!', ..] => (PieceKind::Code, 3),
        [b'/', b'*', b'M', b'!', ..] => (PieceKind::Code, 4),
        // One piece, so that the star cannot start another comment.
        [b'*', b'/', ..] if runs => (PieceKind::Code, 2),
        [b'/', b'*', ..] => {
            let close = sql[at + 2..].find("*/").ok_or_else(|| unclosed("/*"))?;
            (PieceKind::Comment, close + 4)
        }
        [b'#', ..] => (PieceKind::Comment, line(rest)),
        [b'-', b'-'] => (PieceKind::Comment, 2),
        // Without a following space it is a minus and a sign.
        [b'-', b'-', after, ..] if after.is_ascii_whitespace() => (PieceKind::Comment, line(rest)),
        _ => (PieceKind::Code, 1),
    };
    Ok((kind, at + length))
}

/// The length of a quoted piece that begins here, None if it does not end. A quote within is doubled or, but for names, escaped.
fn quoted(rest: &[u8]) -> Option<usize> {
    let quote = rest[0];
    let mut at = 1;
    loop {
        match rest.get(at)? {
            b'\\' if quote != b'`' => at += 2,
            byte if *byte == quote && rest.get(at + 1) == Some(&quote) => at += 2,
            byte if *byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The bytes up to the end of the line.
pub(super) fn line(rest: &[u8]) -> usize {
    rest.iter()
        .position(|&byte| byte == b'\n')
        .unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    fn kinds(sql: &str) -> Vec<(PieceKind, &str)> {
        let pieces = lex(sql).unwrap();
        pieces
            .into_iter()
            .map(|(kind, range)| (kind, &sql[range]))
            .collect()
    }

    #[test]
    fn quotes_and_comments_are_separated_from_code() {
        use PieceKind::*;
        assert_eq!(
            kinds("a 'it''s; \\' x' b -- c; d\n`e;``f` # g\n/* h; */\"i\"--1"),
            [
                (Code, "a "),
                (Quoted, "'it''s; \\' x'"),
                (Code, " b "),
                (Comment, "-- c; d"),
                (Code, "\n"),
                (Quoted, "`e;``f`"),
                (Code, " "),
                (Comment, "# g"),
                (Code, "\n"),
                (Comment, "/* h; */"),
                (Quoted, "\"i\""),
                (Code, "--1"),
            ]
        );
    }

    #[test]
    fn a_comment_that_the_server_runs_is_code() {
        use PieceKind::*;
        assert_eq!(
            kinds("/*!40101 set a = 'b' */; /*M! c */* 2*/* d */3"),
            [
                (Code, "/*!40101 set a = "),
                (Quoted, "'b'"),
                (Code, " */; /*M! c */* 2*"),
                (Comment, "/* d */"),
                (Code, "3"),
            ]
        );
    }

    #[test]
    fn an_unclosed_quote_or_comment_is_reported_with_its_line() {
        for (sql, opened_by) in [
            ("a\n'b", "'"),
            ("\n\"\\\"", "\""),
            ("\n`a\\", "`"),
            ("\n/* *", "/*"),
        ] {
            assert_eq!(lex(sql), Err(Unclosed { opened_by, line: 2 }), "{sql}");
        }
    }

    #[test]
    fn a_long_text_takes_a_time_in_proportion_to_its_length() {
        let rows = "('a', 'b'),\n".repeat(30_000);
        let begun = Instant::now();
        assert_eq!(lex(&rows).unwrap().len(), 120_001);
        // Milliseconds; with the lines counted anew for each piece it would be minutes.
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    proptest! {
        #[test]
        fn pieces_are_the_whole_text(sql in "[a;'\"`\\\\\\-#/*!M\n ä:?]{0,40}") {
            if let Ok(pieces) = lex(&sql) {
                let whole: String = pieces.into_iter().map(|(_, range)| &sql[range]).collect();
                prop_assert_eq!(whole, sql);
            }
        }
    }
}
