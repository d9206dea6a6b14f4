//! Sends the records of a file as LOAD DATA reads them by default, and counts and hashes what it sends.

use super::columns::{Column, Compared};
use super::read::{Form, Mistake, Reader};
use crate::answers::trimmed;
use crate::held;
use flate2::Crc;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex};

/// Text that is collected before it is sent.
const BUFFER_BYTES: usize = 64 << 10;

/// What messages show of a value.
const SHOWN_BYTES: usize = 80;

/// What is wrong with a field in quotes between tabs.
const QUOTES_IN_DOUBT: &str = "a field is in quotes: if they are those of CSV, write load.TABLE = { file = \"...\", separator = \"\\t\" }; if they are part of the text, write options = \"FIELDS TERMINATED BY '\\t' ENCLOSED BY ''\"";

/// What is wrong with a first line such as `abc;2,5` for two columns.
const COMMAS_IN_DOUBT: &str = "the line has as many fields between semicolons as between commas, which are all within numbers: write load.TABLE = { file = \"...\", separator = \";\" }, or separator = \",\" if commas separate the fields";

/// What is wrong with a line without anything in a file of one column.
const BLANK_IN_DOUBT: &str =
    "the line is blank: remove it, or write \"\" for an empty text, or null = \"\" if it is NULL";

/// What is wrong with a second header.
const HEADER_AGAIN: &str = "the line has the names of the columns again, as in files that were joined: remove it, or name the files one by one (load = { TABLE = [\"a.csv\", \"b.csv\"] }); if it is a row, quote a field";

/// The texts of a column: how many are not NULL, and the sum of their CRC-32, as `SUM(CRC32(column))` gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Texts {
    pub count: u64,
    pub sum: u128,
}

impl Texts {
    /// Those of each column before its first text; None for a column that is not compared.
    pub(super) fn none_of(columns: &[Column]) -> Vec<Option<Texts>> {
        let is_compared = |column: &Column| column.compared != Compared::Not;
        let texts = columns.iter().map(is_compared);
        texts.map(|is| is.then(Texts::default)).collect()
    }
}

/// What was sent.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub records: u64,
    pub has_bytes: bool,
    /// Why the file was not sent to its end.
    pub mistake: Option<Mistake>,
    /// Of each compared column; None for the others.
    pub texts: Vec<Option<Texts>>,
    compared: Vec<Compared>,
    /// A record and its line, where the line is not that of the record before plus one.
    lines: Vec<(u64, u64)>,
}

impl Sent {
    pub(super) fn new(columns: &[Column]) -> Sent {
        Sent {
            texts: Texts::none_of(columns),
            compared: columns.iter().map(|column| column.compared).collect(),
            ..Sent::default()
        }
    }

    /// The line of a record, from 1.
    pub(super) fn line_of(&self, record: u64) -> u64 {
        let at = self.lines.partition_point(|(first, _)| *first <= record);
        match at.checked_sub(1).map(|at| self.lines[at]) {
            Some((first, line)) => line + (record - first),
            None => record,
        }
    }

    fn begin(&mut self, line: u64) {
        self.records += 1;
        if self.line_of(self.records) != line {
            self.lines.push((self.records, line));
        }
    }

    fn count(&mut self, column: usize, text: Option<&[u8]>) {
        let (Some(texts), Some(text)) = (&mut self.texts[column], text) else {
            return;
        };
        let text = match self.compared[column] {
            Compared::Padded => trimmed(text),
            _ => text,
        };
        let mut crc = Crc::new();
        crc.update(text);
        texts.count += 1;
        texts.sum += u128::from(crc.sum());
    }
}

/// What a file of CSV has had of the escapes of servers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Escapes {
    has_null: bool,
    /// A backslash before another one or the end of a line.
    has_backslash: bool,
}

impl Escapes {
    /// Takes note of a field. Returns whether the file has had both.
    fn are_both(&mut self, field: &[u8], form: Form) -> bool {
        let is_escape = |pair: &[u8]| matches!(pair, [b'\\', b'\\' | b'\n']);
        self.has_null |= form == Form::Plain && field == b"\\N";
        self.has_backslash |= field.windows(2).any(is_escape);
        self.has_null && self.has_backslash
    }
}

/// The records of a file, of which the first one was read.
pub(super) struct Rows<R> {
    pub reader: Reader<R>,
    /// The first record is a header.
    pub is_header: bool,
    /// The field without quotes that is NULL.
    pub null: Vec<u8>,
    /// A field with the word NULL may be NULL, as several programs write it, or a text.
    pub is_null_in_doubt: bool,
    /// Quotes may be part of the text, or those of a program that writes CSV with tabs.
    pub are_quotes_in_doubt: bool,
    /// Nothing says that commas separate the fields.
    pub are_commas_in_doubt: bool,
    /// None: what a backslash means is not in doubt.
    pub escapes: Option<Escapes>,
    pub columns: Vec<Column>,
    /// Values may be stored other than they are in the file.
    pub accepts: bool,
    pub sent: Arc<Mutex<Sent>>,
}

impl<R: BufRead> Rows<R> {
    /// Writes all records. A mistake in the file is an error, and is kept in `sent`.
    pub(super) fn producer(mut self) -> impl FnMut(&mut dyn Write) -> io::Result<()> {
        move |to| {
            let sent = Arc::clone(&self.sent);
            let mut sent = held(&sent);
            sent.has_bytes = self.reader.has_bytes();
            let written = self.write(to, &mut sent);
            let cause = written.as_ref().err().and_then(io::Error::get_ref);
            sent.mistake = cause.and_then(|cause| cause.downcast_ref::<Mistake>().cloned());
            written
        }
    }

    fn write(&mut self, to: &mut dyn Write, sent: &mut Sent) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(2 * BUFFER_BYTES);
        let mut is_there = self.reader.len() > 0;
        let mut header = Vec::new();
        if std::mem::take(&mut self.is_header) && is_there {
            header = self.reader.raw().trim_ascii_end().to_vec();
            is_there = self.reader.read()?;
        }
        // In one column the name may be a value.
        let may_come_again = self.columns.len() > 1 && !header.is_empty();
        while is_there {
            if may_come_again && self.reader.raw().trim_ascii_end() == header {
                return Err(self.reader.mistake(HEADER_AGAIN).into());
            }
            self.record(&mut buffer, sent)?;
            if buffer.len() >= BUFFER_BYTES {
                to.write_all(&buffer)?;
                buffer.clear();
            }
            is_there = self.reader.read()?;
        }
        to.write_all(&buffer)
    }

    fn record(&mut self, buffer: &mut Vec<u8>, sent: &mut Sent) -> Result<(), Mistake> {
        if self.reader.is_blank() && self.columns.len() > 1 {
            return Ok(());
        }
        if self.reader.len() == self.columns.len() + 1 {
            self.reader.drop_last();
        }
        if let Some(says) = self.misfit(sent.records == 0) {
            return Err(self.reader.mistake(says));
        }
        sent.begin(self.reader.line);
        for (n, (text, form)) in self.reader.fields().enumerate() {
            if n > 0 {
                buffer.push(b'\t');
            }
            let (column, is_plain) = (&self.columns[n], form == Form::Plain);
            let is_null = form == Form::Null || (is_plain && text == self.null);
            let escapes = self.escapes.as_mut();
            let are_both = escapes.is_some_and(|escapes| escapes.are_both(text, form));
            let doubt = match is_null {
                _ if self.is_null_in_doubt && is_plain && is_null_word(text) => {
                    Some(null_in_doubt(text))
                }
                _ if self.are_quotes_in_doubt && is_quoted_as_csv(text) => {
                    Some(QUOTES_IN_DOUBT.into())
                }
                _ if are_both => Some(self.escapes_in_doubt()),
                _ if self.accepts => None,
                true => doubt_of_null(column),
                false => doubt(column, text),
            };
            if let Some(says) = doubt {
                return Err(self.reader.mistake(says));
            }
            let text = (!is_null).then_some(text);
            sent.count(n, text);
            match text {
                Some(text) => escape(text, buffer),
                None => buffer.extend_from_slice(b"\\N"),
            }
        }
        buffer.push(b'\n');
        Ok(())
    }

    /// What is wrong with the line as a whole.
    fn misfit(&self, is_first: bool) -> Option<String> {
        match &self.reader {
            line if line.is_blank_csv() && !self.null.is_empty() => Some(BLANK_IN_DOUBT.into()),
            line if line.len() != self.columns.len() => Some(self.miscounted()),
            _ if !is_first => None,
            _ if self.are_commas_in_doubt && self.may_be_semicolons() => {
                Some(COMMAS_IN_DOUBT.into())
            }
            _ if self.escapes.is_some() && self.has_single_quotes() => {
                Some(self.single_quotes_in_doubt())
            }
            _ => None,
        }
    }

    /// Whether semicolons separate as many fields of the line, and each comma stands between digits, one in a field.
    fn may_be_semicolons(&self) -> bool {
        let line = String::from_utf8_lossy(self.reader.raw());
        let is_digit = |sign: char| sign.is_ascii_digit();
        let is_decimal = |(whole, rest): (&str, &str)| {
            whole.ends_with(is_digit) && rest.starts_with(is_digit) && !rest.contains(',')
        };
        let mut fields = line.split(';').map(|field| field.split_once(','));
        self.columns.len() > 1
            && fields.clone().count() == self.columns.len()
            && fields.all(|field| field.is_none_or(is_decimal))
    }

    /// Whether each field of the record that is no number is in single quotes.
    fn has_single_quotes(&self) -> bool {
        let is_quoted =
            |(text, form): (&[u8], Form)| form == Form::Plain && matches!(text, [b'\'', .., b'\'']);
        let is_number = |text: &[u8]| {
            let text = std::str::from_utf8(text).unwrap_or_default();
            text.parse::<f64>().is_ok()
        };
        let is_one = |(text, form): (&[u8], Form)| {
            is_quoted((text, form)) || is_number(text) || text.is_empty() || text == self.null
        };
        self.reader.fields().any(is_quoted) && self.reader.fields().all(is_one)
    }

    fn single_quotes_in_doubt(&self) -> String {
        let options = self.reader.options().replace("'\\\"'", "''''");
        format!(
            "all texts of the line are in single quotes, which are no quotes of CSV (RFC 4180): if they are quotes, write {options}, with IGNORE 1 LINES below a header; if they are part of the texts, write null = \"\\\\N\""
        )
    }

    /// What is wrong with CSV that has the escapes of servers.
    fn escapes_in_doubt(&self) -> String {
        format!(
            "the file has \\N without quotes and a backslash before another one or the end of a line, as SELECT ... INTO OUTFILE writes both, and in CSV a backslash is an ordinary character: write {}; if backslashes are part of the texts, write null = \"\\\\N\"",
            self.reader.options()
        )
    }

    fn miscounted(&self) -> String {
        let (has, columns) = (self.reader.len(), self.columns.len());
        let fields = record::plural(has, "field");
        let raw = String::from_utf8_lossy(self.reader.raw());
        let other = [";", "\t", "|", ","]
            .into_iter()
            .find(|sign| has == 1 && raw.contains(sign));
        let separator = other.map_or(String::new(), |sign| {
            format!(
                "; if {sign:?} separates them, write load.TABLE = {{ file = \"...\", separator = {sign:?} }}"
            )
        });
        format!("the line has {fields}, and {columns} are expected{separator}")
    }
}

/// Why the server would store another value without saying so.
fn doubt(column: &Column, text: &[u8]) -> Option<String> {
    let doubt = column.exact.doubt(text)?;
    Some(format!(
        "{:?} for the column {} {doubt}: the server would store another value without a word; correct the value or the column, or accept it with --accept-warnings (accept_warnings = true)",
        String::from_utf8_lossy(&text[..text.len().min(SHOWN_BYTES)]),
        column.name
    ))
}

/// The same for NULL.
fn doubt_of_null(column: &Column) -> Option<String> {
    column.is_stamped.then(|| {
        format!(
            "NULL for the column {}, a TIMESTAMP that is NOT NULL: servers may store the current time there without a word; write a time, define the column as TIMESTAMP NULL, or accept it with --accept-warnings (accept_warnings = true)",
            column.name
        )
    })
}

/// Whether a program may have written NULL so: alone, or in brackets as in `(Null)`. Null alone is a name of people.
fn is_null_word(field: &[u8]) -> bool {
    match field {
        [b'(', word @ .., b')'] | [b'<', word @ .., b'>'] | [b'[', word @ .., b']'] => {
            word.eq_ignore_ascii_case(b"null")
        }
        word => matches!(word, b"NULL" | b"null"),
    }
}

/// What is wrong with a field that has the word NULL.
fn null_in_doubt(word: &[u8]) -> String {
    let word = String::from_utf8_lossy(word);
    format!(
        "a field is the word {word} without quotes: if it is NULL, as mysql --batch, phpMyAdmin, MySQL Workbench and others write it, write load.TABLE = {{ file = \"...\", null = \"{word}\" }}; if it is a text, write null = \"\\\\N\""
    )
}

/// Whether a program that quotes fields only where it has to would have written the field so.
fn is_quoted_as_csv(field: &[u8]) -> bool {
    match field {
        [b'"', inner @ .., b'"'] => {
            inner.contains(&b',') || inner.windows(2).any(|pair| pair == b"\"\"")
        }
        _ => false,
    }
}

fn escape(text: &[u8], buffer: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'\\' => buffer.extend_from_slice(b"\\\\"),
            b'\t' => buffer.extend_from_slice(b"\\t"),
            b'\n' => buffer.extend_from_slice(b"\\n"),
            0 => buffer.extend_from_slice(b"\\0"),
            other => buffer.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::Syntax;
    use super::*;

    fn columns(types: &[&str]) -> Vec<Column> {
        let column = |data_type: &&str| Column::new("c", data_type, "");
        types.iter().map(column).collect()
    }

    /// What is written and noted of a text with these columns. `change` changes how it is read.
    fn sent(
        (text, syntax): (&str, Syntax),
        types: &[&str],
        change: impl FnOnce(&mut Rows<&[u8]>),
    ) -> (String, Sent) {
        let columns = columns(types);
        let mut reader = Reader::new(text.as_bytes(), syntax);
        reader.read_first().unwrap();
        let sent = Arc::new(Mutex::new(Sent::new(&columns)));
        let mut rows = Rows {
            reader,
            is_header: false,
            null: b"\\N".to_vec(),
            is_null_in_doubt: false,
            are_quotes_in_doubt: false,
            are_commas_in_doubt: false,
            escapes: None,
            columns,
            accepts: false,
            sent: Arc::clone(&sent),
        };
        change(&mut rows);
        let mut written = Vec::new();
        let _ = rows.producer()(&mut written);
        let sent = std::mem::take(&mut *sent.lock().unwrap());
        (String::from_utf8(written).unwrap(), sent)
    }

    fn send(text: &str, types: &[&str], null: &str, is_header: bool) -> (String, Sent) {
        sent((text, Syntax::Csv), types, |rows| {
            rows.null = null.as_bytes().to_vec();
            rows.is_header = is_header;
        })
    }

    #[test]
    fn fields_are_escaped_and_null_is_only_what_is_not_quoted() {
        let text = "id,path\r\n1,C:\\temp\r\n2,\"a\tb\nc\"\n\n3,\\N\n4,\"\\N\"\n5,\n";
        let (written, sent) = send(text, &["int", "varchar"], "\\N", true);
        assert_eq!(
            written,
            "1\tC:\\\\temp\n2\ta\\tb\\nc\n3\t\\N\n4\t\\\\N\n5\t\n"
        );
        assert_eq!(sent.records, 5);
        assert_eq!(sent.texts[1].unwrap().count, 4);
        let lines: Vec<u64> = (1..=5).map(|record| sent.line_of(record)).collect();
        assert_eq!(lines, [2, 3, 6, 7, 8]);
    }

    #[test]
    fn marks_within_files_that_were_joined_are_mistakes() {
        for text in [
            "id,name\n1,a\nid,name\n2,b\n",
            "id,name\r\n1,a\r\nid,name",
            "id,name\n1,a\n\u{feff}2,b\n",
        ] {
            let (_, sent) = send(text, &["text", "text"], "\\N", true);
            let mistake = sent.mistake.unwrap();
            assert_eq!(mistake.line, 3, "{text}");
            assert!(mistake.says.contains("that were joined"), "{mistake:?}");
        }
        let (written, _) = send("word\na\nword\n", &["text"], "\\N", true);
        assert_eq!(written, "a\nword\n");
    }

    /// The mistake that is found in a line with tabs.
    fn mistake_between_tabs(line: &str, in_doubt: bool) -> Option<String> {
        let (_, sent) = sent((line, Syntax::Tsv), &["int", "text"], |rows| {
            rows.is_null_in_doubt = in_doubt;
            rows.are_quotes_in_doubt = in_doubt;
        });
        sent.mistake.map(|mistake| mistake.says)
    }

    #[test]
    fn the_word_null_and_quotes_between_tabs_are_refused_where_they_are_in_doubt() {
        for (line, says) in [
            ("1\tNULL\n", "a field is the word NULL"),
            ("1\tnull\n", "a field is the word null"),
            ("1\t(NULL)\n", "a field is the word (NULL)"),
            ("1\t<null>\n", "a field is the word <null>"),
            ("1\t\"Smith, John\"\n", "a field is in quotes"),
            ("1\t\"5\"\" pipe\"\n", "a field is in quotes"),
        ] {
            let mistake = mistake_between_tabs(line, true).unwrap();
            assert!(mistake.starts_with(says), "{mistake}");
            assert_eq!(mistake_between_tabs(line, false), None, "{line}");
        }
        for line in ["1\t\"Great!\"\n", "1\t(null>\n", "1\tNull\n"] {
            assert_eq!(mistake_between_tabs(line, true), None, "{line}");
        }
    }

    #[test]
    fn commas_that_may_be_those_of_decimals_between_semicolons_are_refused() {
        let line_of_mistake = |text: &str, types: &[&str], in_doubt: bool| {
            let (_, sent) = sent((text, Syntax::Csv), types, |rows| {
                rows.are_commas_in_doubt = in_doubt;
            });
            sent.mistake.map(|mistake| mistake.line)
        };
        let two = ["text", "text"];
        assert_eq!(line_of_mistake("abc;2,5\n", &two, true), Some(1));
        assert_eq!(line_of_mistake("abc;2,5\n", &two, false), None);
        for text in ["a; b,5\n", "\"a;1\",5\n", "1,5\nabc;2,5\n"] {
            assert_eq!(line_of_mistake(text, &two, true), None, "{text}");
        }
        let three = ["int", "int", "text"];
        assert_eq!(line_of_mistake("1,2,3;4;5\n", &three, true), None);
    }

    #[test]
    fn csv_that_seems_to_have_escapes_or_other_quotes_is_refused() {
        let line_of_mistake = |text: &str| {
            let (_, sent) = sent((text, Syntax::Csv), &["int", "text"], |rows| {
                rows.escapes = Some(Escapes::default());
            });
            sent.mistake.map(|mistake| mistake.line)
        };
        for (text, line) in [
            ("1,\\N\n2,\"C:\\\\temp\"\n", Some(2)),
            ("1,\"a\\\nb\"\n2,\\N\n", Some(3)),
            ("1,\\N\n2,\"C:\\temp\"\n", None),
            ("1,\"\\\\server\"\n", None),
            ("-1.5,'north'\n", Some(1)),
            ("\\N,'it''s'\n", Some(1)),
            ("a,'north'\n", None),
            ("1,\"'a'\"\n", None),
            ("1,'\n", None),
            ("1,a\n2,'b'\n", None),
        ] {
            assert_eq!(line_of_mistake(text), line, "{text}");
        }
        let (_, sent) = sent(("1,'a'\n", Syntax::Csv), &["int", "text"], |rows| {
            rows.escapes = Some(Escapes::default());
        });
        let says = sent.mistake.unwrap().says;
        assert!(says.contains("ENCLOSED BY ''''\", with"), "{says}");
    }

    #[test]
    fn options_for_csv_with_the_escapes_of_servers_have_its_separator() {
        let text = "1\t\\N\n2\t\\\\server\n";
        let (_, sent) = sent((text, Syntax::Csv), &["int", "text"], |rows| {
            rows.reader = Reader::new(text.as_bytes(), Syntax::Csv).separated_by(b'\t');
            rows.reader.read().unwrap();
            rows.escapes = Some(Escapes::default());
        });
        let says = sent.mistake.unwrap().says;
        assert!(says.contains("TERMINATED BY '\\t'"), "{says}");
    }

    #[test]
    fn a_value_that_the_server_would_change_is_a_mistake_with_its_line() {
        let (_, sent) = send("1,a\n2.5,b\n", &["int(11)", "text"], "\\N", false);
        let mistake = sent.mistake.unwrap();
        assert_eq!(mistake.line, 2);
        let says = "\"2.5\" for the column c has decimal places";
        assert!(mistake.says.contains(says), "{mistake:?}");
    }

    #[test]
    fn a_null_for_which_servers_store_the_time_is_a_mistake() {
        let (_, sent) = sent(("1,\\N\n", Syntax::Csv), &["int", "timestamp"], |rows| {
            rows.columns[1].is_stamped = true;
        });
        let says = sent.mistake.unwrap().says;
        assert!(says.starts_with("NULL for the column c"), "{says}");
    }

    #[test]
    fn a_file_with_nothing_behind_the_line_that_names_the_separator_has_no_rows() {
        let (written, sent) = send("sep=,\n", &["int", "text"], "\\N", false);
        assert_eq!((written.as_str(), sent.records), ("", 0));
        assert_eq!((sent.mistake, sent.has_bytes), (None, true));
    }

    #[test]
    fn a_blank_line_of_a_file_of_one_column_is_refused_unless_it_is_null() {
        let (_, sent) = send("a\n\"\"\n\n", &["text"], "\\N", false);
        assert_eq!(sent.mistake.unwrap().line, 3);
        let (written, _) = send("a\n\n", &["text"], "", false);
        assert_eq!(written, "a\n\\N\n");
    }

    #[test]
    fn another_text_may_be_null() {
        let (written, _) = send("1,\n2,\"\"\n", &["int", "text"], "", false);
        assert_eq!(written, "1\t\\N\n2\t\n");
    }

    #[test]
    fn the_sum_is_that_of_crc32_and_spaces_at_the_end_of_char_do_not_count() {
        let (_, sent) = send("a,a  \nb,b\n", &["varchar", "char"], "\\N", false);
        // SELECT CRC32('a') + CRC32('b')
        let sum = 3_904_355_907 + 1_908_338_681;
        let texts = Some(Texts { count: 2, sum });
        assert_eq!(sent.texts, [texts, texts]);
    }

    #[test]
    fn a_line_with_other_fields_is_a_mistake() {
        let says = mistake_between_tabs("1,a\n", false).unwrap();
        assert!(says.contains("separator = \",\""), "{says}");
        let (_, sent) = send("1,a\n2;b\n", &["int", "text"], "\\N", false);
        let mistake = sent.mistake.unwrap();
        assert_eq!(mistake.line, 2);
        assert!(
            mistake
                .says
                .contains("has 1 field, and 2 are expected; if \";\" separates"),
            "{mistake:?}"
        );
    }
}
