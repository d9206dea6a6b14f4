//! One file of statements, line by line, and what its comments say of the program that wrote it.
//!
//! Purpose: a dump that is incomplete, or that another program wrote for other servers, is found by its own marks.

use super::cut::{Cause, Cut};
use std::io::BufRead;
use std::sync::Arc;

/// A file that is being read.
pub(super) struct Input<'a> {
    pub name: Arc<str>,
    from: Box<dyn BufRead + 'a>,
    /// The current line, and the offset of its next byte.
    pub bytes: Vec<u8>,
    pub at: usize,
    pub line: u64,
    /// Whether a program's head was seen, and how many heads of each have no end yet. The programs are those of [`MARKS`].
    is_dump: bool,
    unended: [u32; MARKS.len()],
    /// Of an export of phpMyAdmin: how many of its transactions have no end yet.
    is_of_phpmyadmin: bool,
    uncommitted: i32,
    /// The comment at its start names Navicat.
    is_of_navicat: bool,
    /// The schema that the head names.
    database: Option<String>,
}

/// How programs begin a dump, and how the line begins that they write last. mysqldump and mariadb-dump without comments, HeidiSQL, Sequel
/// Ace and SQLyog set notes again last.
///
/// Sources: `write_header` and `write_footer` in `client/mysqldump.cc`, `format_dump_end` in `client/dump/sql_formatter.cc`.
const MARKS: [(&[u8], &str); 8] = [
    (b"-- MySQL dump ", "-- Dump completed"),
    (b"-- MariaDB dump ", "-- Dump completed"),
    (b"-- Dump created by MySQL pump", "-- Dump end time:"),
    (b"/*!40111 SET @OLD_SQL_NOTES=", "/*!40111 SET SQL_NOTES="),
    (
        b"/*M!100616 SET @OLD_NOTE_VERBOSITY=",
        "/*M!100616 SET NOTE_VERBOSITY=",
    ),
    // Scripts of MySQL Workbench, and Sakila.
    (b"SET @OLD_UNIQUE_CHECKS=", "SET UNIQUE_CHECKS"),
    // The time of the export.
    (b"-- Adminer ", "-- 20"),
    (NAVICAT, "SET FOREIGN_KEY_CHECKS = 1;"),
];
/// Others write this line too.
const NAVICAT: &[u8] = b"SET FOREIGN_KEY_CHECKS = 0;";
/// The lines of a file that may name Navicat.
const NAVICAT_LINES: u64 = 3;
const PHPMYADMIN: &[u8] = b"-- phpMyAdmin SQL Dump";
/// How files of other programs begin, and what to do with them.
const FOREIGN: [(&[u8], &str); 5] = [
    (b"-- PostgreSQL database ", OF_OTHERS),
    (b"PRAGMA foreign_keys", OF_OTHERS),
    (b"<?xml", XML),
    (b"<mysqldump", XML),
    (b"{", JSON),
];
const OF_OTHERS: &str = "this is a dump of PostgreSQL or SQLite, whose SQL no server of the MySQL family takes; write the tables as a setup, and load the rows from CSV files (--setup, --load TABLE=FILE)";
const XML: &str = "this is XML, not SQL; write the dump without --xml";
const JSON: &str = "this is JSON, not SQL; write a dump, or CSV files for --load TABLE=FILE";
/// What begins messages of programs that were redirected into the file, in any case. Those of 5.6 have no name before their warnings.
const PROGRAMS: [&str; 6] = [
    "mysqldump",
    "mariadb-dump",
    "mysqlpump",
    "mysql",
    "mariadb",
    "Warning",
];
/// A message names its program in fewer bytes.
const PROGRAM_BYTES: usize = 200;
/// What a client prints before it reads a password.
const PROMPT: &[u8] = b"Enter password:";
const OLD_ENDS: &str = "lines end in a carriage return alone, so that this comment has no end; convert the ends of lines (tr '\\r' '\\n')";
const GENERAL_LOG: &str = "this is the general log of a server and no SQL; write its queries as statements that end in ;, or give the slow log (long_query_time = 0), which prony reads as it is";

impl<'a> Input<'a> {
    pub(super) fn new(name: &str, from: impl BufRead + 'a) -> Input<'a> {
        Input {
            name: name.into(),
            from: Box::new(from),
            bytes: Vec::new(),
            at: 0,
            line: 0,
            is_dump: false,
            unended: [0; MARKS.len()],
            is_of_phpmyadmin: false,
            uncommitted: 0,
            is_of_navicat: false,
            database: None,
        }
    }

    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    pub(super) fn cut(&self, cause: Cause) -> Cut {
        Cut {
            file: Arc::clone(&self.name),
            line: self.line,
            cause,
        }
    }

    /// The schema that the head of the dump names.
    pub(super) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// Takes over the schema of another file of the same text, unless this one names its own.
    pub(super) fn share_schema(&mut self, other: &Input) {
        if self.database.is_none() {
            self.database.clone_from(&other.database);
        }
    }

    /// Whether the head of a program was seen that writes a last line.
    pub(super) fn is_dump(&self) -> bool {
        self.is_dump
    }

    /// Reads the next line. Returns false at the end of the file.
    pub(super) fn read_line(&mut self) -> Result<bool, Cut> {
        self.bytes.clear();
        self.at = 0;
        match self.from.read_until(b'\n', &mut self.bytes) {
            Ok(0) => Ok(false),
            Ok(_) => {
                self.line += 1;
                self.is_of_navicat |= self.line <= NAVICAT_LINES && is_of_navicat(&self.bytes);
                Ok(true)
            }
            Err(cause) => Err(self.cut(Cause::Unreadable(cause))),
        }
    }

    /// # Errors
    /// The file is one line with a carriage return in what is left of it: a comment would swallow the statements behind it.
    pub(super) fn has_line_ends(&self) -> Result<(), Cut> {
        let is_whole_file = self.line == 1 && !self.bytes.ends_with(b"\n");
        match is_whole_file && self.rest().trim_ascii_end().contains(&b'\r') {
            true => Err(self.cut(Cause::Foreign(OLD_ENDS))),
            false => Ok(()),
        }
    }

    /// Removes a byte order mark at the start of the line, as in files that were joined.
    pub(super) fn drop_mark(&mut self) {
        let mark = "\u{feff}".as_bytes();
        if self.bytes.starts_with(mark) {
            self.bytes.drain(..mark.len());
        }
    }

    /// Takes note of the head or the end of a dump.
    ///
    /// # Errors
    /// A second head is of another schema.
    pub(super) fn note(&mut self) -> Result<(), Cut> {
        let line = self.bytes.trim_ascii();
        for ((head, end), unended) in MARKS.iter().zip(&mut self.unended) {
            if line.starts_with(head) && (*head != NAVICAT || self.is_of_navicat) {
                // People go on with a script of Workbench, and clients run a last statement without a delimiter.
                self.is_dump |= !head.starts_with(b"SET ");
                *unended += 1;
            } else if line.starts_with(end.as_bytes()) {
                *unended = unended.saturating_sub(1);
            }
        }
        self.is_of_phpmyadmin |= line.starts_with(PHPMYADMIN);
        if self.is_of_phpmyadmin {
            self.uncommitted += i32::from(line == b"START TRANSACTION;");
            self.uncommitted -= i32::from(line == b"COMMIT;");
        }
        if !line.starts_with(b"-- ") {
            return Ok(());
        }
        let database = database(&String::from_utf8_lossy(line));
        match (&self.database, database) {
            (Some(first), Some(second)) if *first != second => Err(self.cut(Cause::SecondHead {
                first: first.clone(),
                second,
            })),
            (Some(_), _) => Ok(()),
            (None, database) => {
                self.database = database;
                Ok(())
            }
        }
    }

    /// Whether the line is a warning of the program that wrote the file, its prompt, or the head of a server's log.
    ///
    /// # Errors
    /// It says that the program failed, or the file is another program's.
    pub(super) fn is_message(&self) -> Result<bool, Cut> {
        let line = self.bytes.trim_ascii();
        if let Some((_, says)) = FOREIGN.iter().find(|(mark, _)| line.starts_with(mark)) {
            return Err(self.cut(Cause::Foreign(says)));
        }
        if is_of_general_log(line) {
            return Err(self.cut(Cause::Foreign(GENERAL_LOG)));
        }
        if line == PROMPT || is_head_of_log(line) {
            return Ok(true);
        }
        if !is_of_program(line) {
            return Ok(false);
        }
        let text = String::from_utf8_lossy(line).into_owned();
        let says = text.to_ascii_lowercase();
        // MariaDB 11 says of mysqldump that its name is deprecated.
        if says.contains("warning") || says.contains("deprecated") {
            Ok(true)
        } else {
            Err(self.cut(Cause::Message(text)))
        }
    }

    /// # Errors
    /// The marks that the program writes last are missing.
    pub(super) fn is_complete(&self) -> Result<(), Cut> {
        let mut marks = MARKS.into_iter().zip(self.unended);
        if let Some(((_, end), _)) = marks.find(|(_, unended)| *unended > 0) {
            Err(self.cut(Cause::NotCompleted(end)))
        } else if self.uncommitted > 0 {
            Err(self.cut(Cause::NotCommitted))
        } else {
            Ok(())
        }
    }
}

/// " Navicat Premium Data Transfer"
fn is_of_navicat(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.starts_with(b"Navicat ") && line.ends_with(b" Data Transfer")
}

/// Whether the line begins as a message does: `/usr/bin/mysqldump: `.
fn is_of_program(line: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&line[..line.len().min(PROGRAM_BYTES)]);
    let Some((program, _)) = start.split_once(": ") else {
        return false;
    };
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let is_name = |known: &&str| known.eq_ignore_ascii_case(name);
    !program.contains(' ') && PROGRAMS.iter().any(is_name)
}

/// Whether it is one of the lines that a server writes into its logs at each start.
///
/// As in the slow logs of MySQL 5.6 to 8.4.
fn is_head_of_log(line: &[u8]) -> bool {
    let is_port = |start: &[u8]| start.eq_ignore_ascii_case(b"tcp port: ");
    line.ends_with(b". started with:")
        || line.get(..10).is_some_and(is_port)
        || (line.starts_with(b"Time") && line.ends_with(b"Argument"))
}

/// Whether it is an entry of the general log: `2026-01-05T10:00:00.000000Z\t    8 Query\tselect 1`.
fn is_of_general_log(line: &[u8]) -> bool {
    const COMMANDS: [&str; 6] = ["Connect", "Query", "Init", "Prepare", "Execute", "Quit"];
    if !line.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let entry = line.split(|byte| *byte == b'\t').nth(1);
    let entry = String::from_utf8_lossy(entry.unwrap_or_default());
    let mut words = entry.split_whitespace();
    words.next().is_some_and(|id| id.parse::<u64>().is_ok())
        && words.next().is_some_and(|word| COMMANDS.contains(&word))
}

/// Of a dump of mysqldump: `-- Host: localhost    Database: shop`; of MySQL Shell with `    Table: orders` behind it; of phpMyAdmin:
/// "-- Database: `shop`".
fn database(comment: &str) -> Option<String> {
    const MARK: &str = "Database: ";
    let text = comment.strip_prefix("-- ")?;
    let at = text
        .find(MARK)
        .filter(|at| *at == 0 || text.starts_with("Host: "))?;
    let name = text[at + MARK.len()..].split("    ").next()?;
    let name = name.trim().trim_matches('`');
    (!name.is_empty()).then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_read_from_the_heads_of_programs() {
        for comment in [
            "-- Host: localhost    Database: shop",
            "-- Host: localhost    Database: shop    Table: orders",
            "-- Database: `shop`",
        ] {
            assert_eq!(database(comment).as_deref(), Some("shop"), "{comment}");
        }
        assert_eq!(database("-- Copied from Database: shop"), None);
    }
}
