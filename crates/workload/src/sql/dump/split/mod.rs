//! Splits a stream of SQL into statements, as the server's own client does.
//!
//! Purpose: a dump of any size with the memory of one statement, and the file and line of every statement; the files that it
//! sources are read in place. Boundaries: bytes, not text, since dumps hold binary strings. `command` has what a client does itself.

use super::command::{self, Command};
use super::cut::{Cause, Cut};
use super::file;
use super::input::Input;
use crate::sql_text::lexer::{Modes, Quoting};
use crate::sql_text::{PieceKind, heading_of};
use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A statement of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// The name of its file.
    pub file: Arc<str>,
    /// The line of its first byte, from 1.
    pub line: u64,
    /// Without the comments before it and the delimiter after it.
    pub sql: Vec<u8>,
    /// How its text is quoted.
    pub quoting: Quoting,
}

impl Statement {
    /// `shop.sql:12`
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// A part of a text of queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Statement(Statement),
    /// `by_region` of `-- name: by_region`, and its line.
    Heading {
        line: u64,
        text: String,
    },
}

/// Where the next byte is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Code,
    Quote(u8),
    Comment,
}

/// Reads statements one by one.
pub(crate) struct Statements<'a> {
    /// The innermost one, which the others source.
    input: Input<'a>,
    outer: Vec<Input<'a>>,
    /// The folder that sourced files may lie in.
    folder: Option<PathBuf>,
    read: Arc<AtomicU64>,
    /// `;` until a line DELIMITER says otherwise.
    delimiter: Vec<u8>,
    /// In which files, by their names, it ends a statement only at the end of a line.
    is_by_lines: fn(&str) -> bool,
    within: Within,
    /// The line of the quote or comment that is open.
    opened: u64,
    /// In a comment that the server executes, `/*! ... */`.
    runs: bool,
    /// The statement so far; empty until its first byte.
    sql: Vec<u8>,
    begun: u64,
    modes: Modes,
    /// Whether comments name the statements below them.
    has_headings: bool,
    /// To be handed out before the next statement.
    pending: Option<Piece>,
    /// The client has left (`exit`).
    is_over: bool,
}

/// What mariadb-dump writes first. The client executes the `\-`; it has no delimiter and means nothing to a server.
const SANDBOX: [&[u8]; 2] = [br"/*M!999999\-", br"/*!999999\-"];
/// Bytes that may begin something else than plain code.
const SIGNS: &[u8] = b"'\"`/*#-\\";
/// A file that sources itself would do so without end.
const SOURCES_MAX: usize = 16;

impl<'a> Statements<'a> {
    /// `name` is that of the file in messages.
    pub(crate) fn new(name: &str, from: impl BufRead + 'a) -> Statements<'a> {
        Statements {
            input: Input::new(name, from),
            outer: Vec::new(),
            folder: None,
            read: Arc::default(),
            delimiter: b";".to_vec(),
            is_by_lines: |_| false,
            within: Within::Code,
            opened: 0,
            runs: false,
            sql: Vec::new(),
            begun: 0,
            modes: Modes::default(),
            has_headings: false,
            pending: None,
            is_over: false,
        }
    }

    /// Reads the files that the text sources from this folder. `read` counts the bytes of their files.
    pub(crate) fn beside(self, folder: Option<PathBuf>, read: Arc<AtomicU64>) -> Statements<'a> {
        Statements {
            folder,
            read,
            ..self
        }
    }

    /// In files of such names, a delimiter ends a statement only at the end of a line. Before `\r` it does not: bodies that were written
    /// on Windows keep their line ends.
    pub(crate) fn by_lines(self, is_by_lines: fn(&str) -> bool) -> Statements<'a> {
        Statements {
            is_by_lines,
            ..self
        }
    }

    /// The schema that the head of the dump names.
    pub(crate) fn database(&self) -> Option<&str> {
        self.input.database()
    }

    /// Hands out the headings in comments.
    pub(crate) fn with_headings(self) -> Statements<'a> {
        Statements {
            has_headings: true,
            ..self
        }
    }

    /// The next statement; None at the end. The last statement of a text that is no dump may omit its delimiter.
    ///
    /// # Errors
    /// The stream is incomplete or cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<Statement>, Cut> {
        loop {
            match self.piece()? {
                Some(Piece::Statement(statement)) => return Ok(Some(statement)),
                Some(Piece::Heading { .. }) => {}
                None => return Ok(None),
            }
        }
    }

    /// The next statement or heading.
    ///
    /// # Errors
    /// As [`Statements::next`].
    pub(crate) fn piece(&mut self) -> Result<Option<Piece>, Cut> {
        loop {
            if let Some(piece) = self.pending.take() {
                return Ok(Some(piece));
            }
            if self.is_over {
                return Ok(None);
            }
            if self.input.rest().is_empty() && !self.read_line()? {
                if let Some(statement) = self.end_of_file()? {
                    return Ok(Some(Piece::Statement(statement)));
                }
                continue;
            }
            if self.step()?
                && let Some(statement) = self.complete()?
            {
                return Ok(Some(Piece::Statement(statement)));
            }
        }
    }

    /// Reads the next line that is for the server. Returns false at the end of the file.
    fn read_line(&mut self) -> Result<bool, Cut> {
        while self.input.read_line()? {
            let is_between = self.sql.is_empty() && self.within == Within::Code;
            if !is_between {
                return Ok(true);
            }
            self.input.drop_mark();
            self.input.note()?;
            if !self.is_for_client()? || self.pending.is_some() || self.is_over {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Acts on a line between statements that is for the client, and passes over it.
    fn is_for_client(&mut self) -> Result<bool, Cut> {
        let line = self.input.bytes.trim_ascii();
        if SANDBOX.iter().any(|sandbox| line.starts_with(sandbox)) {
            return Ok(true);
        }
        // Between statements the client needs no space behind it.
        if line.starts_with(b"--") && !is_comment(line) {
            self.take_heading();
            return Ok(true);
        }
        if self.input.is_message()? {
            return Ok(true);
        }
        match command::of_line(line, &self.delimiter) {
            Some(command) => {
                self.input.at = self.input.bytes.len();
                self.obey(command).map(|()| true)
            }
            None => Ok(false),
        }
    }

    fn obey(&mut self, command: Command) -> Result<(), Cut> {
        match command {
            Command::Delimiter(delimiter) => self.delimiter = delimiter,
            Command::Source(name) => self.source(&name)?,
            Command::Run(sql) => {
                let statement = self.statement(sql, self.input.line);
                self.pending = Some(Piece::Statement(statement));
            }
            Command::Leave => self.is_over = true,
            Command::PassOver => {}
        }
        Ok(())
    }

    /// Goes on with the file of this name.
    fn source(&mut self, name: &str) -> Result<(), Cut> {
        let refused = |cause| Err(self.input.cut(cause));
        let Some(folder) = &self.folder else {
            return refused(Cause::NoFolder(name.into()));
        };
        if self.outer.len() == SOURCES_MAX {
            return refused(Cause::TooDeep(name.into()));
        }
        let opened =
            file::beside(folder, name).and_then(|path| file::open(&path, Arc::clone(&self.read)));
        let mut inner = match opened {
            Ok(from) => Input::new(name, from),
            Err(cause) => return refused(Cause::NotSourced(name.into(), cause)),
        };
        inner.share_schema(&self.input);
        self.outer.push(std::mem::replace(&mut self.input, inner));
        Ok(())
    }

    /// Reads up to the next change of state. Returns whether a statement has ended.
    fn step(&mut self) -> Result<bool, Cut> {
        let rest = self.input.rest();
        match self.within {
            Within::Quote(quote) => {
                let (length, closed) = self.modes.quoting().closing(rest, quote);
                self.keep(length);
                if closed {
                    self.within = Within::Code;
                }
                Ok(false)
            }
            Within::Comment => {
                let close = rest.windows(2).position(|pair| pair == b"*/");
                let length = close.map_or(rest.len(), |at| at + 2);
                self.comment(length);
                if close.is_some() {
                    self.within = Within::Code;
                }
                Ok(false)
            }
            Within::Code => self.code(),
        }
    }

    fn code(&mut self) -> Result<bool, Cut> {
        let rest = self.input.rest();
        if self.sql.is_empty()
            && let Some(command) = command::delimiter(rest)
        {
            self.input.at = self.input.bytes.len();
            return self.obey(command).map(|()| false);
        }
        if let Some(after) = rest.strip_prefix(self.delimiter.as_slice())
            && self.is_end(after)
        {
            self.input.at += self.delimiter.len();
            return Ok(!self.sql.is_empty());
        }
        match rest {
            [quote @ (b'\'' | b'"' | b'`'), ..] => {
                let quote = *quote;
                self.keep(1);
                self.open(Within::Quote(quote));
            }
            [b'/', b'*', b'!', ..] => self.keep_and(3, true),
            [b'/', b'*', b'M', b'!', ..] => self.keep_and(4, true),
            [b'*', b'/', ..] if self.runs => self.keep_and(2, false),
            [b'/', b'*', ..] => {
                self.comment(2);
                self.open(Within::Comment);
            }
            rest if is_comment(rest) => {
                self.input.has_line_ends()?;
                return Ok(self.line_comment());
            }
            [b'\\', sign, ..] => return self.of_backslash(*sign),
            [blank, ..] if self.sql.is_empty() && blank.is_ascii_whitespace() => self.input.at += 1,
            [] => {}
            rest => self.keep(self.plain(rest)),
        }
        Ok(false)
    }

    /// Whether a delimiter ends the statement, if this follows it in its line.
    fn is_end(&self, after: &[u8]) -> bool {
        !(self.is_by_lines)(&self.input.name) || matches!(after, [] | [b'\n'])
    }

    /// The bytes up to the next one that may be something else than plain code; at least one character.
    fn plain(&self, rest: &[u8]) -> usize {
        let wide = self.modes.quoting().wide;
        let stops = |byte: &u8| SIGNS.contains(byte) || *byte == self.delimiter[0];
        let mut length = wide.length(rest);
        while let Some(byte) = rest.get(length).filter(|byte| !stops(byte)) {
            length += if byte.is_ascii() {
                1
            } else {
                wide.length(&rest[length..])
            };
        }
        length
    }

    fn open(&mut self, within: Within) {
        self.within = within;
        self.opened = self.input.line;
    }

    /// Passes over a comment to the end of the line. Returns whether it is a heading that ends a statement.
    fn line_comment(&mut self) -> bool {
        if self.take_heading() {
            return !self.sql.is_empty();
        }
        self.comment(self.input.rest().len());
        false
    }

    /// Takes the rest of the line if it is a heading.
    fn take_heading(&mut self) -> bool {
        let rest = self.input.rest().trim_ascii();
        if self.has_headings
            && let Ok(text) = std::str::from_utf8(rest)
            && let Some(heading) = heading_of(PieceKind::Comment, text)
        {
            self.pending = Some(Piece::Heading {
                line: self.input.line,
                text: heading.to_string(),
            });
            self.input.at = self.input.bytes.len();
            return true;
        }
        false
    }

    /// `\g` and `\G` end a statement, `\N` is NULL, and the rest is for the client.
    fn of_backslash(&mut self, sign: u8) -> Result<bool, Cut> {
        match sign {
            b'N' => self.keep(2),
            b'g' | b'G' => {
                self.input.at += 2;
                return Ok(!self.sql.is_empty());
            }
            b'c' => {
                self.input.at += 2;
                self.sql.clear();
                self.runs = false;
            }
            _ => match command::of_sign(self.input.rest(), &self.delimiter) {
                Some((command, length)) if self.sql.is_empty() => {
                    self.input.at += length;
                    self.obey(command)?;
                }
                _ => self.keep(1),
            },
        }
        Ok(false)
    }

    /// Adds the next bytes to the statement.
    fn keep(&mut self, length: usize) {
        if self.sql.is_empty() {
            self.begun = self.input.line;
        }
        let end = self.input.at + length;
        self.sql
            .extend_from_slice(&self.input.bytes[self.input.at..end]);
        self.input.at = end;
    }

    fn keep_and(&mut self, length: usize, runs: bool) {
        self.keep(length);
        self.runs = runs;
    }

    /// Passes over a comment: one within a statement belongs to it.
    fn comment(&mut self, length: usize) {
        if self.sql.is_empty() {
            self.input.at += length
        } else {
            self.keep(length)
        }
    }

    /// The statement that has ended; None if it is for the client.
    fn complete(&mut self) -> Result<Option<Statement>, Cut> {
        self.runs = false;
        let mut sql = std::mem::take(&mut self.sql);
        sql.truncate(sql.trim_ascii_end().len());
        // A heading behind it waits, and must not be lost.
        if self.pending.is_none()
            && let Some(command) = command::of_statement(&sql)
        {
            self.obey(command)?;
            return Ok(None);
        }
        Ok(Some(self.statement(sql, self.begun)))
    }

    fn statement(&mut self, sql: Vec<u8>, line: u64) -> Statement {
        let statement = Statement {
            file: Arc::clone(&self.input.name),
            line,
            quoting: self.modes.quoting(),
            sql,
        };
        self.modes.follow(&statement.sql);
        statement
    }

    /// The last statement of the file. Goes on with the file that sourced it.
    fn end_of_file(&mut self) -> Result<Option<Statement>, Cut> {
        let is_dump = self.input.is_dump();
        let is_open = self.within != Within::Code;
        if is_open || (is_dump && !self.sql.is_empty()) {
            let begun = if self.sql.is_empty() {
                self.input.line
            } else {
                self.begun
            };
            let opened_by = match self.within {
                Within::Code => None,
                Within::Comment => Some(("/*", self.opened)),
                Within::Quote(b'\'') => Some(("'", self.opened)),
                Within::Quote(b'"') => Some(("\"", self.opened)),
                Within::Quote(_) => Some(("`", self.opened)),
            };
            return Err(self.input.cut(Cause::WithinStatement { begun, opened_by }));
        }
        self.input.is_complete()?;
        let depth = self.outer.len();
        let statement = if self.sql.is_empty() {
            None
        } else {
            self.complete()?
        };
        if self.outer.len() > depth {
            // The last statement sourced a file.
            return Ok(None);
        }
        match self.outer.pop() {
            Some(mut outer) => {
                outer.share_schema(&self.input);
                self.input = outer;
            }
            None => self.is_over = true,
        }
        Ok(statement)
    }
}

/// `#`, or `-- `: without a following space it is a minus and a sign.
fn is_comment(rest: &[u8]) -> bool {
    match rest {
        [b'#', ..] | [b'-', b'-'] => true,
        [b'-', b'-', after, ..] => after.is_ascii_whitespace(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
