//! The records of a file: CSV by RFC 4180, text with tabs and escapes as the servers write it, or fields that end in `|`.
//!
//! Purpose: each record with its line, and whether a field was quoted. Boundaries: nothing is guessed. A record that is not of the
//! form is a mistake with its line.
//!
//! Sources: RFC 4180; "LOAD DATA Statement" in the MySQL manual for the escapes; TPC-H's dbgen for `|`.

use std::io::{self, BufRead};

/// What is wrong with a backslash in `C:\data` between tabs.
const UNKNOWN_ESCAPE: &str = "a backslash is before a character that it does not escape, and servers would drop the backslash: if backslashes are part of the texts, write load.TABLE = { file = \"...\", separator = \"\\t\" }, or double them";

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Commas or another sign; fields may be in double quotes, and a quote in them is doubled.
    Csv,
    /// Tabs; a backslash escapes.
    Tsv,
    /// `|` behind each field.
    Tbl,
}

impl Syntax {
    /// By the ending of the name.
    pub(super) fn from_name(name: &str) -> Syntax {
        match ending(name).as_str() {
            "tsv" | "txt" => Syntax::Tsv,
            "tbl" => Syntax::Tbl,
            _ => Syntax::Csv,
        }
    }
}

/// The ending of the name in lower case, without that of a compression.
pub(super) fn ending(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    name.rsplit_once('.').unwrap_or_default().1.to_string()
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{says}")]
pub(super) struct Mistake {
    /// From 1.
    pub line: u64,
    pub says: String,
}

impl From<Mistake> for io::Error {
    fn from(mistake: Mistake) -> io::Error {
        io::Error::other(mistake)
    }
}

/// How a field was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Quoted,
    /// `\N` in a file with escapes.
    Null,
}

/// Reads a file record by record.
pub(super) struct Reader<R> {
    from: R,
    syntax: Syntax,
    /// What separates the fields of CSV.
    separator: u8,
    /// Lines read.
    lines: u64,
    /// The lines of the record.
    raw: Vec<u8>,
    /// The first line of the record, from 1.
    pub line: u64,
    /// The fields, one after another, with the end and the form of each.
    text: Vec<u8>,
    fields: Vec<(usize, Form)>,
}

impl<R: BufRead> Reader<R> {
    pub(super) fn new(from: R, syntax: Syntax) -> Reader<R> {
        Reader {
            from,
            syntax,
            separator: b',',
            lines: 0,
            raw: Vec::new(),
            line: 0,
            text: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// The same for CSV with another sign between fields.
    pub(super) fn separated_by(self, separator: u8) -> Reader<R> {
        Reader { separator, ..self }
    }

    /// Reads the next record. False at the end of the file.
    pub(super) fn read(&mut self) -> Result<bool, Mistake> {
        self.raw.clear();
        self.text.clear();
        self.fields.clear();
        self.line = self.lines + 1;
        if !self.more()? {
            return Ok(false);
        }
        // That at the start of the file is no part of its text.
        if self.raw.starts_with("\u{feff}".as_bytes()) {
            return Err(self.mistake(
                "the line begins with a byte order mark, as in files that were joined: remove it, or name the files one by one",
            ));
        }
        match self.syntax {
            Syntax::Csv => self.csv()?,
            Syntax::Tsv => self.escaped()?,
            Syntax::Tbl => self.bars(),
        }
        match std::str::from_utf8(&self.text) {
            Ok(_) => Ok(true),
            Err(_) => Err(self.mistake(
                "the line is no UTF-8 text; convert the file (iconv -f WINDOWS-1252 -t UTF-8), or let the server read it: options with CHARACTER SET latin1, or CHARACTER SET binary for the bytes of a BLOB",
            )),
        }
    }

    /// Reads the first record, after a line `sep=;` by which spreadsheets know the separator. In CSV that line names it here too.
    pub(super) fn read_first(&mut self) -> Result<bool, Mistake> {
        let is_there = self.read()?;
        match named_separator(&self.raw) {
            None => Ok(is_there),
            Some(separator) if self.syntax == Syntax::Csv => {
                self.separator = separator;
                self.read()
            }
            Some(separator) => {
                let separator = char::from(separator).to_string();
                Err(self.mistake(format!(
                    "the line names the separator of CSV: write load.TABLE = {{ file = \"...\", separator = {separator:?} }}"
                )))
            }
        }
    }

    /// Whether the file had a line so far.
    pub(super) fn has_bytes(&self) -> bool {
        self.lines > 0
    }

    /// The number of fields of the record.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// The fields of the record.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&[u8], Form)> {
        let starts = std::iter::once(0).chain(self.fields.iter().map(|(end, _)| *end));
        let fields = starts.zip(&self.fields);
        fields.map(|(start, (end, form))| (&self.text[start..*end], *form))
    }

    /// Whether the line has nothing.
    pub(super) fn is_blank(&self) -> bool {
        self.text.is_empty() && self.fields.len() == 1 && self.fields[0].1 == Form::Plain
    }

    /// Whether it is a blank line of CSV, where an empty text of a single column is in quotes.
    pub(super) fn is_blank_csv(&self) -> bool {
        self.syntax == Syntax::Csv && self.is_blank()
    }

    /// The record as it is in the file.
    pub(super) fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// In a file of `|`, the one at the end ends the last field.
    pub(super) fn drop_last(&mut self) {
        if self.syntax == Syntax::Tbl && self.fields().last() == Some((b"", Form::Plain)) {
            self.fields.pop();
        }
    }

    /// The key by which the server reads CSV with its own escapes.
    pub(super) fn options(&self) -> String {
        let separator = char::from(self.separator);
        format!("options = \"FIELDS TERMINATED BY {separator:?} OPTIONALLY ENCLOSED BY '\\\"'\"")
    }

    pub(super) fn mistake(&self, says: impl Into<String>) -> Mistake {
        Mistake {
            line: self.line,
            says: says.into(),
        }
    }

    /// Adds the next line. False at the end of the file.
    fn more(&mut self) -> Result<bool, Mistake> {
        match self.from.read_until(b'\n', &mut self.raw) {
            Ok(0) => Ok(false),
            Ok(_) => {
                self.lines += 1;
                Ok(true)
            }
            Err(cause) => Err(self.mistake(format!("the file cannot be read further: {cause}"))),
        }
    }

    fn end_field(&mut self, form: Form) {
        self.fields.push((self.text.len(), form));
    }

    fn csv(&mut self) -> Result<(), Mistake> {
        let mut at = 0;
        loop {
            let form = match self.raw.get(at) {
                Some(b'"') => {
                    at = self.quoted(at + 1)?;
                    Form::Quoted
                }
                _ => {
                    at = self.unquoted(at)?;
                    Form::Plain
                }
            };
            self.end_field(form);
            match self.raw.get(at) {
                Some(sign) if *sign == self.separator => at += 1,
                _ => return Ok(()),
            }
        }
    }

    /// Reads a field up to its closing quote. Returns the place behind it.
    fn quoted(&mut self, mut at: usize) -> Result<usize, Mistake> {
        let opened = self.lines;
        loop {
            let rest = &self.raw[at..];
            let Some(length) = rest.iter().position(|byte| *byte == b'"') else {
                self.text.extend_from_slice(&self.raw[at..]);
                at = self.raw.len();
                if !self.more()? {
                    return Err(Mistake {
                        line: opened,
                        says: "the quote that opens in this line is not closed".into(),
                    });
                }
                continue;
            };
            self.text.extend_from_slice(&rest[..length]);
            at += length + 1;
            match self.raw[at..] {
                [b'"', ..] => {
                    self.text.push(b'"');
                    at += 1;
                }
                [] | [b'\n', ..] | [b'\r', b'\n', ..] | [b'\r'] => return Ok(at),
                [sign, ..] if sign == self.separator => return Ok(at),
                _ => {
                    return Err(Mistake {
                        line: self.lines,
                        says: format!(
                            "text follows a closing quote; in CSV (RFC 4180) a quote within quotes is doubled, and a backslash is an ordinary character; for a file with escapes write {}",
                            self.options()
                        ),
                    });
                }
            }
        }
    }

    /// Reads a field up to the comma or the end of the line. Returns the place of that.
    fn unquoted(&mut self, at: usize) -> Result<usize, Mistake> {
        let rest = &self.raw[at..];
        let ends = |byte: &u8| *byte == self.separator || *byte == b'\n';
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let is_line_end = rest.get(length) != Some(&self.separator);
        let field = &rest[..length];
        let field = if is_line_end {
            field.strip_suffix(b"\r").unwrap_or(field)
        } else {
            field
        };
        if field.starts_with(b" ") && field.trim_ascii_start().starts_with(b"\"") {
            return Err(self.mistake(
                "a quote follows a blank; in CSV (RFC 4180) the blank and the quotes would be part of the text: remove the blank before the quote, or quote the whole field and double the quotes in it",
            ));
        }
        if field.contains(&b'\r') {
            return Err(self.mistake(
                "a carriage return is in a field without quotes; quote the field, or convert the ends of lines (tr '\\r' '\\n')",
            ));
        }
        self.text.extend_from_slice(field);
        Ok(at + length)
    }

    fn escaped(&mut self) -> Result<(), Mistake> {
        let is_whole_file = self.lines == 1 && !self.raw.ends_with(b"\n");
        if is_whole_file && self.raw.trim_ascii_end().contains(&b'\r') {
            return Err(self.mistake(
                "lines end in a carriage return alone; convert the ends of lines (tr '\\r' '\\n')",
            ));
        }
        let mut at = 0;
        loop {
            let (end, is_last) = self.end_of_escaped(at)?;
            if has_unknown_escape(&self.raw[at..end]) {
                return Err(self.mistake(UNKNOWN_ESCAPE));
            }
            let (field, text) = (&self.raw[at..end], &mut self.text);
            let form = match field {
                b"\\N" => Form::Null,
                // The text of a backslash and an N.
                b"\\\\N" => {
                    text.extend_from_slice(b"\\N");
                    Form::Quoted
                }
                _ => {
                    unescape(field, text);
                    Form::Plain
                }
            };
            self.end_field(form);
            if is_last {
                return Ok(());
            }
            at = end + 1;
        }
    }

    /// The end of the field, and whether it ends the record.
    fn end_of_escaped(&mut self, mut at: usize) -> Result<(usize, bool), Mistake> {
        loop {
            match self.raw[at..] {
                [] | [b'\n', ..] | [b'\r', b'\n'] | [b'\r'] => return Ok((at, true)),
                [b'\t', ..] => return Ok((at, false)),
                // An escaped end of line belongs to the field.
                [b'\\', b'\n'] => {
                    at += 2;
                    self.more()?;
                }
                [b'\\', _, ..] => at += 2,
                _ => at += 1,
            }
        }
    }

    fn bars(&mut self) {
        let line = self.raw.strip_suffix(b"\n").unwrap_or(&self.raw);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        for field in line.split(|byte| *byte == b'|') {
            self.text.extend_from_slice(field);
            self.fields.push((self.text.len(), Form::Plain));
        }
    }
}

/// The separator that a line `sep=;` names; some programs put it in quotes.
pub(super) fn named_separator(line: &[u8]) -> Option<u8> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = match line.strip_suffix(b"\r").unwrap_or(line) {
        [b'"', inner @ .., b'"'] => inner,
        line => line,
    };
    match line {
        [word @ .., b'=', sign] if word.eq_ignore_ascii_case(b"sep") => {
            b",;:|\t".contains(sign).then_some(*sign)
        }
        _ => None,
    }
}

/// Whether a backslash is before a sign that no server writes with one. LOAD DATA would drop the backslash.
fn has_unknown_escape(field: &[u8]) -> bool {
    const KNOWN: &[u8] = b"0bnrtZN\\'\"\t\n";
    let mut bytes = field.iter();
    while bytes.any(|byte| *byte == b'\\') {
        if bytes.next().is_some_and(|escaped| !KNOWN.contains(escaped)) {
            return true;
        }
    }
    false
}

/// Source: the escapes of LOAD DATA. Any other letter stands for itself.
fn unescape(field: &[u8], text: &mut Vec<u8>) {
    let mut bytes = field.iter();
    while let Some(&byte) = bytes.next() {
        let value = match (byte, bytes.as_slice().first()) {
            (b'\\', Some(escaped)) => {
                bytes.next();
                match escaped {
                    b'0' => 0,
                    b'b' => 8,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'Z' => 26,
                    other => *other,
                }
            }
            _ => byte,
        };
        text.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The records as text; quoted fields in quotes, NULL as `NULL`.
    fn read(text: &[u8], syntax: Syntax) -> Result<Vec<Vec<String>>, Mistake> {
        let mut reader = Reader::new(text, syntax);
        let mut records = Vec::new();
        while reader.read()? {
            let field = |(text, form): (&[u8], Form)| {
                let text = String::from_utf8_lossy(text).into_owned();
                match form {
                    Form::Plain => text,
                    Form::Quoted => format!("\"{text}\""),
                    Form::Null => "NULL".into(),
                }
            };
            records.push(reader.fields().map(field).collect());
        }
        Ok(records)
    }

    fn csv(text: &str) -> Vec<Vec<String>> {
        read(text.as_bytes(), Syntax::Csv).unwrap()
    }

    #[test]
    fn csv_follows_rfc_4180() {
        let text = "1,\"C:\\temp\\new\",plain\r\n2,\"ends with \\\",\"a \"\"b\"\", c\"\n3,\"two\r\nlines\",\n4,\\N,\"\\N\"\r\n5,,\"\"";
        assert_eq!(
            csv(text),
            [
                ["1", "\"C:\\temp\\new\"", "plain"],
                ["2", "\"ends with \\\"", "\"a \"b\", c\""],
                ["3", "\"two\r\nlines\"", ""],
                ["4", "\\N", "\"\\N\""],
                ["5", "", "\"\""],
            ]
        );
        assert_eq!(csv("5\" pipe,a\"b\n"), [["5\" pipe", "a\"b"]]);
    }

    #[test]
    fn another_sign_may_separate_the_fields_of_csv() {
        let text = &b"1;2,5;\"a;b\"\r\n"[..];
        let mut reader = Reader::new(text, Syntax::Csv).separated_by(b';');
        assert!(reader.read().unwrap());
        let fields: Vec<&[u8]> = reader.fields().map(|(text, _)| text).collect();
        assert_eq!(fields, [&b"1"[..], b"2,5", b"a;b"]);
    }

    #[test]
    fn a_line_that_names_the_separator_is_no_record() {
        let first = |text: &str, separator: u8| {
            let reader = Reader::new(text.as_bytes(), Syntax::Csv);
            let mut reader = reader.separated_by(separator);
            reader.read_first().unwrap();
            let fields = reader.fields().map(|(text, _)| text.to_vec());
            (fields.collect::<Vec<_>>(), reader.line)
        };
        let row = vec![b"a".to_vec(), b"b".to_vec()];
        assert_eq!(first("sep=;\r\na;b\r\n", b';'), (row.clone(), 2));
        assert_eq!(first("sep=\t\na\tb\n", b'\t'), (row.clone(), 2));
        assert_eq!(first("a;b\n", b';'), (row.clone(), 1));
        // Without a key that names it.
        assert_eq!(first("sep=;\na;b\n", b','), (row.clone(), 2));
        assert_eq!(first("\"sep=;\"\na;b\n", b','), (row, 2));
        assert_eq!(first("sep=;\na\n", b','), (vec![b"a".to_vec()], 2));
        assert_eq!(first("sep=10\n", b',').1, 1);
    }

    #[test]
    fn a_line_that_names_a_separator_in_a_file_of_another_form_is_refused() {
        let says = |syntax| {
            let mut reader = Reader::new(&b"sep=;\na\n"[..], syntax);
            reader.read_first().unwrap_err().says
        };
        for syntax in [Syntax::Tsv, Syntax::Tbl] {
            let says = says(syntax);
            assert!(says.ends_with("separator = \";\" }"), "{says}");
        }
    }

    #[test]
    fn a_record_that_is_no_csv_has_its_line() {
        for (text, line, says) in [
            ("1,a\n2,\"b\nc\n", 2, "is not closed"),
            ("1,\"a\nb\" c\n", 2, "text follows a closing quote"),
            ("1,\"a\\\" b\"\n", 1, "text follows a closing quote"),
            ("1\n2,a\rb,c\n", 2, "a carriage return"),
            ("1,\"a\"\n2, \"b\"\n", 2, "a quote follows a blank"),
        ] {
            let mistake = read(text.as_bytes(), Syntax::Csv).unwrap_err();
            assert_eq!(mistake.line, line, "{text}");
            assert!(mistake.says.contains(says), "{mistake:?}");
        }
        let mistake = read(b"1,a\n2,\xe9\n", Syntax::Csv).unwrap_err();
        assert_eq!(mistake.line, 2);
        assert!(mistake.says.contains("no UTF-8"), "{mistake:?}");
    }

    #[test]
    fn options_for_a_file_with_escapes_have_its_separator() {
        let text = &b"1;\"a\\\" b\"\n"[..];
        let mut reader = Reader::new(text, Syntax::Csv).separated_by(b';');
        let says = reader.read().unwrap_err().says;
        let options = "options = \"FIELDS TERMINATED BY ';' OPTIONALLY ENCLOSED BY '\\\"'\"";
        assert!(says.ends_with(options), "{says}");
    }

    #[test]
    fn lines_that_end_in_carriage_returns_alone_are_refused() {
        let mistake = read(b"a\rb\rc\r", Syntax::Tsv).unwrap_err();
        assert!(
            mistake.says.contains("carriage return alone"),
            "{mistake:?}"
        );
        assert_eq!(read(b"a\r", Syntax::Tsv).unwrap(), [["a"]]);
    }

    #[test]
    fn text_with_tabs_has_the_escapes_of_the_servers() {
        let text = "1\t\\N\ta\\tb\\\\c\r\n2\ttwo\\\nlines\t\\'\n3\t\t";
        let read = read(text.as_bytes(), Syntax::Tsv).unwrap();
        assert_eq!(
            read,
            [
                ["1", "NULL", "a\tb\\c"],
                ["2", "two\nlines", "'"],
                ["3", "", ""],
            ]
        );
    }

    #[test]
    fn a_backslash_that_servers_would_drop_is_refused() {
        for text in ["1\ta\n2\tC:\\data\n", "1\ta\n2\tC:\\tmp\\\r\n"] {
            let mistake = read(text.as_bytes(), Syntax::Tsv).unwrap_err();
            assert_eq!(mistake.line, 2);
            assert!(mistake.says.contains("a backslash is before"), "{text}");
        }
        assert_eq!(read(b"C:\\\\data\n", Syntax::Tsv).unwrap(), [["C:\\data"]]);
    }

    #[test]
    fn an_escaped_backslash_before_an_n_is_no_null() {
        let read = read(b"1\t\\N\t\\\\N\n", Syntax::Tsv).unwrap();
        assert_eq!(read, [["1", "NULL", "\"\\N\""]]);
    }

    #[test]
    fn bars_end_fields() {
        let mut reader = Reader::new(&b"1|C:\\x||\n"[..], Syntax::Tbl);
        assert!(reader.read().unwrap());
        assert_eq!(reader.len(), 4);
        reader.drop_last();
        let fields: Vec<&[u8]> = reader.fields().map(|(text, _)| text).collect();
        assert_eq!(fields, [&b"1"[..], b"C:\\x", b""]);
    }

    #[test]
    fn the_name_decides_the_syntax() {
        for (name, syntax) in [
            ("orders.csv", Syntax::Csv),
            ("orders.CSV.gz", Syntax::Csv),
            ("orders", Syntax::Csv),
            ("orders.tsv.zst", Syntax::Tsv),
            ("orders.tbl", Syntax::Tbl),
        ] {
            assert_eq!(Syntax::from_name(name), syntax, "{name}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_as_csv_is_read_back(records in prop::collection::vec(prop::collection::vec("[a\"\\\\,\r\n ]{0,6}", 2..3), 1..5)) {
            let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
            let line = |fields: &Vec<String>| fields.iter().map(quoted).collect::<Vec<_>>().join(",") + "\r\n";
            let text: String = records.iter().map(line).collect();
            let expected: Vec<Vec<String>> = records
                .iter()
                .map(|fields| fields.iter().map(|field| format!("\"{field}\"")).collect())
                .collect();
            prop_assert_eq!(csv(&text), expected);
        }
    }
}
