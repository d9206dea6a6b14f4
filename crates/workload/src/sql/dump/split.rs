//! Splits a stream of SQL into statements, as the server's own client does.
//!
//! Purpose: a dump of any size with the memory of one statement, and the line of every statement. Boundaries: bytes, not text,
//! since dumps hold binary strings; no modes that change quoting (ANSI_QUOTES, NO_BACKSLASH_ESCAPES).

use std::io::{self, BufRead};

/// A statement of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// The line of its first byte, from 1.
    pub line: u64,
    /// Without the comments before it and the delimiter after it.
    pub sql: Vec<u8>,
}

/// Why the stream ends before its end. `line` is the last one that was read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cut {
    #[error("the file cannot be read further: {cause}")]
    Unreadable { line: u64, cause: io::Error },
    #[error("the file ends within the statement that begins in line {begun}: it is incomplete")]
    WithinStatement { line: u64, begun: u64 },
    #[error(
        "the file ends without the line \"-- Dump completed\" that mysqldump and mariadb-dump write last: it is incomplete"
    )]
    NotCompleted { line: u64 },
}

impl Cut {
    pub(crate) fn line(&self) -> u64 {
        match self {
            Cut::Unreadable { line, .. }
            | Cut::WithinStatement { line, .. }
            | Cut::NotCompleted { line } => *line,
        }
    }
}

/// Where the next byte is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Code,
    Quote(u8),
    Comment,
}

/// Reads statements one by one.
pub(crate) struct Statements<R> {
    from: R,
    /// `;` until a line DELIMITER says otherwise.
    delimiter: Vec<u8>,
    /// The current line, and the offset of its next byte.
    bytes: Vec<u8>,
    at: usize,
    line: u64,
    within: Within,
    /// In a comment that the server executes, `/*! ... */`.
    runs: bool,
    /// The statement so far; empty until its first byte.
    sql: Vec<u8>,
    begun: u64,
    /// Heads and ends of dumps that were seen.
    heads: u32,
    ends: u32,
}

const HEADS: [&[u8]; 2] = [b"-- MySQL dump ", b"-- MariaDB dump "];
const END: &[u8] = b"-- Dump completed";
/// What mariadb-dump writes first. The client executes the `\-`; it has no delimiter and means nothing to a server.
const SANDBOX: [&[u8]; 2] = [br"/*M!999999\-", br"/*!999999\-"];
const DELIMITER: &[u8] = b"delimiter";
/// Bytes that may begin something else than plain code.
const SIGNS: &[u8] = b"'\"`/*#-";

impl<R: BufRead> Statements<R> {
    pub(crate) fn new(from: R) -> Statements<R> {
        Statements {
            from,
            delimiter: b";".to_vec(),
            bytes: Vec::new(),
            at: 0,
            line: 0,
            within: Within::Code,
            runs: false,
            sql: Vec::new(),
            begun: 0,
            heads: 0,
            ends: 0,
        }
    }

    /// The next statement; None at the end. The last statement of a text that is no dump may omit its delimiter.
    ///
    /// # Errors
    /// The stream is incomplete or cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<Statement>, Cut> {
        loop {
            if self.at == self.bytes.len() && !self.read_line()? {
                return self.last();
            }
            if self.step() {
                return Ok(Some(self.take()));
            }
        }
    }

    /// Reads the next line that is no directive of the client. Returns false at the end of the stream.
    fn read_line(&mut self) -> Result<bool, Cut> {
        loop {
            self.bytes.clear();
            self.at = 0;
            let line = self.line;
            let read = self.from.read_until(b'\n', &mut self.bytes);
            if read.map_err(|cause| Cut::Unreadable { line, cause })? == 0 {
                return Ok(false);
            }
            self.line += 1;
            if !self.is_directive() {
                return Ok(true);
            }
        }
    }

    /// Takes note of a line between statements that is for the client.
    fn is_directive(&mut self) -> bool {
        if !self.sql.is_empty() || self.within != Within::Code {
            return false;
        }
        let line = self.bytes.trim_ascii();
        let begins = |with: &[u8]| line.starts_with(with);
        self.heads += u32::from(HEADS.iter().any(|head| begins(head)));
        self.ends += u32::from(begins(END));
        if SANDBOX.iter().any(|sandbox| begins(sandbox)) {
            return true;
        }
        let (word, rest) = line.split_at(line.len().min(DELIMITER.len()));
        let is_delimiter = word.eq_ignore_ascii_case(DELIMITER)
            && rest.first().is_some_and(u8::is_ascii_whitespace);
        if is_delimiter {
            // `trim` has left something after the blank.
            self.delimiter = rest.trim_ascii().to_vec();
        }
        is_delimiter
    }

    /// Reads up to the next change of state. Returns whether a statement has ended.
    fn step(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        match self.within {
            Within::Quote(quote) => {
                let (length, closed) = quoted(rest, quote);
                self.keep(length);
                if closed {
                    self.within = Within::Code;
                }
                false
            }
            Within::Comment => {
                let close = rest.windows(2).position(|pair| pair == b"*/");
                let length = close.map_or(rest.len(), |at| at + 2);
                self.comment(length);
                if close.is_some() {
                    self.within = Within::Code;
                }
                false
            }
            Within::Code => self.code(),
        }
    }

    fn code(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(&self.delimiter) {
            self.at += self.delimiter.len();
            return !self.sql.is_empty();
        }
        match rest {
            [quote @ (b'\'' | b'"' | b'`'), ..] => {
                let quote = *quote;
                self.keep(1);
                self.within = Within::Quote(quote);
            }
            [b'/', b'*', b'!', ..] => self.keep_and(3, true),
            [b'/', b'*', b'M', b'!', ..] => self.keep_and(4, true),
            [b'*', b'/', ..] if self.runs => self.keep_and(2, false),
            [b'/', b'*', ..] => {
                self.comment(2);
                self.within = Within::Comment;
            }
            [b'#', ..] | [b'-', b'-'] => self.comment(rest.len()),
            // Without a following space it is a minus and a sign.
            [b'-', b'-', after, ..] if after.is_ascii_whitespace() => self.comment(rest.len()),
            [blank, ..] if self.sql.is_empty() && blank.is_ascii_whitespace() => self.at += 1,
            [_, plain @ ..] => {
                let stops = |byte: &u8| SIGNS.contains(byte) || *byte == self.delimiter[0];
                let length = 1 + plain.iter().position(stops).unwrap_or(plain.len());
                self.keep(length);
            }
            [] => {}
        }
        false
    }

    /// Adds the next bytes to the statement.
    fn keep(&mut self, length: usize) {
        if self.sql.is_empty() {
            self.begun = self.line;
        }
        let end = self.at + length;
        self.sql.extend_from_slice(&self.bytes[self.at..end]);
        self.at = end;
    }

    fn keep_and(&mut self, length: usize, runs: bool) {
        self.keep(length);
        self.runs = runs;
    }

    /// Passes over a comment: one within a statement belongs to it.
    fn comment(&mut self, length: usize) {
        match self.sql.is_empty() {
            true => self.at += length,
            false => self.keep(length),
        }
    }

    fn take(&mut self) -> Statement {
        self.runs = false;
        let mut sql = std::mem::take(&mut self.sql);
        sql.truncate(sql.trim_ascii_end().len());
        Statement {
            line: self.begun,
            sql,
        }
    }

    fn last(&mut self) -> Result<Option<Statement>, Cut> {
        let line = self.line;
        let is_dump = self.heads > 0;
        let is_open = self.within != Within::Code;
        if is_open || (is_dump && !self.sql.is_empty()) {
            let begun = if self.sql.is_empty() {
                line
            } else {
                self.begun
            };
            return Err(Cut::WithinStatement { line, begun });
        }
        if self.heads > self.ends {
            return Err(Cut::NotCompleted { line });
        }
        let statement = self.take();
        Ok((!statement.sql.is_empty()).then_some(statement))
    }
}

/// The length of quoted text, with its closing quote, and whether it is closed. A doubled quote closes and opens again.
fn quoted(rest: &[u8], quote: u8) -> (usize, bool) {
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'\\' if quote != b'`' => at += 2,
            byte if byte == quote => return (at + 1, true),
            _ => at += 1,
        }
    }
    (rest.len(), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: impl AsRef<[u8]>) -> Result<Vec<(u64, String)>, Cut> {
        let mut statements = Statements::new(text.as_ref());
        let mut found = Vec::new();
        while let Some(statement) = statements.next()? {
            let sql = String::from_utf8_lossy(&statement.sql).into_owned();
            found.push((statement.line, sql));
        }
        Ok(found)
    }

    fn sql(text: &str) -> Vec<String> {
        let statements = all(text).unwrap().into_iter();
        statements.map(|(_, sql)| sql).collect()
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
        let text = "-- a; b\n\ninsert into t values ('a;''\\';', \"b;\", `c;`) /* d; */ # e;\n ;\n/* f; */ select 1--2; select 3";
        assert_eq!(
            all(text).unwrap(),
            [
                (
                    3,
                    "insert into t values ('a;''\\';', \"b;\", `c;`) /* d; */ # e;".to_string()
                ),
                (5, "select 1--2".to_string()),
                (5, "select 3".to_string()),
            ]
        );
    }

    #[test]
    fn quotes_and_comments_may_span_lines() {
        assert_eq!(
            sql("select 'a\n;\nb';\n/* c\n; */ select 2;"),
            ["select 'a\n;\nb'", "select 2"]
        );
    }

    #[test]
    fn a_delimiter_keeps_the_semicolons_of_a_trigger() {
        let text = "DELIMITER ;;\n/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`b`*/ /*!50003 TRIGGER t\nbegin\n set @a = 1; set @b = 2;\nend */;;\nDELIMITER ;\nselect 1;\n";
        let found = all(text).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].0, found[1].0), (2, 7));
        assert!(found[0].1.ends_with("end */"), "{}", found[0].1);
    }

    #[test]
    fn the_sandbox_line_is_for_the_client() {
        let text = "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\n/*!40101 SET NAMES utf8mb4 */;\n-- Dump completed on 2026-11-22\n";
        assert_eq!(
            all(text).unwrap(),
            [(3, "/*!40101 SET NAMES utf8mb4 */".to_string())]
        );
    }

    #[test]
    fn an_incomplete_dump_is_found_with_its_last_line() {
        let head = "-- MySQL dump 10.13  Distrib 8.0.33\nselect 1;\n";
        for (rest, line, says) in [
            (
                "insert into t values ('a\nb",
                4,
                "statement that begins in line 3",
            ),
            (
                "insert into t values (1)",
                3,
                "statement that begins in line 3",
            ),
            (
                "insert into t values (1);\n",
                3,
                "without the line \"-- Dump completed\"",
            ),
            ("/* a", 3, "statement that begins in line 3"),
        ] {
            let cut = all(format!("{head}{rest}")).unwrap_err();
            assert_eq!(cut.line(), line, "{rest}");
            assert!(cut.to_string().contains(says), "{cut}");
        }
        assert!(all(format!("{head}-- Dump completed\n")).is_ok());
        assert!(all("select 1").is_ok(), "a text without the head of a dump");
    }

    #[test]
    fn bytes_that_are_no_text_stay_as_they_are() {
        let mut statements =
            Statements::new(&b"insert into t values (_binary '\xff\xfe;\\'');\n"[..]);
        let statement = statements.next().unwrap().unwrap();
        assert_eq!(
            statement.sql,
            b"insert into t values (_binary '\xff\xfe;\\'')"
        );
    }

    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "a",
            " ",
            "\n",
            "';'",
            "'it''s'",
            "\"\\\";\"",
            "`x;y`",
            "/* ; */",
            "-- ;\n",
            "# ; '\n",
            "/*!50003 b */",
        ])
    }

    proptest! {
        #[test]
        fn a_stream_is_split_as_a_text_is(
            parts in prop::collection::vec(prop::collection::vec(piece(), 0..6), 1..5)
        ) {
            let parts: Vec<String> = parts.iter().map(|pieces| format!("x {}", pieces.concat())).collect();
            let text = parts.join("\n;");
            let streamed: Vec<String> = sql(&text);
            let whole: Vec<&str> = crate::script::statements(&text).unwrap();
            prop_assert_eq!(streamed, whole);
        }
    }
}
